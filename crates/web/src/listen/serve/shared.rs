//! Listeners that share a connection with other requests, as in HTTP/2: a task follows the lane for each.
//!
//! ```text
//!  ┌► wait for more ─► give all there is ─► pause ─┐      the client closing ends it at once
//!  └───────────────────────────────────────────────┘
//! ```
//!
//! The pause is [`LogReader::window`].

use std::convert::Infallible;

use bytes::Bytes;
use fanout::gate::Remote;
use fanout::{LogReader, Permit, Reason};
use http1::{Head, Status};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Context;
use super::decide::{Decision, decide};
use super::patience::patiently;
use crate::listen::Target;

/// Number of bytes of an intro written at once: few enough for a slow client to take in time.
const INTRO_PIECE_BYTES: usize = 16 * 1024;

/// Outcome of a request that shares its connection with others.
#[derive(Debug)]
pub enum LiveReply {
    /// The request was answered.
    Whole {
        /// Status of the reply.
        status: Status,
        /// Reply in HTTP/1 form.
        bytes: Vec<u8>,
    },
    /// The request became a listener.
    Live {
        /// Head of the reply in HTTP/1 form.
        head: Bytes,
        /// Source of the body.
        body: LiveBody,
    },
}

/// Body of a listener's reply, not yet sent.
#[derive(Debug)]
pub struct LiveBody(Box<Pump>);

impl LiveBody {
    /// Sends the body in pieces, as fast as they are taken, until either side ends it. The channel's capacity bounds the bytes
    /// buffered between the lane and the client.
    pub async fn feed(self, pieces: mpsc::Sender<Bytes>) {
        self.0.run(pieces).await;
    }
}

/// Decides on a request for a stream that shares its connection with others.
///
/// `permit` is used as in [`serve`](crate::listen::serve()).
pub async fn reply(
    context: &Context,
    target: Target,
    head: &Head,
    remote: impl Into<Remote>,
    permit: Permit,
) -> LiveReply {
    match decide(context, &target, head, remote.into(), permit).await {
        Decision::Answer(words) => LiveReply::Whole {
            status: words.status,
            bytes: words.bytes,
        },
        Decision::Listen(listen) => {
            let listen = *listen;
            let (head, intro) = (listen.head, listen.intro);
            let fanout = context.registry.fanout();
            let reader = fanout.follow(listen.record, listen.lane);
            let body = LiveBody(Box::new(Pump { reader, intro }));
            LiveReply::Live { head, body }
        }
    }
}

#[derive(Debug)]
struct Pump {
    reader: LogReader,
    /// Intro bytes sent before the lane.
    intro: Bytes,
}

impl Pump {
    /// Sends the lane until either side ends it, and reports the reason to the reader.
    async fn run(mut self, pieces: mpsc::Sender<Bytes>) {
        let Err(end) = self.send(&pieces).await;
        match end {
            // The reader knows why the lane ended.
            End::Lane => {}
            End::Left => self.reader.ended_by(Reason::Left),
            End::Stalled(reason) => self.reader.ended_by(reason),
        }
    }

    async fn send(&mut self, pieces: &mpsc::Sender<Bytes>) -> Result<Infallible, End> {
        let Self { reader, intro } = self;
        while !intro.is_empty() {
            let piece = intro.len().min(INTRO_PIECE_BYTES);
            give(reader, pieces, intro.split_to(piece)).await?;
        }
        loop {
            let first = closed_before(pieces, reader.next()).await?;
            let mut next = Some(first.ok_or(End::Lane)?);
            let began = Instant::now();
            while let Some(bytes) = next {
                give(reader, pieces, bytes).await?;
                let more = reader.at_hand().await;
                next = more.map(|more| more.ok_or(End::Lane)).transpose()?;
            }
            let resume = began + reader.window();
            closed_before(pieces, sleep_until(resume)).await?;
        }
    }
}

/// Returns the output of `event`, unless the client closes first.
async fn closed_before<T>(
    pieces: &mpsc::Sender<Bytes>,
    event: impl Future<Output = T>,
) -> Result<T, End> {
    tokio::select! {
        biased;
        outcome = event => Ok(outcome),
        () = pieces.closed() => Err(End::Left),
    }
}

/// Reason why a body is over.
enum End {
    /// The lane has no more data.
    Lane,
    /// The client closed.
    Left,
    /// The client takes nothing, and may not stay for this reason.
    Stalled(Reason),
}

/// Sends the client a piece, in bounded time.
async fn give(
    reader: &mut LogReader,
    pieces: &mpsc::Sender<Bytes>,
    bytes: Bytes,
) -> Result<(), End> {
    match patiently(reader, pieces.send(bytes)).await {
        Ok(sent) => sent.map_err(|_| End::Left),
        Err(reason) => Err(End::Stalled(reason)),
    }
}
