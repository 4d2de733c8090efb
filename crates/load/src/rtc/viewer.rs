//! One viewer: from the connect to the first media, and then what it is sent.

use std::os::fd::OwnedFd;
use std::time::Instant;

use webrtc::ice::Credentials;

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::session::Session;
use super::signal::SignalReader;
use crate::group::Member;
use crate::listen::role::Role;
use crate::reception::Reception;

/// A viewer. There are thousands in a process, so what only a part of its life needs is boxed.
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
    /// With its first message.
    Connecting(Vec<u8>, Box<Asking>),
    /// The offer was sent.
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

/// How media arrives.
#[derive(Debug)]
pub(super) enum Link {
    Session(Box<Session>),
    /// From a server that sends to every client that greets it; the greeting is repeated until media arrives.
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

    /// The follower that checks the packets, if there is one.
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

    /// When it has to do something by the clock.
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

impl Member for Viewer {
    fn role(&self) -> Role {
        self.role
    }

    fn has_media(&self) -> bool {
        self.is_watching()
    }

    fn reception(&mut self) -> &mut Reception {
        &mut self.reception
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
