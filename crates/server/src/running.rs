//! A relay that serves, and how it ends.
//!
//! Ending goes the way of starting backwards: the public ports close, listeners get time to leave,
//! links and streams end, workers end, and the last lines of the access log are written.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Secret;
use fanout::Registry;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::access::Departures;
use crate::door;
use crate::door::host::Host;
use crate::drain;
use crate::keys::Generated;
use crate::node::Node;
use crate::relay::{Bound, Port, Socket};
use crate::reload::Reload;
use crate::{admin, demo, links, notice};

/// How often the core is looked after.
const TICK: Duration = Duration::from_millis(250);

/// A relay that serves.
pub struct Running {
    node: Arc<Node>,
    generated: Generated,
    demo: bool,
    stop_accepting: watch::Sender<bool>,
    /// The accept loops of the public ports.
    doors: JoinSet<()>,
    /// What goes on while it drains: the operator's port, housekeeping, the demo.
    services: JoinSet<()>,
    stop_links: watch::Sender<bool>,
    /// What keeps the links, until all have taken their leave.
    links: JoinSet<()>,
    departures: Departures,
}

impl Running {
    /// Around a node that is complete. Nothing runs yet.
    pub(crate) fn new(
        node: Arc<Node>,
        generated: Generated,
        demo: bool,
        departures: Departures,
    ) -> Self {
        Self {
            node,
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

    /// Where it listens.
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

    /// The streams, for programs that run a relay within themselves.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.node.registry
    }

    /// What can be read anew while it serves.
    pub(crate) fn reload(&self) -> Reload {
        Reload {
            certificate: self.node.certificate.clone(),
            access: self.node.access.clone(),
        }
    }

    /// What reads publishers, for a test that stops it.
    #[cfg(test)]
    pub(crate) fn ingest(&self) -> &Arc<ingest::Context> {
        &self.node.ingest
    }

    /// What to tell the operator; see [`crate::cli`].
    pub fn notice(&self) -> String {
        notice::text(
            &self.node.config,
            &self.node.bound,
            &self.generated,
            self.demo,
        )
    }

    /// Opens the doors.
    pub(crate) fn open(&mut self, sockets: Vec<Socket>) {
        let node = &self.node;
        let stop = self.stop_links.subscribe();
        self.links.spawn(links::supervise(Arc::clone(node), stop));
        for (_, socket, door) in sockets {
            match door {
                Some(door) => {
                    let stop = self.stop_accepting.subscribe();
                    self.doors
                        .spawn(door::accept(socket, door, Arc::clone(node), stop));
                }
                None => {
                    self.services.spawn(admin::serve(socket, Arc::clone(node)));
                }
            }
        }
        self.services.spawn(look_after(Arc::clone(node)));
        self.services.spawn(watch_host(Arc::clone(node)));
        if self.demo {
            match demo::begin(node) {
                Ok(demo) => {
                    self.services.spawn(demo::run(Arc::clone(node), demo));
                }
                Err(error) => tracing::error!(%error, "there is no demo"),
            }
        }
    }

    /// Serves until `shutdown` resolves; then drains until the last listener has left, `hurry`
    /// resolves, or the configured time is over; then ends.
    pub async fn run_until(mut self, shutdown: impl Future, hurry: impl Future) {
        shutdown.await;
        self.node.start_draining();
        self.stop_accepting.send_replace(true);
        while self.doors.join_next().await.is_some() {}
        drain::drain(&self.node, hurry).await;
        self.end().await;
    }

    async fn end(mut self) {
        self.services.shutdown().await;
        self.stop_links.send_replace(true);
        leave_others(self.links).await;
        self.node.registry.end_all();
        say_goodbye(&self.node).await;
        let fanout = Arc::clone(self.node.registry.fanout());
        let events = Arc::clone(fanout.events());
        let ingest = Arc::clone(&self.node.ingest);
        let webrtc = self.node.rtc.as_ref().map(|rtc| rtc.service.port());
        let (departures, access) = (self.departures, self.node.access.clone());
        // Connections that are still there hold the node; their log lines end here all the same.
        drop(self.node);
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
        // The last listeners have left, and whoever follows events is told so.
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

/// How long other servers, and then publishers and pages, may still be told that it is over.
const GOODBYE: Duration = Duration::from_millis(500);

/// How often it is looked whether something has come to its end.
const POLL: Duration = Duration::from_millis(10);

/// Links go before the streams: a pull whose stream is ended under it would take that for a failure.
async fn leave_others(mut links: JoinSet<()>) {
    let left = async { while links.join_next().await.is_some() {} };
    if tokio::time::timeout(GOODBYE, left).await.is_err() {
        tracing::debug!("some links are cut off");
    }
    links.shutdown().await;
}

async fn say_goodbye(node: &Node) {
    let told = async {
        // Players that workers have given back are no door's any more, but still have their seats.
        while node.counts.open() > 0 || node.limits.seated() > 0 {
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(GOODBYE, told).await.is_err() {
        tracing::debug!(
            connections = node.counts.open(),
            "some connections are cut off"
        );
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("bound", &self.node.bound)
            .finish_non_exhaustive()
    }
}

/// Looks at what is being done and what the host has left, where a file that is slow to read holds nobody up.
async fn watch_host(node: Arc<Node>) {
    let host = Arc::new(Host::new());
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = interval.tick().await.into_std();
        let (host, node) = (Arc::clone(&host), Arc::clone(&node));
        let look = move || {
            host.look(&node.limits.pressure, now);
            node.measure(now);
        };
        if tokio::task::spawn_blocking(look).await.is_err() {
            tracing::error!("looking at the host has failed");
            return;
        }
    }
}

async fn look_after(node: Arc<Node>) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = interval.tick().await.into_std();
        node.tick(now);
    }
}
