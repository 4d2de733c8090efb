//! A player on a plain socket: a worker has it while media flows.

use std::net::TcpStream as StdTcpStream;
use std::time::Instant;

use ::rtmp::server::Event;
use bytes::BytesMut;
use fanout::{AttachRefused, Conversation, Heard, LaneGuard, NewListener, Released};
use media::Timestamp;
use net::panics::{self, Part};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::carrier::{Carried, PlayTransport};
use super::go_on;
use super::session::{Next, PlayerSession};
use crate::Error;

impl PlayTransport for TcpStream {
    async fn carry(self, mut player: PlayerSession, lane: LaneGuard) -> Carried<Self> {
        let Some(record) = player.record(&lane) else {
            return Carried::Back(Box::new(player), self, Ok(Next::Listen));
        };
        let prepared = net::tcp::prepare_listener(&self).and_then(|()| self.into_std());
        let Ok(socket) = prepared else {
            return Carried::Away;
        };
        let fanout = std::sync::Arc::clone(player.context.registry.fanout());
        let mut words = BytesMut::new();
        let is_leaving = *player.leaving.borrow();
        let connection = &mut player.connection;
        debug_assert!(
            connection.unread.is_empty(),
            "the session has read all of it"
        );
        connection.unread = BytesMut::new();
        if is_leaving {
            connection.ask_to_reconnect();
            words = connection.session.output().split();
        }
        connection.session.shrink();
        let after = player.reached();
        let attached = Attached {
            player: Box::new(player),
            said: None,
            runtime: Handle::current(),
        };
        let listener = NewListener {
            record,
            socket,
            head: words.freeze(),
            lane,
            conversation: Some(Box::new(attached)),
            after,
        };
        if let Err(AttachRefused {
            socket,
            conversation: Some(conversation),
        }) = fanout.attach(listener)
        {
            conversation.release(socket, Released::Refused, None);
        }
        Carried::Away
    }
}

/// A player while a worker has its socket.
#[derive(Debug)]
struct Attached {
    player: Box<PlayerSession>,
    /// What the player has said that is to be decided.
    said: Option<Result<Event, Error>>,
    /// Where it is decided.
    runtime: Handle,
}

impl Conversation for Attached {
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, now: Instant) -> Heard {
        if !self.player.may_say(bytes.len(), now) {
            return Heard::HangUp;
        }
        let session = &mut self.player.connection.session;
        let mut input = bytes;
        let said = match session.read(&mut input, now) {
            Ok(None) => {
                words.extend_from_slice(&session.output().split());
                session.shrink();
                return Heard::Stay;
            }
            Ok(Some(event)) => Ok(event),
            Err(error) => Err(error.into()),
        };
        // The answers stay in the session: they come after the media that goes before them.
        self.said = Some(said);
        self.player.connection.unread.extend_from_slice(input);
        Heard::Release
    }

    fn announce_leave(&mut self, words: &mut BytesMut) {
        let connection = &mut self.player.connection;
        connection.ask_to_reconnect();
        words.extend_from_slice(&connection.session.output().split());
    }

    fn release(self: Box<Self>, socket: StdTcpStream, why: Released, reached: Option<Timestamp>) {
        let Self {
            mut player,
            said,
            runtime,
        } = *self;
        player.has_reached(reached);
        let next = match (said, why) {
            (Some(said), _) => said.map(Next::Event),
            (None, Released::Refused) => Err(Error::Busy),
            (None, Released::Ended) => Ok(Next::Ended),
            (None, Released::Asked) => Ok(Next::Listen),
        };
        // One per connection and interruption; each ends with the connection or with the next flow.
        runtime.spawn(async move {
            let Ok(socket) = TcpStream::from_std(socket) else {
                return;
            };
            let part = async move {
                match next {
                    Ok(next) => go_on(*player, socket, next).await,
                    Err(error) => player.part(socket, &error).await,
                }
            };
            if let Err(panic) = panics::contain_task(part).await {
                panic.report(Part::Connection, &"the connection of a player");
            }
        });
    }
}
