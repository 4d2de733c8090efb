//! Cache of verified tokens. A token that is presented repeatedly is verified once: by a viewer that reconnects, by a program
//! that plays one stream after another, by everyone who sees the page that embeds it.
//!
//! Only claims are cached, not decisions: times and permissions are checked each time the token is presented. An entry is valid
//! for the sets of keys by which it was verified. When another set takes effect, even with the same keys, all entries are
//! dropped.

use std::sync::Arc;

use base::Bounded;

use super::{Claims, KeySet};

/// Most tokens remembered: more than are presented again within minutes. Beyond that the token verified first is dropped, which
/// costs one verification.
pub const KNOWN_MAX: usize = 4_096;

/// Longest token remembered, in bytes: four times a usual one. All claims together take some megabytes, 16 MiB at most.
pub const KNOWN_BYTES_MAX: usize = 2 * 1024;

/// Claims of verified tokens. The tokens are identified by digests that nobody else can compute.
#[derive(Debug)]
pub struct Known {
    /// Sets by which all entries were verified. They are kept alive, so comparing pointers is enough.
    sets: Vec<Arc<KeySet>>,
    claims: Bounded<[u8; 32], Arc<Claims>>,
}

impl Default for Known {
    fn default() -> Self {
        Self::by(&[])
    }
}

impl Known {
    fn by(sets: &[Arc<KeySet>]) -> Self {
        Self {
            sets: sets.to_vec(),
            claims: Bounded::new(KNOWN_MAX),
        }
    }

    /// Returns the claims of a token that one of these sets has verified.
    pub fn find(&mut self, token: &[u8; 32], sets: &[Arc<KeySet>]) -> Option<Arc<Claims>> {
        if !self.are(sets) {
            *self = Self::by(sets);
        }
        self.claims.get(token).cloned()
    }

    /// Remembers a token's claims, unless other sets are in effect by now.
    pub fn note(&mut self, token: [u8; 32], sets: &[Arc<KeySet>], claims: Arc<Claims>) {
        if self.are(sets) && self.claims.get(&token).is_none() {
            self.claims.insert(token, claims);
        }
    }

    fn are(&self, sets: &[Arc<KeySet>]) -> bool {
        let mut pairs = self.sets.iter().zip(sets);
        self.sets.len() == sets.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn claims() -> Arc<Claims> {
        Arc::new(Claims {
            begins: None,
            expires: SystemTime::UNIX_EPOCH,
            subject: None,
            id: None,
            permissions: Vec::new(),
        })
    }

    fn digest(number: usize) -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    fn set() -> Arc<KeySet> {
        Arc::new(KeySet::of_secret("an-issuers-secret-of-32-characters"))
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let (mut known, sets) = (Known::default(), [set()]);
        assert_eq!(known.find(&digest(0), &sets), None);
        for number in 0..=KNOWN_MAX {
            known.note(digest(number), &sets, claims());
            known.note(digest(number), &sets, claims());
        }
        assert_eq!(known.find(&digest(0), &sets), None);
        for number in [1, KNOWN_MAX] {
            assert_eq!(known.find(&digest(number), &sets), Some(claims()));
        }
        assert_eq!(known.claims.len(), KNOWN_MAX);
    }

    #[test]
    fn what_other_sets_have_verified_is_forgotten_even_if_they_have_the_same_keys() {
        let (mut known, secret, file) = (Known::default(), set(), set());
        let before = [Arc::clone(&secret), file];
        assert_eq!(known.find(&digest(0), &before), None);
        known.note(digest(0), &before, claims());
        assert!(known.find(&digest(0), &before).is_some());
        let after = [secret, set()];
        assert_eq!(known.find(&digest(0), &after), None, "read again");
        // Verified before the file was read again, and noted after that.
        known.note(digest(1), &before, claims());
        assert_eq!(known.find(&digest(1), &after), None);
        known.note(digest(1), &after, claims());
        assert_eq!(known.find(&digest(1), &after[..1]), None, "a set less");
        assert!(known.claims.is_empty());
    }
}
