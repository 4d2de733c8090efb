//! Counters of one worker's viewers beyond the [books](fanout::Books) that all listeners share: packets, losses, and requests
//! of viewers.
//!
//! [`Viewers`](crate::Viewers) counts without sharing and publishes once per turn; a reader sums over the workers.

base::numbers! {
    /// Counts since the worker began.
    pub struct Counters {
        /// Packets sent, including retransmissions.
        pub packets: u64,
        /// Send calls that found the socket full.
        pub blocked_sends: u64,
        /// Messages that requested retransmissions (NACK).
        pub nacks: u64,
        /// Packets named in those messages.
        pub nacked: u64,
        /// Packets retransmitted.
        pub retransmissions: u64,
        /// Packets requested and not retransmitted: too soon after the last time, beyond the viewer's share, or no longer
        /// known.
        pub nacks_refused: u64,
        /// Picture loss indications and full intra requests.
        pub keyframe_requests: u64,
        /// Times a viewer's video was suspended because its link was too small.
        pub held_pictures: u64,
        /// Packets lost, as reported by viewers.
        pub lost: u64,
        /// Sum of the round trips in reports, in microseconds.
        pub round_trip_micros: u64,
        /// Reports with a round trip.
        pub round_trips: u64,
    }
}
