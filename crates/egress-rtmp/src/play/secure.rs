//! A player behind TLS: its task follows the lane.

use std::io;
use std::time::Duration;

use ::rtmp::server::Event;
use bytes::{Buf, Bytes};
use fanout::{LaneGuard, LogReader, Reason};
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::server::TlsStream;

use super::carrier::{Carried, PlayTransport};
use super::session::{Next, PlayerSession};
use crate::Error;

/// Bytes read at once from a player that is being sent to.
const READ_BYTES: usize = 512;

/// How long a player may take nothing; the same as for a plain socket.
const PATIENCE: Duration = net::tcp::USER_TIMEOUT;

impl PlayTransport for TlsStream<TcpStream> {
    async fn carry(self, player: PlayerSession, lane: LaneGuard) -> Carried<Self> {
        if let Err(error) = net::tcp::prepare_listener(self.get_ref().0) {
            tracing::debug!(%error, "a player was gone before it was served");
        }
        follow(self, player, lane).await
    }
}

/// Sends a lane until something else is to be done.
pub(crate) async fn follow<S>(
    mut socket: S,
    mut player: PlayerSession,
    lane: LaneGuard,
) -> Carried<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(record) = player.record(&lane) else {
        return Carried::Back(Box::new(player), socket, Ok(Next::Listen));
    };
    let mut reader = player.context.registry.fanout().follow(record, lane);
    reader.start_after(player.reached());
    let mut follower = Follower {
        player: &mut player,
        reader: &mut reader,
        unsent: Bytes::new(),
        is_unflushed: false,
    };
    let end = follower.run(&mut socket).await;
    player.has_reached(reader.reached());
    let next = match end {
        End::Event(event) => {
            reader.ended_by(Reason::Left);
            event.map(Next::Event)
        }
        End::Lane if reader.reason() == Reason::Ended => Ok(Next::Ended),
        // It was removed, or skipped ahead in the middle of a message: no words can be sent.
        End::Lane => return Carried::Away,
        End::Left => {
            reader.ended_by(Reason::Left);
            return Carried::Away;
        }
        End::Stalled => {
            reader.ended_by(Reason::Lag);
            return Carried::Away;
        }
    };
    Carried::Back(Box::new(player), socket, next)
}

/// Why a lane is not followed any more.
enum End {
    /// The player has said something that is to be decided. It has had whole messages.
    Event(Result<Event, Error>),
    /// The reader has no more to give.
    Lane,
    /// The player has gone.
    Left,
    /// The player takes nothing.
    Stalled,
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::Stalled,
            _ => Self::Left,
        }
    }
}

/// A player and the lane that it follows.
struct Follower<'a> {
    player: &'a mut PlayerSession,
    reader: &'a mut LogReader,
    /// The lane's bytes that were taken from the reader and not yet written.
    unsent: Bytes,
    /// Whether TLS may still hold back bytes that were written to it.
    is_unflushed: bool,
}

impl Follower<'_> {
    async fn run<S>(&mut self, socket: &mut S) -> End
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut input, mut output) = tokio::io::split(socket);
        match self.follow(&mut input, &mut output).await {
            Ok(end) | Err(end) => end,
        }
    }

    /// Reads and writes at the same time: a player whose link is slower than the stream is still heard.
    async fn follow<R, W>(&mut self, input: &mut R, output: &mut W) -> Result<End, End>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut resume = Instant::now();
        let mut moved = resume;
        loop {
            if let Some(end) = self.converse(output).await? {
                return Ok(end);
            }
            self.player.connection.unread.reserve(READ_BYTES);
            let (is_full, is_unflushed) = (!self.unsent.is_empty(), self.is_unflushed);
            let due = (is_full || is_unflushed).then_some((moved + PATIENCE).into_std());
            let reader = &mut *self.reader;
            let news = async {
                sleep_until(resume).await;
                reader.next().await
            };
            let unsent = &self.unsent;
            // Nothing is lost if it is given up: what was not written is still unsent.
            let write = async {
                match (is_full, is_unflushed) {
                    (true, _) => output.write(unsent).await.map(Some),
                    (false, true) => output.flush().await.map(|()| None),
                    (false, false) => std::future::pending().await,
                }
            };
            tokio::select! {
                written = write => match written? {
                    Some(0) => return Ok(End::Left),
                    Some(count) => {
                        self.unsent.advance(count);
                        (moved, self.is_unflushed) = (Instant::now(), true);
                        if self.unsent.is_empty() && !self.take_more().await? {
                            // All of it has been written: the next look is a window later.
                            resume = moved + self.reader.window();
                        }
                    }
                    None => self.is_unflushed = false,
                },
                news = news, if !is_full && !is_unflushed => {
                    self.unsent = news.ok_or(End::Lane)?;
                    moved = Instant::now();
                }
                read = input.read_buf(&mut self.player.connection.unread) => {
                    let count = closing::hung_up(read)?;
                    if count == 0 || !self.player.may_say(count, std::time::Instant::now()) {
                        return Ok(End::Left);
                    }
                }
                () = wait::change(&mut self.player.leaving) => {
                    self.player.connection.ask_to_reconnect();
                }
                () = wait::at(due) => return Ok(End::Stalled),
            }
        }
    }

    /// Works off what was heard. Answers, and events, come after whole messages.
    async fn converse<W>(&mut self, output: &mut W) -> Result<Option<End>, End>
    where
        W: AsyncWrite + Unpin,
    {
        let event = self.player.next_event();
        let session = &mut self.player.connection.session;
        let is_quiet = matches!(event, Ok(None)) && session.output().is_empty();
        if is_quiet {
            return Ok(None);
        }
        let mut next = Some(std::mem::take(&mut self.unsent));
        while let Some(bytes) = next {
            bounded(output.write_all(&bytes)).await?;
            next = self.reader.rest_of_unit();
        }
        match event {
            Ok(None) => {}
            Ok(Some(event)) => return Ok(Some(End::Event(Ok(event)))),
            Err(error) => return Ok(Some(End::Event(Err(error)))),
        }
        let session = &mut self.player.connection.session;
        let words = session.output().split();
        bounded(output.write_all(&words)).await?;
        bounded(output.flush()).await?;
        Ok(session.is_closed().then_some(End::Left))
    }

    /// Takes what the lane has at once; `false` when it has nothing.
    async fn take_more(&mut self) -> Result<bool, End> {
        match self.reader.at_hand().await {
            Some(bytes) => {
                self.unsent = bytes.ok_or(End::Lane)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

async fn bounded(write: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(PATIENCE, write)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
