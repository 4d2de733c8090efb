//! Errors of a connection, and the alerts that report them (RFC 8446 §6, RFC 5246 §7.2).

/// Reason why a connection cannot continue.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// A record is longer than the protocol allows.
    #[error("the peer sent a record that is too long")]
    RecordOverflow,
    /// A record was not sealed with the peer's key, or was modified.
    #[error("the peer sent a record that does not open")]
    BadRecordMac,
    /// A message that is not allowed at this point.
    #[error("the peer sent a message that it may not send now")]
    UnexpectedMessage,
    /// A message that cannot be read.
    #[error("the peer sent a malformed message")]
    Decode,
    /// The peer changes keys, or requests another handshake, without end.
    #[error("the peer keeps asking for new keys")]
    TooManyRequests,
    /// The peer ended the connection with this alert.
    #[error("the peer ended the connection with alert {0}")]
    Alerted(u8),
    /// One key has sealed as many records as it may, and the version has no way to another key.
    #[error("the connection has sent as much as its key allows")]
    Exhausted,
    /// The library that holds the secrets failed.
    #[error("no further key could be derived")]
    Internal,
}

/// Levels of an alert. TLS 1.3 ignores them.
pub(super) const WARNING: u8 = 1;
pub(super) const FATAL: u8 = 2;

/// Alerts that are not errors.
pub(super) const CLOSE_NOTIFY: u8 = 0;
pub(super) const USER_CANCELED: u8 = 90;
pub(super) const NO_RENEGOTIATION: u8 = 100;

impl Error {
    /// Returns the alert for the peer; `None` when it needs none.
    pub(super) fn alert(self) -> Option<u8> {
        Some(match self {
            Self::RecordOverflow => 22,
            Self::BadRecordMac => 20,
            Self::UnexpectedMessage | Self::TooManyRequests => 10,
            Self::Decode => 50,
            Self::Internal => 80,
            Self::Alerted(_) | Self::Exhausted => return None,
        })
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Alerted(_) => std::io::ErrorKind::ConnectionAborted,
            _ => std::io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
