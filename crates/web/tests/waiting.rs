//! Memory that listeners waiting for the gate take: their requests, their tasks' futures, and the values held by these.
//! Sockets, which are the kernel's memory, are not counted.

#![allow(clippy::unwrap_used, reason = "a test says so when it fails")]

extern crate carillon_web as web;

use std::future::{pending, ready};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use fanout::gate::{Decision, Denied, Gate, Play, Publish, Request, UpdateMetadata};
use fanout::{Config, Fanout, Permit, Registry};
use http1::{Head, HeadReader};
use net::wait::at_once;
use net::{Transport, TransportStream};
use peak_alloc::PeakAlloc;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use web::listen::{Context, Target, serve};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LISTENERS: usize = 10_000;

/// Maximum bytes per listener.
const EACH_BYTES_MAX: usize = 2 * 1024;

/// A gate that never decides.
struct Undecided;

impl Gate for Undecided {
    fn publish<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(ready(Err(Denied::Wrong)))
    }

    fn play<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, Play> {
        Box::pin(pending())
    }

    fn update_metadata<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(ready(Err(Denied::Wrong)))
    }
}

/// A connection on which nothing happens.
struct Silent;

impl AsyncRead for Silent {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Task<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Silent {
    fn poll_write(self: Pin<&mut Self>, _: &mut Task<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl TransportStream for Silent {
    fn into_transport(self) -> io::Result<Transport> {
        unreachable!("nobody is let in")
    }

    fn from_transport(_: Transport) -> io::Result<Self> {
        unreachable!("nobody is let in")
    }
}

fn context() -> Context {
    let config = Config {
        workers: 1,
        target_utilisation: 0.02,
        log_bytes_max: 1 << 20,
    };
    let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
    let (fanout, _departures) = Fanout::start(&config, backend).unwrap();
    let (registry, _) = Registry::new(fanout, 0, Box::new(|_| Default::default()));
    registry.fanout().stop();
    Context::new(Arc::new(registry), Arc::new(Undecided))
}

/// Request head as sent by VLC.
fn head() -> Head {
    let text = "GET /live/show.flv HTTP/1.1\r\nHost: radio.example:8000\r\nAccept: */*\r\n\
        Accept-Language: en_US\r\nUser-Agent: VLC/3.0.20 LibVLC/3.0.20\r\nRange: bytes=0-\r\n\r\n";
    let read = HeadReader::default().push(text.as_bytes());
    read.unwrap().unwrap().0
}

#[test]
fn ten_thousand_requests_that_wait_for_permission_cost_two_kilobytes_each() {
    let context = context();
    let (peer, permit) = (SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), Permit::new(()));
    let mut waiting = Vec::with_capacity(LISTENERS);
    let before = MEMORY.current_usage();
    for _ in 0..LISTENERS {
        let head = head();
        let target = Target::find(&head.path(), &context.registry).unwrap();
        let permit = permit.clone();
        let mut listener = Box::pin(serve(&context, Silent, target, head, peer, permit));
        assert!(at_once(&mut listener).is_none());
        waiting.push(listener);
    }
    let each = (MEMORY.current_usage() - before) / LISTENERS;
    assert!(each <= EACH_BYTES_MAX, "{each} bytes");
}
