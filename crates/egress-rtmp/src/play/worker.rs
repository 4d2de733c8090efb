//! A player on a plain socket: a worker has it while media flows.

use std::net::TcpStream as StdTcpStream;
use std::time::{Duration, Instant};

use ::rtmp::server::Event;
use bytes::{Bytes, BytesMut};
use fanout::{AttachRefused, Conversation, Heard, LaneGuard, NewListener, Released};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::carrier::{Carried, Carrier};
use super::go_on;
use super::party::{LEAVING, Next, Party};
use crate::Error;

/// Bytes a player may send at once, and per second, while media flows to it. Acknowledgements and
/// pings are some tens of bytes every few seconds; who sends more makes work for a worker that
/// thousands of others share.
const CHATTER_BURST_BYTES: f64 = 16.0 * 1024.0;
const CHATTER_BYTES_PER_SECOND: f64 = 4.0 * 1024.0;

impl Carrier for TcpStream {
    async fn carry(self, mut party: Party, lane: LaneGuard) -> Carried<Self> {
        let Some(record) = party.record(&lane) else {
            return Carried::Back(Box::new(party), self, Ok(Next::Listen));
        };
        let prepared = net::tcp::prepare_listener(&self).and_then(|()| self.into_std());
        let Ok(socket) = prepared else {
            return Carried::Away;
        };
        let fanout = std::sync::Arc::clone(party.context.registry.fanout());
        // What is left of the input is the beginning of a message, and the session has taken it.
        party.input = BytesMut::new();
        party.session.shrink();
        let seated = Seated {
            party: Box::new(party),
            said: None,
            runtime: Handle::current(),
            chatter: Chatter::new(Instant::now()),
        };
        let listener = NewListener {
            record,
            socket,
            head: Bytes::new(),
            lane,
            conversation: Some(Box::new(seated)),
        };
        if let Err(AttachRefused {
            socket,
            conversation: Some(conversation),
        }) = fanout.attach(listener)
        {
            conversation.release(socket, Released::Refused);
        }
        Carried::Away
    }
}

/// A party while a worker has its socket.
#[derive(Debug)]
struct Seated {
    party: Box<Party>,
    /// What the player has said that is to be decided.
    said: Option<Result<Event, Error>>,
    /// Where it is decided.
    runtime: Handle,
    chatter: Chatter,
}

impl Conversation for Seated {
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, now: Instant) -> Heard {
        if !self.chatter.permits(bytes.len(), now) {
            return Heard::HangUp;
        }
        let session = &mut self.party.session;
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
        self.party.input.extend_from_slice(input);
        Heard::Release
    }

    fn announce_leave(&mut self, words: &mut BytesMut) {
        let session = &mut self.party.session;
        // A player that does not know the request is not told.
        session.request_reconnect(LEAVING);
        words.extend_from_slice(&session.output().split());
        // The one announcement is enough.
        self.party.leaving.mark_unchanged();
    }

    fn release(self: Box<Self>, socket: StdTcpStream, why: Released) {
        let Self {
            party,
            said,
            runtime,
            chatter: _,
        } = *self;
        let next = match (why, said) {
            (Released::Refused, _) => Err(Error::Busy),
            (Released::Ended, _) => Ok(Next::Ended),
            (Released::Asked, Some(Ok(event))) => Ok(Next::Event(event)),
            (Released::Asked, Some(Err(error))) => Err(error),
            (Released::Asked, None) => Ok(Next::Listen),
        };
        // One per connection and interruption; each ends with the connection or with the next flow.
        runtime.spawn(async move {
            let Ok(socket) = TcpStream::from_std(socket) else {
                return;
            };
            match next {
                Ok(next) => go_on(*party, socket, next).await,
                Err(error) => party.part(socket, &error).await,
            }
        });
    }
}

/// How much a player may say.
#[derive(Debug)]
struct Chatter {
    bytes: f64,
    at: Instant,
}

impl Chatter {
    fn new(now: Instant) -> Self {
        Self {
            bytes: CHATTER_BURST_BYTES,
            at: now,
        }
    }

    fn permits(&mut self, bytes: usize, now: Instant) -> bool {
        let elapsed: Duration = now.saturating_duration_since(self.at);
        let earned = elapsed.as_secs_f64() * CHATTER_BYTES_PER_SECOND;
        self.bytes = (self.bytes + earned).min(CHATTER_BURST_BYTES) - bytes as f64;
        self.at = now;
        self.bytes >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chatter_is_earned() {
        let start = Instant::now();
        let mut chatter = Chatter::new(start);
        assert!(chatter.permits(16 * 1024, start));
        assert!(!chatter.permits(1, start));
        let mut chatter = Chatter::new(start);
        for second in 0..1_000 {
            assert!(chatter.permits(4 * 1024, start + Duration::from_secs(second)));
        }
    }
}
