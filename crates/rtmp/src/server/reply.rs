//! Messages that only the server sends.

use crate::{
    command,
    message::Kind,
    words::{Words, csid},
};

/// Limit type of SetPeerBandwidth that leaves the choice to the peer (RTMP 1.0 §5.4.5).
const LIMIT_DYNAMIC: u8 = 2;

impl Words {
    pub(super) fn peer_bandwidth(&mut self, size: u32) {
        let mut body = [0, 0, 0, 0, LIMIT_DYNAMIC];
        body[..4].copy_from_slice(&size.to_be_bytes());
        self.control(Kind::SetPeerBandwidth, &body);
    }

    /// Writes a status about a message stream, or about the connection when that is 0.
    pub(super) fn status(&mut self, stream: u32, code: &str, description: &str) {
        self.inform(stream, "status", code, description);
    }

    /// Writes such a status about a failure.
    pub(super) fn error(&mut self, stream: u32, code: &str, description: &str) {
        self.inform(stream, "error", code, description);
    }

    fn inform(&mut self, stream: u32, level: &str, code: &str, description: &str) {
        self.command_on((csid::STATUS, stream), "onStatus", 0.0, |e| {
            command::information(e.null(), level, code, description);
        });
    }
}
