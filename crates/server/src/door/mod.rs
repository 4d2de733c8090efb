//! The doors: from a listening socket to the task that serves the connection.
//!
//! A door accepts, counts, finds out what the connection wants, and passes it on. A connection holds its
//! permit (see [`limits`]) from accept to close; while it is pending it may have to give way to a newer one,
//! and ends.

pub(crate) mod admission;
mod counts;
pub(crate) mod films;
pub(crate) mod proxied;
pub(crate) mod rtmp;
mod secure;
mod shoutcast;
pub(crate) mod tls;
mod warning;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use net::accept::{EXHAUSTED_BACKOFF, Failure, classify};
use net::panics::{self, Part};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

pub(crate) use self::counts::{Counts, DoorKind};
pub(crate) use self::secure::secure;
pub(crate) use self::warning::AcceptWarning;

use crate::http;
use crate::node::Node;
use limits::Rejected;
use limits::{ConnectionPermit, Pool};

/// The protocol behind a door.
#[derive(Clone)]
pub(crate) enum Door {
    Rtmp,
    /// With what a client that asks for TLS is given, if there is a certificate.
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

/// Accepts connections until it is dropped.
pub(crate) async fn accept(listener: TcpListener, door: Door, node: Arc<Node>) {
    let mut warning = AcceptWarning::default();
    loop {
        let error = match listener.accept().await {
            Ok((socket, peer)) => {
                admit(&node, &door, socket, peer);
                continue;
            }
            Err(error) => error,
        };
        let class = classify(&error);
        node.counts.failures.count(class);
        if class == Failure::Connection {
            continue;
        }
        warning.tell(&error, Instant::now());
        tokio::time::sleep(EXHAUSTED_BACKOFF).await;
    }
}

/// A permit for a connection, and the receiver that tells when it must give way.
fn permit(
    node: &Node,
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
    let is_proxy = node.config.http.trusts(peer.ip());
    let permit = node
        .limits
        .connection(pool, peer.ip(), is_proxy, Box::new(evict))?;
    Ok((permit, evicted))
}

fn admit(node: &Arc<Node>, door: &Door, socket: TcpStream, peer: SocketAddr) {
    node.counts.accepted.count(door.kind());
    let (permit, evicted) = match permit(node, door, peer) {
        Ok(permitted) => permitted,
        Err(reason) => {
            node.counts.reject(reason, peer);
            if matches!(door, Door::Http(_)) {
                http::refuse_unread(node, &socket, reason);
            }
            return;
        }
    };
    if let Err(error) = net::tcp::prepare_accepted(&socket) {
        tracing::debug!(%peer, %error, "the connection was gone when it was accepted");
        return;
    }
    let open = Open::new(Arc::clone(node), door.kind());
    let door = door.clone();
    // The task that serves it bounds its life; it ends with the runtime at the latest.
    tokio::spawn(async move {
        let node = &open.node;
        let served = panics::contain_task(serve(node, door, socket, permit, peer));
        tokio::select! {
            served = served => if let Err(panic) = served {
                let what = format_args!("the connection of {peer}");
                panic.report(Part::Connection, &what);
            },
            // Once the connection is served for good, the sender is gone.
            Ok(reason) = evicted => match reason {
                Some(reason) => node.counts.reject(reason, peer),
                None => tracing::debug!(%peer, "an idle connection gave way"),
            },
        }
    });
}

// Each protocol's part is boxed: a task is as large as the largest of its branches, for as long as it lives, and
// thousands of publishers and of kept-alive connections stay in theirs.
async fn serve(
    node: &Arc<Node>,
    door: Door,
    mut socket: TcpStream,
    mut permit: ConnectionPermit,
    mut peer: SocketAddr,
) {
    if proxied::is_expected(node, &door, peer) {
        match Box::pin(proxied::client(node, &mut socket, &mut permit, peer)).await {
            Some(client) => peer = client,
            None => return,
        }
    }
    match door {
        Door::Rtmp => Box::pin(rtmp::serve(node, socket, permit, peer)).await,
        Door::Http(tls) => {
            Box::pin(http::serve_plain(node, socket, tls, permit, peer)).await;
        }
        Door::Https(config) => {
            let Some(socket) = secure(node, config, socket, peer).await else {
                return;
            };
            match socket.protocol() {
                Some(tls::HTTP_2) => {
                    Box::pin(http::h2::serve(node, socket, permit, peer)).await;
                }
                _ => Box::pin(http::serve(node, socket, permit, peer)).await,
            }
        }
        Door::Shoutcast => Box::pin(shoutcast::serve(node, socket, permit, peer)).await,
        Door::Rtmps(config) => {
            if let Some(socket) = secure(node, config, socket, peer).await {
                Box::pin(rtmp::serve(node, socket, permit, peer)).await;
            }
        }
    }
}

/// Counts a connection while a task serves it.
struct Open {
    node: Arc<Node>,
    door: DoorKind,
}

impl Open {
    fn new(node: Arc<Node>, door: DoorKind) -> Self {
        node.counts.open.count(door);
        Self { node, door }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.node.counts.open[self.door].sub(1);
    }
}
