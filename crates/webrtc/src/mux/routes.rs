//! Paths whose sessions live in other workers.
//!
//! There are two maps: a path that is used is in the young map or is moved there. When the young map is full it becomes the old
//! one, and the rest of the old one is forgotten; the next STUN check of a forgotten path finds the route again.

use std::collections::HashMap;

use crate::ice::Path;

/// Paths in each map: more than a worker's sessions have after a change of address.
const YOUNG_MAX: usize = 16_384;

#[derive(Debug, Default)]
pub(super) struct Routes {
    young: HashMap<Path, u16>,
    old: HashMap<Path, u16>,
}

impl Routes {
    pub(super) fn insert(&mut self, path: Path, worker: u16) {
        if self.young.len() >= YOUNG_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&path);
        self.young.insert(path, worker);
    }

    pub(super) fn get(&mut self, path: Path) -> Option<u16> {
        if let Some(worker) = self.young.get(&path) {
            return Some(*worker);
        }
        let worker = self.old.remove(&path)?;
        self.insert(path, worker);
        Some(worker)
    }

    pub(super) fn remove(&mut self, path: Path) {
        self.young.remove(&path);
        self.old.remove(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(number: u32) -> Path {
        Path::udp((std::net::Ipv4Addr::from_bits(number), 1).into())
    }

    #[test]
    fn what_is_used_stays_and_the_rest_is_bounded() {
        let mut routes = Routes::default();
        routes.insert(path(0), 7);
        for number in 1..100_000 {
            routes.insert(path(number), 1);
            assert_eq!(routes.get(path(0)), Some(7));
            assert!(routes.young.len() + routes.old.len() <= 2 * YOUNG_MAX);
        }
        assert_eq!(routes.get(path(1)), None);
        routes.remove(path(0));
        assert_eq!(routes.get(path(0)), None);
    }
}
