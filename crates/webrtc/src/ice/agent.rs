//! ICE agent of one session.

use std::time::{Duration, Instant};

use rtc_crypto::RTCCrypto;

use super::{Check, CheckError, Credentials, Path, username};

/// Largest number of addresses that one peer may have proved: a browser with a few interfaces, IPv4, IPv6 and TCP.
const PATHS_MAX: usize = 8;

/// Silence after which a peer counts as gone (RFC 7675 §5.1); only authentic packets count. Browsers check every few seconds;
/// GStreamer does not check once it is connected, but reports what it has received.
const CONSENT: Duration = Duration::from_secs(30);

/// ICE state of one session: the addresses that its peer has proved, and the one that it nominated.
#[derive(Debug)]
pub struct Agent {
    current: Side,
    /// Names from before an ICE restart, until the peer uses the new ones.
    previous: Option<Side>,
    paths: Vec<Proved>,
    selected: Option<Path>,
    /// Time of the peer's last check of an address, or of the last packet from the one that it nominated.
    heard: Instant,
}

/// Names of both sides and our password.
#[derive(Debug)]
struct Side {
    local: Credentials,
    remote_ufrag: Box<str>,
}

#[derive(Debug)]
struct Proved {
    path: Path,
    last_check: Instant,
}

/// Result of an authentic check.
#[derive(Debug, Default)]
pub struct Answered {
    /// Response, to be sent to the sender of the check.
    pub response: Vec<u8>,
    /// Whether this check proved the address.
    pub proved: bool,
    /// Address that was forgotten to make room for this one.
    pub forgotten: Option<Path>,
    /// Whether the peer's choice changed.
    pub moved: bool,
    /// Our name from before a restart, which is no longer in use.
    pub retired: Option<Credentials>,
}

impl Agent {
    /// Creates the agent of a session that was agreed on at `now`.
    pub fn new(local: Credentials, remote_ufrag: &str, now: Instant) -> Self {
        Self {
            current: Side {
                local,
                remote_ufrag: remote_ufrag.into(),
            },
            previous: None,
            paths: Vec::new(),
            selected: None,
            heard: now,
        }
    }

    /// Returns our names that are in use: one, or two during a restart.
    pub fn ufrags(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.current)
            .chain(&self.previous)
            .map(|side| side.local.ufrag())
    }

    /// Returns the address to send to, as the peer chose it.
    pub fn selected(&self) -> Option<Path> {
        self.selected
    }

    /// Returns the addresses that the peer has proved.
    pub fn paths(&self) -> impl Iterator<Item = Path> {
        self.paths.iter().map(|proved| proved.path)
    }

    /// Returns the time at which the peer counts as gone, unless another packet arrives from it.
    pub fn expires(&self) -> Instant {
        self.heard + CONSENT
    }

    /// Records the arrival on `path` of an authentic packet that is not a replay. Such a packet proves that the holder of the
    /// session's keys is present and wants to continue.
    pub fn heard(&mut self, path: Path, now: Instant) {
        if self.selected == Some(path) {
            self.heard = now;
        }
    }

    /// Takes new names and a new password (RFC 8445 §9). The old ones stay valid until the peer has used the new ones, so the
    /// session never stops. Returns names that were still waiting to be retired.
    pub fn restart(&mut self, local: Credentials, remote_ufrag: &str) -> Option<Credentials> {
        let side = Side {
            local,
            remote_ufrag: remote_ufrag.into(),
        };
        let before = std::mem::replace(&mut self.current, side);
        self.previous.replace(before).map(|side| side.local)
    }

    /// Verifies a check that arrived on `path` and answers it.
    pub fn handle(
        &mut self,
        path: Path,
        datagram: &[u8],
        now: Instant,
        crypto: &dyn RTCCrypto,
    ) -> Result<Answered, CheckError> {
        let (ours, theirs) = username(datagram).ok_or(CheckError::Malformed)?;
        let is_current = self.current.is(ours, theirs);
        let side = match &self.previous {
            _ if is_current => &self.current,
            Some(side) if side.is(ours, theirs) => side,
            _ => return Err(CheckError::Forged),
        };
        let password = side.local.password();
        let check = Check::verify(datagram, password, crypto)?;
        let (response, accepted) = check
            .answer(path.remote, password, crypto)
            .ok_or(CheckError::Malformed)?;
        let mut answered = Answered {
            response,
            ..Answered::default()
        };
        if !accepted {
            return Ok(answered);
        }
        self.heard = now;
        (answered.proved, answered.forgotten) = self.note(path, now);
        if check.nominated && self.selected != Some(path) {
            self.selected = Some(path);
            answered.moved = true;
        }
        if is_current && check.nominated {
            answered.retired = self.previous.take().map(|side| side.local);
        }
        Ok(answered)
    }

    /// Records an address; if there are too many, forgets the one that was silent longest. The chosen address is never
    /// forgotten.
    fn note(&mut self, path: Path, now: Instant) -> (bool, Option<Path>) {
        if let Some(known) = self.paths.iter_mut().find(|proved| proved.path == path) {
            known.last_check = now;
            return (false, None);
        }
        let mut forgotten = None;
        if self.paths.len() >= PATHS_MAX {
            let silent = (0..self.paths.len())
                .filter(|at| Some(self.paths[*at].path) != self.selected)
                .min_by_key(|at| self.paths[*at].last_check);
            forgotten = silent.map(|at| self.paths.swap_remove(at).path);
        }
        self.paths.push(Proved {
            path,
            last_check: now,
        });
        (true, forgotten)
    }

    /// Forgets an address that can no longer be used, such as a closed TCP connection.
    pub fn forget(&mut self, path: Path) {
        self.paths.retain(|proved| proved.path != path);
        if self.selected == Some(path) {
            self.selected = None;
        }
    }
}

impl Side {
    fn is(&self, ours: &str, theirs: &str) -> bool {
        self.local.ufrag() == ours && &*self.remote_ufrag == theirs
    }
}
