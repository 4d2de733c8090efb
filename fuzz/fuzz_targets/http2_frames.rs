//! HTTP/2 frames: whatever a client sends on a connection, the body pieces that wait for it are bounded and finally released,
//! and its frames outside requests are counted equally however they arrive.

#![no_main]

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use web::http2::{FrameMeter, PIECE_BYTES, PIECES_MAX, STREAMS_MAX};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// Number of pieces of each body.
const PIECES: usize = 8;

/// Maximum number of pieces that may exist at a time: those that wait, the next one for each request, and as many for requests
/// that the client has just cancelled.
const HELD_MAX: usize = PIECES_MAX + 4 * STREAMS_MAX as usize;

fuzz_target!(|bytes: &[u8]| {
    let now = Instant::now();
    let taken = |piece: usize| {
        let mut meter = FrameMeter::default();
        let all = [PREFACE, bytes].concat();
        all.chunks(piece)
            .try_for_each(|piece| meter.take(piece, now))
    };
    let whole = taken(usize::MAX);
    assert_eq!(whole, taken(1));
    assert_eq!(whole, taken(7));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let held = Held::default();
    runtime.expect("a runtime").block_on(connect(bytes, &held));
    let most = held.most.load(Ordering::Relaxed);
    assert!(most <= HELD_MAX, "{most} pieces");
    assert_eq!(held.now.load(Ordering::Relaxed), 0);
});

/// Runs one connection, from its preface to its end.
async fn connect(bytes: &[u8], held: &Held) {
    let (near, far) = duplex(64 << 10);
    let held = held.clone();
    let answer = move |_| {
        let held = held.clone();
        ready(Response::new(Pieces { held, left: PIECES }))
    };
    let served = tokio::spawn(web::http2::serve(far, answer, pending(), pending()));
    let (mut reads, mut writes) = split(near);
    let reads = tokio::spawn(async move {
        let mut sink = [0; 4 << 10];
        while reads.read(&mut sink).await.is_ok_and(|count| count > 0) {}
    });
    // A connection that has ended takes nothing.
    for piece in [PREFACE, bytes] {
        writes.write_all(piece).await.ok();
    }
    // Long enough for everything that waits to be given up.
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    reads.abort();
    drop(writes);
    served.await.expect("no panic").ok();
}

/// Number of pieces that exist, now and at most.
#[derive(Clone, Default)]
struct Held {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Piece(Held);

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &[0; PIECE_BYTES]
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Body of a response.
struct Pieces {
    held: Held,
    left: usize,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Poll::Ready(None);
        };
        self.left = left;
        let now = self.held.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.held.most.fetch_max(now, Ordering::Relaxed);
        let piece = Bytes::from_owner(Piece(self.held.clone()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}
