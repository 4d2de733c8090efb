//! RTMP publishers: the driver of [`rtmp::server::Session`].
//!
//! RTMP tells late what a peer wants. One that wants to play is given back, with everything that
//! has been said so far.
//!
//! One task per connection waits for whichever comes first: bytes to read, room to write, the gate's
//! answer to a request to publish (`question`), the loss of the stream to another publisher, or a
//! deadline. What one read brought is decoded to the end and written to the stream as one batch. A bare
//! socket that publishes is left to the intake's thread, which reads many at a time (`parked`), until
//! there is something to decide.
//!
//! While the gate decides, reading goes on: a peer that hangs up takes its question back, pings are
//! answered, and of what it sends the session keeps codec configuration alone, 32 KiB at the most.
//!
//! Waiting to write never stops reading: a publisher that ignores our acknowledgements goes on
//! publishing until its unread replies reach the session's bound. Deadlines: the session has those
//! for the handshake and for the request, the publication those for media.

mod connection;
mod parked;
pub(crate) mod publication;
mod question;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;

use ::rtmp::server::{Request, Session};
use bytes::{Buf, Bytes, BytesMut};
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::connection::Connection;
use self::publication::Publication;
use self::question::{Answer, Question};
use crate::{Context, Error, now};

/// Bytes read at once: a few frames of video, so that one read drains many chunks.
const READ_BYTES: usize = 64 * 1024;

/// Runs a connection from its first byte to its end, and closes it.
///
/// `early` is what the door has read of it already. `on_admitted` is called when the connection is
/// first let in as a publisher; until then it is a stranger's.
///
/// # Errors
/// What ended it, when that was not the publisher's own leaving. The peer has been told then, as far
/// as RTMP has words for it, and the event has been logged and counted.
pub async fn serve<S>(
    context: &Arc<Context>,
    socket: S,
    early: Bytes,
    peer: SocketAddr,
    on_admitted: impl FnOnce() + Send,
) -> Result<End<S>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut connection = Connection::new(context, peer)?;
    let mut visit = Visit::new(context, on_admitted, false);
    let (mut reader, mut writer) = tokio::io::split(socket);
    let result = visit.begin(&mut connection, &mut reader, &mut writer, &early);
    let result = result.await.map(|_| ());
    finish(connection, reader.unsplit(writer), result).await
}

/// The same for a bare socket, which the [intake](net::intake) reads, if there is one, while it
/// publishes.
///
/// # Errors
/// As [`serve`].
pub async fn serve_plain(
    context: &Arc<Context>,
    mut socket: TcpStream,
    early: Bytes,
    peer: SocketAddr,
    on_admitted: impl FnOnce() + Send,
) -> Result<End<TcpStream>, Error> {
    let mut connection = Connection::new(context, peer)?;
    let mut visit = Visit::new(context, on_admitted, context.intake.is_some());
    let (mut reader, mut writer) = socket.split();
    let mut result = visit
        .begin(&mut connection, &mut reader, &mut writer, &early)
        .await;
    while let Ok(Stop::Steady) = result {
        (connection, socket, result) =
            parked::park(context, connection, socket, &mut visit).await?;
        if let Ok(Stop::Steady) = result {
            let (mut reader, mut writer) = socket.split();
            result = visit.run(&mut connection, &mut reader, &mut writer).await;
        }
    }
    finish(connection, socket, result.map(|_| ())).await
}

/// Ends a connection that its driver is done with, or gives it back.
async fn finish<S>(
    mut connection: Connection,
    socket: S,
    result: Result<(), Error>,
) -> Result<End<S>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if result.is_ok()
        && let Some(wish) = connection.wish.take()
    {
        return Ok(End::Player(Box::new(connection.into_player(socket, wish))));
    }
    let last_words = connection.finish(&result);
    closing::say(socket, &last_words).await;
    result.map(|()| End::Left)
}

/// How a connection ended that did nothing wrong.
#[derive(Debug)]
pub enum End<S> {
    /// The peer has left.
    Left,
    /// The peer wants to play: the connection goes on elsewhere.
    Player(Box<Player<S>>),
}

/// A connection whose peer wants to play.
#[derive(Debug)]
pub struct Player<S> {
    /// The connection.
    pub socket: S,
    /// The conversation so far. Its output is unsent.
    pub session: Session,
    /// What it wants to play.
    pub request: Box<Request>,
    /// Received and not yet read by the session.
    pub input: Bytes,
    /// What the playing program calls itself. Untrusted text.
    pub agent: String,
}

/// What the driver waited for.
enum Step {
    Read(usize),
    Sent,
    Answered(Answer),
    Leaving,
    Due,
}

/// Why a driver has stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stop {
    /// The peer has left or wants to play.
    Over,
    /// It publishes, has nothing to be told, and may be read by the intake.
    Steady,
}

/// A task's work on a connection.
struct Visit<F> {
    /// To be told of the first admission.
    on_admitted: Option<F>,
    leaving: watch::Receiver<bool>,
    /// Whether the socket may still hold back bytes that were written to it.
    is_unflushed: bool,
    /// Somebody else can do it once the peer publishes.
    may_park: bool,
}

impl<F: FnOnce() + Send> Visit<F> {
    fn new(context: &Context, on_admitted: F, may_park: bool) -> Self {
        Self {
            on_admitted: Some(on_admitted),
            leaving: context.leaving.clone(),
            is_unflushed: false,
            may_park,
        }
    }

    /// Works from the first byte on; see [`run`](Self::run).
    async fn begin<R, W>(
        &mut self,
        connection: &mut Connection,
        reader: &mut R,
        writer: &mut W,
        early: &[u8],
    ) -> Result<Stop, Error>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        connection.take(early, now())?;
        self.run(connection, reader, writer).await
    }

    /// Works until the peer leaves, wants to play, or can be left to the intake.
    async fn run<R, W>(
        &mut self,
        connection: &mut Connection,
        reader: &mut R,
        writer: &mut W,
    ) -> Result<Stop, Error>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        while !connection.session.is_closed() && connection.wish.is_none() {
            if connection.is_held() {
                connection.ask_at_once(now())?;
                self.tell_admitted(connection);
                continue;
            }
            let due = connection.due();
            let has_output = self.is_unflushed || !connection.session.output().is_empty();
            if due.is_some_and(|due| due <= now()) {
                connection.handle_timeout(now())?;
                continue;
            }
            if self.may_park && !has_output && connection.publication.is_some() {
                return Ok(Stop::Steady);
            }
            buffer.clear();
            let step = tokio::select! {
                read = reader.read_buf(&mut buffer) => Step::Read(closing::hung_up(read)?),
                sent = send(writer, connection.session.output(), &mut self.is_unflushed), if has_output => {
                    sent?;
                    Step::Sent
                }
                answer = answer(connection.question.as_mut()) => Step::Answered(answer),
                error = over(connection.publication.as_ref()) => return Err(error),
                () = wait::change(&mut self.leaving) => Step::Leaving,
                () = wait::at(due) => Step::Due,
            };
            match step {
                Step::Read(0) => return Ok(Stop::Over),
                Step::Read(_) => connection.take(&buffer, now())?,
                Step::Sent => {}
                Step::Answered(answer) => {
                    connection.decide(answer, now())?;
                    self.tell_admitted(connection);
                }
                Step::Leaving => {
                    // A peer that does not know the request is not told, and stays to the end.
                    connection.ask_to_reconnect();
                }
                Step::Due => connection.handle_timeout(now())?,
            }
        }
        Ok(Stop::Over)
    }

    fn tell_admitted(&mut self, connection: &Connection) {
        if connection.is_admitted
            && let Some(tell) = self.on_admitted.take()
        {
            tell();
        }
    }
}

/// Sends what is to be sent. Nothing is lost when it is given up in between.
async fn send<W>(
    writer: &mut W,
    output: &mut BytesMut,
    is_unflushed: &mut bool,
) -> std::io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    while output.has_remaining() {
        *is_unflushed = true;
        if writer.write_buf(output).await? == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
    }
    writer.flush().await?;
    *is_unflushed = false;
    Ok(())
}

/// Waits for the answer to a question, if there is one.
async fn answer(question: Option<&mut Question>) -> Answer {
    match question {
        Some(question) => question.answer().await,
        None => std::future::pending().await,
    }
}

/// Waits until the stream is somebody else's, or the permission has ended.
async fn over(publication: Option<&Publication>) -> Error {
    match publication {
        Some(publication) => publication.over().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
