//! A mutex that stays usable after a panic of its user.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex without poison: a panic under it, which costs one peer (see `net::panics`), leaves it usable by all others.
/// Its users must therefore keep the guarded value valid between any two statements.
#[derive(Debug, Default)]
pub struct Lock<T: ?Sized>(Mutex<T>);

impl<T> Lock<T> {
    /// Creates a lock that guards `value`.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Returns the value, which nobody else can reach any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Lock<T> {
    /// Waits for and takes the lock. It must not be held across an await.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value without locking, for a caller with exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_its_user_leaves_it_usable() {
        let mut lock = Lock::new(1);
        let panicked = std::thread::scope(|scope| {
            let panic = scope.spawn(|| {
                *lock.lock() = 2;
                panic!("under the lock");
            });
            panic.join().is_err()
        });
        assert!(panicked);
        assert_eq!(*lock.lock(), 2);
        *lock.get_mut() = 3;
        assert_eq!(lock.into_inner(), 3);
    }
}
