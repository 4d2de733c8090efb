//! RTMP publishers: the driver of [`rtmp::server::Session`].
//!
//! RTMP tells late what a peer wants. One that wants to play is given back, with everything that
//! has been said so far.
//!
//! One task per connection waits for whichever comes first: bytes to read, room to write, the loss
//! of the stream to another publisher, or a deadline. What one read brought is decoded to the end
//! and written to the stream as one batch. A bare socket that publishes is left to the intake's
//! thread, which reads many at a time (`parked`), until there is something to decide.
//!
//! Waiting to write never stops reading: a publisher that ignores our acknowledgements goes on
//! publishing until its unread replies reach the session's bound. Deadlines: the session has those
//! for the handshake and for the request, the publication those for media.

mod parked;
pub(crate) mod publication;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ::rtmp::auth::Proof;
use ::rtmp::server::{Asked, Config, Event, Request, Session, TurnedAway};
use bytes::{Buf, Bytes, BytesMut};
use fanout::Source;
use fanout::gate::{self, Denied, Presented};
use media::{Container, StreamName};
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::publication::Publication;
use crate::refusal::Refused;
use crate::stats::Protocol;
use crate::{Context, Error, admission, now};

/// Bytes read at once: a few frames of video, so that one read drains many chunks.
const READ_BYTES: usize = 64 * 1024;

/// The query parameter that carries the publish key.
const KEY_PARAMETER: &str = "key";

/// What an RTMP publisher's stream is, for listeners who take it whole.
const CONTENT_TYPE: &str = "video/x-flv";

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
        return Ok(connection.give_back(socket, wish));
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

/// What a player wants, and the bytes it sent after saying so.
type Wish = (Box<Request>, Bytes);

/// One connection.
struct Connection {
    context: Arc<Context>,
    peer: SocketAddr,
    session: Session,
    /// What the publishing program calls itself.
    agent: String,
    publication: Option<Publication>,
    /// It has been let in as a publisher.
    is_admitted: bool,
    /// It was asked to connect again.
    is_asked: bool,
    /// What the peer wants to play.
    wish: Option<Wish>,
    /// The last stream asked for and not obtained, as far as it may be shown.
    refused: Option<String>,
}

/// What the driver waited for.
enum Step {
    Read(usize),
    Sent,
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

/// What peers are told when the server wants them to connect again.
const LEAVING: &str = "The server is about to leave. Please connect again.";

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
        self.take(connection, early)?;
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
                error = over(connection.publication.as_ref()) => return Err(error),
                () = wait::change(&mut self.leaving) => Step::Leaving,
                () = wait::at(due) => Step::Due,
            };
            match step {
                Step::Read(0) => return Ok(Stop::Over),
                Step::Read(_) => self.take(connection, &buffer)?,
                Step::Sent => {}
                Step::Leaving => {
                    // A peer that does not know the request is not told, and stays to the end.
                    connection.ask_to_reconnect();
                }
                Step::Due => connection.handle_timeout(now())?,
            }
        }
        Ok(Stop::Over)
    }

    fn take(&mut self, connection: &mut Connection, input: &[u8]) -> Result<(), Error> {
        let taken = connection.take(input, now());
        if connection.is_admitted
            && let Some(tell) = self.on_admitted.take()
        {
            tell();
        }
        taken
    }
}

impl Connection {
    fn new(context: &Arc<Context>, peer: SocketAddr) -> Result<Self, Error> {
        let config = Config {
            handshake_timeout: context.settings.handshake_timeout,
            request_timeout: context.settings.publish_timeout,
            challenge: context.challenge.clone(),
            ..Config::default()
        };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
        Ok(Self {
            context: Arc::clone(context),
            peer,
            session: Session::new(config, seed, now()),
            agent: String::new(),
            publication: None,
            is_admitted: false,
            is_asked: false,
            wish: None,
            refused: None,
        })
    }

    fn give_back<S>(self, socket: S, (request, input): Wish) -> End<S> {
        End::Player(Box::new(Player {
            socket,
            session: self.session,
            request,
            input,
            agent: self.agent,
        }))
    }

    /// Asks the peer to connect again, as the server is about to leave, unless it was asked before. One that
    /// does not know the request is not told.
    fn ask_to_reconnect(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.session.request_reconnect(LEAVING);
        }
    }

    /// Logs and counts the end, and gives the last words.
    fn finish(mut self, result: &Result<(), Error>) -> BytesMut {
        // The stream may have ended before the peer could be asked.
        if *self.context.leaving.borrow() {
            self.ask_to_reconnect();
        }
        if let Err(error) = result {
            self.note_end(error);
            if let Some((rejection, description)) = words::of(error) {
                self.session.close_with(rejection, &description);
            }
            if self.publication.is_none() {
                tracing::info!(
                    stream = self.refused.as_ref().map(tracing::field::display),
                    peer = %self.peer,
                    agent = ?self.agent,
                    reason = %error,
                    "RTMP connection refused"
                );
            }
        }
        if let Some(publication) = self.publication.take() {
            match result {
                Ok(()) => publication.end(&"the publisher hung up"),
                Err(error) => publication.end(error),
            }
        }
        std::mem::take(self.session.output())
    }

    /// Counts an end for which the peer is to blame, and tells of it if it was never let in.
    fn note_end(&self, error: &Error) {
        let Context {
            registry, stats, ..
        } = &*self.context;
        if self.publication.is_some() {
            return stats.reject(error);
        }
        let shown = self.refused.as_deref();
        let stream = shown.and_then(|name| StreamName::parse(name).ok());
        let refused = Refused {
            protocol: Protocol::Rtmp,
            peer: Some(self.peer),
            stream: stream.as_ref(),
        };
        refused.note(registry, stats, error);
    }

    /// Works off received bytes; what they brought is written even if they end badly.
    fn take(&mut self, input: &[u8], now: Instant) -> Result<(), Error> {
        if let Some(publication) = &mut self.publication {
            publication.received(input.len());
        }
        let handled = self.handle(input, now);
        let delivered = self.publication.as_mut().map_or(Ok(()), |p| p.deliver(now));
        handled.and(delivered)
    }

    fn handle(&mut self, mut input: &[u8], now: Instant) -> Result<(), Error> {
        while let Some(event) = self.session.read(&mut input, now)? {
            match event {
                Event::Connect(connect) => self.agent = connect.flash_version,
                Event::TurnedAway(client) => self.tell_turned_away(&client),
                Event::Publish(request) => self.publish(&request, now)?,
                Event::Play(request) => {
                    self.wish = Some((request, Bytes::copy_from_slice(input)));
                    return Ok(());
                }
                Event::Unpublish(id) => {
                    if let Some(mut publication) = self.publication.take_if(|p| p.id() == id) {
                        let delivered = publication.deliver(now);
                        publication.end(&"the publisher ended it");
                        delivered?;
                    }
                }
                media => {
                    if let Some(publication) = &mut self.publication {
                        publication.media(media, now)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Most clients that are asked come again with an answer; one that has its key in the stream's name
    /// knows none, and this is all that is ever heard of it.
    fn tell_turned_away(&self, client: &TurnedAway) {
        let (peer, app, agent) = (self.peer, &client.app, &client.flash_version);
        match client.why {
            Asked::Password => tracing::info!(
                %peer,
                ?app,
                ?agent,
                "an RTMP client is asked for user and password (rtmp.challenge); one that has its key in \
                 the stream's name cannot answer"
            ),
            Asked::Again => tracing::info!(
                %peer,
                ?app,
                ?agent,
                "RTMP connection refused: its answer to the challenge is of no use"
            ),
            Asked::Proof => {}
        }
    }

    fn publish(&mut self, request: &Request, now: Instant) -> Result<(), Error> {
        let turn = self.admit(request)?;
        self.is_admitted = true;
        // Decided within the event, so the request is still there.
        if self.session.accept_publish(request.id).is_ok() {
            self.publication = Some(Publication::new(
                request.id,
                turn,
                &self.context.settings,
                now,
            ));
        }
        Ok(())
    }

    fn admit(&mut self, request: &Request) -> Result<admission::Turn, Error> {
        let path = &request.path;
        let name = admission::name(&path.name)?;
        let key = path.parameter(KEY_PARAMETER);
        let (user, password) = match &path.user {
            Some((user, password)) => (Some(user.as_str()), Some(password.as_str())),
            None => (None, None),
        };
        let proof = request.proof.as_ref().map(Answer);
        let presented = Presented {
            peer: self.peer,
            user,
            secret: key.as_deref().or(password),
            proof: proof.as_ref().map(|proof| proof as &dyn gate::Proof),
        };
        let source = Source {
            protocol: Protocol::Rtmp.label(),
            peer: Some(self.peer),
            agent: self.agent.clone(),
            container: Container::Tracks,
            content_type: CONTENT_TYPE.to_owned(),
            headers: Vec::new(),
        };
        let admitted = admission::admit(&self.context, &name, &presented, Protocol::Rtmp, &source);
        if let Err(error) = &admitted {
            // Without a key in its place, the key may well be what stands in the name's.
            let is_missing = matches!(error, Error::Denied(Denied::Missing));
            let is_known = self.context.registry.stream(&name).is_some();
            self.refused = Some(match is_missing && !is_known {
                true => words::without_key(&name),
                false => name.to_string(),
            });
        }
        admitted
    }

    fn due(&self) -> Option<Instant> {
        let media = self.publication.as_ref().map(Publication::due);
        [self.session.poll_timeout(), media]
            .into_iter()
            .flatten()
            .min()
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        self.session.handle_timeout(now)?;
        match &self.publication {
            Some(publication) => publication.handle_timeout(now),
            None => Ok(()),
        }
    }
}

/// The answer to a challenge, as the gate looks at it.
struct Answer<'a>(&'a Proof);

impl gate::Proof for Answer<'_> {
    fn verifies(&self, secret: &str) -> bool {
        self.0.verifies(secret)
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

/// Waits until the stream is somebody else's.
async fn over(publication: Option<&Publication>) -> Error {
    match publication {
        Some(publication) => publication.over().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
