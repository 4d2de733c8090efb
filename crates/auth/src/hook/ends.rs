//! Tells the hook of the ends of what it has permitted.
//!
//! Ends come on any thread, and by the thousand when a crowded stream ends. They wait in a queue that is bounded, for one
//! task that posts up to [`POSTS_MAX`] at a time; an end that finds the queue full is dropped with words in the log, so a
//! hook that hangs costs a bounded amount of memory and no listener's time.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use net::url::Url;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::sleep;

use crate::hook::asker::Asker;
use crate::hook::dialect::Body;
use crate::hook::exchange::Failure;
use crate::hook::question::{KeptQuestion, Moment, Question};
use crate::hook::updates::Updated;
use fanout::gate::Action;

/// Ends that wait: all listeners of a large stream, at some hundred bytes each.
const QUEUED_MAX: usize = 16 * 1024;

/// Ends that are posted side by side. A quarter of what questions have: nobody waits for these.
const POSTS_MAX: usize = 16;

/// How often something is posted to a hook that does not answer.
const TRIES_MAX: u32 = 3;

/// The pause before the next try.
const PAUSE: Duration = Duration::from_secs(1);

/// Something that has ended.
#[derive(Debug)]
struct End {
    question: Arc<KeptQuestion>,
    lasted: Duration,
    time: String,
}

/// The queue of an [`Asker`], which exists from the first permission on whose end is to be told.
#[derive(Debug, Default)]
pub(crate) struct Ends(OnceLock<Sender<End>>);

/// What the hook has permitted.
#[derive(Debug)]
pub struct Permitted {
    asker: Arc<Asker>,
    question: Arc<KeptQuestion>,
    /// `None` where ends are not told.
    queue: Option<Sender<End>>,
}

impl Permitted {
    /// It begins. Until what is returned is dropped, the hook is told at intervals that it goes on, and `end` is called if that is not
    /// permitted any more. `None` if it is not told. To be called within a runtime.
    pub fn begun(&self, end: impl FnOnce() + Send + 'static) -> Option<Updated> {
        self.asker.update(&self.question, end)
    }

    /// Tells that it has ended, after so long, at `time` (in ISO 8601 with milliseconds). Does not wait.
    pub fn ended(&self, lasted: Duration, time: String) {
        let Some(queue) = &self.queue else {
            return;
        };
        let end = End {
            question: Arc::clone(&self.question),
            lasted,
            time,
        };
        if let Err(lost) = queue.try_send(end) {
            let end = lost.into_inner();
            let Question { stream, peer, .. } = end.question.at(&end.time);
            tracing::warn!(stream, %peer, "the hook for permissions is not told of an end: too many wait");
        }
    }
}

impl Asker {
    /// To tell of what `question` was answered with, while it goes on and when it has ended; `None` if the hook is told of neither. To
    /// be called within a runtime.
    pub fn permitted(self: &Arc<Self>, question: &Question<'_>) -> Option<Permitted> {
        let has_end = self.settings.dialect.tells_of_ends(question.action);
        // Where publishers are told of as such, they are told of once.
        let is_told_of = question.action == Action::Publish && self.settings.mount_url.is_some();
        let tells_of_ends = self.settings.end_url.is_some() && has_end && !is_told_of;
        let tells_of_more = self.settings.update_url.is_some() && has_end;
        (tells_of_ends || tells_of_more).then(|| Permitted {
            asker: Arc::clone(self),
            question: Arc::new(KeptQuestion::of(question, &self.settings.holdings)),
            queue: tells_of_ends.then(|| self.ends().clone()),
        })
    }

    fn ends(self: &Arc<Self>) -> &Sender<End> {
        self.ends.0.get_or_init(|| {
            let (sender, queue) = mpsc::channel(QUEUED_MAX);
            tokio::spawn(deliver(Arc::downgrade(self), queue));
            sender
        })
    }

    /// Posts an end, again if there is no answer.
    async fn tell(&self, end: &End) {
        let question = end.question.at(&end.time);
        let Some(url) = &self.settings.end_url else {
            return;
        };
        let moment = Moment::End { lasted: end.lasted };
        let body = || {
            let host = &self.settings.host;
            self.settings.dialect.body(&question, moment, host)
        };
        if let Err(error) = self.post_again(url, body).await {
            let (stream, peer) = (question.stream, question.peer);
            tracing::warn!(stream, %peer, %error, "the hook for permissions could not be told of an end");
        }
    }

    /// Posts what nobody waits for, again if there is no answer.
    pub(crate) async fn post_again(
        &self,
        url: &Url,
        body: impl Fn() -> Body,
    ) -> Result<(), Failure> {
        for _ in 1..TRIES_MAX {
            if self.post(url, body()).await.is_ok() {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        self.post(url, body()).await.map(drop)
    }
}

/// Posts what comes, as long as the asker is there.
async fn deliver(asker: Weak<Asker>, mut queue: Receiver<End>) {
    let posts = Arc::new(Semaphore::new(POSTS_MAX));
    while let Some(end) = queue.recv().await {
        let Ok(permit) = Arc::clone(&posts).acquire_owned().await else {
            return;
        };
        let Some(asker) = asker.upgrade() else {
            return;
        };
        tokio::spawn(async move {
            asker.tell(&end).await;
            drop(permit);
        });
    }
}
