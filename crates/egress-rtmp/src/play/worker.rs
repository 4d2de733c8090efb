//! A player's connection while media flows: a worker has it.

use std::pin::Pin;
use std::time::Instant;

use ::rtmp::server::Event;
use bytes::BytesMut;
use fanout::{AttachRefused, Conversation, Heard, LaneGuard, NewListener, Released};
use media::Timestamp;
use net::panics::{self, Part};
use net::{Transport, TransportStream};
use tokio::runtime::Handle;

use super::go_on;
use super::session::{Next, PlayerSession};
use crate::Error;

/// Where a connection is after it was to be sent a lane.
pub(super) enum Carried<S> {
    /// With a worker, which has a task go on with it when there is something to decide.
    Away,
    /// Here: another lane is to be chosen.
    Back(Box<PlayerSession>, S),
}

/// Has a worker send the lane from its join point on. All output of the player's session has been sent.
pub(super) fn carry<S: TransportStream>(
    mut player: PlayerSession,
    socket: S,
    lane: LaneGuard,
) -> Carried<S> {
    let Some(record) = player.record(&lane) else {
        return Carried::Back(Box::new(player), socket);
    };
    let Ok(transport) = socket.into_transport() else {
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
        go_on: go_on_with::<S>,
    };
    let listener = NewListener {
        record,
        transport,
        head: words.freeze(),
        lane,
        conversation: Some(Box::new(attached)),
        after,
    };
    if let Err(AttachRefused {
        transport,
        conversation: Some(conversation),
    }) = fanout.attach(listener)
    {
        conversation.release(transport, Released::Refused, None);
    }
    Carried::Away
}

/// A player while a worker has its socket.
#[derive(Debug)]
struct Attached {
    player: Box<PlayerSession>,
    /// What the player has said that is to be decided.
    said: Option<Result<Event, Error>>,
    /// Where it is decided.
    runtime: Handle,
    /// Goes on with a connection of this kind.
    go_on: fn(PlayerSession, Transport, Result<Next, Error>) -> GoingOn,
}

/// A connection of a player while a task has it.
type GoingOn = Pin<Box<dyn Future<Output = ()> + Send>>;

fn go_on_with<S: TransportStream>(
    player: PlayerSession,
    transport: Transport,
    next: Result<Next, Error>,
) -> GoingOn {
    Box::pin(async move {
        let Ok(socket) = S::from_transport(transport) else {
            return;
        };
        match next {
            Ok(next) => go_on(player, socket, next).await,
            Err(error) => player.part(socket, &error).await,
        }
    })
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

    fn release(self: Box<Self>, transport: Transport, why: Released, reached: Option<Timestamp>) {
        let Self {
            mut player,
            said,
            runtime,
            go_on,
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
            let goes_on = go_on(*player, transport, next);
            if let Err(panic) = panics::contain_task(goes_on).await {
                panic.report(Part::Connection, &"the connection of a player");
            }
        });
    }
}
