//! The relay: from a checked configuration to a running server.
//!
//! The order of starting: secrets, TLS, sockets (so that a port in use ends it before anything
//! runs), workers, registry, transcoding and gate, logs, the WebRTC port, doors.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use config::Config;
use fanout::{Class, Fanout, Registry, Settings};
use net::intake::{Intake, Method};
use net::link::Connector;
use net::{Backend, Epoll, Unavailable, Uring};
use tokio::net::{TcpListener, TcpSocket};

use crate::access::{AccessLog, Departures};
use crate::audio::Audio;
use crate::door::Door;
use crate::door::host;
use crate::door::pressure::Marks;
use crate::door::tls::{Acceptors, Certificate, TlsError};
use crate::gate::{Authority, KeyGate};
use crate::keys::{self, Generated};
use crate::links::{self, Links, TrustError};
use crate::log::Log;
use crate::node::{Node, Parts};
use crate::rtc::{OpenError, Rtc, WebrtcService};
use crate::running::Running;

/// Connections that may wait to be accepted: a crowd that reconnects at once. The kernel caps it
/// at `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// What a listening socket is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Port {
    /// Publishers and players over RTMP.
    Rtmp,
    /// The same over TLS.
    Rtmps,
    /// Listeners, sources and pages.
    Http,
    /// The same over TLS.
    Https,
    /// The media of WebRTC sessions.
    Webrtc,
    /// The operator.
    Admin,
}

impl Port {
    /// The word in the start-up notice.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rtmp => "rtmp",
            Self::Rtmps => "rtmps",
            Self::Http => "http",
            Self::Https => "https",
            Self::Webrtc => "webrtc",
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
    /// There is nothing to check other servers by.
    #[error("links to other servers: {0}")]
    Trust(#[from] TrustError),
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
    /// The configuration demands what this host does not have.
    #[error(
        "`fanout.backend` is \"io_uring\", which is impossible here: {0}; \"auto\" uses epoll then"
    )]
    IoUring(#[source] Unavailable),
    /// The workers' threads or back-ends cannot be made.
    #[error("the fan-out workers cannot start: {0}")]
    Workers(io::Error),
    /// The threads that read publishers, or what they read by, cannot be made.
    #[error("the threads that read publishers cannot start: {0}")]
    Intake(io::Error),
    /// The threads that make Opus, or their encoder, cannot be made.
    #[error("transcoding cannot start: {0}")]
    Transcoding(io::Error),
    /// There is no WebRTC.
    #[error("cannot serve WebRTC on {address}: {source}")]
    Webrtc {
        /// Where it was to be.
        address: SocketAddr,
        /// Why it is not.
        source: OpenError,
    },
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
    /// What the ports behind TLS show, if there are any.
    certificate: Option<Arc<Certificate>>,
    connector: Connector,
    demo: bool,
    /// Decides instead of the keys of the configuration.
    authority: Option<Arc<dyn Authority>>,
    log: Log,
    marks: Marks,
}

impl Relay {
    /// Completes a configuration: makes the secrets it leaves open, reads its certificate and, if it
    /// has links that need them, those that this host trusts.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn load(mut config: Config) -> Result<Self, StartError> {
        let is_private = config.admin.listen.ip().to_canonical().is_loopback();
        let password_demanded = config.auth.admin_password.is_some() || !is_private;
        let mut generated = keys::complete(&mut config.auth)?;
        // A password that nothing asks for is not worth telling.
        generated.admin_password &= password_demanded;
        let certificate = match (&config.http.certificate, &config.http.private_key) {
            (Some(chain), Some(key)) => Some(Arc::new(Certificate::read(chain, key)?)),
            _ => None,
        };
        let connector = links::connector(&config)?;
        Ok(Self {
            config,
            generated,
            password_demanded,
            certificate,
            connector,
            demo: false,
            authority: None,
            log: Log::default(),
            marks: Marks::default(),
        })
    }

    /// Adds the stream `demo`.
    #[must_use]
    pub fn with_demo(mut self, demo: bool) -> Self {
        self.demo = demo;
        self
    }

    /// Has it ask another authority than its keys.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_authority(mut self, authority: Arc<dyn Authority>) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Has it look after the process's log.
    #[must_use]
    pub(crate) fn with_log(mut self, log: Log) -> Self {
        self.log = log;
        self
    }

    /// Has it turn newcomers away at other marks.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
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
            certificate,
            connector,
            demo,
            authority,
            log,
            marks,
        } = self;
        let config = Arc::new(config);
        let backend =
            choose_backend(config.fanout.backend, Uring::probe).map_err(StartError::IoUring)?;
        let (fanout, departed) = start_workers(&config, backend).map_err(StartError::Workers)?;
        let method =
            choose_method(config.fanout.backend, Method::probe).map_err(StartError::IoUring)?;
        let intake = start_intake(&config, method).map_err(StartError::Intake)?;
        let publishers = config.limits.publishers.map_or(0, |max| max.get() as usize);
        let (registry, gatekeeper) =
            Registry::new(Arc::clone(&fanout), publishers, rules(Arc::clone(&config)));
        let audio = Audio::start(&config.transcode).map_err(StartError::Transcoding)?;
        registry.set_deriver(audio.deriver());
        let gate = KeyGate::new(Arc::clone(&config), gatekeeper, authority)?;
        let access = AccessLog::open(&config.log.access).map_err(StartError::AccessLog)?;
        let departures =
            Departures::read(departed, fanout, access.clone()).map_err(StartError::AccessLog)?;
        let bound: Vec<_> = sockets.iter().map(|(bound, _, _)| *bound).collect();
        let mut challenge_key = [0; 32];
        getrandom::fill(&mut challenge_key)?;
        let jitter_seed = getrandom::u64()?;
        let links = Links::new(connector, registry.fanout().events());
        let mut node = Node::new(Parts {
            config,
            registry: Arc::new(registry),
            gate: Arc::new(gate),
            intake,
            links,
            audio,
            access,
            log,
            certificate,
            bound,
            password_demanded,
            challenge_key,
            jitter_seed,
            marks,
        });
        open_webrtc(&mut node)?;
        let mut running = Running::new(Arc::new(node), generated, demo, departures);
        running.open(sockets);
        Ok(running)
    }

    fn bind(&self) -> Result<Vec<Socket>, StartError> {
        let Config {
            rtmp, http, admin, ..
        } = &self.config;
        let mut sockets = Vec::new();
        let mut add = |port, address, all: &[SocketAddr], door: Option<Door>| {
            let bound = listen(address, has_ipv4_twin(address, all))
                .and_then(|socket| Ok((socket.local_addr()?, socket)))
                .map_err(|source| StartError::Bind {
                    port,
                    address,
                    source,
                });
            bound.map(|(address, socket)| sockets.push((Bound { port, address }, socket, door)))
        };
        for address in &rtmp.listen {
            add(Port::Rtmp, *address, &rtmp.listen, Some(Door::Rtmp))?;
        }
        for address in &http.listen {
            add(Port::Http, *address, &http.listen, Some(Door::Http))?;
        }
        if let Some(certificate) = &self.certificate {
            let Acceptors { https, rtmps } = certificate.acceptors()?;
            for address in &rtmp.tls_listen {
                add(
                    Port::Rtmps,
                    *address,
                    &rtmp.tls_listen,
                    Some(Door::Rtmps(rtmps.clone())),
                )?;
            }
            for address in &http.tls_listen {
                add(
                    Port::Https,
                    *address,
                    &http.tls_listen,
                    Some(Door::Https(https.clone())),
                )?;
            }
        }
        add(Port::Admin, admin.listen, &[], None)?;
        Ok(sockets)
    }
}

/// A bound socket and the door it belongs to; the operator's port has none.
pub(crate) type Socket = (Bound, TcpListener, Option<Door>);

type Workers = (Arc<Fanout>, std::sync::mpsc::Receiver<fanout::Departure>);

type MakeBackend = fn() -> io::Result<Box<dyn Backend>>;

/// How this host's workers drive their sockets. io_uring is tried out before anything relies on it:
/// many a sandbox refuses it.
fn choose_backend(
    wanted: config::Backend,
    probe: impl FnOnce() -> Result<(), Unavailable>,
) -> Result<MakeBackend, Unavailable> {
    let epoll: MakeBackend = || Ok(Box::new(Epoll::new()?));
    let io_uring: MakeBackend = || Ok(Box::new(Uring::new().map_err(io::Error::other)?));
    match wanted {
        config::Backend::Epoll => Ok(epoll),
        config::Backend::IoUring => probe().map(|()| io_uring),
        config::Backend::Auto => match probe() {
            Ok(()) => Ok(io_uring),
            Err(why) => {
                tracing::info!(%why, "io_uring cannot be used; listeners are driven by epoll");
                Ok(epoll)
            }
        },
    }
}

/// How publishers' sockets are read. It takes a newer kernel than the workers' sockets do.
fn choose_method(
    wanted: config::Backend,
    probe: impl FnOnce() -> Result<(), Unavailable>,
) -> Result<Method, Unavailable> {
    match wanted {
        config::Backend::Epoll => Ok(Method::Epoll),
        config::Backend::IoUring => probe().map(|()| Method::Uring),
        config::Backend::Auto => Ok(match probe() {
            Ok(()) => Method::Uring,
            Err(why) => {
                tracing::info!(%why, "publishers are read by epoll");
                Method::Epoll
            }
        }),
    }
}

/// Cores per thread that reads publishers. One thread reads thousands; what is left is for workers.
const CORES_PER_INTAKE: usize = 4;

fn start_intake(config: &Config, method: Method) -> io::Result<Intake> {
    let threads = host::cores().div_ceil(CORES_PER_INTAKE);
    Intake::start(threads, method, config.fanout.target_utilisation)
}

fn start_workers(config: &Config, backend: MakeBackend) -> io::Result<Workers> {
    let settings = fanout::Config {
        workers: if config.fanout.workers == 0 {
            host::cores()
        } else {
            config.fanout.workers
        },
        target_utilisation: config.fanout.target_utilisation,
        log_bytes_max: config.fanout.log_mib.saturating_mul(1024 * 1024),
    };
    Fanout::start(&settings, backend)
}

fn open_webrtc(node: &mut Node) -> Result<(), StartError> {
    let Some(address) = node.config.webrtc.listen else {
        return Ok(());
    };
    let fanout = node.registry.fanout();
    let service = WebrtcService::open(address, &node.config, fanout, &node.ingest)
        .map_err(|source| StartError::Webrtc { address, source })?;
    node.bound.push(Bound {
        port: Port::Webrtc,
        address: service.address(),
    });
    node.rtc = Some(Rtc::new(service));
    Ok(())
}

fn rules(config: Arc<Config>) -> fanout::Rules {
    Box::new(move |name| Settings {
        audio: config.policy(name, Class::Audio),
        video: config.policy(name, Class::Video),
        linger: config.linger(name),
        public: config.is_public(name),
        takeover: config.takeover(name),
        takeover_back: config.ingest.takeover_back,
    })
}

/// Whether an IPv6 address is listed beside an IPv4 address with the same port. The system would have
/// its socket take IPv4 as well, which the other one then cannot.
fn has_ipv4_twin(address: SocketAddr, all: &[SocketAddr]) -> bool {
    let is_twin = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
    address.is_ipv6() && all.iter().any(is_twin)
}

fn listen(address: SocketAddr, is_ipv6_only: bool) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    if is_ipv6_only {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // A restart must not wait for the connections of the run before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(wanted: config::Backend, works: bool) -> Option<&'static str> {
        let refused = || Unavailable::Refused(io::ErrorKind::PermissionDenied.into());
        let probe = || works.then_some(()).ok_or_else(refused);
        let make = choose_backend(wanted, probe).ok()?;
        Some(make().map_or("none here", |backend| backend.name()))
    }

    #[tokio::test]
    async fn both_families_listen_on_one_port() {
        let ipv4: SocketAddr = "0.0.0.0:0".parse().expect("an address");
        let first = listen(ipv4, false).expect("any port");
        let port = first.local_addr().expect("bound").port();
        let pair = [ipv4, "[::]:0".parse().expect("an address")].map(|mut address| {
            address.set_port(port);
            address
        });
        let ipv6 = pair[1];
        assert!(!has_ipv4_twin(pair[0], &pair) && !has_ipv4_twin(ipv6, &[ipv6]));
        let second = listen(ipv6, has_ipv4_twin(ipv6, &pair));
        let second = second.expect("beside the IPv4 socket");
        assert_eq!(second.local_addr().expect("bound").port(), port);
        drop((first, second));
        // Alone it takes both.
        let alone = listen(ipv6, has_ipv4_twin(ipv6, &[ipv6])).expect("free again");
        let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(connected.is_ok() && alone.accept().await.is_ok());
    }

    #[test]
    fn where_io_uring_is_refused_it_is_epoll_unless_demanded() {
        use config::Backend::{Auto, Epoll, IoUring};
        assert_eq!(name(Auto, false), Some("epoll"));
        assert_eq!(name(IoUring, false), None);
        assert_eq!(name(Epoll, false), Some("epoll"));
        assert_eq!(name(Epoll, true), Some("epoll"));
        let refused = || Unavailable::Refused(io::ErrorKind::PermissionDenied.into());
        let method = |wanted, works: bool| {
            choose_method(wanted, || works.then_some(()).ok_or_else(refused)).ok()
        };
        assert_eq!(method(Auto, false), Some(Method::Epoll));
        assert_eq!(method(IoUring, false), None);
        assert_eq!(method(Epoll, true), Some(Method::Epoll));
        assert_eq!(method(Auto, true), Some(Method::Uring));
        if Uring::probe().is_ok() {
            assert_eq!(name(Auto, true), Some("io_uring"));
            assert_eq!(name(IoUring, true), Some("io_uring"));
        }
    }
}
