//! One viewer: from the connect to the first media, and then what it is sent.

use std::os::fd::OwnedFd;
use std::time::Instant;

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::session::Session;
use super::signal::Asking;
use crate::clock::Clock;
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
    /// Its first media has come.
    pub(super) is_watching: bool,
    pub(super) reception: Reception,
    pub(super) lines: Lines,
}

#[derive(Debug)]
pub(super) enum Phase {
    Asking(Box<Asking>),
    /// From the answer on.
    Linked(Link),
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

impl Member for Viewer {
    fn role(&self) -> Role {
        self.role
    }

    fn has_media(&self) -> bool {
        self.is_watching
    }

    fn reception(&mut self) -> Option<&mut Reception> {
        Some(&mut self.reception)
    }

    fn due(&self, clock: Clock) -> Option<u64> {
        let due = match &self.phase {
            Phase::Linked(Link::Hello { next }) => (!self.is_watching).then_some(*next),
            Phase::Linked(Link::Session(session)) => Some(session.due()),
            Phase::Asking(_) => None,
        };
        due.map(|due| clock.time_of(due))
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
