//! State of one session.

use std::time::Instant;

use super::{CONNECT_TIMEOUT, CloseReason, Handle, NewSession};
use crate::dtls::Association;
use crate::ice::{Agent, Path};
use crate::srtp::{self, Keys, Opener, RtcpOpener, RtcpSealer};

#[derive(Debug)]
pub(super) struct Session {
    pub(super) agent: Agent,
    pub(super) association: Association,
    /// Path of the handshake: the best guess until the peer has nominated one.
    pub(super) dtls_path: Option<Path>,
    pub(super) secure: Option<Box<Secure>>,
    adopted: Instant,
}

/// State that a connected session needs to decrypt packets and to send RTCP. The caller seals media.
#[derive(Debug)]
pub(super) struct Secure {
    pub(super) rtp_in: Opener,
    pub(super) rtcp_in: RtcpOpener,
    pub(super) rtcp_out: RtcpSealer,
}

impl Secure {
    pub(super) fn new(keys: &Keys) -> Result<Self, srtp::Error> {
        Ok(Self {
            rtp_in: Opener::new(keys)?,
            rtcp_in: RtcpOpener::new(keys)?,
            rtcp_out: RtcpSealer::new(keys)?,
        })
    }
}

impl Session {
    pub(super) fn new(handle: Handle, new: NewSession, now: Instant) -> Self {
        Self {
            agent: Agent::new(new.local, &new.remote_ufrag, now),
            association: Association::new(handle.key(), new.fingerprint, new.setup),
            dtls_path: None,
            secure: None,
            adopted: now,
        }
    }

    /// Returns the path to send to: the nominated one, or else that of its handshake.
    pub(super) fn path(&self) -> Option<Path> {
        self.agent.selected().or(self.dtls_path)
    }

    pub(super) fn forget(&mut self, path: Path) {
        self.agent.forget(path);
        if self.dtls_path == Some(path) {
            self.dtls_path = None;
        }
    }

    /// Returns the time at which the session ends, unless something happens before.
    pub(super) fn due(&self) -> Instant {
        let silent = self.agent.expires();
        match self.secure {
            Some(_) => silent,
            None => silent.min(self.adopted + CONNECT_TIMEOUT),
        }
    }

    pub(super) fn expired(&self, now: Instant) -> Option<CloseReason> {
        if now < self.due() {
            return None;
        }
        Some(match self.secure {
            Some(_) => CloseReason::Silent,
            None => CloseReason::NotConnected,
        })
    }
}
