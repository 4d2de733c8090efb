//! One RTMP connection, as its owners hand it on: doorway, publisher, player.

use std::io;
use std::net::SocketAddr;

use bytes::BytesMut;
use net::closing;
use net::holdings::{Held, Kind};
use rtmp::server::Session;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Context, now};

/// What peers are told when the server wants them to connect again.
const LEAVING: &str = "The server is about to leave. Please connect again.";

/// A socket, and the conversation on it.
///
/// `RtmpConnection<()>` is one whose socket is kept elsewhere for now, for example by a thread that reads
/// many.
#[derive(Debug)]
pub struct RtmpConnection<S> {
    /// The socket, or TLS over one.
    pub socket: S,
    /// The conversation so far. Its output is unsent.
    pub session: Session,
    /// Where the peer connects from.
    pub peer: SocketAddr,
    /// What the peer's program calls itself; empty before `connect`. Untrusted text.
    pub agent: String,
    /// The page that it plays on; empty before `connect`, or if it does not say. Untrusted text.
    pub referer: String,
    /// Received and not yet read by the session: at most what one read brought, and what the intake
    /// received before it gave the socket back.
    pub unread: BytesMut,
    /// Of what it holds, as of the last wait.
    pub(crate) held: Held,
    /// The peer was sent a request to connect again.
    is_asked: bool,
    /// The socket may still hold back bytes that were written to it, as TLS does.
    pub(crate) is_unflushed: bool,
}

impl<S> RtmpConnection<S> {
    /// A connection at its first byte. `early` is what the door has read of it.
    ///
    /// # Errors
    /// When the system has no random bytes, which the handshake needs.
    pub fn new(
        context: &Context,
        socket: S,
        early: BytesMut,
        peer: SocketAddr,
    ) -> io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        Ok(Self {
            socket,
            session: Session::new(context.session.clone(), seed, now()),
            peer,
            agent: String::new(),
            referer: String::new(),
            unread: early,
            held: context.holdings.note(Kind::Connections, 0),
            is_asked: false,
            is_unflushed: false,
        })
    }

    /// Takes the socket from the conversation, so that each can be used by itself.
    pub fn detach(self) -> (S, RtmpConnection<()>) {
        self.exchange(())
    }

    fn exchange<T>(self, socket: T) -> (S, RtmpConnection<T>) {
        let connection = RtmpConnection {
            socket,
            session: self.session,
            peer: self.peer,
            agent: self.agent,
            referer: self.referer,
            unread: self.unread,
            held: self.held,
            is_asked: self.is_asked,
            is_unflushed: self.is_unflushed,
        };
        (self.socket, connection)
    }

    /// Asks the peer to connect again, as the server is about to leave, unless it was asked before. A peer
    /// that does not know the request is not told, and stays to the end. Before `connect` it is not known
    /// which peers do: the connection's next owner asks again.
    pub fn ask_to_reconnect(&mut self) {
        if !self.is_asked {
            self.is_asked = self.session.request_reconnect(LEAVING);
        }
    }

    /// Bytes that are received and not read, or not sent, beside what is read at once.
    pub(crate) fn memory(&self) -> usize {
        self.unread.capacity() + self.session.memory()
    }

    /// Whether there is something to be sent or flushed.
    pub fn has_output(&mut self) -> bool {
        self.is_unflushed || !self.session.output().is_empty()
    }
}

impl RtmpConnection<()> {
    /// The connection with its socket again.
    pub fn attach<S>(self, socket: S) -> RtmpConnection<S> {
        self.exchange(socket).1
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> RtmpConnection<S> {
    /// Sends what the session has left to say, and closes.
    pub async fn close(mut self) {
        closing::say(self.socket, self.session.output()).await;
    }
}
