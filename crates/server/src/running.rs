//! A running relay, and how it ends.
//!
//! Ending is starting in reverse: the public ports close, listeners get time to leave, links and streams end,
//! workers end, and the last lines of the access log are written.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Secret;
use fanout::Registry;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::access::Departures;
use crate::door::Counts;
use crate::door::host::Host;
use crate::door::limits::Limits;
use crate::keys::Generated;
use crate::log::Log;
use crate::node::Node;
use crate::overload::Overload;
use crate::reload::Reload;
use crate::sockets::{Bound, Port, Socket};
use crate::{admin, demo, door, drain, links, notice};

/// The interval of housekeeping and of measuring.
const TICK: Duration = Duration::from_millis(250);

/// A running relay.
pub struct Running {
    node: Arc<Node>,
    /// What the operator's port shows beside the node.
    operator: Arc<admin::Context>,
    generated: Generated,
    demo: bool,
    stop_accepting: watch::Sender<bool>,
    /// The accept loops of the public ports.
    doors: JoinSet<()>,
    /// What goes on while it drains: the operator's port, housekeeping, measuring, the demo.
    services: JoinSet<()>,
    stop_links: watch::Sender<bool>,
    /// What keeps the links, until all have ended.
    links: JoinSet<()>,
    departures: Departures,
}

impl Running {
    /// With a complete node. Nothing runs yet.
    pub(crate) fn new(
        node: Arc<Node>,
        operator: Arc<admin::Context>,
        generated: Generated,
        demo: bool,
        departures: Departures,
    ) -> Self {
        Self {
            node,
            operator,
            generated,
            demo,
            stop_accepting: watch::channel(false).0,
            doors: JoinSet::new(),
            services: JoinSet::new(),
            stop_links: watch::channel(false).0,
            links: JoinSet::new(),
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
            certificate: self.operator.certificate.clone(),
            access: self.node.access.clone(),
        }
    }

    /// The threads that read publishers, for a test that stops them.
    #[cfg(test)]
    pub(crate) fn ingest(&self) -> &Arc<ingest::Context> {
        &self.node.ingest
    }

    /// The start-up notice; see [`crate::cli`].
    pub fn notice(&self) -> String {
        notice::text(
            &self.node.config,
            &self.node.bound,
            &self.generated,
            self.demo,
        )
    }

    /// Begins the links and the services, and opens the doors.
    pub(crate) fn open(&mut self, sockets: Vec<Socket>, links: links::Context) {
        let (node, operator) = (&self.node, &self.operator);
        let stop = self.stop_links.subscribe();
        self.links.spawn(links::supervise(links, stop));
        for (_, socket, door) in sockets {
            match door {
                Some(door) => {
                    let stop = self.stop_accepting.subscribe();
                    self.doors
                        .spawn(door::accept(socket, door, Arc::clone(node), stop));
                }
                None => {
                    self.services
                        .spawn(admin::serve(socket, Arc::clone(operator)));
                }
            }
        }
        let (registry, log) = (Arc::clone(&node.registry), operator.log.clone());
        self.services.spawn(housekeep(registry, log));
        let (limits, overload) = (Arc::clone(&node.limits), Arc::clone(&operator.overload));
        self.services.spawn(measure(limits, overload));
        if self.demo {
            match demo::begin(&node.registry, &node.gate) {
                Ok(demo) => {
                    let bytes = Arc::clone(&operator.demo_bytes);
                    self.services.spawn(demo::run(demo, bytes));
                }
                Err(error) => tracing::error!(%error, "there is no demo"),
            }
        }
    }

    /// Serves until `shutdown` resolves; then drains until the last listener has left, `hurry`
    /// resolves, or the configured time is over; then ends.
    pub async fn run_until(mut self, shutdown: impl Future, hurry: impl Future) {
        shutdown.await;
        self.node.drain.begin(self.node.registry.fanout());
        self.stop_accepting.send_replace(true);
        while self.doors.join_next().await.is_some() {}
        let (fanout, links) = (self.node.registry.fanout(), &self.operator.links);
        drain::wait_for_listeners(fanout, links, self.node.config.drain_timeout, hurry).await;
        self.end().await;
    }

    async fn end(mut self) {
        self.services.shutdown().await;
        self.stop_links.send_replace(true);
        leave_others(self.links).await;
        self.node.registry.end_all();
        say_goodbye(&self.node.counts, &self.node.limits).await;
        let fanout = Arc::clone(self.node.registry.fanout());
        let events = Arc::clone(fanout.events());
        let ingest = Arc::clone(&self.node.ingest);
        let webrtc = self.node.rtc.as_ref().map(|rtc| rtc.service.port());
        let (departures, access) = (self.departures, self.node.access.clone());
        // Connections that are still there hold the node; their lines in the access log end here all the same.
        drop((self.operator, self.node));
        let ended = tokio::task::spawn_blocking(move || {
            if let Some(intake) = &ingest.intake {
                intake.stop();
            }
            if let Some(port) = webrtc {
                port.stop();
            }
            fanout.stop();
            departures.finish();
            access.flush();
        });
        if ended.await.is_err() {
            tracing::error!("the workers did not end in order");
        }
        // The last listeners have left; readers of events are told so.
        events.close();
        let read = async {
            while events.readers() > 0 {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(GOODBYE, read).await.is_err() {
            tracing::debug!("an event stream is cut off");
        }
    }
}

/// How long other servers, and then publishers and pages, may be told that the server ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// How often it is checked whether something has ended.
const POLL: Duration = Duration::from_millis(10);

/// Ends the links. They end before the streams: a pull would take the end of its stream for a failure.
async fn leave_others(mut links: JoinSet<()>) {
    let left = async { while links.join_next().await.is_some() {} };
    if tokio::time::timeout(GOODBYE, left).await.is_err() {
        tracing::debug!("some links are cut off");
    }
    links.shutdown().await;
}

/// Waits until connections have been told, for [`GOODBYE`] at most.
async fn say_goodbye(counts: &Counts, limits: &Limits) {
    let told = async {
        // Players that workers have given back are no door's any more, but still have their permits.
        while counts.open() > 0 || limits.listeners_now() > 0 {
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(GOODBYE, told).await.is_err() {
        tracing::debug!(connections = counts.open(), "some connections are cut off");
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("bound", &self.node.bound)
            .finish_non_exhaustive()
    }
}

/// Measures the host and the load, on threads where a file that is slow to read delays no connection.
async fn measure(limits: Arc<Limits>, overload: Arc<Overload>) {
    let host = Arc::new(Host::new());
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = interval.tick().await.into_std();
        let (host, limits) = (Arc::clone(&host), Arc::clone(&limits));
        let overload = Arc::clone(&overload);
        let look = move || {
            host.look(&limits.pressure, now);
            overload.measure(now);
        };
        if tokio::task::spawn_blocking(look).await.is_err() {
            tracing::error!("looking at the host has failed");
            return;
        }
    }
}

/// Housekeeping of the core and of the log.
async fn housekeep(registry: Arc<Registry>, log: Log) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = interval.tick().await.into_std();
        registry.tick(now);
        log.sum_up(now);
    }
}
