//! RTMP publishers: the driver of [`rtmp::server::Session`].
//!
//! RTMP tells late what a peer wants. One that wants to play is given back, with everything that
//! has been said so far.
//!
//! One task per connection waits for whichever comes first: bytes to read, room to write, the loss
//! of the stream to another publisher, or a deadline. What one read brought is decoded to the end
//! and written to the stream as one batch.
//!
//! Waiting to write never stops reading: a publisher that ignores our acknowledgements goes on
//! publishing until its unread replies reach the session's bound. Deadlines: the session has those
//! for the handshake and for the request, the publication those for media.

pub(crate) mod publication;
mod words;

use std::net::SocketAddr;
use std::time::Instant;

use ::rtmp::auth::Proof;
use ::rtmp::server::{Config, Event, Request, Session};
use bytes::{Buf, Bytes, BytesMut};
use fanout::Source;
use fanout::gate::{self, Denied, Presented};
use media::{Container, StreamName};
use net::{closing, wait};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use self::publication::Publication;
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
    context: &Context,
    socket: S,
    early: Bytes,
    peer: SocketAddr,
    on_admitted: impl FnOnce() + Send,
) -> Result<End<S>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut connection = Connection::new(context, peer, Box::new(on_admitted))?;
    let (mut reader, mut writer) = tokio::io::split(socket);
    let result = connection.run(&mut reader, &mut writer, &early).await;
    let socket = reader.unsplit(writer);
    let result = match result {
        Ok(Some(wish)) => return Ok(connection.give_back(socket, wish)),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
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
struct Connection<'a> {
    context: &'a Context,
    peer: SocketAddr,
    /// To be told of the first admission.
    on_admitted: Option<Box<dyn FnOnce() + Send + 'a>>,
    session: Session,
    /// What the publishing program calls itself.
    agent: String,
    publication: Option<Publication>,
    /// What the peer wants to play.
    wish: Option<Wish>,
    /// The last stream asked for and not obtained.
    refused: Option<StreamName>,
    /// Whether the socket may still hold back bytes that were written to it.
    is_unflushed: bool,
}

/// What the driver waited for.
enum Step {
    Read(usize),
    Sent,
    Leaving,
    Due,
}

/// What peers are told when the server wants them to connect again.
const LEAVING: &str = "The server is about to leave. Please connect again.";

impl<'a> Connection<'a> {
    fn new(
        context: &'a Context,
        peer: SocketAddr,
        on_admitted: Box<dyn FnOnce() + Send + 'a>,
    ) -> Result<Self, Error> {
        let config = Config {
            handshake_timeout: context.settings.handshake_timeout,
            request_timeout: context.settings.publish_timeout,
            challenge: context.challenge.clone(),
            ..Config::default()
        };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
        Ok(Self {
            context,
            peer,
            on_admitted: Some(on_admitted),
            session: Session::new(config, seed, now()),
            agent: String::new(),
            publication: None,
            wish: None,
            refused: None,
            is_unflushed: false,
        })
    }

    /// Works until the peer leaves, or wants to play.
    async fn run<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        early: &[u8],
    ) -> Result<Option<Wish>, Error>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.take(early, now())?;
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        let mut leaving = self.context.leaving.clone();
        while !self.session.is_closed() {
            if let Some(wish) = self.wish.take() {
                return Ok(Some(wish));
            }
            let due = self.due();
            let has_output = self.is_unflushed || !self.session.output().is_empty();
            buffer.clear();
            let step = tokio::select! {
                read = reader.read_buf(&mut buffer) => Step::Read(closing::hung_up(read)?),
                sent = send(writer, self.session.output(), &mut self.is_unflushed), if has_output => {
                    sent?;
                    Step::Sent
                }
                error = over(self.publication.as_ref()) => return Err(error),
                () = wait::change(&mut leaving) => Step::Leaving,
                () = wait::at(due) => Step::Due,
            };
            match step {
                Step::Read(0) => return Ok(None),
                Step::Read(_) => self.take(&buffer, now())?,
                Step::Sent => {}
                Step::Leaving => {
                    // A peer that does not know the request is not told, and stays to the end.
                    self.session.request_reconnect(LEAVING);
                }
                Step::Due => self.handle_timeout(now())?,
            }
        }
        Ok(None)
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

    /// Logs and counts the end, and gives the last words.
    fn finish(mut self, result: &Result<(), Error>) -> BytesMut {
        if let Err(error) = result {
            self.context.stats.reject(error);
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

    fn publish(&mut self, request: &Request, now: Instant) -> Result<(), Error> {
        let turn = self.admit(request)?;
        if let Some(tell) = self.on_admitted.take() {
            tell();
        }
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
        let admitted = admission::admit(self.context, &name, &presented, Protocol::Rtmp, &source);
        // Without a key in its place, the key may well be what stands in the name's.
        if let Err(error) = &admitted
            && !matches!(error, Error::Denied(Denied::Missing))
        {
            self.refused = Some(name);
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
