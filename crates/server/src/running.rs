//! A running relay, and its shutdown.
//!
//! Shutdown reverses the start: the public ports close, listeners get time to leave, links and streams end, workers end, the
//! last lines of the logs are written, and the last events are sent to webhooks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Secret;
use fanout::{Fanout, Registry};
use limits::Limits;
use links::Links;
use reports::access::Departures;
use reports::log::LineLog;
use tokio::time::{Instant, sleep, sleep_until};
use web::FrontDoor;
use web::counts::Counts;

use crate::ports::{Bound, Port, first};
use crate::reload::Reload;
use crate::services::{Phase, Phases, Service};

/// State that a running relay keeps.
pub(crate) struct Kept {
    pub(crate) front: Arc<FrontDoor>,
    pub(crate) links: Links,
    /// The listening sockets.
    pub(crate) bound: Vec<Bound>,
    pub(crate) reload: Reload,
    /// The start-up notice.
    pub(crate) notice: String,
    pub(crate) departures: Departures,
}

/// A running relay.
pub struct Running {
    kept: Kept,
    phases: Phases,
}

impl Running {
    /// Starts the services.
    pub(crate) fn begin(kept: Kept, services: Vec<Box<dyn Service>>) -> Self {
        let mut phases = Phases::new();
        for service in services {
            let (until, shown) = (service.until(), phases.shown());
            phases.spawn(until, service.run(shown));
        }
        Self { kept, phases }
    }

    /// Returns the listening sockets.
    pub fn bound(&self) -> &[Bound] {
        &self.kept.bound
    }

    /// Returns the first address of a port.
    pub fn address(&self, port: Port) -> Option<SocketAddr> {
        first(&self.kept.bound, port)
    }

    /// Returns the key that publishers need, configured or generated.
    pub fn publish_key(&self) -> Option<&Secret> {
        self.kept.front.config.auth.publish_key.as_ref()
    }

    /// Returns the streams, for programs that embed a relay.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.kept.front.registry
    }

    /// Returns what can be reloaded while the relay serves.
    pub(crate) fn reload(&self) -> Reload {
        self.kept.reload.clone()
    }

    /// Returns the ingest context, for a test that stops the threads that read publishers.
    #[cfg(test)]
    pub(crate) fn ingest(&self) -> &Arc<ingest::Context> {
        &self.kept.front.ingest
    }

    /// Returns the start-up notice; see [`crate::cli`].
    pub fn notice(&self) -> &str {
        &self.kept.notice
    }

    /// Serves until `shutdown` resolves; then drains until the last listener has left, `hurry` resolves, or the configured time
    /// is over; then ends.
    pub async fn run_until(mut self, shutdown: impl Future, hurry: impl Future) {
        shutdown.await;
        let Kept { front, links, .. } = &self.kept;
        let fanout = front.registry.fanout();
        front.drain.begin(fanout);
        self.phases.enter(Phase::Closed).await;
        wait_for_listeners(fanout, links, front.config.drain_timeout, hurry).await;
        self.end().await;
    }

    async fn end(self) {
        let Self { kept, mut phases } = self;
        let Kept {
            front,
            reload,
            departures,
            ..
        } = kept;
        phases.enter(Phase::Drained).await;
        phases.enter(Phase::Unlinked).await;
        front.registry.end_all();
        say_goodbye(&front.counts, &front.limits).await;
        phases.enter(Phase::Ended).await;
        let fanout = Arc::clone(front.registry.fanout());
        let events = Arc::clone(fanout.events());
        let ingest = Arc::clone(&front.ingest);
        let logs = [reload.access, reload.sessions];
        // Connections that are still open hold the front door; their lines in the access log end here all the same.
        drop(front);
        let ended = tokio::task::spawn_blocking(move || {
            if let Some(intake) = &ingest.intake {
                intake.stop();
            }
            fanout.stop();
            departures.finish();
            logs.iter().for_each(LineLog::finish);
        });
        if ended.await.is_err() {
            tracing::error!("the workers did not end in order");
        }
        // The sessions of the last listeners have ended; webhooks are notified of them, too.
        phases.enter(Phase::Reported).await;
        // The last listeners have left; closing reports this to readers of events.
        events.close();
        let read = async {
            while events.readers() > 0 {
                sleep(POLL).await;
            }
        };
        if tokio::time::timeout(GOODBYE, read).await.is_err() {
            tracing::debug!("an event stream is cut off");
        }
    }
}

/// Time allowed for notifying publishers and pages that the server is ending.
const GOODBYE: Duration = Duration::from_millis(500);

/// Interval of checking whether something has ended.
const POLL: Duration = Duration::from_millis(10);

/// Waits until connections have been notified, for [`GOODBYE`] at most.
async fn say_goodbye(counts: &Counts, limits: &Limits) {
    let reported = async {
        // Players that workers have given back belong to no door any more, but still hold their permits.
        while counts.open.sum() > 0 || limits.listeners_now() > 0 {
            sleep(POLL).await;
        }
    };
    if tokio::time::timeout(GOODBYE, reported).await.is_err() {
        tracing::debug!(
            connections = counts.open.sum(),
            "some connections are cut off"
        );
    }
}

base::debug!(Running as it { bound: it.kept.bound });

/// Waits until the last listener has left, `hurry` resolves, or `patience` has passed. Publishers and listeners continue
/// meanwhile.
async fn wait_for_listeners(
    fanout: &Fanout,
    links: &Links,
    patience: Duration,
    hurry: impl Future,
) {
    // A push is a listener that never leaves by itself.
    let listeners = || fanout.listeners().saturating_sub(links.pushes.running());
    let deadline = Instant::now() + patience;
    let emptied = async {
        while listeners() > 0 {
            sleep(POLL).await;
        }
    };
    if listeners() > 0 {
        tracing::info!(
            listeners = listeners(),
            seconds = patience.as_secs(),
            "waiting for listeners to leave"
        );
    }
    tokio::select! {
        () = emptied => {}
        () = sleep_until(deadline) => {
            tracing::info!(listeners = listeners(), "the time for leaving is over");
        }
        _ = hurry => tracing::info!(listeners = listeners(), "ending at once"),
    }
}
