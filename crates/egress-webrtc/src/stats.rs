//! What one worker's viewers count beside the [books](fanout::Books) that all listeners have: packets,
//! losses, and what viewers ask for.
//!
//! [`Viewers`](crate::Viewers) count without sharing and publish once in a turn; a reader sums over the
//! workers.

base::numbers! {
    /// Counts since the worker began.
    pub struct Counters {
        /// Packets sent, repeated ones included.
        pub packets: u64,
        /// Send calls that found the socket full.
        pub blocked_sends: u64,
        /// Messages that asked for packets again.
        pub nacks: u64,
        /// Packets they named.
        pub nacked: u64,
        /// Packets sent again.
        pub retransmissions: u64,
        /// Packets asked for and not sent: too soon after the last time, beyond the viewer's share, or no
        /// longer known.
        pub nacks_refused: u64,
        /// Picture loss indications and full intra requests.
        pub keyframe_requests: u64,
        /// How often a viewer's picture was held because its link was too small.
        pub held_pictures: u64,
        /// Packets lost, as the viewers report.
        pub lost: u64,
        /// Sum of the round trips in reports, in microseconds.
        pub round_trip_micros: u64,
        /// Reports with a round trip.
        pub round_trips: u64,
    }
}
