//! Doorway from a connection to the peer's next request: handshake, `connect`, and everything else that it
//! sends first.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Instant;

use rtmp::server::{CredentialRequest, Event, Rejection, Request, TurnedAway};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::rtmp::exchange::{Exchange, Step};
use crate::rtmp::{Context, Error, RtmpConnection, now};

/// Outcome of waiting for a request.
#[derive(Debug)]
pub enum NextRequest<S> {
    /// The peer wants to publish.
    Publish(PublishRequest<S>),
    /// The peer wants to play.
    Play(PlayRequest<S>),
    /// The peer has hung up, or a password was requested, which it sends on another connection. This one is
    /// closed.
    Closed,
    /// The peer broke RTMP, let a deadline pass, or the connection broke.
    Failed(Failed<S>),
}

/// A connection whose peer wants to publish. The session waits for
/// [`accept_publish`](rtmp::server::Session::accept_publish) or a rejection.
#[derive(Debug)]
pub struct PublishRequest<S> {
    /// The connection. Bytes after the request are unread.
    pub connection: RtmpConnection<S>,
    /// Requested publication.
    pub request: Box<Request>,
}

/// A connection whose peer wants to play. The session waits for
/// [`accept_play`](rtmp::server::Session::accept_play) or a rejection.
#[derive(Debug)]
pub struct PlayRequest<S> {
    /// The connection. Bytes after the request are unread.
    pub connection: RtmpConnection<S>,
    /// Requested playback.
    pub request: Box<Request>,
}

/// A connection that cannot continue, and is still open: its output states the reason, as far as RTMP has
/// words for it.
#[derive(Debug)]
pub struct Failed<S> {
    /// The connection, to be [closed](RtmpConnection::close).
    pub connection: RtmpConnection<S>,
    /// Reason of the failure.
    pub error: Error,
}

impl<S: AsyncRead + AsyncWrite + Unpin> PlayRequest<S> {
    /// Refuses the player with the reason, and closes the connection.
    pub async fn refuse(mut self, why: &str) {
        self.connection.session.close_with(Rejection::Failed, why);
        self.connection.close().await;
    }
}

/// Answers a peer until it requests a stream, fails or leaves.
///
/// Peers of which a password is requested are logged here.
pub async fn next_request<S>(context: &Context, connection: RtmpConnection<S>) -> NextRequest<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut socket, mut connection) = connection.detach();
    let wanted = converse(context, &mut connection, &mut socket).await;
    let mut connection = connection.attach(socket);
    match wanted {
        Ok(Some(Wanted::Publish(request))) => NextRequest::Publish(PublishRequest {
            connection,
            request,
        }),
        Ok(Some(Wanted::Play(request))) => NextRequest::Play(PlayRequest {
            connection,
            request,
        }),
        Ok(None) => {
            // The peer may have left before it could be asked to reconnect.
            if *context.leaving.borrow() {
                connection.ask_to_reconnect();
            }
            connection.close().await;
            NextRequest::Closed
        }
        Err(error) => NextRequest::Failed(Failed { connection, error }),
    }
}

/// Request of a peer.
enum Wanted {
    Publish(Box<Request>),
    Play(Box<Request>),
}

/// Reads and answers until the peer requests a stream; `None` when it has hung up or was refused.
async fn converse<S>(
    context: &Context,
    connection: &mut RtmpConnection<()>,
    socket: &mut S,
) -> Result<Option<Wanted>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let unread = std::mem::take(&mut connection.unread);
    if let Some(wanted) = take(connection, &unread, now())? {
        return Ok(Some(wanted));
    }
    // Holds up to a whole read, which is not needed while waiting for the peer.
    drop(unread);
    let mut leaving = context.leaving.clone();
    let mut exchange = Exchange::new(socket, &mut leaving);
    while !connection.session.is_closed() {
        let due = connection.session.poll_timeout();
        if due.is_some_and(|due| due <= now()) {
            connection.session.handle_timeout(now())?;
            continue;
        }
        match exchange.next(connection, due, pending::<()>()).await? {
            Step::Received => {
                if let Some(wanted) = take(connection, exchange.received(), now())? {
                    return Ok(Some(wanted));
                }
            }
            Step::HungUp => return Ok(None),
            Step::Leaving => connection.ask_to_reconnect(),
            Step::Due => connection.session.handle_timeout(now())?,
            Step::Sent | Step::Other(()) => {}
        }
    }
    Ok(None)
}

/// Feeds the session up to a request. Bytes after the request stay unread.
fn take(
    connection: &mut RtmpConnection<()>,
    mut input: &[u8],
    now: Instant,
) -> Result<Option<Wanted>, Error> {
    while let Some(event) = connection.session.read(&mut input, now)? {
        let wanted = match event {
            Event::Publish(request) => Wanted::Publish(request),
            Event::Play(request) => Wanted::Play(request),
            Event::Connect(connect) => {
                connection.agent = connect.flash_version;
                connection.referer = connect.page_url;
                continue;
            }
            Event::TurnedAway(client) => {
                log_turned_away(connection.peer, &client);
                continue;
            }
            // The others are about a stream that is published or played, of which there is none.
            _ => continue,
        };
        connection.unread.extend_from_slice(input);
        return Ok(Some(wanted));
    }
    Ok(None)
}

/// Logs a client that was refused for its password. Most such clients return with an answer. One that has its
/// key in the stream's name cannot answer, and this line is the only trace of it.
fn log_turned_away(peer: SocketAddr, client: &TurnedAway) {
    let (app, agent) = (&client.app, &client.flash_version);
    match client.why {
        CredentialRequest::Password => tracing::info!(
            %peer,
            ?app,
            ?agent,
            "an RTMP client is asked for user and password (rtmp.challenge); one that has its key in \
             the stream's name cannot answer"
        ),
        CredentialRequest::Again => tracing::info!(
            %peer,
            ?app,
            ?agent,
            "RTMP connection refused: its answer to the challenge is of no use"
        ),
        CredentialRequest::Proof => {}
    }
}
