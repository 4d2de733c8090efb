//! Places for listeners of a stream that limits their number. A place is taken at the time a listener joins, so that
//! the limit holds exactly even if many join at once.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::directory::Permit;

/// No place is free.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Full;

/// Number of places taken.
#[derive(Debug, Default)]
pub(super) struct Places(AtomicU32);

/// A place, taken until it is dropped.
struct Place(Arc<Places>);

impl Places {
    /// Takes one of `max` places. The limit may change later; listeners with a place keep it.
    pub(super) fn take(self: &Arc<Self>, max: NonZeroU32) -> Result<Permit, Full> {
        let one_more = |taken: u32| (taken < max.get()).then(|| taken + 1);
        let order = Ordering::Relaxed;
        match self.0.fetch_update(order, order, one_more) {
            Ok(_) => Ok(Permit::new(Place(Arc::clone(self)))),
            Err(_) => Err(Full),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_last_copy_is_gone() {
        let places = Arc::<Places>::default();
        let max = NonZeroU32::new(2).expect("not zero");
        let first = places.take(max).expect("a place");
        let copy = first.clone();
        let second = places.take(max).expect("a place");
        assert_eq!(places.take(max).err(), Some(Full));
        drop(first);
        assert_eq!(places.take(max).err(), Some(Full), "there is a copy");
        drop(copy);
        let third = places.take(max).expect("a place");
        assert!(places.take(max).is_err());
        drop((second, third));
        assert_eq!(places.0.load(Ordering::Relaxed), 0);
    }
}
