//! The doors: from a listening socket to the task that serves the connection.
//!
//! A door accepts and counts a connection, finds out what it requests, and passes it on. The connection holds its permit (see
//! [`limits`]) from accept to close. While it is pending, it may have to give way to a newer connection; it is then closed.

pub(crate) mod films;
pub(crate) mod proxied;
pub(crate) mod rtmp;
mod shoutcast;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use limits::{ConnectionPermit, Pool, Rejected};
use net::accept::{AcceptWarning, EXHAUSTED_BACKOFF, Failure, classify};
use net::panics::{self, Part};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use web::FrontDoor;
use web::connection::{self, h2};
use web::counts::DoorKind;
use web::secure::{HTTP_2, secure};

use self::rtmp::Players;

/// The protocol behind a door.
#[derive(Clone)]
pub(crate) enum Door {
    Rtmp,
    /// TLS settings for a client that requests TLS, if there is a certificate.
    Http(Option<Arc<ServerConfig>>),
    Https(Arc<ServerConfig>),
    Rtmps(Arc<ServerConfig>),
    Shoutcast,
}

impl Door {
    fn kind(&self) -> DoorKind {
        match self {
            Self::Rtmp => DoorKind::Rtmp,
            Self::Http(_) => DoorKind::Http,
            Self::Https(_) => DoorKind::Https,
            Self::Rtmps(_) => DoorKind::Rtmps,
            Self::Shoutcast => DoorKind::Shoutcast,
        }
    }
}

/// Shared state for the connections of all doors.
pub(crate) struct Protocols {
    pub(crate) front: Arc<FrontDoor>,
    pub(crate) players: Players,
    /// Port on which HTTP is served, for clients that speak HTTP to another port; 0 if there is none.
    pub(crate) http_port: u16,
}

/// Accepts connections until it is dropped.
pub(crate) async fn accept(listener: TcpListener, door: Door, protocols: Arc<Protocols>) {
    let mut warning = AcceptWarning::default();
    loop {
        let error = match listener.accept().await {
            Ok((socket, peer)) => {
                admit(&protocols, &door, socket, peer);
                continue;
            }
            Err(error) => error,
        };
        let class = classify(&error);
        protocols.front.counts.failures.count(class);
        if class == Failure::Connection {
            continue;
        }
        warning.warn(&error, Instant::now());
        tokio::time::sleep(EXHAUSTED_BACKOFF).await;
    }
}

/// Obtains a permit for a connection, and the receiver that reports when the connection must give way.
fn permit(
    front: &FrontDoor,
    door: &Door,
    peer: SocketAddr,
) -> Result<(ConnectionPermit, oneshot::Receiver<Option<Rejected>>), Rejected> {
    let pool = match door {
        Door::Rtmp | Door::Rtmps(_) => Pool::Rtmp,
        Door::Http(_) | Door::Https(_) | Door::Shoutcast => Pool::Http,
    };
    let (tell, evicted) = oneshot::channel();
    let evict = move |reason| {
        // Fails if the connection has just ended by itself.
        tell.send(reason).ok();
    };
    let is_proxy = front.config.http.trusts(peer.ip());
    let permit = front
        .limits
        .connection(pool, peer.ip(), is_proxy, Box::new(evict))?;
    Ok((permit, evicted))
}

fn admit(protocols: &Arc<Protocols>, door: &Door, socket: TcpStream, peer: SocketAddr) {
    let front = &protocols.front;
    front.counts.accepted.count(door.kind());
    let (permit, evicted) = match permit(front, door, peer) {
        Ok(permitted) => permitted,
        Err(reason) => {
            front.counts.reject(reason, peer);
            if matches!(door, Door::Http(_)) {
                connection::refuse_unread(front, &socket, reason);
            }
            return;
        }
    };
    if let Err(error) = net::tcp::prepare_accepted(&socket) {
        tracing::debug!(%peer, %error, "the connection was gone when it was accepted");
        return;
    }
    let open = front.counts.enter(door.kind());
    let (door, protocols) = (door.clone(), Arc::clone(protocols));
    // The task that serves it bounds its life; it ends with the runtime at the latest.
    tokio::spawn(async move {
        let _open = open;
        let served = panics::contain_task(serve(&protocols, door, socket, permit, peer));
        tokio::select! {
            served = served => if let Err(panic) = served {
                let what = format_args!("the connection of {peer}");
                panic.report(Part::Connection, &what);
            },
            // Once the connection has been fully served, the sender is gone.
            Ok(reason) = evicted => match reason {
                Some(reason) => protocols.front.counts.reject(reason, peer),
                None => tracing::debug!(%peer, "an idle connection gave way"),
            },
        }
    });
}

// Each protocol's part is boxed: a task is as large as the largest of its branches, for as long as it lives, and
// thousands of publishers and of kept-alive connections stay in theirs.
async fn serve(
    protocols: &Arc<Protocols>,
    door: Door,
    mut socket: TcpStream,
    mut permit: ConnectionPermit,
    mut peer: SocketAddr,
) {
    let front = &protocols.front;
    if proxied::is_expected(front, &door, peer) {
        match Box::pin(proxied::client(front, &mut socket, &mut permit, peer)).await {
            Some(client) => peer = client,
            None => return,
        }
    }
    match door {
        Door::Rtmp => Box::pin(rtmp::serve(protocols, socket, permit, peer)).await,
        Door::Http(tls) => {
            Box::pin(connection::serve_plain(front, socket, tls, permit, peer)).await;
        }
        Door::Https(config) => {
            let Some(socket) = secure(front, config, socket, peer).await else {
                return;
            };
            match socket.protocol() {
                Some(HTTP_2) => {
                    Box::pin(h2::serve(front, socket, permit, peer)).await;
                }
                _ => Box::pin(connection::serve(front, socket, permit, peer)).await,
            }
        }
        Door::Shoutcast => Box::pin(shoutcast::serve(front, socket, permit, peer)).await,
        Door::Rtmps(config) => {
            if let Some(socket) = secure(front, config, socket, peer).await {
                Box::pin(rtmp::serve(protocols, socket, permit, peer)).await;
            }
        }
    }
}
