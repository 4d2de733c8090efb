//! A single viewer: from the connect to the first media, and the media after that.

use std::os::fd::OwnedFd;
use std::time::Instant;

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::session::Session;
use super::signal::Asking;

/// A viewer. There are thousands in a process, so state that only a part of its life needs is boxed.
#[derive(Debug)]
pub(crate) struct Viewer {
    /// Socket to the server's HTTP port, and later to its UDP port.
    pub(super) socket: OwnedFd,
    pub(super) phase: Phase,
    pub(super) lines: Lines,
}

#[derive(Debug)]
pub(super) enum Phase {
    Asking(Box<Asking>),
    /// Connected, from the response on.
    Linked(Link),
}

/// Path by which media arrives.
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

    /// Returns the follower that checks the packets, if there is one.
    pub(super) fn follower(&mut self) -> Option<&mut Follower> {
        match self {
            Self::Session(session) => session.follower(),
            Self::Hello { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Member;

    #[test]
    fn a_viewer_is_small() {
        // Besides its session; the table of viewers is a vector of these.
        assert!(size_of::<Option<Member<Viewer>>>() <= 320);
    }
}
