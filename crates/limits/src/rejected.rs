//! Why a door refuses a connection or request: the message, and the metric label.

/// Why a connection or request is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant says in its message what it is")]
pub enum Rejected {
    #[error("too many connections from this address")]
    Address,
    #[error("too many connections are waiting to be served, most of them from this address")]
    Pending,
    #[error("too many connections from this address are waiting to be served")]
    PendingShare,
    #[error("too many WebRTC sessions are waiting for their peers, most of them from this address")]
    PendingSessions,
    #[error("too many viewers from this address")]
    Viewers,
    #[error("too many requests from this address are being answered")]
    Requests,
    #[error("answers for this address wait to be read; no more are made meanwhile")]
    Holdings,
    #[error("the server has as many listeners as it may have")]
    Listeners,
    #[error("too many listeners are joining at once")]
    Joins,
    #[error("the server sends as much as it may send")]
    Egress,
    #[error("the server has as much to do as it can do in time")]
    Turn,
    #[error("the server has as many WebRTC viewers as it can send to in time")]
    WebrtcTurn,
    #[error("the server is behind with what it has to do")]
    Lateness,
    #[error("the connections that are there need all memory for connections")]
    SocketMemory,
    #[error("the server has no memory to spare")]
    Memory,
    #[error("the server has as many files and connections open as it may have")]
    Descriptors,
    #[error("the server is shutting down")]
    Draining,
    #[error("the request head did not arrive in time")]
    HeadTimeout,
    #[error("the request head could not be read")]
    HeadMalformed,
    #[error("the connection speaks another protocol than the port")]
    Protocol,
    #[error("the TLS handshake failed")]
    Tls,
}

impl Rejected {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Address,
        Self::Pending,
        Self::PendingShare,
        Self::PendingSessions,
        Self::Viewers,
        Self::Requests,
        Self::Holdings,
        Self::Listeners,
        Self::Joins,
        Self::Egress,
        Self::Turn,
        Self::WebrtcTurn,
        Self::Lateness,
        Self::SocketMemory,
        Self::Memory,
        Self::Descriptors,
        Self::Draining,
        Self::HeadTimeout,
        Self::HeadMalformed,
        Self::Protocol,
        Self::Tls,
    ];

    /// The metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Address => "limit_per_ip",
            Self::Pending => "limit_pending",
            Self::PendingShare => "limit_pending_per_ip",
            Self::PendingSessions => "limit_pending_sessions",
            Self::Viewers => "limit_viewers_per_ip",
            Self::Requests => "limit_requests_per_ip",
            Self::Holdings => "limit_held_bytes",
            Self::Listeners => "limit_listeners",
            Self::Joins => "limit_joins",
            Self::Egress => "limit_egress",
            Self::Turn => "pressure_turn",
            Self::WebrtcTurn => "pressure_webrtc_turn",
            Self::Lateness => "pressure_lateness",
            Self::SocketMemory => "pressure_socket_memory",
            Self::Memory => "pressure_memory",
            Self::Descriptors => "pressure_descriptors",
            Self::Draining => "drain",
            Self::HeadTimeout => "head_timeout",
            Self::HeadMalformed => "head_malformed",
            Self::Protocol => "wrong_protocol",
            Self::Tls => "tls",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_distinct() {
        let labels: std::collections::HashSet<_> = Rejected::ALL.map(Rejected::label).into();
        assert_eq!(labels.len(), Rejected::ALL.len());
        assert!(
            Rejected::ALL
                .iter()
                .enumerate()
                .all(|(at, reason)| *reason as usize == at)
        );
    }
}
