//! Close codes: numeric reasons to close a connection (RFC 6455 §7.4).

/// Close code that this side sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose is fulfilled: here, the stream has ended.
    pub const NORMAL: Self = Self(1000);
    /// The server is going away.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// The peer is not wanted any more: removed by the operator, or without permission from now on.
    pub const POLICY_VIOLATION: Self = Self(1008);
    /// The peer sent a message that is too large.
    pub const TOO_LARGE: Self = Self(1009);
    /// The peer may come again (IANA's registry of close codes).
    pub const TRY_AGAIN_LATER: Self = Self(1013);

    /// Returns the number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// Whether a peer may send a close frame with this number (RFC 6455 §7.4.1, §7.4.2): numbers that stand for a frame that was
/// never sent, and numbers that nobody assigns, must not be sent.
pub(crate) const fn is_sendable(number: u16) -> bool {
    matches!(number, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
