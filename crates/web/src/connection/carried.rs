//! Connections of HLS viewers that a thread serves (carries) between their first request and one that only the connection's own
//! task can answer; see [`egress_hls::threads`].
//!
//! While it is carried, a connection counts as its viewer's. The viewer is bounded as a listener, so the connection does not
//! give way to new ones.

use std::io;
use std::sync::Arc;

use egress_hls::Resource;
use egress_hls::threads::{Carried, RequestThreads, Site};
use fanout::Registry;
use http::HeaderMap;
use limits::host;
use media::StreamName;
use tokio::net::TcpStream;

use super::live::LiveTransport;
use super::{Connection, LIFETIME};
use crate::drain::Drain;
use crate::front_door::FrontDoor;
use crate::head::Inbox;
use crate::page::Page;
use crate::pages::add_common;
use crate::route::Route;

/// Maximum number of times that a connection is carried after it comes back with a request. A player's connection comes back
/// for the playlists that it starts with; one that always comes back is cheaper to serve by its task.
pub(super) const TIMES_MAX: u32 = 16;

/// Server interface that the threads use.
struct Server {
    registry: Arc<Registry>,
    drain: Arc<Drain>,
    headers: HeaderMap,
}

impl Site for Server {
    fn resource(&self, path: &str) -> Option<(StreamName, Resource)> {
        match Route::of("GET", path, &self.registry) {
            Route::Page(Page::Hls(stream, resource)) => Some((stream, resource)),
            _ => None,
        }
    }

    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn is_leaving(&self) -> bool {
        self.drain.has_begun()
    }
}

/// Starts the threads, one per core.
///
/// # Errors
/// If a thread cannot be started, or no descriptor is left for it.
pub fn request_threads(front: &FrontDoor) -> io::Result<RequestThreads> {
    let mut headers = HeaderMap::new();
    add_common(&mut headers, &front.config.http.server_header);
    let site: Arc<dyn Site> = Arc::new(Server {
        registry: Arc::clone(&front.registry),
        drain: Arc::clone(&front.drain),
        headers,
    });
    RequestThreads::start(host::cores(), &front.hls, &site)
}

impl<S: LiveTransport> Connection<'_, S> {
    /// Lets a thread answer a viewer's next requests, if possible. Returns the connection together with a request that the
    /// thread cannot answer, or without one if there is none. Returns `None` when the connection is over.
    pub(super) async fn be_carried(mut self) -> Option<Self> {
        let Some(threads) = self
            .front
            .requests
            .as_ref()
            .filter(|_| self.may_be_carried())
        else {
            return Some(self);
        };
        let Some(_place) = self.front.limits.carried.take(self.peer.ip()) else {
            return Some(self);
        };
        let socket = match self.socket.carried() {
            Ok(socket) => socket,
            Err(socket) => {
                self.socket = socket;
                self.carriages_left = 0;
                return Some(self);
            }
        };
        // A connection that had to give way meanwhile ends.
        let evict = self.handover.permit().hold()?;
        let unread = self.inbox.take().map(Inbox::into_bytes).unwrap_or_default();
        let carried = Carried {
            socket: socket.into_std().ok()?,
            unread: unread.to_vec(),
            peer: self.peer,
            until: self.began + LIFETIME,
        };
        let Carried { socket, unread, .. } = threads.carry(carried).await?;
        self.socket = S::returned(TcpStream::from_std(socket).ok()?)?;
        self.inbox = Some(Inbox::with(&unread));
        let mut permit = self.handover.permit();
        permit.rest_again(evict);
        if !unread.is_empty() {
            self.carriages_left -= 1;
            if !permit.wake() {
                return None;
            }
        }
        drop(permit);
        Some(self)
    }

    fn may_be_carried(&self) -> bool {
        self.carriages_left > 0 && self.may_continue()
    }
}
