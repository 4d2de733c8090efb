//! Reasons why a door refuses a connection or request: the message, and the metric label.

base::labels! {
    /// Reason why a connection or request is refused.
    #[derive(thiserror::Error)]
    #[expect(missing_docs, reason = "each variant says in its message what it is")]
    pub enum Rejected {
        #[error("too many connections from this address")]
        Address = "limit_per_ip",
        #[error("too many connections are waiting to be served, most of them from this address")]
        Pending = "limit_pending",
        #[error("too many connections from this address are waiting to be served")]
        PendingShare = "limit_pending_per_ip",
        #[error("too many WebRTC sessions are waiting for their peers, most of them from this address")]
        PendingSessions = "limit_pending_sessions",
        #[error("too many viewers from this address")]
        Viewers = "limit_viewers_per_ip",
        #[error("too many requests from this address are being answered")]
        Requests = "limit_requests_per_ip",
        #[error("answers for this address wait to be read; no more are made meanwhile")]
        Holdings = "limit_held_bytes",
        #[error("the server has as many listeners as it may have")]
        Listeners = "limit_listeners",
        #[error("too many listeners are joining at once")]
        Joins = "limit_joins",
        #[error("the server sends as much as it may send")]
        Egress = "limit_egress",
        #[error("the server has as much to do as it can do in time")]
        Turn = "pressure_turn",
        #[error("the server has as many WebRTC viewers as it can send to in time")]
        WebrtcTurn = "pressure_webrtc_turn",
        #[error("the server is behind with what it has to do")]
        Lateness = "pressure_lateness",
        #[error("the connections that are there need all memory for connections")]
        SocketMemory = "pressure_socket_memory",
        #[error("the server has no memory to spare")]
        Memory = "pressure_memory",
        #[error("the server has as many files and connections open as it may have")]
        Descriptors = "pressure_descriptors",
        #[error("the server is shutting down")]
        Draining = "drain",
        #[error("the request head did not arrive in time")]
        HeadTimeout = "head_timeout",
        #[error("the request head could not be read")]
        HeadMalformed = "head_malformed",
        #[error("the connection speaks another protocol than the port")]
        Protocol = "wrong_protocol",
        #[error("the TLS handshake failed")]
        Tls = "tls",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_distinct() {
        let labels: std::collections::HashSet<_> = Rejected::ALL.map(Rejected::label).into();
        assert_eq!(labels.len(), Rejected::ALL.len());
        let mut all = Rejected::ALL.iter().enumerate();
        assert!(all.all(|(at, reason)| *reason as usize == at));
    }
}
