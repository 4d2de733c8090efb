//! TLS on a port of plain HTTP (RFC 2817), as libshout requests it before it sends a password.
//!
//! ```text
//!   OPTIONS * with Upgrade: TLS/1.0 ─► 101 ─► handshake ─► its answer ─► further requests, all within TLS
//! ```
//!
//! * Bytes sent in clear are never taken for bytes sent within TLS: a request is upgraded only if it has no body and nothing
//!   follows it.
//! * Other requests are answered as if they had not requested TLS, as RFC 2817 §3.1 allows. So are requests from trusted
//!   proxies: the TLS would be the proxy's own, and through a tunnel its client could bypass its rules and claim any address.

use http1::{Body, Head, SWITCHING_TO_TLS};
use ingest::icecast::{Prospects, answer_options};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::asked::Asked;
use super::live::LiveTransport;
use super::{Connection, PAGE_TIMEOUT, carried};
use crate::head::{self, Inbox};
use crate::secure::secure;
use crate::visitor::Visitor;

impl<S: LiveTransport> Connection<'_, S> {
    /// Whether a request is to be answered within TLS.
    pub(super) fn is_upgraded_by(&self, head: &Head, visitor: Visitor) -> bool {
        self.offers_tls(visitor)
            && head.upgrades_to_tls()
            && head.conforms().is_ok()
            && has_no_body(head)
            && self.inbox.as_ref().is_none_or(Inbox::is_blank)
    }

    fn offers_tls(&self, visitor: Visitor) -> bool {
        self.tls.is_some() && !visitor.is_proxied
    }

    /// Answers `OPTIONS *`. libshout continues on the same connection, and has to do so within TLS: on a new one it would
    /// request TLS again.
    pub(super) async fn tell_capabilities(mut self, head: Head, visitor: Visitor) -> Option<Self> {
        let is_delimited = head.conforms().is_ok() && has_no_body(&head);
        let prospects = Prospects {
            persists: is_delimited && head.keeps_alive() && self.may_continue(),
            upgrades: self.offers_tls(visitor),
        };
        let answer = answer_options(&self.front.ingest.settings, &head, prospects);
        Asked::by(&head, visitor.peer).log_answer(self.front, &answer);
        if !prospects.persists {
            head::answer(self.socket, &answer).await;
            return None;
        }
        self.write(&answer).await?;
        Some(self)
    }

    /// Writes bytes to the client; returns `None` if the client does not take them.
    async fn write(&mut self, bytes: &[u8]) -> Option<()> {
        let written = async {
            self.socket.write_all(bytes).await?;
            self.socket.flush().await
        };
        timeout(PAGE_TIMEOUT, written).await.ok()?.ok()
    }
}

impl<'a> Connection<'a, TcpStream> {
    /// Continues within TLS; returns `None` if the handshake does not succeed in time.
    pub(super) async fn upgrade(mut self) -> Option<Connection<'a, net::tls::Stream>> {
        let config = self.tls.take()?;
        self.write(SWITCHING_TO_TLS).await?;
        Some(Connection {
            socket: secure(self.front, config, self.socket, self.peer).await?,
            front: self.front,
            // Drops bytes that may have arrived in clear: the line ends that old browsers send.
            inbox: Some(Inbox::with(b"")),
            handover: self.handover,
            peer: self.peer,
            began: self.began,
            requests: self.requests,
            held: self.held,
            carriages_left: carried::TIMES_MAX,
            tls: None,
        })
    }
}

fn has_no_body(head: &Head) -> bool {
    matches!(head.body(), Body::None | Body::Length(0))
}
