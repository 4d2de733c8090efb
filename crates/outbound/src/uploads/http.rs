//! HTTP requests to the storage, over the same kind of connections as links to other servers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use base::Lock;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use net::link::Connector;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

use crate::uploads::pace::{Pace, PacedBody};

/// Idle connections kept for further requests: as many as there are parts in flight.
const IDLE_MAX: usize = 4;

/// Longest response read, in bytes: no objects are fetched, and lists of ten thousand parts are not read.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Longest time a request may go without a byte sent or received. A storage takes a minute or more to assemble the parts of a
/// large object.
const STALLED_AFTER: Duration = Duration::from_secs(120);

/// HTTP client. Clones share connections and rate limit.
#[derive(Clone, Debug)]
pub(crate) struct Http(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connector: Connector,
    pace: Arc<Pace>,
    /// Idle connections; the list is consistent between any two statements that use it.
    idle: Lock<Vec<Idle>>,
}

/// Connection that waits for its next request.
#[derive(Debug)]
struct Idle {
    origin: Origin,
    sender: SendRequest<PacedBody>,
}

/// Server that a connection leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Origin {
    host: String,
    port: u16,
    is_secure: bool,
}

impl Http {
    pub(crate) fn new(connector: Connector, pace: Pace) -> Self {
        Self(Arc::new(Shared {
            connector,
            pace: Arc::new(pace),
            idle: Lock::default(),
        }))
    }

    /// Returns an idle connection to the server, or a new one.
    async fn connection(&self, origin: &Origin) -> Result<SendRequest<PacedBody>, HttpError> {
        {
            let mut idle = self.0.idle.lock();
            idle.retain(|one| !one.sender.is_closed());
            let fits = |one: &Idle| one.origin == *origin && one.sender.is_ready();
            if let Some(at) = idle.iter().position(fits) {
                return Ok(idle.swap_remove(at).sender);
            }
        }
        let connect = |error| HttpError::new(HttpErrorKind::Connect, error);
        let (host, port) = (&origin.host, origin.port);
        let connected = self.0.connector.connect(host, port, origin.is_secure);
        let link = connected.await.map_err(connect)?;
        let made = http1::handshake(TokioIo::new(link)).await;
        let (sender, connection) = made.map_err(of_hyper)?;
        // The connection ends with its sender; errors are reported by the request.
        tokio::spawn(async { connection.await.ok() });
        Ok(sender)
    }

    async fn exchange(
        &self,
        request: HttpRequest,
        moved: Arc<AtomicU64>,
    ) -> Result<HttpResponse, HttpError> {
        let (mut parts, body) = request.into_parts();
        let origin = Origin::of(&parts.uri)?;
        if let (None, Some(authority)) = (parts.headers.get(HOST), parts.uri.authority()) {
            let host: HeaderValue = authority.as_str().parse().map_err(unusable)?;
            parts.headers.insert(HOST, host);
        }
        let target = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        parts.uri = target.parse().map_err(unusable)?;
        let body = PacedBody::new(body, Arc::clone(&self.0.pace), Arc::clone(&moved));
        let mut sender = self.connection(&origin).await?;
        let request = hyper::Request::from_parts(parts, body);
        let (parts, mut body) = sender
            .send_request(request)
            .await
            .map_err(of_hyper)?
            .into_parts();
        let mut answer = BytesMut::new();
        while let Some(frame) = body.frame().await {
            moved.fetch_add(1, Ordering::Relaxed);
            let data: Bytes = frame.map_err(of_hyper)?.into_data().unwrap_or_default();
            if answer.len() + data.len() > ANSWER_BYTES_MAX {
                let error = io::Error::other("the storage's answer is too long");
                return Err(HttpError::new(HttpErrorKind::Decode, error));
            }
            answer.extend_from_slice(&data);
        }
        let mut idle = self.0.idle.lock();
        if idle.len() < IDLE_MAX && !sender.is_closed() {
            idle.push(Idle { origin, sender });
        }
        Ok(HttpResponse::from_parts(parts, answer.freeze().into()))
    }
}

impl Origin {
    fn of(uri: &hyper::Uri) -> Result<Self, HttpError> {
        let is_secure = uri.scheme_str() != Some("http");
        let host = uri
            .host()
            .ok_or_else(|| unusable(io::Error::from(io::ErrorKind::InvalidInput)))?;
        let default = if is_secure { 443 } else { 80 };
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(default),
            is_secure,
        })
    }
}

fn unusable<E: std::error::Error + Send + Sync + 'static>(error: E) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

fn of_hyper(error: hyper::Error) -> HttpError {
    // If the server closed the connection while it was idle, nothing was sent.
    let kind = match error.is_canceled() {
        true => HttpErrorKind::Request,
        false => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error)
}

#[async_trait]
impl HttpService for Http {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let moved = Arc::new(AtomicU64::new(0));
        let mut exchange = Box::pin(self.exchange(request, Arc::clone(&moved)));
        let mut before = 0;
        loop {
            tokio::select! {
                answered = &mut exchange => return answered,
                () = tokio::time::sleep(STALLED_AFTER) => {
                    let now = moved.load(Ordering::Relaxed);
                    if now == before {
                        let error = io::Error::from(io::ErrorKind::TimedOut);
                        return Err(HttpError::new(HttpErrorKind::Timeout, error));
                    }
                    before = now;
                }
            }
        }
    }
}

impl HttpConnector for Http {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}
