//! A running relay, and how it ends.
//!
//! Ending is starting in reverse: the public ports close, listeners get time to leave, links and streams end,
//! workers end, the last lines of the logs are written, and receivers are told what is left to tell.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Secret;
use fanout::{Fanout, Registry};
use tokio::time::{Instant, sleep, sleep_until};

use crate::access::Departures;
use crate::door::Counts;
use crate::links::Links;
use crate::log::LineLog;
use crate::node::Node;
use crate::ports::{Bound, Port};
use crate::reload::Reload;
use crate::services::{Context, Phase, Phases, Service};
use limits::Limits;

/// A running relay.
pub struct Running {
    node: Arc<Node>,
    /// What the services use beside the node.
    context: Arc<Context>,
    phases: Phases,
    notice: String,
    departures: Departures,
}

impl Running {
    /// Begins the services. `notice` is their start-up notice.
    pub(crate) fn begin(
        context: Context,
        services: Vec<Box<dyn Service>>,
        notice: String,
        departures: Departures,
    ) -> Self {
        let context = Arc::new(context);
        let mut phases = Phases::new();
        for service in services {
            let (until, shown) = (service.until(), phases.shown());
            phases.spawn(until, service.run(&context, shown));
        }
        Self {
            node: Arc::clone(&context.node),
            context,
            phases,
            notice,
            departures,
        }
    }

    /// Its listening sockets.
    pub fn bound(&self) -> &[Bound] {
        &self.node.bound
    }

    /// The first address of a port.
    pub fn address(&self, port: Port) -> Option<SocketAddr> {
        self.node.first(port)
    }

    /// The key that publishers need, configured or generated.
    pub fn publish_key(&self) -> Option<&Secret> {
        self.node.config.auth.publish_key.as_ref()
    }

    /// The streams, for programs that embed a relay.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.node.registry
    }

    /// What can be reloaded while it serves.
    pub(crate) fn reload(&self) -> Reload {
        Reload {
            certificate: self.context.certificate.clone(),
            access: self.node.access.lines().clone(),
            sessions: self.node.session_log.clone(),
            gate: Arc::clone(&self.node.gate),
        }
    }

    /// The threads that read publishers, for a test that stops them.
    #[cfg(test)]
    pub(crate) fn ingest(&self) -> &Arc<ingest::Context> {
        &self.node.ingest
    }

    /// The start-up notice; see [`crate::cli`].
    pub fn notice(&self) -> &str {
        &self.notice
    }

    /// Serves until `shutdown` resolves; then drains until the last listener has left, `hurry`
    /// resolves, or the configured time is over; then ends.
    pub async fn run_until(mut self, shutdown: impl Future, hurry: impl Future) {
        shutdown.await;
        self.node.drain.begin(self.node.registry.fanout());
        self.phases.enter(Phase::Closed).await;
        let (fanout, links) = (self.node.registry.fanout(), &self.context.links);
        wait_for_listeners(fanout, links, self.node.config.drain_timeout, hurry).await;
        self.end().await;
    }

    async fn end(mut self) {
        self.phases.enter(Phase::Drained).await;
        self.phases.enter(Phase::Unlinked).await;
        self.node.registry.end_all();
        say_goodbye(&self.node.counts, &self.node.limits).await;
        self.phases.enter(Phase::Ended).await;
        let fanout = Arc::clone(self.node.registry.fanout());
        let events = Arc::clone(fanout.events());
        let ingest = Arc::clone(&self.node.ingest);
        let departures = self.departures;
        let logs = [
            self.node.access.lines().clone(),
            self.node.session_log.clone(),
        ];
        // Connections that are still there hold the node; their lines in the access log end here all the same.
        drop((self.context, self.node));
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
        self.phases.enter(Phase::Told).await;
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

base::debug!(Running as it { bound: it.node.bound });

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
