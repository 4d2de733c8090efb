//! Reports to the hook: ends of permitted sessions, and publishers that start and stop.
//!
//! Ends occur on any thread, and by the thousand when a crowded stream ends. They wait in a bounded queue for one task that
//! posts up to [`POSTS_MAX`] at a time. An end that finds the queue full is dropped with a log message, so a hook that hangs
//! costs a bounded amount of memory and no listener's time. Updates are sent by [`updates`](super::updates).

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use fanout::Permit;
use fanout::gate::{Action, Ongoing, Request, Witness};
use net::url::Url;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::sleep;

use super::asker::{Asker, Failure};
use super::kept::KeptRequest;
use super::updates::Updated;
use super::{Body, HookFeature, Moment, Mount, Occasion};
use crate::authority::Ender;

/// Most ends that wait: all listeners of a large stream, at some hundred bytes each.
const QUEUED_MAX: usize = 16 * 1024;

/// Most ends posted concurrently: a quarter of the limit for questions, because nobody waits for these.
const POSTS_MAX: usize = 16;

/// Most attempts to post something to a hook that does not answer.
const TRIES_MAX: u32 = 3;

/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// Permitted session that has ended.
#[derive(Debug)]
struct End {
    kept: Arc<KeptRequest>,
    lasted: Duration,
    at: SystemTime,
}

/// Queue of an [`Asker`], created with the first permission whose end is to be reported.
#[derive(Debug, Default)]
pub(super) struct Ends(OnceLock<Sender<End>>);

/// Witness that reports a permitted session to the hook, while it lasts and when it has ended.
#[derive(Debug)]
struct HookWitness {
    asker: Arc<Asker>,
    kept: Arc<KeptRequest>,
    /// Queue of ends; `None` if ends are not reported.
    ends: Option<Sender<End>>,
    ender: Ender,
}

impl Witness for HookWitness {
    fn begin(&self, ongoing: Ongoing) -> Permit {
        // The hook counts listeners. A connection beside a listener is reported while it lasts, but not when it ends.
        let has_end = !matches!(ongoing, Ongoing::Beside(_));
        let ender = self.ender.clone();
        let end = move || ender.end(ongoing);
        Permit::new(Reported {
            kept: Arc::clone(&self.kept),
            ends: self.ends.clone().filter(|_| has_end),
            _updated: self.asker.update(&self.kept, end),
            since: Instant::now(),
        })
    }
}

/// Permit of a reported session: dropping it is the end.
struct Reported {
    kept: Arc<KeptRequest>,
    ends: Option<Sender<End>>,
    _updated: Option<Updated>,
    since: Instant,
}

impl Drop for Reported {
    fn drop(&mut self) {
        let Some(ends) = &self.ends else {
            return;
        };
        let end = End {
            kept: Arc::clone(&self.kept),
            lasted: self.since.elapsed(),
            at: SystemTime::now(),
        };
        if ends.try_send(end).is_err() {
            let Request { stream, peer, .. } = self.kept.request();
            let stream = stream.as_str();
            tracing::warn!(stream, %peer, "an end is not reported to the permission hook: too many reports wait");
        }
    }
}

impl Asker {
    /// Makes a witness that reports a permitted session, while it lasts and when it has ended; `None` if neither is to be
    /// reported. Must be called within a runtime.
    pub(super) fn witness(
        self: &Arc<Self>,
        on: &Occasion<'_>,
        ender: &Ender,
    ) -> Option<Arc<dyn Witness>> {
        let dialect = self.settings.dialect;
        // Titles have no end.
        let has_end = dialect.has(HookFeature::Ends) && on.action != Action::UpdateMetadata;
        // Where publishers are reported as such, their ends are not reported twice.
        let is_reported_as_publisher =
            on.action == Action::Publish && self.settings.mount_url.is_some();
        let reports_ends = self.settings.end_url.is_some() && has_end && !is_reported_as_publisher;
        let reports_progress = self.settings.update_url.is_some() && has_end;
        if !reports_ends && !reports_progress {
            return None;
        }
        Some(Arc::new(HookWitness {
            asker: Arc::clone(self),
            kept: Arc::new(KeptRequest::of(on, &self.holdings)),
            ends: reports_ends.then(|| self.ends().clone()),
            ender: ender.clone(),
        }))
    }

    fn ends(self: &Arc<Self>) -> &Sender<End> {
        self.ends.0.get_or_init(|| {
            let (sender, queue) = mpsc::channel(QUEUED_MAX);
            tokio::spawn(deliver(Arc::downgrade(self), queue));
            sender
        })
    }

    /// Posts an end, with retries.
    async fn tell(&self, end: &End) {
        let Some(url) = &self.settings.end_url else {
            return;
        };
        let request = end.kept.request();
        let moment = Moment::End { lasted: end.lasted };
        let on = Occasion {
            at: end.at,
            ..end.kept.on(&request, moment, &self.settings)
        };
        let body = || self.settings.dialect.0.body(&on);
        if let Err(error) = self.post_again(url, body).await {
            let (stream, peer) = (request.stream.as_str(), request.peer);
            tracing::warn!(stream, %peer, %error, "an end could not be reported to the permission hook");
        }
    }

    /// Returns whether publishers are reported to the hook.
    pub fn tells_of_mounts(&self) -> bool {
        self.settings.mount_url.is_some() && self.settings.dialect.has(HookFeature::Mounts)
    }

    /// Reports a publisher, with retries. Callers await it before they report the next one, so that reports arrive in order.
    pub async fn tell_of_mount(&self, stream: &str, mount: Mount) {
        let (dialect, url) = (self.settings.dialect.0, self.settings.mount_url.as_ref());
        let body = dialect.mount(stream, mount, &self.settings);
        let (Some(url), Some(body)) = (url, body) else {
            return;
        };
        if let Err(error) = self.post_again(url, || body.clone()).await {
            tracing::warn!(stream, ?mount, %error, "a publisher could not be reported to the permission hook");
        }
    }

    /// Posts a body that nobody waits for, with retries.
    async fn post_again(&self, url: &Url, body: impl Fn() -> Body) -> Result<(), Failure> {
        for _ in 1..TRIES_MAX {
            if self.post(url, body()).await.is_ok() {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        self.post(url, body()).await.map(drop)
    }
}

/// Posts queued ends for as long as the asker exists.
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
