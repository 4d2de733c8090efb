//! One RTMP connection, as its owners pass it on: doorway, publisher, player.

use std::io;
use std::net::SocketAddr;

use crate::closing;
use base::holdings::{Held, Kind};
use bytes::BytesMut;
use rtmp::server::Session;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::rtmp::{Context, now};

/// Text for peers when the server asks them to reconnect.
const LEAVING: &str = "The server is about to leave. Please connect again.";

/// A socket, and the conversation on it.
///
/// `RtmpConnection<()>` is one whose socket is kept elsewhere for now, for example by a thread that reads
/// many.
#[derive(Debug)]
pub struct RtmpConnection<S> {
    /// The socket, or TLS over one.
    pub socket: S,
    /// The conversation so far. Its output is not sent yet.
    pub session: Session,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// Name of the peer's program, as sent; empty before `connect`. Untrusted text.
    pub agent: String,
    /// Page on which the peer plays; empty before `connect`, or if it sends none. Untrusted text.
    pub referer: String,
    /// Bytes received and not yet read by the session: at most those of one read, and those that the intake
    /// received before it returned the socket.
    pub unread: BytesMut,
    /// Charge for the connection's memory, as of the last wait.
    pub(crate) held: Held,
    /// Whether the peer was asked to reconnect.
    is_asked: bool,
    /// Whether the socket may still hold back bytes that were written to it, as TLS does.
    pub(crate) is_unflushed: bool,
}

impl<S> RtmpConnection<S> {
    /// Creates a connection at its first byte. `early` holds the bytes that the door has read.
    ///
    /// # Errors
    /// The system has no random bytes, which the handshake needs.
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

    /// Splits the socket from the conversation, so that each can be used by itself.
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

    /// Asks the peer to reconnect, as the server is about to leave, unless it was asked before. A peer that
    /// does not support the request receives nothing, and stays to the end. Before `connect` it is unknown
    /// whether the peer supports it: the connection's next owner asks again.
    pub fn ask_to_reconnect(&mut self) {
        if !self.is_asked {
            self.is_asked = self.session.request_reconnect(LEAVING);
        }
    }

    /// Returns the number of bytes received and not read, or not sent, beside those read at once.
    pub(crate) fn memory(&self) -> usize {
        self.unread.capacity() + self.session.memory()
    }

    /// Whether there is something to be sent or flushed.
    pub fn has_output(&mut self) -> bool {
        self.is_unflushed || !self.session.output().is_empty()
    }
}

impl RtmpConnection<()> {
    /// Returns the connection with its socket attached again.
    pub fn attach<S>(self, socket: S) -> RtmpConnection<S> {
        self.exchange(socket).1
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> RtmpConnection<S> {
    /// Sends the remaining output of the session, and closes.
    pub async fn close(mut self) {
        closing::say(self.socket, self.session.output()).await;
    }
}
