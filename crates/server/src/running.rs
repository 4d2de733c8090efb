//! A running relay, and how it ends.
//!
//! Ending is starting in reverse: the public ports close, listeners get time to leave, links and streams end,
//! workers end, the last lines of the logs are written, and receivers are told what is left to tell.

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

/// What a running relay keeps.
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
    /// Begins the services.
    pub(crate) fn begin(kept: Kept, services: Vec<Box<dyn Service>>) -> Self {
        let mut phases = Phases::new();
        for service in services {
            let (until, shown) = (service.until(), phases.shown());
            phases.spawn(until, service.run(shown));
        }
        Self { kept, phases }
    }

    /// Its listening sockets.
    pub fn bound(&self) -> &[Bound] {
        &self.kept.bound
    }

    /// The first address of a port.
    pub fn address(&self, port: Port) -> Option<SocketAddr> {
        first(&self.kept.bound, port)
    }

    /// The key that publishers need, configured or generated.
    pub fn publish_key(&self) -> Option<&Secret> {
        self.kept.front.config.auth.publish_key.as_ref()
    }

    /// The streams, for programs that embed a relay.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.kept.front.registry
    }

    /// What can be reloaded while it serves.
    pub(crate) fn reload(&self) -> Reload {
        self.kept.reload.clone()
    }

    /// The threads that read publishers, for a test that stops them.
    #[cfg(test)]
    pub(crate) fn ingest(&self) -> &Arc<ingest::Context> {
        &self.kept.front.ingest
    }

    /// The start-up notice; see [`crate::cli`].
    pub fn notice(&self) -> &str {
        &self.kept.notice
    }

    /// Serves until `shutdown` resolves; then drains until the last listener has left, `hurry`
    /// resolves, or the configured time is over; then ends.
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
        // Connections that are still there hold the front door; their lines in the access log end here all the same.
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
        // The sessions of the last listeners have ended, of which receivers are told, too.
        phases.enter(Phase::Told).await;
        // The last listeners have left; readers of events are told so.
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

/// How long publishers and pages may be told that the server ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// How often it is checked whether something has ended.
const POLL: Duration = Duration::from_millis(10);

/// Waits until connections have been told, for [`GOODBYE`] at most.
async fn say_goodbye(counts: &Counts, limits: &Limits) {
    let told = async {
        // Players that workers have given back are no door's any more, but still have their permits.
        while counts.open.sum() > 0 || limits.listeners_now() > 0 {
            sleep(POLL).await;
        }
    };
    if tokio::time::timeout(GOODBYE, told).await.is_err() {
        tracing::debug!(
            connections = counts.open.sum(),
            "some connections are cut off"
        );
    }
}

base::debug!(Running as it { bound: it.kept.bound });

/// Waits until the last listener has left, `hurry` resolves, or `patience` has passed. Publishers and
/// listeners go on meanwhile.
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
