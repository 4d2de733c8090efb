//! The most recent right credentials, with their addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fanout::gate::Credential;

use super::attempts::Kind;
use net::shares::network;

/// Successes remembered, some 64 KiB of them. Only a right credential makes one, so an attacker cannot flush
/// them; beyond it the one whose last repetition is oldest is forgotten.
const SUCCESSES_MAX: usize = 1_024;

/// Address, kind of action and credential. They do not age: an encoder's connection may last for weeks
/// before it has to reconnect.
type Success = (IpAddr, Kind, u64);

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Successes(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// With the sequence number of its last success.
    last: HashMap<Success, u64>,
    count: u64,
}

impl Successes {
    pub(super) fn has(&self, peer: IpAddr, kind: Kind, credential: Credential) -> bool {
        let success = (network(peer), kind, credential.0);
        self.known().last.contains_key(&success)
    }

    pub(super) fn note(&self, peer: IpAddr, kind: Kind, credential: Credential) {
        let mut known = self.known();
        known.count += 1;
        let count = known.count;
        known
            .last
            .insert((network(peer), kind, credential.0), count);
        if known.last.len() > SUCCESSES_MAX {
            let oldest = known.last.iter().min_by_key(|(_, count)| **count);
            if let Some((&oldest, _)) = oldest {
                known.last.remove(&oldest);
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_successes_are_remembered() {
        let successes = Successes::default();
        let peer = |number: u32| IpAddr::from(number.to_be_bytes());
        let key = Credential(7);
        successes.note(peer(0), Kind::Publish, key);
        assert!(successes.has(peer(0), Kind::Publish, key));
        assert!(!successes.has(peer(0), Kind::Administer, key));
        assert!(!successes.has(peer(0), Kind::Publish, Credential(8)));
        assert!(!successes.has(peer(1), Kind::Publish, key));
        for number in 1..SUCCESSES_MAX as u32 {
            successes.note(peer(number), Kind::Publish, key);
        }
        successes.note(peer(0), Kind::Publish, key);
        successes.note(peer(9_999), Kind::Publish, key);
        assert!(
            successes.has(peer(0), Kind::Publish, key),
            "it was repeated"
        );
        assert!(!successes.has(peer(1), Kind::Publish, key));
        assert_eq!(successes.known().last.len(), SUCCESSES_MAX);
    }
}
