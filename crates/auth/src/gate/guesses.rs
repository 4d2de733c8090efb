//! Guesses, and what was right before, of each address.
//!
//! Wrong secrets use up a small allowance per address and kind of action. While it is used up no credential that the
//! address presents for that kind is accepted, so guessing gains nothing, and none is looked at that would cost something, so
//! it takes nothing from others. One exception: what was right from that address before is still looked at and accepted.
//!
//! Whoever is about to spend time on a secret (a hash, a signature, a question to a hook) asks here first.

use std::net::IpAddr;
use std::time::Instant;

use fanout::gate::{Credential, Denied};

use super::attempts::{Attempts, Kind};
use super::authority::Grant;
use super::successes::Successes;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    attempts: Attempts,
    right: Successes,
    /// Those of listeners, apart from the others, which are few: an audience would have them forgotten.
    of_listeners: Successes,
}

impl Guesses {
    /// Whether an address has no guess left.
    pub(super) fn are_used_up(&self, peer: IpAddr, kind: Kind) -> bool {
        self.attempts.are_used_up(peer, kind, Instant::now())
    }

    /// Whether what an address presents is to be looked at: it has a guess left, or this was right before.
    pub(super) fn may_try(&self, peer: IpAddr, kind: Kind, presented: Credential) -> bool {
        !self.are_used_up(peer, kind) || self.successes(kind).has(peer, kind, presented)
    }

    /// Counts a guess, and refuses even a right one after too many wrong ones. The allowance is looked at when the answer is
    /// there: guesses side by side are worth no more than as many in a row.
    pub(super) fn believe(
        &self,
        kind: Kind,
        peer: IpAddr,
        verdict: Result<Grant, Denied>,
    ) -> Result<Grant, Denied> {
        let now = Instant::now();
        let is_limited = self.attempts.are_used_up(peer, kind, now);
        let grant = match verdict {
            Ok(grant) => grant,
            Err(Denied::Wrong | Denied::Unfit) if is_limited => {
                return Err(Denied::TooManyAttempts);
            }
            Err(Denied::Wrong) => {
                self.attempts.failed(peer, kind, now);
                return Err(Denied::Wrong);
            }
            Err(other) => return Err(other),
        };
        if let Some(presented) = grant.presented.or(grant.credential) {
            let successes = self.successes(kind);
            if is_limited && !successes.has(peer, kind, presented) {
                return Err(Denied::TooManyAttempts);
            }
            successes.note(peer, kind, presented);
        }
        Ok(grant)
    }

    const fn successes(&self, kind: Kind) -> &Successes {
        match kind {
            Kind::Play => &self.of_listeners,
            _ => &self.right,
        }
    }
}
