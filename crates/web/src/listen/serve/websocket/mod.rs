//! A listener by WebSocket (RFC 6455): a task that follows the lane and sends what it gives as binary messages.
//!
//! ```text
//!  101 ─┬► give all there is ─► pause ─► wait for more ─┐   meanwhile: pings answered and sent, a close obeyed
//!       └───────────────────────────────────────────────┘
//!  end of the lane, or a violation ─► close frame with the reason ─► the client's, or CLOSE_TIMEOUT ─► socket closed
//! ```
//!
//! * A message is what one send carries: players take them as one run of bytes, whose tags and fragments may lie across.
//!   Nothing is copied for a listener but the head of a frame, which is 2 to 10 bytes.
//! * What the client says as data is ignored, and has a rate ([`chatter`]). While it takes nothing, nothing of it is read.
//! * It falls behind, skips and is dropped by the rules of all listeners; it is dropped within a message, too.

mod chatter;

use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use fanout::{LogReader, Reason};
use net::TransportStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use websocket::{
    CONTROL_BYTES_MAX, CloseCode, Event, FrameHead, FrameReader, Opcode, Peer, Violation,
};

use self::chatter::Chatter;
use super::decide::Listen;
use super::patience::{STALLED_AFTER, patiently};
use super::{Context, DRAIN_BYTES_MAX, Outcome};

/// How often a client is pinged: three times in the minute of silence after which common proxies give up a connection.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// A client of which nothing has come for so long, with three pings unanswered, is gone: the socket alone would not
/// tell while the stream sends nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A listener has nothing to say; some players send a greeting of a few hundred bytes.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of a client that are read at once: a control frame with its head.
const READ_BYTES: usize = 128;

/// For the client to answer a close frame: several round trips to anywhere.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers the handshake, and serves the listener in a task of its own until either side ends it.
pub(super) fn follow<S: TransportStream>(context: &Context, socket: S, listen: Listen) -> Outcome {
    let Listen {
        record,
        head,
        intro,
        lane,
        refusal: _,
    } = listen;
    // Prepared for a listener on the way.
    let Ok(socket) = socket.into_transport().and_then(S::from_transport) else {
        return Outcome::Gone;
    };
    let id = record.id;
    // The listener is gone from the books before its connection is closed.
    let permit = record.permit.clone();
    let session = Session {
        reader: context.registry.fanout().follow(record, lane),
        connection: Connection::new(socket),
        leaving: context.leaving.clone(),
    };
    tokio::spawn(async move {
        session.run(head, intro).await;
        drop(permit);
    });
    Outcome::Listening(id)
}

/// Why a listener is over.
enum End {
    /// The lane has no more to give; the reader knows why.
    Lane,
    /// The client is gone, without a word.
    Left,
    /// The client has closed, with this number if it gave one.
    Closed(Option<u16>),
    /// The client broke the protocol.
    Broken(Violation),
    /// The client says more than a listener has to say.
    Chatty,
    /// It is let go within a message that it has not taken.
    Stalled(Reason),
}

struct Session<S> {
    reader: LogReader,
    connection: Connection<S>,
    leaving: watch::Receiver<bool>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    async fn run(mut self, head: Bytes, intro: Bytes) {
        let end = match self.connection.begin(head).await {
            Ok(()) => match self.send(intro).await {
                Ok(never) => match never {},
                Err(end) => end,
            },
            Err(end) => end,
        };
        let reason = match end {
            End::Lane => self.reader.reason(),
            End::Left | End::Closed(_) | End::Broken(_) | End::Chatty => Reason::Left,
            End::Stalled(reason) => reason,
        };
        self.reader.ended_by(reason);
        let is_leaving = *self.leaving.borrow();
        drop(self.reader);
        match end {
            End::Lane => {
                let code = code_of(reason, is_leaving);
                self.connection
                    .close(&code.payload(), Answer::Awaited)
                    .await;
            }
            End::Closed(number) => {
                let payload = number.map(u16::to_be_bytes);
                let payload = payload.as_ref().map_or(&[][..], |payload| &payload[..]);
                self.connection.close(payload, Answer::Given).await;
            }
            End::Broken(violation) => {
                let payload = violation.code().payload();
                self.connection.close(&payload, Answer::Unreadable).await;
            }
            End::Chatty => {
                let payload = CloseCode::POLICY_VIOLATION.payload();
                self.connection.close(&payload, Answer::Unreadable).await;
            }
            End::Left | End::Stalled(_) => {}
        }
    }

    /// Sends the lane until either side ends it.
    async fn send(&mut self, intro: Bytes) -> Result<std::convert::Infallible, End> {
        let Self {
            reader, connection, ..
        } = self;
        let mut next = (!intro.is_empty()).then_some(intro);
        loop {
            if next.is_none() {
                next = Some(connection.attend(reader.next()).await?.ok_or(End::Lane)?);
            }
            let began = Instant::now();
            while let Some(bytes) = next {
                connection.give(bytes, reader).await?;
                next = match reader.at_hand().await {
                    Some(Some(bytes)) => Some(bytes),
                    Some(None) => return Err(End::Lane),
                    None => None,
                };
            }
            let resume = began + reader.window();
            connection.attend(sleep_until(resume)).await?;
        }
    }
}

/// What a client is told when its lane is over.
fn code_of(reason: Reason, is_leaving: bool) -> CloseCode {
    match reason {
        Reason::Ended | Reason::Left if !is_leaving => CloseCode::NORMAL,
        Reason::Ended | Reason::Left | Reason::Shutdown => CloseCode::GOING_AWAY,
        Reason::Kicked => CloseCode::POLICY_VIOLATION,
        Reason::Lag | Reason::Overrun => CloseCode::TRY_AGAIN_LATER,
    }
}

/// The client's answer to a close frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// It has yet to come.
    Awaited,
    /// Ours is the answer.
    Given,
    /// What the client sends cannot be read any more.
    Unreadable,
}

/// The client's connection: frames in both directions.
struct Connection<S> {
    socket: S,
    frames: FrameReader,
    outbox: Outbox,
    /// When the next ping is due.
    ping: Pin<Box<Sleep>>,
    /// When something of the client came.
    heard: Instant,
    chatter: Chatter,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    fn new(socket: S) -> Self {
        Self {
            socket,
            frames: FrameReader::new(Peer::Client, MESSAGE_BYTES_MAX),
            outbox: Outbox::default(),
            ping: Box::pin(sleep(PING_INTERVAL)),
            heard: Instant::now(),
            chatter: Chatter::default(),
        }
    }

    /// Sends the answer to the request.
    async fn begin(&mut self, head: Bytes) -> Result<(), End> {
        let begun = async {
            self.socket.write_all(&head).await?;
            self.socket.flush().await
        };
        match timeout(STALLED_AFTER, begun).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Left),
        }
    }

    /// Sends a message, in bounded time; `reader` says whether its listener may stay meanwhile.
    async fn give(&mut self, payload: Bytes, reader: &mut LogReader) -> Result<(), End> {
        let head = FrameHead::server(Opcode::Binary, payload.len());
        let control = std::mem::take(&mut self.outbox);
        // In one piece, without copying the payload.
        let mut all = Buf::chain(control.rest(), head.as_bytes()).chain(payload);
        let socket = &mut self.socket;
        let writing = async move {
            socket.write_all_buf(&mut all).await?;
            socket.flush().await
        };
        match patiently(reader, writing).await {
            Ok(written) => written.map_err(|_| End::Left),
            Err(reason) => Err(End::Stalled(reason)),
        }
    }

    /// What `event` gives, unless the client ends it first.
    async fn attend<T>(&mut self, event: impl Future<Output = T>) -> Result<T, End> {
        let mut event = pin!(event);
        std::future::poll_fn(|cx| {
            // First, so that a client with a backlog is heard as well.
            self.poll_client(cx)?;
            event.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Hears what the client has said and says what is due, as far as possible at once.
    fn poll_client(&mut self, cx: &mut TaskContext<'_>) -> Result<(), End> {
        let mut memory = [0; READ_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut memory);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(_)) => return Err(End::Left),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Err(End::Left),
                Poll::Ready(Ok(())) => self.hear(buffer.filled())?,
            }
        }
        while self.ping.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now - self.heard >= SILENCE_MAX {
                return Err(End::Left);
            }
            if self.outbox.rest().is_empty() {
                self.outbox.put(Opcode::Ping, &[]);
            }
            self.ping.as_mut().reset(now + PING_INTERVAL);
        }
        match self.poll_outbox(cx) {
            Poll::Ready(Err(_)) => Err(End::Left),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    fn hear(&mut self, mut input: &[u8]) -> Result<(), End> {
        self.heard = Instant::now();
        if !self.chatter.take(input.len(), self.heard) {
            return Err(End::Chatty);
        }
        while let Some(event) = self.frames.next(&mut input).map_err(End::Broken)? {
            match event {
                Event::Data(_) | Event::Pong => {}
                Event::Ping(payload) => self.outbox.put(Opcode::Pong, payload.as_bytes()),
                Event::Close(number) => return Err(End::Closed(number)),
            }
        }
        Ok(())
    }

    fn poll_outbox(&mut self, cx: &mut TaskContext<'_>) -> Poll<std::io::Result<()>> {
        if self.outbox.length == 0 {
            return Poll::Ready(Ok(()));
        }
        while !self.outbox.rest().is_empty() {
            let written = Pin::new(&mut self.socket).poll_write(cx, self.outbox.rest());
            match ready!(written)? {
                0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                count => self.outbox.sent += count as u8,
            }
        }
        // Until then TLS may hold it sealed.
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.outbox = Outbox::default();
        Poll::Ready(Ok(()))
    }

    /// Sends a close frame, hears the client's answer, and closes the socket; in bounded time.
    async fn close(mut self, payload: &[u8], answer: Answer) {
        let head = FrameHead::server(Opcode::Close, payload.len());
        let closed = async {
            let mut all = Buf::chain(self.outbox.rest(), head.as_bytes()).chain(payload);
            self.socket.write_all_buf(&mut all).await?;
            self.socket.flush().await?;
            if answer == Answer::Awaited {
                hear_close(&mut self.socket, &mut self.frames).await?;
            }
            self.socket.shutdown().await?;
            if answer == Answer::Unreadable {
                // With unread bytes the connection would be reset, and the close frame lost with it.
                let mut rest = self.socket.take(DRAIN_BYTES_MAX);
                tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
            }
            std::io::Result::Ok(())
        };
        // What the client does of it does not matter.
        if !matches!(timeout(CLOSE_TIMEOUT, closed).await, Ok(Ok(()))) {
            tracing::trace!("a client of WebSocket did not close in order");
        }
    }
}

/// Reads on until the client's close frame, or what takes its place.
async fn hear_close<S: AsyncRead + Unpin>(
    socket: &mut S,
    frames: &mut FrameReader,
) -> std::io::Result<()> {
    let mut memory = [0; READ_BYTES];
    loop {
        let mut input = match socket.read(&mut memory).await? {
            0 => return Ok(()),
            count => &memory[..count],
        };
        loop {
            match frames.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Close(_))) | Err(_) => return Ok(()),
                Ok(Some(Event::Data(_) | Event::Ping(_) | Event::Pong)) => {}
            }
        }
    }
}

/// A control frame on its way: the newest of those that none of has been sent, for a pong may answer the last of several
/// pings (RFC 6455 §5.5.3).
struct Outbox {
    bytes: [u8; 2 + CONTROL_BYTES_MAX],
    length: u8,
    sent: u8,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            bytes: [0; 2 + CONTROL_BYTES_MAX],
            length: 0,
            sent: 0,
        }
    }
}

impl Outbox {
    fn put(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.sent > 0 {
            // Half a frame has to be followed by its other half; what comes next will be asked for again.
            return;
        }
        let head = FrameHead::server(opcode, payload.len());
        let (head, begin) = (head.as_bytes(), head.as_bytes().len());
        let end = begin + payload.len();
        self.bytes[..begin].copy_from_slice(head);
        self.bytes[begin..end].copy_from_slice(payload);
        self.length = end as u8;
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent.into()..self.length.into()]
    }
}

#[cfg(test)]
mod tests;
