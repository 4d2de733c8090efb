//! Tells the hook at intervals of what it has permitted and goes on, and ends what it does not permit any more.
//!
//! One task has all of it, in the order in which it is due, so that a listener costs an entry and no task. It posts up to [`POSTS_MAX`]
//! at a time; a hook that is slow is asked less often. Only an answer ends something: a hook that fails, fails for new clients.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::Denied;
use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep_until;

use super::Moment;
use super::asker::Asker;
use super::kept::KeptRequest;

/// Updates that are posted side by side. A hook that answers within five milliseconds is told of 100,000 in half a minute.
const POSTS_MAX: usize = 16;

/// Ends what is not permitted any more.
type End = Box<dyn FnOnce() + Send>;

/// The queue of an [`Asker`], which exists from the first permission on that is updated.
#[derive(Debug, Default)]
pub(super) struct Updates(OnceLock<Arc<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    state: Lock<State>,
    /// There is something where there was nothing.
    filled: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// All that goes on. What is being posted is not in `due`.
    ongoing: HashMap<u64, Ongoing>,
    due: BTreeSet<(Instant, u64)>,
}

/// Something that was permitted and goes on.
struct Ongoing {
    kept: Arc<KeptRequest>,
    since: Instant,
    due: Instant,
    end: Option<End>,
}

base::debug!(Ongoing { kept });

/// Something that the hook is told of at intervals, until this is dropped.
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
        // What ends it may hold anything, and goes without the lock.
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
        // Otherwise it is the last to be due.
        if was_idle {
            self.filled.notify_one();
        }
        Updated {
            queue: Arc::clone(self),
            number,
        }
    }

    /// What is due, with its number and since when it goes on; else when something will be.
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

    /// Has it told of again.
    fn again(&self, number: u64, due: Instant) {
        let mut state = self.state.lock();
        let State {
            ongoing, due: all, ..
        } = &mut *state;
        // It may have ended meanwhile.
        if let Some(ongoing) = ongoing.get_mut(&number) {
            ongoing.due = due;
            all.insert((due, number));
            self.filled.notify_one();
        }
    }

    /// What ends it, if it goes on.
    fn end_of(&self, number: u64) -> Option<End> {
        let mut state = self.state.lock();
        state.ongoing.get_mut(&number)?.end.take()
    }
}

impl Asker {
    /// Has the hook told at intervals of what a request was answered with, and `end` called if it does not permit that any more.
    /// To be called within a runtime.
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

    /// Posts an update. Returns whether what it is about is still permitted.
    async fn is_permitted_still(&self, kept: &KeptRequest, lasted: Duration) -> bool {
        let Some(url) = &self.settings.update_url else {
            return true;
        };
        let request = kept.request();
        let (stream, peer) = (request.stream.as_str(), request.peer);
        let moment = Moment::Update { lasted };
        let on = kept.on(&request, moment, &self.settings);
        match self.told(url, &on).await {
            Ok(Ok(_)) => true,
            // It permits it under another name, which comes too late.
            Ok(Err(denied)) if denied.denied == Denied::Unavailable => true,
            Ok(Err(_)) => {
                tracing::info!(stream, %peer, "the hook for permissions does not permit this any more");
                false
            }
            Err(error) => {
                tracing::warn!(stream, %peer, %error, "the hook for permissions could not be told of what goes on");
                true
            }
        }
    }
}

/// Posts what is due, as long as the asker is there.
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
                    () = until(due) => {}
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

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use net::holdings::Holdings;

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
    fn what_goes_on_is_told_in_turn_and_what_has_ended_is_not() {
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
        // It ends while it is told of.
        drop(first);
        queue.again(number, after(9));
        assert!(queue.end_of(number).is_none());
        assert_eq!(queue.take(after(99)).err(), Some(None));
        let state = queue.state.lock();
        assert!(state.ongoing.is_empty() && state.due.is_empty());
    }
}
