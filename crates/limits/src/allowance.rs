//! Rate limits per key: a burst of actions, and then one per interval.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use base::Lock;

/// Maximum number of keys remembered by one set of allowances; some 300 KiB. Beyond it, the key whose allowance is complete
/// soonest is forgotten.
const KEYS_MAX: usize = 4_096;

/// Allowances of all keys that have used some of theirs recently.
#[derive(Debug)]
pub struct Allowances<K> {
    at_once: u32,
    refill: Duration,
    whole_at: Lock<HashMap<K, Instant>>,
}

// For each key the map holds the time at which its allowance will be complete again; each use moves that time `refill` further
// ahead.
impl<K: Copy + Eq + Hash> Allowances<K> {
    /// Creates allowances by which each key may act `at_once` times, and once more per `refill`.
    pub fn new(at_once: u32, refill: Duration) -> Self {
        Self {
            at_once,
            refill,
            whole_at: Lock::default(),
        }
    }

    /// Whether nothing of the key's allowance is left.
    pub fn is_used_up(&self, key: K, now: Instant) -> bool {
        self.is_beyond(&self.whole_at.lock(), key, now)
    }

    /// Uses one action, even if none is left.
    pub fn spend(&self, key: K, now: Instant) {
        self.push_back(&mut self.whole_at.lock(), key, now);
    }

    /// Uses one action if one is left; returns whether one was.
    pub fn take(&self, key: K, now: Instant) -> bool {
        let mut map = self.whole_at.lock();
        let is_used_up = self.is_beyond(&map, key, now);
        if !is_used_up {
            self.push_back(&mut map, key, now);
        }
        !is_used_up
    }

    fn is_beyond(&self, map: &HashMap<K, Instant>, key: K, now: Instant) -> bool {
        let whole = map.get(&key);
        let most = self.refill * (self.at_once - 1);
        whole.is_some_and(|whole| whole.saturating_duration_since(now) > most)
    }

    fn push_back(&self, map: &mut HashMap<K, Instant>, key: K, now: Instant) {
        if map.len() >= KEYS_MAX && !map.contains_key(&key) {
            map.retain(|_, whole| *whole > now);
            let soonest = map.iter().min_by_key(|(_, whole)| **whole);
            let soonest = soonest.map(|(key, _)| *key);
            if map.len() >= KEYS_MAX
                && let Some(soonest) = soonest
            {
                map.remove(&soonest);
            }
        }
        let whole = map.entry(key).or_insert(now);
        *whole = (*whole).max(now) + self.refill;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFILL: Duration = Duration::from_secs(2);

    #[test]
    fn an_allowance_is_used_up_and_comes_back() {
        let allowances = Allowances::new(3, REFILL);
        let start = Instant::now();
        let taken = (0..10).filter(|_| allowances.take(1, start)).count();
        assert_eq!(taken, 3);
        assert!(allowances.is_used_up(1, start) && !allowances.is_used_up(2, start));
        assert!(allowances.take(1, start + REFILL));
        assert!(!allowances.take(1, start + REFILL));
        let later = start + REFILL * 100;
        let taken = (0..10).filter(|_| allowances.take(1, later)).count();
        assert_eq!(taken, 3, "it does not add up");
    }

    #[test]
    fn many_keys_do_not_fill_the_memory() {
        let allowances = Allowances::new(3, REFILL);
        let start = Instant::now();
        for key in 0..KEYS_MAX + 100 {
            allowances.spend(key, start);
        }
        assert_eq!(allowances.whole_at.lock().len(), KEYS_MAX);
    }
}
