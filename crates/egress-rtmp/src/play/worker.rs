//! A player's connection while media flows and a worker has it.

use std::pin::Pin;
use std::time::Instant;

use ::rtmp::server::Event;
use bytes::BytesMut;
use fanout::{AttachRefused, Conversation, Heard, LaneGuard, NewListener, Released};
use media::Timestamp;
use net::panics::{self, Part};
use net::{Transport, TransportStream};
use tokio::runtime::Handle;

use super::proceed;
use super::session::{Next, PlayerSession};
use crate::Error;

/// Owner of a connection after an attempt to send a lane.
pub(super) enum Carried<S> {
    /// A worker, which lets a task continue with it when there is something to decide.
    Away,
    /// The caller: another lane must be chosen.
    Back(Box<PlayerSession>, S),
}

/// Makes a worker send the lane from its join point on. All output of the player's session has been sent.
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
        proceed: continue_with::<S>,
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
    /// Event of the player that has to be decided.
    said: Option<Result<Event, Error>>,
    /// Runtime on which it is decided.
    runtime: Handle,
    /// Function that continues with a connection of this kind.
    proceed: fn(PlayerSession, Transport, Result<Next, Error>) -> GoingOn,
}

/// Future of a player's connection while a task has it.
type GoingOn = Pin<Box<dyn Future<Output = ()> + Send>>;

fn continue_with<S: TransportStream>(
    player: PlayerSession,
    transport: Transport,
    next: Result<Next, Error>,
) -> GoingOn {
    Box::pin(async move {
        let Ok(socket) = S::from_transport(transport) else {
            return;
        };
        match next {
            Ok(next) => proceed(player, socket, next).await,
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
        // The replies stay in the session: they follow the media before them.
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
            proceed,
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
            let continues = proceed(*player, transport, next);
            if let Err(panic) = panics::contain_task(continues).await {
                panic.report(Part::Connection, &"the connection of a player");
            }
        });
    }
}
