//! The relay: from a checked configuration to a running server, and back.
//!
//! The order of starting: secrets, TLS, sockets (so that a port in use ends it before anything
//! runs), workers, registry and gate, logs, doors. Ending goes the other way.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fanout::{Class, Fanout, Registry, Settings};
use net::{Backend, Epoll};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::access::{AccessLog, Departures};
use crate::config::{self, Config, Secret};
use crate::door::tls::{self, TlsError};
use crate::door::{self, Door};
use crate::drain;
use crate::gate::Gatehouse;
use crate::keys::{self, Generated};
use crate::node::{Node, Parts};
use crate::{admin, demo, notice};

/// Connections that may wait to be accepted: a crowd that reconnects at once. The kernel caps it
/// at `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// How often the core is looked after.
const TICK: Duration = Duration::from_millis(250);

/// What a listening socket is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Port {
    /// Publishers over RTMP.
    Rtmp,
    /// Listeners, sources and pages.
    Http,
    /// The same over TLS.
    Https,
    /// The operator.
    Admin,
}

impl Port {
    /// The word in the start-up notice.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rtmp => "rtmp",
            Self::Http => "http",
            Self::Https => "https",
            Self::Admin => "admin",
        }
    }
}

/// A listening socket as it was bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// What it is for.
    pub port: Port,
    /// Where it listens; never port 0.
    pub address: SocketAddr,
}

/// Why the relay does not start. Each is for the operator to solve.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system gives no random bytes.
    #[error("no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The certificate or its key is of no use.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// A port is taken, or not ours to take.
    #[error("cannot listen on {address} ({}): {source}", port.label())]
    Bind {
        /// What for.
        port: Port,
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The workers' threads or back-ends cannot be made.
    #[error("the fan-out workers cannot start: {0}")]
    Workers(io::Error),
    /// The access log cannot be opened.
    #[error("the access log cannot be opened: {0}")]
    AccessLog(io::Error),
}

/// A relay that has not started.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    generated: Generated,
    /// The operator's port asks for the password.
    password_demanded: bool,
    tls: Option<Acceptor>,
    demo: bool,
}

impl Relay {
    /// Completes a configuration: makes the secrets it leaves open and reads its certificate.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn load(mut config: Config) -> Result<Self, StartError> {
        let is_private = config.admin.listen.ip().to_canonical().is_loopback();
        let password_demanded = config.auth.admin_password.is_some() || !is_private;
        let mut generated = keys::complete(&mut config.auth)?;
        // A password that nothing asks for is not worth telling.
        generated.admin_password &= password_demanded;
        let tls = match (&config.http.certificate, &config.http.private_key) {
            (Some(certificate), Some(key)) if !config.http.tls_listen.is_empty() => {
                Some(Acceptor(tls::acceptor(certificate, key)?))
            }
            _ => None,
        };
        Ok(Self {
            config,
            generated,
            password_demanded,
            tls,
            demo: false,
        })
    }

    /// Adds the stream `demo`.
    #[must_use]
    pub fn with_demo(mut self, demo: bool) -> Self {
        self.demo = demo;
        self
    }

    /// Starts everything. To be called within a tokio runtime.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self) -> Result<Running, StartError> {
        let sockets = self.bind()?;
        let Self {
            config,
            generated,
            password_demanded,
            demo,
            ..
        } = self;
        let config = Arc::new(config);
        let (fanout, departed) = start_workers(&config).map_err(StartError::Workers)?;
        let publishers = config.limits.publishers.map_or(0, |max| max.get() as usize);
        let (registry, gatekeeper) = Registry::new(
            Arc::clone(&fanout),
            config.ingest.takeover,
            publishers,
            rules(Arc::clone(&config)),
        );
        let gate = Gatehouse::new(Arc::clone(&config), gatekeeper)?;
        let (access, log_thread) =
            AccessLog::open(&config.log.access).map_err(StartError::AccessLog)?;
        let departures =
            Departures::read(departed, fanout, access.clone()).map_err(StartError::AccessLog)?;
        let bound: Vec<_> = sockets.iter().map(|(bound, _, _)| *bound).collect();
        let node = Arc::new(Node::new(Parts {
            config,
            registry: Arc::new(registry),
            gate: Arc::new(gate),
            access,
            bound,
            password_demanded,
        }));
        let mut running = Running {
            node,
            generated,
            demo,
            stop_accepting: watch::channel(false).0,
            doors: JoinSet::new(),
            services: JoinSet::new(),
            departures,
            log_thread,
        };
        running.open(sockets);
        Ok(running)
    }

    fn bind(&self) -> Result<Vec<Socket>, StartError> {
        let Config {
            rtmp, http, admin, ..
        } = &self.config;
        let mut sockets = Vec::new();
        let mut add = |port, address, door: Option<Door>| {
            let bound = listen(address)
                .and_then(|socket| Ok((socket.local_addr()?, socket)))
                .map_err(|source| StartError::Bind {
                    port,
                    address,
                    source,
                });
            bound.map(|(address, socket)| sockets.push((Bound { port, address }, socket, door)))
        };
        for address in &rtmp.listen {
            add(Port::Rtmp, *address, Some(Door::Rtmp))?;
        }
        for address in &http.listen {
            add(Port::Http, *address, Some(Door::Http))?;
        }
        if let Some(Acceptor(acceptor)) = &self.tls {
            for address in &http.tls_listen {
                add(Port::Https, *address, Some(Door::Https(acceptor.clone())))?;
            }
        }
        add(Port::Admin, admin.listen, None)?;
        Ok(sockets)
    }
}

/// A bound socket and the door it belongs to; the operator's port has none.
type Socket = (Bound, TcpListener, Option<Door>);

/// An acceptor that can stand in a type that shows itself.
struct Acceptor(TlsAcceptor);

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsAcceptor")
    }
}

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
    departures: Departures,
    log_thread: Option<JoinHandle<()>>,
}

impl Running {
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

    /// What to tell the operator; see [`crate::cli`].
    pub fn notice(&self) -> String {
        notice::text(
            &self.node.config,
            &self.node.bound,
            self.generated,
            self.demo,
        )
    }

    fn open(&mut self, sockets: Vec<Socket>) {
        let node = &self.node;
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
        if self.demo {
            let node = Arc::clone(node);
            self.services.spawn(async move {
                if let Err(error) = demo::run(&node).await {
                    tracing::error!(%error, "there is no demo");
                }
            });
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
        self.node.registry.end_all();
        say_goodbye(&self.node).await;
        let fanout = Arc::clone(self.node.registry.fanout());
        let (departures, log_thread) = (self.departures, self.log_thread);
        // Connections that are still there hold the node; their log lines end here all the same.
        drop(self.node);
        let ended = tokio::task::spawn_blocking(move || {
            fanout.stop();
            departures.finish();
        });
        if ended.await.is_err() {
            tracing::error!("the workers did not end in order");
        }
        if let Some(thread) = log_thread {
            wait_for_log(thread).await;
        }
    }
}

/// How long publishers and pages may still be told that it is over.
const GOODBYE: Duration = Duration::from_millis(500);

/// How often it is looked whether something has come to its end.
const POLL: Duration = Duration::from_millis(10);

async fn say_goodbye(node: &Node) {
    let told = async {
        while node.counts.open() > 0 {
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

/// How long lines that were taken may still need to reach the disk.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// The log's thread ends when nobody can write any more; a connection that lingers must not hold
/// up the end for long.
async fn wait_for_log(thread: JoinHandle<()>) {
    let finished = async {
        while !thread.is_finished() {
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(LOG_TIMEOUT, finished).await.is_err() {
        tracing::debug!("connections were still open when the access log ended");
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("bound", &self.node.bound)
            .finish_non_exhaustive()
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

type Workers = (Arc<Fanout>, std::sync::mpsc::Receiver<fanout::Departure>);

fn start_workers(config: &Config) -> io::Result<Workers> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let settings = fanout::Config {
        workers: if config.fanout.workers == 0 {
            cores()
        } else {
            config.fanout.workers
        },
        target_utilisation: config.fanout.target_utilisation,
        log_bytes_max: config.fanout.log_mib.saturating_mul(1024 * 1024),
    };
    let backend = || match config.fanout.backend {
        // The best of one.
        config::Backend::Auto | config::Backend::Epoll => {
            Ok(Box::new(Epoll::new()?) as Box<dyn Backend>)
        }
    };
    Fanout::start(&settings, backend)
}

fn rules(config: Arc<Config>) -> fanout::Rules {
    Box::new(move |name| Settings {
        audio: config.policy(name, Class::Audio),
        video: config.policy(name, Class::Video),
        linger: config.linger(name),
        public: config.is_public(name),
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A restart must not wait for the connections of the run before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
