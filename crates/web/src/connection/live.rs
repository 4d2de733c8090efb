//! Requests that keep the connection: listeners and sources. The socket is handed over, and no further request is read from it.
//! Title updates also end the connection: source clients open one for each.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use fanout::Permit;
use fanout::gate::Remote;
use http1::{Body, Head, HttpDate, Status};
use ingest::icecast::Dialect;
use limits::Handover;
use media::StreamName;
use net::{TransportStream, tls};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::Asked;
use super::exchange::{self, Terms};
use super::refusal::{refuse, refuse_malformed, say};
use crate::front_door::FrontDoor;
use crate::listen::{self, Outcome, Target};
use crate::pages::{add_common, watch};
use crate::request::Request;
use crate::visitor::Visitor;
use crate::{head, refusal};

/// Maximum length in bytes of a form that can set a title.
const FORM_BYTES_MAX: u64 = 16 * 1024;

/// Transport that carries requests: a plain socket, or TLS over one.
pub trait LiveTransport: TransportStream {
    /// URL scheme: `https` or `http`.
    const SCHEME: &str;

    /// Returns the socket if a thread that handles only plain sockets may carry it.
    fn carried(self) -> Result<TcpStream, Self>;

    /// Returns the socket if there is no layer between it and a body.
    fn plain(&mut self) -> Option<&mut TcpStream>;

    /// Rebuilds the transport from a socket that was [carried](Self::carried).
    fn returned(socket: TcpStream) -> Option<Self>;
}

impl LiveTransport for TcpStream {
    const SCHEME: &str = "http";

    fn carried(self) -> Result<TcpStream, Self> {
        Ok(self)
    }

    fn plain(&mut self) -> Option<&mut TcpStream> {
        Some(self)
    }

    fn returned(socket: TcpStream) -> Option<Self> {
        Some(socket)
    }
}

impl LiveTransport for tls::Stream {
    const SCHEME: &str = "https";

    fn carried(self) -> Result<TcpStream, Self> {
        Err(self)
    }

    fn plain(&mut self) -> Option<&mut TcpStream> {
        None
    }

    fn returned(_: TcpStream) -> Option<Self> {
        None
    }
}

/// Request that keeps its connection.
pub(super) struct Live<'a, S> {
    pub(super) front: &'a Arc<FrontDoor>,
    pub(super) socket: S,
    pub(super) head: Head,
    /// Bytes received after the head: the beginning of a body.
    pub(super) early: Bytes,
    pub(super) handover: Handover,
    /// Client, possibly as reported by a proxy.
    pub(super) remote: Remote,
}

impl<S: LiveTransport> Live<'_, S> {
    /// Admits a listener, within the limits.
    pub(super) async fn listen(self, target: Target) {
        let (front, peer) = (self.front, self.remote.peer);
        match front.admission.listener(peer.ip()) {
            Ok(permit) => {
                self.handover.permit().settle();
                self.pass_on(target, |handover| handover.into_permit(permit))
                    .await;
            }
            Err(reason) => {
                let asked = Asked::by(&self.head, peer);
                refuse(front, self.socket, &asked, reason).await;
            }
        }
    }

    /// Answers a request for the head that a listener would get.
    pub(super) async fn look(self, target: Target) {
        self.pass_on(target, Permit::new).await;
    }

    /// Passes the request to `listen`, and logs it if it did not become a listener.
    async fn pass_on(self, target: Target, permit: impl FnOnce(Handover) -> Permit) {
        let asked = Asked::by(&self.head, self.remote.peer);
        let (front, head, remote) = (self.front, self.head, self.remote);
        let (egress, permit) = (&front.egress, permit(self.handover));
        let outcome = listen::serve(egress, self.socket, target, head, remote, permit).await;
        if let Outcome::Answered { status, bytes } = outcome {
            asked.log(front, status, bytes);
        }
    }

    pub(super) async fn publish(self, name: Result<StreamName, ingest::Error>) {
        let asked = Asked::by(&self.head, self.remote.peer);
        let (front, remote, handover) = (self.front, self.remote, &self.handover);
        let mut is_admitted = false;
        let on_admitted = || {
            is_admitted = true;
            handover.permit().settle_publisher();
        };
        let served = ingest::icecast::serve(
            &front.ingest,
            self.socket,
            name,
            self.head,
            self.early,
            remote,
            on_admitted,
        );
        let outcome = served.await;
        let status = match &outcome {
            Err(error) if !is_admitted => ingest::icecast::status_of(error).0,
            _ => Status::OK,
        };
        asked.log(front, status, 0);
        if let Err(error) = outcome {
            tracing::debug!(peer = %remote.peer, %error, "a source's connection ended");
        }
    }

    pub(super) async fn set_title(self, dialect: Dialect) {
        let asked = Asked::by(&self.head, self.remote.peer);
        let (front, remote, head) = (self.front, self.remote, self.head);
        let (mut socket, limit) = (self.socket, front.config.http.head_timeout);
        let form = tokio::time::timeout(limit, form(&mut socket, &head, self.early)).await;
        let form = form.unwrap_or_default();
        // The reply is written even if the client has already closed its half, as scripts do.
        let update = ingest::icecast::update_metadata;
        let answer = update(&front.ingest, dialect, &head, &form, remote).await;
        asked.log_answer(front, &answer);
        head::answer(socket, &answer).await;
    }

    /// Sends the operator all statistics, and their changes as they happen.
    pub(super) async fn watch(mut self, visitor: Visitor) {
        let asked = Asked::by(&self.head, self.remote.peer);
        let front = self.front;
        let request = match Request::of(front, visitor, self.handover.clone(), &self.head) {
            Ok(request) => request,
            Err(error) => return refuse_malformed(front, self.socket, &asked, error).await,
        };
        if let Err(denied) = request.administer(None).await {
            let mut reply = refusal::not_the_operator(denied);
            asked.log_code(front, reply.status.as_u16(), 0);
            add_common(&mut reply.headers, &front.config.http.server_header);
            let terms = Terms {
                version: self.head.version(),
                is_head: false,
                persists: false,
                lasts: false,
            };
            let mut answer = Vec::new();
            let now = HttpDate::from(SystemTime::now());
            // Writing to memory does not fail.
            exchange::write(&mut answer, reply, terms, now).await.ok();
            return head::answer(self.socket, &answer).await;
        }
        let Some(watching) = front.pages.watchers.enter() else {
            let text = "There are as many clients of STATS as may be.";
            let status = Status::SERVICE_UNAVAILABLE;
            return say(front, self.socket, &asked, status, text).await;
        };
        self.handover.permit().settle();
        asked.log(front, Status::OK, 0);
        let base = request.base();
        if let Err(error) = watch(front, &base, &mut self.socket, watching).await {
            tracing::debug!(peer = %self.remote.peer, %error, "a client of STATS ended");
        }
    }
}

/// Reads a form's body, up to the length it announces. A form that is too long sets no title.
async fn form<S: LiveTransport>(socket: &mut S, head: &Head, early: Bytes) -> Vec<u8> {
    let Body::Length(length @ 1..=FORM_BYTES_MAX) = head.body() else {
        return Vec::new();
    };
    let length = length as usize;
    let mut form = early.to_vec();
    form.truncate(length);
    let missing = (length - form.len()) as u64;
    match socket.take(missing).read_to_end(&mut form).await {
        Ok(_) => form,
        Err(_) => Vec::new(),
    }
}
