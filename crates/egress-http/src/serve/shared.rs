//! A listener that shares its connection with other requests, as HTTP/2 has it: a task that follows the lane.
//!
//! ```text
//!  ┌► give all there is ─► pause ─► wait for more ─┐      the client closing ends it at once,
//!  └───────────────────────────────────────────────┘      except while it is given something
//! ```
//!
//! The pause is [`LogReader::window`].

use std::time::Duration;

use bytes::Bytes;
use fanout::gate::Remote;
use fanout::{LogReader, Permit, Reason};
use http1::{Head, Status};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::Context;
use super::decide::{Decision, Listen, decide};
use crate::Target;

/// How long it may take to give a client something; the same patience as for a plain socket.
const STALLED_AFTER: Duration = net::tcp::USER_TIMEOUT;

/// Of an intro so much is written at once: a slow client takes it in time.
const INTRO_PIECE_BYTES: usize = 16 * 1024;

/// What becomes of a request that shares its connection with others.
#[derive(Debug)]
pub enum Reply {
    /// It is answered.
    Whole {
        /// The answer's status.
        status: Status,
        /// The answer as HTTP/1 has it.
        bytes: Vec<u8>,
    },
    /// It has become a listener.
    Live {
        /// The answer's head as HTTP/1 has it.
        head: Bytes,
        /// Gives the body.
        body: LiveBody,
    },
}

/// The body of a listener's answer, not yet sent.
#[derive(Debug)]
pub struct LiveBody(Box<Pump>);

impl LiveBody {
    /// Sends the body in pieces, as fast as they are taken, until either side ends it. The channel's capacity
    /// bounds what is buffered between the lane and the client.
    pub async fn feed(self, pieces: mpsc::Sender<Bytes>) {
        self.0.run(pieces).await;
    }
}

/// Decides on a request for a stream that shares its connection with others.
///
/// `permit` is as for [`serve`](crate::serve()).
pub async fn reply(
    context: &Context,
    target: Target,
    head: &Head,
    remote: impl Into<Remote>,
    permit: Permit,
) -> Reply {
    match decide(context, &target, head, remote.into(), Some(permit)).await {
        Decision::Answer(words) => Reply::Whole {
            status: words.status,
            bytes: words.bytes,
        },
        Decision::Listen(listen) => {
            let (head, pump) = follow(context, *listen);
            let body = LiveBody(Box::new(pump));
            Reply::Live { head, body }
        }
    }
}

fn follow(context: &Context, listen: Listen) -> (Bytes, Pump) {
    let Listen {
        record,
        head,
        intro,
        lane,
        refusal: _,
    } = listen;
    let reader = context.registry.fanout().follow(record, lane);
    (head, Pump { reader, intro })
}

#[derive(Debug)]
struct Pump {
    reader: LogReader,
    /// What goes before the lane.
    intro: Bytes,
}

impl Pump {
    /// Sends the lane until either side ends it, and tells the reader why it ended.
    async fn run(mut self, pieces: mpsc::Sender<Bytes>) {
        match self.send(&pieces).await {
            // The reader knows why the lane ended.
            End::Lane => {}
            End::Left => self.reader.ended_by(Reason::Left),
            End::Stalled => self.reader.ended_by(Reason::Lag),
        }
    }

    async fn send(&mut self, pieces: &mpsc::Sender<Bytes>) -> End {
        while !self.intro.is_empty() {
            let piece = self.intro.len().min(INTRO_PIECE_BYTES);
            if let Err(end) = give(pieces, self.intro.split_to(piece)).await {
                return end;
            }
        }
        let mut next = None;
        loop {
            let began = Instant::now();
            while let Some(bytes) = next {
                if let Err(end) = give(pieces, bytes).await {
                    return end;
                }
                next = match self.reader.at_hand().await {
                    Some(Some(bytes)) => Some(bytes),
                    Some(None) => return End::Lane,
                    None => None,
                };
            }
            let resume = began + self.reader.window();
            if closed_before(pieces, sleep_until(resume)).await.is_none() {
                return End::Left;
            }
            next = match closed_before(pieces, self.reader.next()).await {
                Some(Some(bytes)) => Some(bytes),
                Some(None) => return End::Lane,
                None => return End::Left,
            };
        }
    }
}

/// What `event` gives, or `None` when the client closes first.
async fn closed_before<T>(
    pieces: &mpsc::Sender<Bytes>,
    event: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        outcome = event => Some(outcome),
        () = pieces.closed() => None,
    }
}

/// Why a body is over.
enum End {
    /// The lane has no more to give.
    Lane,
    /// The client closed.
    Left,
    /// The client took nothing for too long.
    Stalled,
}

/// Gives the client a piece, in bounded time.
async fn give(pieces: &mpsc::Sender<Bytes>, bytes: Bytes) -> Result<(), End> {
    match timeout(STALLED_AFTER, pieces.send(bytes)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Left),
        Err(_) => Err(End::Stalled),
    }
}
