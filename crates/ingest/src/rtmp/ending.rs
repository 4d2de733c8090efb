//! Ends of connections: counted, logged, and reported to the peer as far as RTMP has words for it.

use media::StreamName;
use net::rtmp::{Failed, RtmpConnection};
use tokio::io::{AsyncRead, AsyncWrite};

use super::session::PublisherSession;
use super::words;
use crate::{Context, Error, Protocol};

/// Counts and logs a connection that failed before it requested a stream, and closes it.
pub async fn refuse<S>(context: &Context, failed: Failed<S>) -> Error
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Failed {
        mut connection,
        error,
    } = failed;
    let error = Error::from(error);
    if *context.leaving.borrow() {
        connection.ask_to_reconnect();
    }
    turn_away(context, &mut connection, None, &error);
    connection.close().await;
    error
}

/// Returns the connection if its publisher has ended its stream; otherwise ends it.
pub(super) async fn finish<S>(
    session: PublisherSession,
    socket: S,
    result: Result<(), Error>,
) -> Result<Option<RtmpConnection<S>>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if result.is_ok() && session.is_over() {
        return Ok(Some(session.connection.attach(socket)));
    }
    session.end(&result).attach(socket).close().await;
    result.map(|()| None)
}

/// Counts and logs the refusal of a peer, and sends the reason. `stream` is the requested stream, as far as
/// it may be shown.
pub(super) fn turn_away<S>(
    context: &Context,
    connection: &mut RtmpConnection<S>,
    stream: Option<&str>,
    error: &Error,
) {
    let name = stream.and_then(|stream| StreamName::parse(stream).ok());
    context.note_refusal(Protocol::Rtmp, connection.peer, name.as_ref(), error);
    say_why(connection, error);
    tracing::info!(
        stream = stream.map(tracing::field::display),
        peer = %connection.peer,
        agent = ?connection.agent,
        reason = %error,
        "RTMP connection refused"
    );
}

/// Closes the session with the words for an error, unless the session has sent its own.
pub(super) fn say_why<S>(connection: &mut RtmpConnection<S>, error: &Error) {
    if let Some((rejection, description)) = words::of(error) {
        connection.session.close_with(rejection, &description);
    }
}
