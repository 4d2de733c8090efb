//! A group of viewers, with a small state for each of them.

use std::time::{Duration, Instant};

use media::Kind;
use rustix::event::epoll::EventFlags;
use webrtc::client::{ClientIdentity, is_media};
use webrtc::rtcp::is_rtcp;

use super::lines::Lines;
use super::receiver::Moment;
use super::session::Session;
use super::signal::{Asking, post};
use super::viewer::{Link, Phase, Viewer};
use super::{credentials, identity, offer};
use crate::clock::Clock;
use crate::group::{Behaviour, Context, Member, Outcome, Reason, Seat};
use crate::listen::role::Role;
use crate::socket;
use crate::sums::Sum;
use crate::tally::Tally;
use crate::target::Protocol;

/// Maximum number of consecutive datagrams taken from a socket: those of a keyframe, or of an HTTP response.
const DATAGRAMS_PER_EVENT: usize = 64;
/// Interval between two greetings to the floor server.
const HELLO_INTERVAL: Duration = Duration::from_millis(200);
const HELLO: &[u8] = b"hello";

/// State that the viewers of a group share.
pub(crate) struct Viewers {
    identity: ClientIdentity,
}

impl Viewers {
    pub(crate) fn new() -> std::io::Result<Self> {
        let identity = identity()?;
        Ok(Self { identity })
    }
}

impl Context<Viewers> {
    fn moment(&self) -> Moment {
        Moment {
            now: Instant::now(),
            wall: self.clock.wall(),
        }
    }

    /// Reads the available datagrams.
    fn receive(&mut self, member: &mut Member<Viewer>) -> Outcome {
        let at = self.moment();
        let Member { seat, own: viewer } = member;
        let Phase::Linked(link) = &mut viewer.phase else {
            return Ok(());
        };
        let mut media = 0;
        for _ in 0..DATAGRAMS_PER_EVENT {
            let received = socket::receive_datagram(&viewer.socket, &mut self.buffer)?;
            let Some(length) = received else {
                break;
            };
            let datagram = &mut self.buffer[..length];
            if !is_media(datagram) {
                if let Link::Session(session) = link {
                    session.receive(datagram, &viewer.socket, at)?;
                }
                continue;
            }
            if is_rtcp(datagram) {
                if let Some(follower) = link.follower() {
                    follower.rtcp(datagram, at, &mut self.tally.packets);
                }
                continue;
            }
            let kind = viewer.lines.enter(datagram, link.types());
            let Tally {
                findings, packets, ..
            } = &mut self.tally;
            if let (Some(kind), true) = (kind, self.in_window) {
                packets.enter(kind, length);
            }
            if matches!(kind, Some(Kind::Video)) {
                seat.reception.see(self.now);
            }
            if let Some(follower) = link.follower() {
                follower.rtp(datagram, at, findings, packets);
            }
            media += length;
        }
        if media > 0 {
            self.hear(seat, media);
        }
        Ok(())
    }
}

impl Behaviour for Viewers {
    type Own = Viewer;

    /// Low, because a handshake costs half a millisecond.
    const JOINS_PER_ROUND: u64 = 8;
    const ROUND_TICKS: usize = 10;
    /// Longest datagram, and the bytes of a response read at once.
    const TAKE_BYTES: usize = 4 << 10;

    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Viewer, Reason> {
        let target = &context.plan.target;
        let (socket, phase) = if target.protocol == Protocol::Srtp {
            let socket = socket::converse(target.addr, seat.number)
                .map_err(|error| format!("no connection: {error}"))?;
            socket::watch(&context.epoll, &socket, seat.place, EventFlags::IN)?;
            let next = Instant::now();
            (socket, Phase::Linked(Link::Hello { next }))
        } else {
            let (local, identity) = (credentials()?, &context.own.identity);
            let offer = offer::of_viewer(&local, identity)?;
            let words = post(target, context.listening.stream(seat.number), &offer);
            let asking = Box::new(Asking::new(words, identity, local));
            let socket = context.connect(seat, EventFlags::OUT, None)?;
            (socket, Phase::Asking(asking))
        };
        Ok(Viewer {
            socket,
            phase,
            lines: Lines::default(),
        })
    }

    fn attend(context: &mut Context<Self>, member: &mut Member<Viewer>, _: usize) -> Outcome {
        let Phase::Asking(asking) = &mut member.own.phase else {
            return context.receive(member);
        };
        let socket = &mut member.own.socket;
        if let Some((answer, connection)) = asking.attend(context, &member.seat, socket)? {
            let is_checked = member.seat.role == Role::Checked;
            let session = Session::new(connection, answer, is_checked);
            member.own.phase = Phase::Linked(Link::Session(Box::new(session)));
        }
        Ok(())
    }

    fn due(member: &Member<Viewer>, clock: Clock) -> Option<u64> {
        let due = match &member.own.phase {
            Phase::Linked(Link::Hello { next }) => {
                (!member.seat.reception.has_media).then_some(*next)
            }
            Phase::Linked(Link::Session(session)) => Some(session.due()),
            Phase::Asking(_) => None,
        };
        due.map(|due| clock.time_of(due))
    }

    fn wake(context: &mut Context<Self>, member: &mut Member<Viewer>) -> Outcome {
        let at = context.moment();
        if Self::due(member, context.clock).is_none_or(|due| due > context.now) {
            return Ok(());
        }
        let Viewer {
            socket,
            phase,
            lines,
        } = &mut member.own;
        let Phase::Linked(link) = phase else {
            return Ok(());
        };
        let Tally {
            findings, packets, ..
        } = &mut context.tally;
        match link {
            Link::Hello { next } => {
                *next = at.now + HELLO_INTERVAL;
                // The datagram may be refused until the server listens there.
                socket::transmit_datagram(socket, HELLO).ok();
                Ok(())
            }
            Link::Session(session) => {
                if let Some(follower) = session.follower() {
                    follower.receiver.judge(at, findings, packets);
                }
                session.handle_timeout(lines, at.now, socket, packets)
            }
        }
    }

    fn leave(context: &mut Context<Self>, member: &mut Member<Viewer>) {
        context.tally.packets.add(member.own.lines.sum());
        let Viewer { socket, phase, .. } = &mut member.own;
        if let Phase::Linked(Link::Session(session)) = phase {
            session.connection.close(socket, Instant::now());
        }
    }
}
