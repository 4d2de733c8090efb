//! RTMP publishers, from the request to publish to the end of the publication: the driver of
//! [`rtmp::server::Session`] in between.
//!
//! [`net::rtmp::next_request`] handles the connection before a request, and between two of them. The connection
//! returns there when the publisher has ended its stream: it may then request another, or play.
//!
//! One task per connection waits for whichever comes first: bytes to read, room to write, the gate's answer
//! to the request (`question`), the loss of the stream to another publisher, or a deadline. The bytes of one
//! read are decoded to the end and written to the stream as one batch. A publisher on a bare socket is left
//! to the intake's thread, which reads many at a time (`session::park`), until there is something to decide.
//!
//! While the gate decides, reading continues: a peer that hangs up withdraws its question, pings are
//! answered, and of the data that arrives the session keeps codec configuration alone, 32 KiB at the most.
//!
//! Deadlines: the gate bounds its answer, the publication has those for media. The session pings a silent
//! peer.

mod ending;
pub(crate) mod publication;
mod question;
mod session;
mod words;

use std::sync::Arc;

use net::rtmp::{Exchange, PublishRequest, RtmpConnection, Step};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::ending::finish;
use self::session::{News, PublisherSession, park};
use crate::{Context, Error, ProtocolError, Rejection, now};

pub use self::ending::refuse;

impl From<::rtmp::Error> for Error {
    fn from(error: ::rtmp::Error) -> Self {
        let rejection = match error.blame() {
            ::rtmp::Blame::Protocol => Rejection::Malformed,
            ::rtmp::Blame::Limit => Rejection::Oversized,
            ::rtmp::Blame::Timeout => Rejection::Slow,
        };
        ProtocolError::new(rejection, error).into()
    }
}

impl From<net::rtmp::Error> for Error {
    fn from(error: net::rtmp::Error) -> Self {
        match error {
            net::rtmp::Error::Rtmp(error) => error.into(),
            net::rtmp::Error::Io(error) => Self::Io(error),
        }
    }
}

/// Serves a publisher from its request on, and closes the connection. Returns the connection if the publisher
/// has ended its stream or withdrawn the request: it may have another request.
///
/// `on_admitted` is called when the publisher is admitted.
///
/// # Errors
/// The reason why the connection ended, unless the publisher itself left. By then the peer has been notified,
/// as far as RTMP has words for it, and the event has been logged and counted.
pub async fn serve<S>(
    context: &Arc<Context>,
    request: PublishRequest<S>,
    on_admitted: impl FnOnce() + Send,
) -> Result<Option<RtmpConnection<S>>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (mut session, mut socket) = PublisherSession::new(context, request);
    let mut driver = Driver::new(context, on_admitted, false);
    let result = driver.begin(&mut session, &mut socket).await;
    finish(session, socket, result.map(|_| ())).await
}

/// Like [`serve`], for a bare socket; the [intake](net::intake), if there is one, reads it while it
/// publishes.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_plain(
    context: &Arc<Context>,
    request: PublishRequest<TcpStream>,
    on_admitted: impl FnOnce() + Send,
) -> Result<Option<RtmpConnection<TcpStream>>, Error> {
    let (mut session, mut socket) = PublisherSession::new(context, request);
    let mut driver = Driver::new(context, on_admitted, context.intake.is_some());
    let mut result = driver.begin(&mut session, &mut socket).await;
    while let Ok(Stop::Steady) = result {
        (session, socket, result) = park(context, session, socket, &mut driver).await?;
        if let Ok(Stop::Steady) = result {
            result = driver.run(&mut session, &mut socket).await;
        }
    }
    finish(session, socket, result.map(|_| ())).await
}

/// Reason why a driver has stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stop {
    /// The peer has left, or its request is finished.
    Over,
    /// The peer publishes, needs no message, and may be read by the intake.
    Steady,
}

/// A task's work on a publisher.
struct Driver<F> {
    /// Called on the admission.
    on_admitted: Option<F>,
    leaving: watch::Receiver<bool>,
    /// Whether the intake can read the socket once the peer publishes.
    may_park: bool,
}

impl<F: FnOnce() + Send> Driver<F> {
    fn new(context: &Context, on_admitted: F, may_park: bool) -> Self {
        Self {
            on_admitted: Some(on_admitted),
            leaving: context.leaving.clone(),
            may_park,
        }
    }

    /// Works from the request on; see [`run`](Self::run).
    async fn begin<S>(
        &mut self,
        session: &mut PublisherSession,
        socket: &mut S,
    ) -> Result<Stop, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        session.ask(now())?;
        tell_admitted(session, &mut self.on_admitted);
        self.run(session, socket).await
    }

    /// Works until the peer leaves, the request is over, or the peer can be left to the intake.
    async fn run<S>(
        &mut self,
        session: &mut PublisherSession,
        socket: &mut S,
    ) -> Result<Stop, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut exchange = Exchange::new(socket, &mut self.leaving);
        while !session.is_over() && !session.connection.session.is_closed() {
            let due = session.due();
            if due.is_some_and(|due| due <= now()) {
                session.handle_timeout(now())?;
                continue;
            }
            let is_steady = session.publication().is_some() && !session.connection.has_output();
            if self.may_park && is_steady {
                return Ok(Stop::Steady);
            }
            let news = session.state.news();
            match exchange.next(&mut session.connection, due, news).await? {
                Step::Received => session.take(exchange.received(), now())?,
                Step::HungUp => return Ok(Stop::Over),
                Step::Sent => {}
                Step::Leaving => session.connection.ask_to_reconnect(),
                Step::Due => session.handle_timeout(now())?,
                Step::Other(News::Answer(answer)) => {
                    session.decide(answer, now())?;
                    tell_admitted(session, &mut self.on_admitted);
                }
                Step::Other(News::Lost(error)) => return Err(error),
            }
        }
        Ok(Stop::Over)
    }
}

fn tell_admitted<F: FnOnce()>(session: &PublisherSession, on_admitted: &mut Option<F>) {
    if session.is_admitted
        && let Some(tell) = on_admitted.take()
    {
        tell();
    }
}

#[cfg(test)]
mod tests;
