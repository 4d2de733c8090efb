//! Listeners over WebSocket (RFC 6455): a task follows the lane and sends its data as binary messages.
//!
//! ```text
//!  101 ─┬► give all there is ─► pause ─► wait for more ─┐   meanwhile: pings answered and sent, a close obeyed
//!       └───────────────────────────────────────────────┘
//!  end of the lane, or a violation ─► close frame with the reason ─► the client's, or CLOSE_TIMEOUT ─► socket closed
//! ```
//!
//! * A message carries the bytes of one send: players treat messages as one run of bytes, in which tags and fragments may cross
//!   message borders. Nothing is copied per listener except the head of a frame, which is 2 to 10 bytes.
//! * Data from the client is ignored and rate-limited ([`chatter`]). While the client takes nothing, nothing is read from it.
//! * The listener falls behind, skips and is dropped by the rules for all listeners; it may be dropped within a message.

mod chatter;

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use fanout::{LogReader, Reason};
use http1::websocket::{
    CONTROL_BYTES_MAX, CloseCode, Event, FrameHead, FrameReader, Opcode, Peer, Short, Violation,
};
use net::TransportStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use self::chatter::Chatter;
use super::decide::Listen;
use super::patience::{STALLED_AFTER, patiently};
use super::{Context, DRAIN_BYTES_MAX, Outcome};

/// Interval between pings: three in the minute of silence after which common proxies give up a connection.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Silence after which a client is considered gone, with three pings unanswered: the socket alone would not show it while the
/// stream sends nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Maximum message length in bytes. A listener has nothing to send; some players send a greeting of a few hundred bytes.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;

/// Bytes read from a client at once: a control frame with its head.
const READ_BYTES: usize = 128;

/// Time for the client to answer a close frame: several round trips to anywhere.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers the handshake, and serves the listener in a task of its own until either side ends it.
pub(super) fn follow<S: TransportStream>(context: &Context, socket: S, listen: Listen) -> Outcome {
    // The round trip prepares the socket as that of a listener.
    let Ok(socket) = socket.into_transport().and_then(S::from_transport) else {
        return Outcome::Gone;
    };
    let (id, head, intro) = (listen.record.id, listen.head, listen.intro);
    // The listener is deregistered before its connection is closed, so the task holds the permit until the end.
    let permit = listen.record.permit.clone();
    let fanout = context.registry.fanout();
    let session = Session {
        reader: fanout.follow(listen.record, listen.lane),
        connection: Connection::new(socket),
        leaving: context.leaving.clone(),
    };
    tokio::spawn(async move {
        session.run(head, intro).await;
        drop(permit);
    });
    Outcome::Listening(id)
}

/// Reason why a listener's session is over.
enum End {
    /// The lane has no more data; the reader knows why.
    Lane,
    /// The client is gone without a close frame.
    Left,
    /// The client has closed, with this number if it gave one.
    Closed(Option<u16>),
    /// The client broke the protocol.
    Broken(Violation),
    /// The client sends more than a listener may.
    Chatty,
    /// The listener is dropped within a message that it has not taken.
    Stalled(Reason),
}

struct Session<S> {
    reader: LogReader,
    connection: Connection<S>,
    leaving: watch::Receiver<bool>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    async fn run(mut self, head: Bytes, intro: Bytes) {
        let Err(end) = self.send(head, intro).await;
        let reason = match end {
            End::Lane => self.reader.reason(),
            End::Left | End::Closed(_) | End::Broken(_) | End::Chatty => Reason::Left,
            End::Stalled(reason) => reason,
        };
        self.reader.ended_by(reason);
        let is_leaving = *self.leaving.borrow();
        drop(self.reader);
        let ours = |code: CloseCode| Some(code.number());
        let (number, answer) = match end {
            End::Lane => (ours(code_of(reason, is_leaving)), Answer::Awaited),
            End::Closed(number) => (number, Answer::Given),
            End::Broken(violation) => (ours(violation.code()), Answer::Unreadable),
            End::Chatty => (ours(CloseCode::POLICY_VIOLATION), Answer::Unreadable),
            End::Left | End::Stalled(_) => return,
        };
        self.connection.close(number, answer).await;
    }

    /// Sends the head and the lane until either side ends it.
    async fn send(&mut self, head: Bytes, intro: Bytes) -> Result<Infallible, End> {
        let Self {
            reader, connection, ..
        } = self;
        connection.begin(head).await?;
        let mut next = (!intro.is_empty()).then_some(intro);
        loop {
            if next.is_none() {
                next = Some(connection.attend(reader.next()).await?.ok_or(End::Lane)?);
            }
            let began = Instant::now();
            while let Some(bytes) = next {
                connection.give(bytes, reader).await?;
                let more = reader.at_hand().await;
                next = more.map(|more| more.ok_or(End::Lane)).transpose()?;
            }
            let resume = began + reader.window();
            connection.attend(sleep_until(resume)).await?;
        }
    }
}

/// Returns the close code sent to a client whose lane is over.
fn code_of(reason: Reason, is_leaving: bool) -> CloseCode {
    match reason {
        Reason::Ended | Reason::Left if !is_leaving => CloseCode::NORMAL,
        Reason::Ended | Reason::Left | Reason::Shutdown => CloseCode::GOING_AWAY,
        Reason::Kicked => CloseCode::POLICY_VIOLATION,
        Reason::Lag | Reason::Overrun => CloseCode::TRY_AGAIN_LATER,
    }
}

/// State of the client's reply to our close frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// The reply has yet to arrive.
    Awaited,
    /// Our frame is itself the reply.
    Given,
    /// Input from the client can no longer be read.
    Unreadable,
}

/// Connection of the client: frames in both directions.
struct Connection<S> {
    socket: S,
    frames: FrameReader,
    outbox: Outbox,
    /// Timer of the next ping.
    ping: Pin<Box<Sleep>>,
    /// Time at which the last bytes arrived from the client.
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

    /// Sends the reply to the request.
    async fn begin(&mut self, head: Bytes) -> Result<(), End> {
        let begun = async {
            self.socket.write_all(&head).await?;
            self.socket.flush().await
        };
        let begun = timeout(STALLED_AFTER, begun).await;
        begun.ok().and_then(Result::ok).ok_or(End::Left)
    }

    /// Sends a message, in bounded time; `reader` decides whether its listener may stay meanwhile.
    async fn give(&mut self, payload: Bytes, reader: &mut LogReader) -> Result<(), End> {
        let head = FrameHead::server(Opcode::Binary, payload.len());
        let control = std::mem::take(&mut self.outbox);
        // Written in one piece, without copying the payload.
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

    /// Returns the output of `event`, unless the client ends the session first.
    async fn attend<T>(&mut self, event: impl Future<Output = T>) -> Result<T, End> {
        let mut event = pin!(event);
        std::future::poll_fn(|cx| {
            // The client comes first, so that its frames are read even if it has a backlog.
            self.poll_client(cx)?;
            event.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Reads frames from the client and sends what is due, as far as possible without waiting.
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
        if self.outbox.frame.as_bytes().is_empty() {
            return Poll::Ready(Ok(()));
        }
        while !self.outbox.rest().is_empty() {
            let written = Pin::new(&mut self.socket).poll_write(cx, self.outbox.rest());
            match ready!(written)? {
                0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                count => self.outbox.sent += count as u8,
            }
        }
        // Until the flush, TLS may hold the frame back.
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        self.outbox = Outbox::default();
        Poll::Ready(Ok(()))
    }

    /// Sends a close frame with this number, if any, waits for the client's reply, and closes the socket; in bounded time.
    async fn close(mut self, number: Option<u16>, answer: Answer) {
        let payload = number.map(u16::to_be_bytes);
        let payload = payload.as_slice().as_flattened();
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
        // The client's part in closing does not matter.
        if !matches!(timeout(CLOSE_TIMEOUT, closed).await, Ok(Ok(()))) {
            tracing::trace!("a client of WebSocket did not close in order");
        }
    }
}

/// Reads until the client's close frame, or until an end or error that takes its place.
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

/// Control frame being sent. A new frame replaces it as long as none of its bytes are sent, because a pong may answer the last
/// of several pings (RFC 6455 §5.5.3).
#[derive(Default)]
struct Outbox {
    frame: Short<{ 2 + CONTROL_BYTES_MAX }>,
    sent: u8,
}

impl Outbox {
    fn put(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.sent > 0 {
            // A half-sent frame must be completed first. The new frame is dropped; the client will ping again.
            return;
        }
        let head = FrameHead::server(opcode, payload.len());
        self.frame = Short::EMPTY;
        self.frame.push(head.as_bytes());
        self.frame.push(payload);
    }

    fn rest(&self) -> &[u8] {
        &self.frame.as_bytes()[usize::from(self.sent)..]
    }
}

#[cfg(test)]
mod tests;
