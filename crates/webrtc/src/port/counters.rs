//! Counters of all workers, readable from any thread.

use crate::mux;

base::numbers! {
    /// Counts since the port was opened.
    pub struct Counters {
        /// Received and refused datagrams.
        pub mux: mux::Counters,
        /// Datagrams received over UDP.
        pub received: u64,
        /// Received datagrams that were longer than any that fits the path, and were dropped.
        pub oversized: u64,
        /// Sends handed to the kernel over UDP.
        pub sends: u64,
        /// Datagrams in those sends.
        pub datagrams: u64,
        /// Sends that found the UDP socket, or the queue of a TCP connection, full.
        pub blocked: u64,
        /// Datagrams that could not be sent: no room, no route to the peer, or too long for it.
        pub lost: u64,
        /// Datagrams and connections that belonged to another worker and were forwarded.
        pub forwarded: u64,
        /// Forwards that were dropped because the other worker's queue was full.
        pub forwards_lost: u64,
        /// TCP connections accepted.
        pub connections: u64,
        /// TCP connections refused or closed.
        pub connections_refused: u64,
        /// Sessions whose peers never arrived.
        pub expired: u64,
        /// Sessions whose peers arrived but did not connect.
        pub abandoned: u64,
    }
}
