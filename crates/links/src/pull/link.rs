//! One pulled stream, from the first request for it to the last.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fanout::Phase;
use fanout::events::EndReason;
use ingest::Protocol;
use ingest::pull::{self, LastRequest, Outcome, Persistence, Pull, PullSource};
use media::StreamName;
use net::link::{State, Status};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::Context;
use crate::board::Entry;

/// Time without a listener or a request after which a pull on demand ends: a player that lost its connection, or steps through
/// a playlist, is back before, and no request waits longer for a stream, unless `rtmp.play_wait` is longer.
const UNWANTED_AFTER: Duration = Duration::from_secs(30);

/// Interval at which a pull checks for listeners.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Pause of a pull after a panic has ended it.
const REVIVED_AFTER: Duration = Duration::from_secs(60);

/// Result of looking for a stream at its source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Finding {
    /// Not known yet.
    Looking,
    /// The source had the stream; it is on its way, or comes back.
    Found,
    /// The source does not have the stream.
    Nothing,
}

/// Lifetime of a pull.
#[derive(Clone, Debug)]
pub(super) enum Life {
    /// As long as the server.
    Always,
    /// As long as the server; the pull sleeps while the stream is not wanted.
    OnDemand(LastRequest),
    /// As long as the stream is wanted and its source has it.
    Wanted(LastRequest, watch::Sender<Finding>),
}

impl Life {
    fn asked(&self) -> Option<&LastRequest> {
        match self {
            Self::Always => None,
            Self::OnDemand(asked) | Self::Wanted(asked, _) => Some(asked),
        }
    }

    fn persistence(&self) -> Persistence {
        match self {
            Self::Always | Self::OnDemand(_) => Persistence::Keep,
            Self::Wanted(..) => Persistence::WhileHere,
        }
    }
}

/// Pull, with its server, stream and lifetime.
#[derive(Clone)]
pub(super) struct PulledLink {
    pub(super) context: Arc<Context>,
    pub(super) stream: StreamName,
    pub(super) sources: Vec<PullSource>,
    pub(super) status: Arc<Status>,
    pub(super) life: Life,
}

impl PulledLink {
    /// Pulls until its lifetime or `stop` ends it.
    pub(super) async fn keep(self, mut stop: watch::Receiver<bool>) {
        let patience = UNWANTED_AFTER.max(self.context.config.rtmp.play_wait);
        match &self.life {
            Life::Always => {
                self.fetch(stopped(&mut stop)).await;
            }
            Life::OnDemand(asked) => {
                keep_on_demand(&self, asked.clone(), patience, stop).await;
            }
            Life::Wanted(asked, _) => {
                keep_while_wanted(&self, &mut asked.clone(), patience, &mut stop).await;
            }
        }
    }

    /// Reports that the source has the stream as soon as it is live here.
    async fn tell_found(&self) -> Infallible {
        if let Life::Wanted(_, finding) = &self.life {
            self.context.registry.live(&self.stream).await;
            finding.send_replace(Finding::Found);
        }
        std::future::pending().await
    }
}

/// Keeps a pull running even if it panics: after [`REVIVED_AFTER`], in another task.
pub(super) async fn revive<K, F>(
    entry: Entry<K>,
    task: impl Fn() -> F,
    mut stop: watch::Receiver<bool>,
) where
    K: Clone + Ord,
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        // A set of one, which aborts the task when it is dropped.
        let mut tasks = JoinSet::new();
        tasks.spawn(task());
        let Some(Err(error)) = tasks.join_next().await else {
            return;
        };
        tracing::error!(%error, "a pull ended out of order");
        entry.status().fail(&"the pull ended out of order");
        entry.status().enter(State::Waiting);
        tokio::select! {
            () = sleep(REVIVED_AFTER) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Pull that [`keep_on_demand`] drives.
trait OnDemand: Sync {
    /// Pulls until `end`, or until the source does not have the stream.
    fn fetch(&self, end: impl Future<Output = ()> + Send) -> impl Future<Output = Outcome> + Send;

    /// Whether there is a listener.
    fn is_heard(&self) -> bool;

    /// Ends the lingering stream of a pull, so that the next listener requests it anew instead of waiting for a publisher that
    /// does not come back by itself.
    fn clear(&self);
}

/// Pulls each time that the stream is requested, for as long as it is wanted, until `stop` turns true.
async fn keep_on_demand(
    link: &impl OnDemand,
    mut asked: LastRequest,
    patience: Duration,
    mut stop: watch::Receiver<bool>,
) {
    while !*stop.borrow() {
        tokio::select! {
            changed = asked.changed() => if changed.is_err() { return },
            () = stopped(&mut stop) => return,
        }
        keep_while_wanted(link, &mut asked, patience, &mut stop).await;
    }
}

/// Pulls for as long as the stream is wanted and its source has it, until `stop` turns true.
async fn keep_while_wanted(
    link: &impl OnDemand,
    asked: &mut LastRequest,
    patience: Duration,
    stop: &mut watch::Receiver<bool>,
) {
    loop {
        let end = async {
            tokio::select! {
                () = unwanted(|| link.is_heard(), asked, patience) => {}
                () = stopped(stop) => {}
            }
        };
        let outcome = link.fetch(end).await;
        if *stop.borrow() {
            return;
        }
        // A listener may have come while the pull was ending.
        let is_wanted = link.is_heard() || asked.has_changed().unwrap_or(false);
        if outcome == Outcome::FoundNothing || !is_wanted {
            return link.clear();
        }
    }
}

impl OnDemand for PulledLink {
    async fn fetch(&self, end: impl Future<Output = ()> + Send) -> Outcome {
        let (context, stream) = (&self.context, &self.stream);
        let pull = Pull {
            sources: self.sources.clone(),
            status: Arc::clone(&self.status),
            asked: self.life.asked().cloned(),
            persistence: self.life.persistence(),
        };
        tracing::info!(%stream, source = %self.sources[0], "a pull begins");
        let permit = || context.gate.publish_without_key(stream);
        let outcome = tokio::select! {
            outcome = pull::run(&context.ingest, &context.connector, &pull, permit, end) => outcome,
            never = self.tell_found() => match never {},
        };
        if let (Outcome::FoundNothing, Life::Wanted(_, finding)) = (outcome, &self.life) {
            finding.send_replace(Finding::Nothing);
        }
        tracing::info!(%stream, "the pull ends");
        outcome
    }

    fn is_heard(&self) -> bool {
        let present = self.context.registry.stream(&self.stream);
        present.is_some_and(|stream| stream.is_read())
    }

    fn clear(&self) {
        let Some(present) = self.context.registry.stream(&self.stream) else {
            return;
        };
        let info = present.info();
        if info.phase == Phase::Lingering && info.source.protocol == Protocol::Pull.label() {
            present.end(EndReason::Unwanted);
            self.context.registry.tick(Instant::now().into_std());
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone with the server, which also ends the link.
    stop.wait_for(|stop| *stop).await.ok();
}

/// Waits until the stream has had no listener and no request for `patience`.
async fn unwanted(is_heard: impl Fn() -> bool, demand: &mut LastRequest, patience: Duration) {
    let mut wanted = Instant::now();
    let mut ticks = interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        let asked = *demand.borrow_and_update();
        wanted = if is_heard() {
            now
        } else {
            asked.map_or(wanted, |asked| asked.max(wanted))
        };
        if now.saturating_duration_since(wanted) >= patience {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use fanout::events::Events;

    use super::*;
    use crate::Board;
    use crate::board::tests::row;

    /// Returns the time until the stream was no longer wanted, while `act` ran.
    async fn wanted_for(
        is_heard: &Cell<bool>,
        act: impl Future<Output = ()>,
        demand: &mut watch::Receiver<Option<Instant>>,
    ) -> Duration {
        let start = Instant::now();
        let end = async {
            unwanted(|| is_heard.get(), demand, UNWANTED_AFTER).await;
            start.elapsed()
        };
        let (lasted, ()) = tokio::join!(end, act);
        lasted
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_wanted_while_it_is_heard_or_asked_for() {
        let (ask, mut asked) = watch::channel(None);
        let is_heard = Cell::new(false);
        let nothing = std::future::ready(());
        let lasted = wanted_for(&is_heard, nothing, &mut asked).await;
        assert!(lasted >= UNWANTED_AFTER && lasted <= UNWANTED_AFTER + LOOK_INTERVAL);

        is_heard.set(true);
        let hour = Duration::from_secs(3_600);
        let listening = async {
            sleep(hour).await;
            is_heard.set(false);
        };
        let lasted = wanted_for(&is_heard, listening, &mut asked).await - hour;
        assert!(lasted + LOOK_INTERVAL >= UNWANTED_AFTER, "{lasted:?}");
        assert!(lasted <= UNWANTED_AFTER + LOOK_INTERVAL, "{lasted:?}");

        let asking = async {
            sleep(UNWANTED_AFTER / 2).await;
            ask.send_replace(Some(Instant::now()));
        };
        let lasted = wanted_for(&is_heard, asking, &mut asked).await - UNWANTED_AFTER / 2;
        assert!(lasted >= UNWANTED_AFTER, "{lasted:?}");
    }

    /// A pull that takes a while to end, during which a listener comes: the first time by a request, the
    /// second by joining the lingering stream.
    struct Far {
        ask: watch::Sender<Option<Instant>>,
        fetched: AtomicUsize,
        cleared: AtomicUsize,
        is_heard: AtomicBool,
    }

    impl OnDemand for Far {
        async fn fetch(&self, end: impl Future<Output = ()> + Send) -> Outcome {
            self.is_heard.store(false, Ordering::Relaxed);
            end.await;
            match self.fetched.fetch_add(1, Ordering::Relaxed) {
                0 => drop(self.ask.send_replace(Some(Instant::now()))),
                1 => self.is_heard.store(true, Ordering::Relaxed),
                _ => {}
            }
            sleep(Duration::from_millis(500)).await;
            Outcome::Stopped
        }

        fn is_heard(&self) -> bool {
            self.is_heard.load(Ordering::Relaxed)
        }

        fn clear(&self) {
            self.cleared.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_comes_while_a_pull_ends_is_not_cut_off() {
        let (ask, asked) = watch::channel(None);
        let (end, stop) = watch::channel(false);
        let far = Far {
            ask,
            fetched: AtomicUsize::new(0),
            cleared: AtomicUsize::new(0),
            is_heard: AtomicBool::new(false),
        };
        far.ask.send_replace(Some(Instant::now()));
        let watching = async {
            while far.cleared.load(Ordering::Relaxed) == 0 {
                sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(far.fetched.load(Ordering::Relaxed), 3);
            end.send_replace(true);
        };
        tokio::join!(keep_on_demand(&far, asked, UNWANTED_AFTER, stop), watching);
        assert_eq!(far.fetched.load(Ordering::Relaxed), 3);
        assert_eq!(far.cleared.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pull_that_panicked_is_back_after_a_while() {
        let events = Arc::new(Events::new(std::time::SystemTime::now()));
        let board = Arc::new(Board::new("pull", &events));
        let entry = board.enter(0, row()).expect("the first");
        let status = Arc::clone(entry.status());
        let (_end, stop) = watch::channel(false);
        let began = Arc::new(AtomicUsize::new(0));
        let task = {
            let began = Arc::clone(&began);
            move || {
                let began = Arc::clone(&began);
                async move {
                    let times = began.fetch_add(1, Ordering::Relaxed);
                    assert!(times > 0, "a defect");
                }
            }
        };
        let revived = tokio::spawn(revive(entry, task, stop));
        sleep(REVIVED_AFTER / 2).await;
        let report = status.report();
        assert_eq!((report.state, report.failures), (State::Waiting, 1));
        assert!(board.contains(&0), "it is shown meanwhile");
        revived.await.expect("it went on");
        assert_eq!(began.load(Ordering::Relaxed), 2);
    }
}
