//! A map with a bounded number of entries; a new entry replaces the oldest.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map of at most `max` entries. The oldest entry is the one that was inserted or [renewed](Self::renew) longest ago.
///
/// The map reads no clock; the caller drops entries by age with [`drop_while`](Self::drop_while).
#[derive(Debug)]
pub struct Bounded<K, V> {
    max: usize,
    entries: HashMap<K, (u64, V)>,
    /// Keys by the numbers of their entries, which only grow.
    order: BTreeMap<u64, K>,
    next: u64,
}

impl<K: Clone + Eq + Hash, V> Bounded<K, V> {
    /// Creates an empty map for at most `max` entries, and at least one.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key, if present.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Inserts a value as the newest, replacing the key's own value or, if there are too many, the oldest entry.
    pub fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        while self.len() >= self.max.max(1) {
            self.drop_oldest();
        }
        self.order.insert(self.next, key.clone());
        self.entries.insert(key, (self.next, value));
        self.next += 1;
    }

    /// Returns the value of a key, if present, and makes it the newest.
    pub fn renew<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (number, value) = self.entries.get_mut(key)?;
        let key = self.order.remove(number)?;
        self.order.insert(self.next, key);
        *number = self.next;
        self.next += 1;
        Some(value)
    }

    /// Returns the value of a key and makes it the newest; inserts a default value if the key is absent.
    pub fn renew_or_insert(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if self.renew(&key).is_none() {
            self.insert(key.clone(), V::default());
        }
        &mut self.entries.entry(key).or_default().1
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (number, value) = self.entries.remove(key)?;
        self.order.remove(&number);
        Some(value)
    }

    /// Removes entries from the oldest on for as long as `is_over` holds for them.
    pub fn drop_while(&mut self, is_over: impl Fn(&V) -> bool) {
        let oldest = |this: &Self| this.get(this.order.first_key_value()?.1).map(&is_over);
        while oldest(self) == Some(true) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first() {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(map: &Bounded<u8, u8>) -> Vec<u8> {
        map.order.values().copied().collect()
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut map = Bounded::new(3);
        assert!(map.is_empty());
        for key in 0..5 {
            map.insert(key, 10 * key);
        }
        assert_eq!((known(&map), map.len()), (vec![2, 3, 4], 3));
        assert_eq!((map.get(&1), map.get(&2)), (None, Some(&20)));
        // An entry that is inserted again becomes the newest, and so does a renewed one.
        map.insert(2, 21);
        assert_eq!(map.renew(&3), Some(&mut 30));
        assert_eq!(map.renew(&9), None);
        assert_eq!(known(&map), [4, 2, 3]);
        map.insert(5, 50);
        assert_eq!(known(&map), [2, 3, 5]);
        assert_eq!((*map.renew_or_insert(2), *map.renew_or_insert(6)), (21, 0));
        assert_eq!(known(&map), [5, 2, 6]);
        map.insert(3, 30);
        map.insert(2, 20);
        map.insert(5, 50);
        assert_eq!((map.remove(&3), map.remove(&3)), (Some(30), None));
        assert_eq!((known(&map), map.len()), (vec![2, 5], 2));
    }

    #[test]
    fn entries_go_from_the_oldest_on() {
        let mut map = Bounded::new(9);
        for key in [1, 2, 7, 3] {
            map.insert(key, key);
        }
        map.drop_while(|value| *value < 5);
        assert_eq!(known(&map), [7, 3], "3 is younger than one that stays");
        map.drop_while(|_| true);
        assert!(map.is_empty() && map.order.is_empty());
    }
}
