//! Tokens whose signatures were right, so that one that is presented again and again is verified once: by a viewer that
//! reconnects, by a program that plays one stream after another, by all who see the page that it is embedded in.
//!
//! What a token claims is kept, and nothing of what follows from that: its times and what it permits are judged whenever it
//! is presented. An entry holds for the very sets of keys by which it was verified. When another set is in force, be it
//! with the same keys, all are forgotten.

use std::sync::Arc;

use base::Bounded;

use super::{Claims, KeySet};

/// Tokens that are remembered: more than come again within minutes. Beyond, the one that was verified first is forgotten,
/// which costs one verification.
pub const KNOWN_MAX: usize = 4_096;

/// Longest token that is remembered, bytes: four times a usual one. All together claim some megabytes, 16 MiB at most.
pub const KNOWN_BYTES_MAX: usize = 2 * 1024;

/// Claims of tokens that were verified. Tokens are known by digests that nobody else can make.
#[derive(Debug)]
pub struct Known {
    /// Those by which all entries were verified. That they are kept makes a comparison of addresses enough.
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

    /// What a token claims that one of these sets has verified.
    pub fn find(&mut self, token: &[u8; 32], sets: &[Arc<KeySet>]) -> Option<Arc<Claims>> {
        if !self.are(sets) {
            *self = Self::by(sets);
        }
        self.claims.get(token).cloned()
    }

    /// Remembers what a token claims, unless other sets are in force by now.
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
        // Verified before the file was read again, and told of after that.
        known.note(digest(1), &before, claims());
        assert_eq!(known.find(&digest(1), &after), None);
        known.note(digest(1), &after, claims());
        assert_eq!(known.find(&digest(1), &after[..1]), None, "a set less");
        assert!(known.claims.is_empty());
    }
}
