//! Sources of SHOUTcast v1: a password, then headers and audio as from an old source of Icecast.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use fanout::gate::Request;
use http1::{Head, SHOUTCAST_OK, ShoutcastLogin};
use media::StreamName;
use net::closing;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::timeout;

use super::answer;
use crate::{Context, Error, Protocol};

/// Bytes per read of headers.
const READ_BYTES: usize = 2 * 1024;

/// Streams of sources, and of senders of titles, that name no stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShoutcastStreams {
    /// Stream of a source that names neither a stream nor a number.
    pub usual: StreamName,
    /// Streams of sources with a number.
    pub numbered: Vec<(u32, StreamName)>,
}

impl Default for ShoutcastStreams {
    fn default() -> Self {
        Self {
            usual: StreamName::parse("stream").expect("it is a name"),
            numbered: Vec::new(),
        }
    }
}

impl ShoutcastStreams {
    /// Returns the stream that a login means: the one it names, or the one that has its number, or the usual
    /// one.
    ///
    /// # Errors
    /// The named stream cannot be published.
    pub fn of(
        &self,
        login: &ShoutcastLogin,
        is_taken: fn(&StreamName) -> bool,
    ) -> Result<StreamName, Error> {
        if let Some(mount) = &login.mount {
            return crate::name(mount, is_taken);
        }
        let numbered = login.sid.and_then(|sid| self.numbered(sid));
        crate::name(numbered.unwrap_or(&self.usual).as_str(), is_taken)
    }

    /// Returns the stream that has this number.
    pub(super) fn numbered(&self, sid: u32) -> Option<&StreamName> {
        let found = self.numbered.iter().find(|(number, _)| *number == sid);
        found.map(|(_, name)| name)
    }
}

/// A source that has sent its first line.
#[derive(Debug)]
pub struct ShoutcastSource {
    /// Parsed content of the first line.
    pub login: ShoutcastLogin,
    /// Stream that the source publishes to.
    pub name: Result<StreamName, Error>,
    /// Bytes received after the first line.
    pub early: Bytes,
    /// Address of the source.
    pub peer: SocketAddr,
}

/// Runs a source's connection from its first line to its end. Its headers must arrive within `patience`;
/// otherwise like [`serve`](super::serve).
///
/// # Errors
/// As for [`serve`](super::serve).
pub async fn serve_shoutcast<S>(
    context: &Context,
    mut socket: S,
    source: ShoutcastSource,
    patience: Duration,
    on_admitted: impl FnOnce() + Send,
) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let ShoutcastSource {
        login,
        name,
        early,
        peer,
    } = source;
    let stream = name.as_ref().ok().cloned();
    let mut received = BytesMut::from(early);
    let opening = async {
        let name = name?;
        permit(context, &login, &name, peer).await?;
        let head = greet(&mut socket, &login, &name, &mut received);
        let head = timeout(patience, head).await;
        Ok::<_, Error>((name, head.unwrap_or(Err(Error::Silent(patience)))?))
    };
    match opening.await {
        Ok((name, head)) => {
            let early = received.freeze();
            super::serve(context, socket, Ok(name), head, early, peer, on_admitted).await
        }
        Err(error) => {
            context.note_refusal(Protocol::Icecast, peer, stream.as_ref(), &error);
            let stream = stream.as_ref().map(tracing::field::display);
            tracing::info!(stream, %peer, reason = %error, "source refused");
            closing::say(socket, &answer::shoutcast_refusal(&error)).await;
            Err(error)
        }
    }
}

/// Asks the gate for permission before the source sends more than its password.
async fn permit(
    context: &Context,
    login: &ShoutcastLogin,
    name: &StreamName,
    peer: SocketAddr,
) -> Result<(), Error> {
    let request = Request {
        user: Some(&login.credentials.user),
        password: Some(login.password().reveal()),
        ..Request::new(name, Protocol::Icecast.label(), peer)
    };
    context.gate.publish(&request).await?;
    Ok(())
}

/// Accepts the source and reads its headers; audio that follows them stays in `received`.
async fn greet<S>(
    socket: &mut S,
    login: &ShoutcastLogin,
    name: &StreamName,
    received: &mut BytesMut,
) -> Result<Head, Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    closing::write(socket, SHOUTCAST_OK).await?;
    let mut reader = login.headers(&format!("/{name}"));
    loop {
        if let Some((head, used)) = reader.push(received)? {
            received.advance(used);
            return Ok(head);
        }
        // The reader has the bytes, and refuses headers that are too long.
        received.clear();
        received.reserve(READ_BYTES);
        if closing::hung_up(socket.read_buf(received).await)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
}
