//! One viewer: from the connect to the first media, and then what it is sent.

use std::os::fd::OwnedFd;
use std::time::Instant;

use webrtc::ice::Credentials;

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::session::Session;
use super::signal::SignalReader;
use crate::listen::role::Role;
use crate::reception::Reception;

/// A viewer. Of thousands in a process, so what only some of its life needs is boxed.
#[derive(Debug)]
pub(super) struct Viewer {
    /// To the server's HTTP port, and later to its UDP port.
    pub(super) socket: OwnedFd,
    /// Its number in the load, from which its address follows.
    pub(super) number: u64,
    pub(super) role: Role,
    pub(super) phase: Phase,
    pub(super) reception: Reception,
    pub(super) lines: Lines,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// What it will say first.
    Connecting(Vec<u8>, Box<Asking>),
    /// The offer is made.
    Asking(Box<Asking>),
    /// On the way to the first media.
    Joining(Link),
    Watching(Link),
}

/// A viewer that waits for an answer.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) local: Credentials,
    pub(super) reader: SignalReader,
}

/// How media comes.
#[derive(Debug)]
pub(super) enum Link {
    Session(Box<Session>),
    /// To whoever says hello, which is done until it comes.
    Hello {
        next: Instant,
    },
}

impl Link {
    pub(super) fn types(&self) -> Types {
        match self {
            Self::Session(session) => session.types,
            Self::Hello { .. } => Types::FLOOR,
        }
    }

    /// Who looks at the packets, if somebody does.
    pub(super) fn follower(&mut self) -> Option<&mut Follower> {
        match self {
            Self::Session(session) => session.follower(),
            Self::Hello { .. } => None,
        }
    }
}

impl Viewer {
    pub(super) fn is_watching(&self) -> bool {
        matches!(self.phase, Phase::Watching(_))
    }

    /// When it has to do something unasked.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Joining(Link::Hello { next }) => Some(*next),
            Phase::Joining(Link::Session(session)) | Phase::Watching(Link::Session(session)) => {
                Some(session.due())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_is_small() {
        // Beside its session; the table of viewers is a vector of these.
        assert!(size_of::<Option<Viewer>>() <= 320);
    }
}
