//! Whole connections: clients that read, and clients that do not.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::http2::{IsOver, PIECE_BYTES, PIECES_MAX, Patience, STREAMS_MAX, serve};

/// More than any buffer between the two holds.
const TEXT_BYTES: usize = 1 << 20;

/// For what is to come in the end, on paused time.
const DEADLINE: Duration = Duration::from_secs(3_600);

/// A connection on which each request is answered with `text`.
fn served(text: &Bytes, patience: Patience) -> (DuplexStream, JoinHandle<hyper::Result<()>>) {
    let (near, far) = duplex(64 << 10);
    let text = text.clone();
    let answer = move |_| {
        let mut response = Response::new(Full::new(text.clone()));
        response.extensions_mut().insert(patience);
        ready(response)
    };
    let served = tokio::spawn(serve(far, answer, pending(), pending()));
    (near, served)
}

/// A client with this window for each body.
async fn client(socket: DuplexStream, window: u32) -> SendRequest<Full<Bytes>> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new());
    builder.initial_stream_window_size(window);
    let shaken = builder.handshake(TokioIo::new(socket)).await;
    let (client, connection) = shaken.expect("a connection");
    tokio::spawn(connection);
    client
}

fn request() -> Request<Full<Bytes>> {
    let request = Request::builder().uri("https://h/a");
    request.body(Full::default()).expect("a request")
}

/// Waits for what is to come in the end.
async fn in_time<T>(what: impl Future<Output = T>) -> T {
    timeout(DEADLINE, what).await.expect("in time")
}

/// Waits until no piece of a text waits anywhere, beside the text itself.
async fn until_unique(text: &Bytes) {
    let wait = async {
        while !text.is_unique() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(wait).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_gets_all_of_a_body() {
    let text: Vec<u8> = (0..TEXT_BYTES).map(|at| (at / 251) as u8).collect();
    let text = Bytes::from(text);
    let (socket, _served) = served(&text, Patience::default());
    let mut client = client(socket, 65_535).await;
    for answer in [(); 2].map(|()| client.send_request(request())) {
        let body = answer.await.expect("an answer").into_body();
        let body = body.collect().await.expect("a body").to_bytes();
        assert!(body == text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_which_nothing_is_taken_ends_and_its_connection_continues() {
    let text = Bytes::from(vec![7; TEXT_BYTES]);
    let (socket, _served) = served(&text, Patience(Some(Duration::from_secs(30))));
    let mut client = client(socket, 0).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        let answer = client.send_request(request()).await.expect("an answer");
        unread.push(answer.into_body());
    }
    for mut body in unread {
        let reset = in_time(body.frame()).await.expect("no end");
        assert!(reset.is_err(), "nothing fits into the window");
    }
    assert!(client.send_request(request()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_over_ends_though_its_client_takes_nothing() {
    for seconds in [1, 30] {
        is_over_after(Duration::from_secs(seconds)).await;
    }
}

async fn is_over_after(time: Duration) {
    let over = Arc::new(AtomicBool::new(false));
    let (near, far) = duplex(64 << 10);
    let answer = {
        let over = Arc::clone(&over);
        move |_| {
            let over = Arc::clone(&over);
            let is_over = IsOver(Arc::new(move || over.load(Ordering::Relaxed)));
            let mut response = Response::new(Full::new(Bytes::from(vec![7; TEXT_BYTES])));
            response.extensions_mut().insert(Patience(None));
            response.extensions_mut().insert(is_over);
            // As most answers it takes a moment, in which the body is watched already.
            async {
                sleep(Duration::from_millis(1)).await;
                response
            }
        }
    };
    tokio::spawn(serve(far, answer, pending(), pending()));
    let mut client = client(near, 0).await;
    let answer = client.send_request(request()).await.expect("an answer");
    let mut body = answer.into_body();
    let early = timeout(time, body.frame()).await;
    assert!(early.is_err(), "it may be sent yet");
    over.store(true, Ordering::Relaxed);
    let next = timeout(Duration::from_secs(3), body.frame()).await;
    assert!(next.expect("in time").expect("no end").is_err());
}

#[tokio::test(start_paused = true)]
async fn what_a_connection_has_of_bodies_is_bounded_and_let_go_of() {
    let text = Bytes::from(vec![7; TEXT_BYTES]);
    let sent = Arc::new(AtomicUsize::new(0));
    let (near, far) = duplex(1 << 20);
    let answer = {
        let (text, sent) = (text.clone(), Arc::clone(&sent));
        move |_| {
            let counted = Counted {
                body: Full::new(Bytes::new()),
                text: text.clone(),
                sent: Arc::clone(&sent),
            };
            ready(Response::new(counted))
        }
    };
    tokio::spawn(serve(far, answer, pending(), pending()));
    let mut client = client(near, 1).await;
    let mut unread = Vec::new();
    for _ in 0..STREAMS_MAX {
        unread.push(client.send_request(request()).await.expect("an answer"));
    }
    let taken = || sent.load(Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    // Beside what waits each request has a piece that may not wait yet.
    let most = PIECES_MAX + 2 * STREAMS_MAX as usize;
    let pieces = taken();
    assert!(pieces > 0 && pieces <= most, "{pieces} of {most}");
    drop(client);
    drop(unread);
    until_unique(&text).await;
}

/// A body of single pieces, which are counted as they are taken.
struct Counted {
    body: Full<Bytes>,
    text: Bytes,
    sent: Arc<AtomicUsize>,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.text.is_empty() {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        let piece = self.text.split_to(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// A client that writes frames by hand.
async fn raw(socket: &mut DuplexStream, frames: &[u8]) {
    let begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    // A connection that has ended takes nothing.
    socket.write_all(begin).await.ok();
    socket.write_all(frames).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_pings_ends_its_connection() {
    let (mut socket, served) = served(&Bytes::new(), Patience::default());
    let pings =
        b"\x00\x00\x08\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00".repeat(1_000);
    raw(&mut socket, &pings).await;
    assert!(in_time(served).await.expect("no panic").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_to_end_waits_for_no_request_longer_than_it_is_reported() {
    let (mut near, far) = duplex(64 << 10);
    let answer = |_| pending::<Response<Full<Bytes>>>();
    let (ending, is_over) = (sleep(Duration::from_secs(1)), sleep(Duration::from_secs(9)));
    let served = tokio::spawn(serve(far, answer, ending, is_over));
    // A request for `/` by GET over https, to h.
    let request = b"\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x84\x87\x41\x01h";
    raw(&mut near, request).await;
    tokio::spawn(async move {
        // It answers no ping, but reads.
        let mut sink = [0; 1_024];
        while near.read(&mut sink).await.is_ok_and(|count| count > 0) {}
    });
    assert!(in_time(served).await.expect("no panic").is_ok());
}
