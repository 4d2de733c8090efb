//! One HTTP/2 connection: its settings, its reader, and its end.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http2::meter::FrameMeter;
use crate::http2::paced::Paced;
use crate::http2::progress::{IsOver, Outstanding, Patience, Progress};

/// Maximum number of simultaneous requests on one connection: a page with its scripts, or an HLS player, needs fewer.
pub const STREAMS_MAX: u32 = 16;

/// Maximum length of a request's head in bytes. All heads of a connection together are half of what a connection may own before
/// its client has presented a credential.
pub const HEAD_BYTES_MAX: u32 = 8 * 1024;

/// Bytes of bodies that may arrive before they are read, of one request and of all: HTTP/2's own default.
const WINDOW_BYTES: u32 = 65_535;

/// Bytes of one reply that h2 may buffer: more than is handed over to it.
const SEND_BYTES_MAX: usize = 64 * 1024;

/// Interval at which a silent client is pinged, and the time within which it must answer.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

tokio::task_local! {
    /// Progress of the stream whose task this is.
    static PROGRESS: Arc<Progress>;
}

/// Serves a connection; `answer` handles each request. Once `ending` resolves, no further request is taken; the present ones
/// are served to their end, but no longer than until `is_over` resolves.
///
/// # Errors
/// The reason why the connection ended, if not by itself.
pub async fn serve<S, A, F, B>(
    socket: S,
    answer: A,
    ending: impl Future<Output = ()>,
    is_over: impl Future<Output = ()>,
) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let service = service_fn(move |request| {
        let answered = answer(request);
        async move { Ok::<_, Infallible>(paced(answered.await)) }
    });
    let connection = Builder::new(Streams::default())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .serve_connection(TokioIo::new(Metered::new(socket)), service);
    tokio::pin!(connection);
    tokio::select! {
        served = connection.as_mut() => return served,
        () = ending => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        served = connection => served,
        () = is_over => Ok(()),
    }
}

/// Wraps a response so that its body is handed over at the pace at which its client takes it.
fn paced<B>(response: Response<B>) -> Response<Paced<B>> {
    let progress = PROGRESS.with(Arc::clone);
    if let Some(patience) = response.extensions().get::<Patience>() {
        progress.set_patience(*patience);
    }
    if let Some(is_over) = response.extensions().get::<IsOver>() {
        progress.set_over(is_over.clone());
    }
    response.map(|body| Paced::new(body, progress))
}

/// Executor of the streams of one connection; each stream runs until it is served or its client takes nothing of it.
#[derive(Clone, Default)]
struct Streams(Outstanding);

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Progress::new(self.0.clone());
        let watched = Arc::clone(&progress);
        let served = PROGRESS.scope(progress, stream);
        tokio::spawn(async move {
            tokio::select! {
                () = served => {}
                // A stream that is dropped is reset, and its unsent bytes are dropped with it.
                () = watched.stalls() => {}
            }
        });
    }
}

/// Socket whose received frames are counted.
struct Metered<S> {
    socket: S,
    meter: FrameMeter,
}

impl<S> Metered<S> {
    fn new(socket: S) -> Self {
        Self {
            socket,
            meter: FrameMeter::default(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buffer))?;
        let read = &buffer.filled()[before..];
        let taken = this.meter.take(read, Instant::now());
        Poll::Ready(taken.map_err(io::Error::other))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
