//! Counters of received and refused datagrams of one worker.

base::numbers! {
    /// Counts since the worker began, except for `half_open`.
    pub struct Counters {
        /// Authentic connectivity checks.
        pub checks: u64,
        /// STUN messages that were malformed or not authentic.
        pub checks_refused: u64,
        /// DTLS datagrams that were dropped: from a path that is not proved, or beyond a bound.
        pub dtls_refused: u64,
        /// Handshakes completed.
        pub connected: u64,
        /// Handshakes that failed.
        pub handshakes_failed: u64,
        /// RTP and RTCP packets that were not authentic or were repeated.
        pub srtp_refused: u64,
        /// Datagrams of an unknown kind, or of no known session.
        pub strays: u64,
        /// Handshakes under way now.
        pub half_open: u64,
    }
}
