//! Directory of sessions and their workers: the only state that workers share.
//!
//! It is locked when a session is agreed on, when its first check arrives, and when it ends; never for a packet of a session
//! that a worker knows.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base::Lock;
use thiserror::Error;

/// Largest number of names known at a time, over all workers; a session has two during a restart.
const NAMES_MAX: usize = 131_072;

/// Longest wait of an agreed session for its peer's first check. A peer sends it as soon as it has the answer, and repeats it
/// several times a second.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Sessions that wait for a worker, and the workers of those that found one. `T` is what a worker needs to adopt a session.
#[derive(Debug)]
pub struct Directory<T> {
    names: Lock<HashMap<Box<str>, Entry<T>>>,
}

#[derive(Debug)]
enum Entry<T> {
    Waiting { session: T, since: Instant },
    Owned { worker: u16 },
}

impl<T> Entry<T> {
    fn waiting(self) -> Option<T> {
        match self {
            Self::Waiting { session, .. } => Some(session),
            Self::Owned { .. } => None,
        }
    }
}

/// Owner of a session.
#[derive(Debug, Eq, PartialEq)]
pub enum Claim<T> {
    /// The session was waiting, and now belongs to the worker that claimed it.
    Adopted(T),
    /// The session belongs to this worker.
    Owned(u16),
    /// No session has this name.
    Unknown,
}

/// Error of a directory whose waiting and live sessions are at their limit.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the directory has {NAMES_MAX} sessions")]
pub struct DirectoryFull;

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Self {
            names: Lock::new(HashMap::new()),
        }
    }
}

impl<T> Directory<T> {
    /// Registers a session that waits for its peer, under our name in its answer.
    pub fn offer(&self, ufrag: &str, session: T, now: Instant) -> Result<(), DirectoryFull> {
        let since = now;
        self.insert(ufrag, Entry::Waiting { session, since })
    }

    /// Claims a session for a worker that received its check.
    pub fn claim(&self, ufrag: &str, worker: u16) -> Claim<T> {
        let mut names = self.names.lock();
        let Some(entry) = names.get_mut(ufrag) else {
            return Claim::Unknown;
        };
        match std::mem::replace(entry, Entry::Owned { worker }) {
            Entry::Waiting { session, .. } => Claim::Adopted(session),
            // A worker that has to look its own session up no longer has it.
            Entry::Owned { worker: owner } if owner == worker => Claim::Unknown,
            Entry::Owned { worker: owner } => {
                *entry = Entry::Owned { worker: owner };
                Claim::Owned(owner)
            }
        }
    }

    /// Registers another name of a worker's session (ICE restart).
    pub fn own(&self, ufrag: &str, worker: u16) -> Result<(), DirectoryFull> {
        self.insert(ufrag, Entry::Owned { worker })
    }

    fn insert(&self, ufrag: &str, entry: Entry<T>) -> Result<(), DirectoryFull> {
        let mut names = self.names.lock();
        if names.len() >= NAMES_MAX {
            return Err(DirectoryFull);
        }
        names.insert(ufrag.into(), entry);
        Ok(())
    }

    /// Takes back a session that still waits, or returns its owner.
    pub fn withdraw(&self, ufrag: &str) -> Claim<T> {
        let mut names = self.names.lock();
        match names.remove_entry(ufrag) {
            None => Claim::Unknown,
            Some((_, Entry::Waiting { session, .. })) => Claim::Adopted(session),
            Some((ufrag, Entry::Owned { worker })) => {
                names.insert(ufrag, Entry::Owned { worker });
                Claim::Owned(worker)
            }
        }
    }

    /// Forgets a name; returns the session if it was still waiting.
    pub fn remove(&self, ufrag: &str) -> Option<T> {
        self.names.lock().remove(ufrag)?.waiting()
    }

    /// Removes and returns the sessions whose peers never arrived.
    pub fn expire(&self, now: Instant) -> Vec<T> {
        let mut names = self.names.lock();
        let late = names.extract_if(|_, entry| match entry {
            Entry::Waiting { since, .. } => now.saturating_duration_since(*since) > WAIT_MAX,
            Entry::Owned { .. } => false,
        });
        late.filter_map(|(_, entry)| entry.waiting()).collect()
    }

    /// Whether no name is known.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.names.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_worker_adopts_and_others_learn_of_it() {
        let now = Instant::now();
        let directory = Directory::default();
        directory.offer("a", 1, now).expect("room");
        assert_eq!(directory.claim("a", 4), Claim::Adopted(1));
        assert_eq!(directory.claim("a", 5), Claim::Owned(4));
        assert_eq!(directory.claim("a", 4), Claim::Unknown);
        assert_eq!(directory.claim("b", 5), Claim::Unknown);
        directory.own("b", 4).expect("room");
        assert_eq!(directory.claim("b", 5), Claim::Owned(4));
        assert_eq!(directory.remove("a"), None);
        assert_eq!(directory.claim("a", 5), Claim::Unknown);
    }

    #[test]
    fn a_session_is_taken_back_while_it_waits() {
        let now = Instant::now();
        let directory = Directory::default();
        directory.offer("a", 1, now).expect("room");
        directory.offer("b", 2, now).expect("room");
        assert_eq!(directory.withdraw("a"), Claim::Adopted(1));
        assert_eq!(directory.withdraw("a"), Claim::Unknown);
        assert_eq!(directory.claim("b", 4), Claim::Adopted(2));
        assert_eq!(directory.withdraw("b"), Claim::Owned(4));
        assert_eq!(directory.claim("b", 5), Claim::Owned(4));
    }

    #[test]
    fn a_peer_that_never_comes_is_given_up() {
        let now = Instant::now();
        let directory = Directory::default();
        directory.offer("a", 1, now).expect("room");
        directory.offer("b", 2, now).expect("room");
        assert_eq!(directory.claim("a", 0), Claim::Adopted(1));
        assert_eq!(directory.expire(now + WAIT_MAX), Vec::<i32>::new());
        let later = now + WAIT_MAX + Duration::from_millis(1);
        assert_eq!(directory.expire(later), [2]);
        assert_eq!(directory.claim("a", 1), Claim::Owned(0));
        assert_eq!(directory.claim("b", 1), Claim::Unknown);
    }
}
