//! Periodic updates to the hook about ongoing sessions; ends those the hook no longer permits.
//!
//! One task handles all of them in the order in which they are due, so a listener costs an entry and no task. It posts up to
//! [`POSTS_MAX`] at a time; a slow hook is asked less often. Only an answer ends a session: if the hook fails, that affects
//! only new clients.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::Denied;
use net::wait;
use tokio::sync::{Notify, Semaphore};

use super::Moment;
use super::asker::Asker;
use super::kept::KeptRequest;

/// Most updates posted concurrently. A hook that answers within five milliseconds receives 100,000 in half a minute.
const POSTS_MAX: usize = 16;

/// Callback that ends a session no longer permitted.
type End = Box<dyn FnOnce() + Send>;

/// Queue of an [`Asker`], created with the first permission that is updated.
#[derive(Debug, Default)]
pub(super) struct Updates(OnceLock<Arc<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    state: Lock<State>,
    /// Signal that the idle queue has an entry.
    filled: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// All ongoing sessions. Those being posted are not in `due`.
    ongoing: HashMap<u64, Ongoing>,
    due: BTreeSet<(Instant, u64)>,
}

/// Permitted session that is ongoing.
struct Ongoing {
    kept: Arc<KeptRequest>,
    since: Instant,
    due: Instant,
    end: Option<End>,
}

base::debug!(Ongoing { kept });

/// Registration for updates, which stop when it is dropped.
#[derive(Debug)]
pub(super) struct Updated {
    queue: Arc<Queue>,
    number: u64,
}

impl Drop for Updated {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        let ongoing = state.ongoing.remove(&self.number);
        if let Some(ongoing) = &ongoing {
            state.due.remove(&(ongoing.due, self.number));
        }
        drop(state);
        // Dropped without the lock, because its callback may own anything.
        drop(ongoing);
    }
}

impl Queue {
    fn add(self: &Arc<Self>, ongoing: Ongoing) -> Updated {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        let was_idle = state.due.is_empty();
        state.due.insert((ongoing.due, number));
        state.ongoing.insert(number, ongoing);
        drop(state);
        // Otherwise an earlier entry is due first, and the task already waits for that.
        if was_idle {
            self.filled.notify_one();
        }
        Updated {
            queue: Arc::clone(self),
            number,
        }
    }

    /// Returns the entry that is due: its number, request and start. Otherwise returns the time at which the next one is due.
    fn take(&self, now: Instant) -> Result<(u64, Arc<KeptRequest>, Instant), Option<Instant>> {
        let mut state = self.state.lock();
        let first = state.due.first().copied();
        let (due, number) = first.ok_or(None)?;
        if due > now {
            return Err(Some(due));
        }
        state.due.remove(&(due, number));
        let ongoing = state.ongoing.get(&number).ok_or(Some(now))?;
        Ok((number, Arc::clone(&ongoing.kept), ongoing.since))
    }

    /// Schedules the next update.
    fn again(&self, number: u64, due: Instant) {
        let mut state = self.state.lock();
        let State {
            ongoing, due: all, ..
        } = &mut *state;
        // The session may have ended meanwhile.
        if let Some(ongoing) = ongoing.get_mut(&number) {
            ongoing.due = due;
            all.insert((due, number));
            self.filled.notify_one();
        }
    }

    /// Takes the callback that ends a session, if it is ongoing.
    fn end_of(&self, number: u64) -> Option<End> {
        let mut state = self.state.lock();
        state.ongoing.get_mut(&number)?.end.take()
    }
}

impl Asker {
    /// Registers a permitted request for updates; calls `end` when the hook no longer permits it. Must be called within a
    /// runtime.
    pub(super) fn update(
        self: &Arc<Self>,
        kept: &Arc<KeptRequest>,
        end: impl FnOnce() + Send + 'static,
    ) -> Option<Updated> {
        self.settings.update_url.as_ref()?;
        let queue = self.updates.0.get_or_init(|| {
            let queue = Arc::new(Queue::default());
            tokio::spawn(tell(Arc::downgrade(self), Arc::clone(&queue)));
            queue
        });
        let since = Instant::now();
        Some(queue.add(Ongoing {
            kept: Arc::clone(kept),
            since,
            due: since + self.settings.update_every,
            end: Some(Box::new(end)),
        }))
    }

    /// Posts an update and returns whether the hook still permits the session.
    async fn is_permitted_still(&self, kept: &KeptRequest, lasted: Duration) -> bool {
        let Some(url) = &self.settings.update_url else {
            return true;
        };
        let request = kept.request();
        let (stream, peer) = (request.stream.as_str(), request.peer);
        let moment = Moment::Update { lasted };
        let on = kept.on(&request, moment, &self.settings);
        match self.reported(url, &on).await {
            Ok(Ok(_)) => true,
            // The hook permits it under another name, which is too late now.
            Ok(Err(denied)) if denied.denied == Denied::Unavailable => true,
            Ok(Err(_)) => {
                tracing::info!(stream, %peer, "the hook for permissions does not permit this any more");
                false
            }
            Err(error) => {
                tracing::warn!(stream, %peer, %error, "an update could not be reported to the permission hook");
                true
            }
        }
    }
}

/// Posts the due updates for as long as the asker exists.
async fn tell(asker: Weak<Asker>, queue: Arc<Queue>) {
    let posts = Arc::new(Semaphore::new(POSTS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&posts).acquire_owned().await else {
            return;
        };
        let (number, kept, since) = match queue.take(Instant::now()) {
            Ok(taken) => taken,
            Err(due) => {
                drop(permit);
                tokio::select! {
                    () = queue.filled.notified() => {}
                    () = wait::at(due) => {}
                }
                continue;
            }
        };
        let Some(asker) = asker.upgrade() else {
            return;
        };
        let queue = Arc::clone(&queue);
        tokio::spawn(async move {
            let is_permitted = asker.is_permitted_still(&kept, since.elapsed()).await;
            match is_permitted {
                true => queue.again(number, Instant::now() + asker.settings.update_every),
                false => {
                    if let Some(end) = queue.end_of(number) {
                        end();
                    }
                }
            }
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use base::holdings::Holdings;

    use super::*;
    use crate::hook::tests::{STREAM, began, request};
    use crate::settings::AuthHook;

    fn ongoing(due: Instant) -> Ongoing {
        let (settings, account) = (AuthHook::default(), Holdings::new(0));
        let kept = KeptRequest::of(&began(&request(&STREAM), &settings), &account);
        Ongoing {
            kept: Arc::new(kept),
            since: due,
            due,
            end: Some(Box::new(|| {})),
        }
    }

    #[test]
    fn what_continues_is_reported_in_turn_and_what_has_ended_is_not() {
        let queue = Arc::new(Queue::default());
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let first = queue.add(ongoing(after(1)));
        let second = queue.add(ongoing(after(2)));
        assert_eq!(queue.take(start).err(), Some(Some(after(1))));
        let number = queue.take(after(1)).expect("due").0;
        assert_eq!(number, first.number);
        assert_eq!(queue.take(after(1)).err(), Some(Some(after(2))));
        queue.again(number, after(3));
        drop(second);
        assert_eq!(queue.take(after(2)).err(), Some(Some(after(3))));
        let number = queue.take(after(3)).expect("due").0;
        // The session ends while its update is being posted.
        drop(first);
        queue.again(number, after(9));
        assert!(queue.end_of(number).is_none());
        assert_eq!(queue.take(after(99)).err(), Some(None));
        let state = queue.state.lock();
        assert!(state.ongoing.is_empty() && state.due.is_empty());
    }
}
