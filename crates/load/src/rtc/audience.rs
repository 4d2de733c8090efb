//! A group of viewers: a small state for each of them.

use std::time::{Duration, Instant};

use media::Kind;
use rustix::event::epoll::EventFlags;
use webrtc::client::{ClientIdentity, is_media};
use webrtc::rtcp::is_rtcp;

use super::lines::Lines;
use super::receiver::Moment;
use super::session::{Connection, Session};
use super::signal::{Asking, post};
use super::viewer::{Link, Phase, Viewer};
use super::{identity, offer, random};
use crate::group::{Behaviour, Group, Member, Reason};
use crate::listen::role::Role;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::socket;
use crate::sums::Sum;
use crate::tally::{Progress, Tally};
use crate::target::Protocol;

/// Datagrams taken from a socket in a row: a keyframe's, or an answer of HTTP.
const DATAGRAMS_PER_EVENT: usize = 64;
/// Between two greetings to the floor server.
const HELLO_INTERVAL: Duration = Duration::from_millis(200);
const HELLO: &[u8] = b"hello";

/// Runs this process's viewers to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    listening: &Listening,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    let viewers = Viewers {
        identity: identity()?,
    };
    Group::new(plan, listening, viewers)?.run(progress)
}

/// What the viewers of a group share.
struct Viewers {
    identity: ClientIdentity,
}

impl Group<'_, Viewers> {
    fn moment(&self) -> Moment {
        Moment {
            now: Instant::now(),
            wall: self.clock.wall(),
        }
    }

    /// Reads the datagrams that are there.
    fn receive(&mut self, place: usize, now: u64) -> Result<(), Reason> {
        let at = self.moment();
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        let mut media = 0;
        for _ in 0..DATAGRAMS_PER_EVENT {
            let received = socket::receive_datagram(&viewer.socket, &mut self.buffer)?;
            let Some(length) = received else {
                break;
            };
            let Phase::Linked(link) = &mut viewer.phase else {
                return Ok(());
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
                viewer.reception.see(now);
            }
            if let Some(follower) = link.follower() {
                follower.rtp(datagram, at, findings, packets);
            }
            media += length;
        }
        if media > 0 {
            self.hear(place, media, now);
        }
        Ok(())
    }

    /// `media` bytes of media came to the viewer at `place`.
    fn hear(&mut self, place: usize, media: usize, now: u64) {
        let Some(viewer) = self.members.at_mut(place) else {
            return;
        };
        if viewer.is_watching {
            let wait = viewer.reception.hear(media, now);
            self.tally.enter_wait(wait, self.in_window);
        } else {
            self.tally.enter_join(viewer.reception.began, now);
            self.tally.checked += u64::from(viewer.role == Role::Checked);
            viewer.reception.begin(media, now);
            viewer.is_watching = true;
        }
        self.tally.enter_bytes(media, self.in_window);
    }
}

impl Behaviour for Viewers {
    type Member = Viewer;

    /// A handshake costs half a millisecond.
    const JOINS_PER_ROUND: u64 = 8;
    const ROUND_TICKS: usize = 10;
    /// The longest datagram, and the bytes of an answer read at once.
    const TAKE_BYTES: usize = 4 << 10;

    fn begin(
        group: &mut Group<'_, Self>,
        number: u64,
        role: Role,
        place: usize,
    ) -> Result<Viewer, Reason> {
        let target = &group.plan.target;
        let began = group.clock.now();
        let (socket, phase, flags) = if target.protocol() == Protocol::Srtp {
            let socket = socket::converse(target.addr(), number)
                .map_err(|error| format!("no connection: {error}"))?;
            let next = Instant::now();
            let phase = Phase::Linked(Link::Hello { next });
            (socket, phase, EventFlags::IN)
        } else {
            let local = random::credentials()?;
            let offer = offer::of_viewer(&local, &group.own.identity)?;
            let words = post(target, number % group.plan.streams, &offer);
            let phase = Phase::Asking(Box::new(Asking::new(words, local)));
            let socket = socket::connect(target.addr(), number, None)?;
            (socket, phase, EventFlags::OUT)
        };
        socket::watch(&group.epoll, &socket, place, flags)?;
        Ok(Viewer {
            socket,
            number,
            role,
            phase,
            is_watching: false,
            reception: Reception::new(began),
            lines: Lines::default(),
        })
    }

    fn attend(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        let Some(viewer) = group.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Asking(asking) = &mut viewer.phase else {
            return group.receive(place, now);
        };
        let answered = asking.attend(&viewer.socket, &group.epoll, place, &mut group.buffer)?;
        let Some((answer, local)) = answered else {
            return Ok(());
        };
        // The server has accepted: its UDP port replaces its HTTP port. The connection ends with its descriptor.
        let (identity, own) = (&group.own.identity, (&answer, local));
        let opened = Connection::open(
            group.plan,
            identity,
            own,
            viewer.number,
            &group.epoll,
            place,
        )?;
        viewer.socket = opened.0;
        let session = Session::new(opened.1, &answer, viewer.role == Role::Checked);
        viewer.phase = Phase::Linked(Link::Session(Box::new(session)));
        Ok(())
    }

    fn wake(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        let at = group.moment();
        let Some(viewer) = group.members.at_mut(place) else {
            return Ok(());
        };
        if viewer.due(group.clock).is_none_or(|due| due > now) {
            return Ok(());
        }
        let Phase::Linked(link) = &mut viewer.phase else {
            return Ok(());
        };
        let Tally {
            findings, packets, ..
        } = &mut group.tally;
        match link {
            Link::Hello { next } => {
                *next = at.now + HELLO_INTERVAL;
                // Until the server listens there, it may be refused.
                socket::transmit_datagram(&viewer.socket, HELLO).ok();
                Ok(())
            }
            Link::Session(session) => {
                if let Some(follower) = session.follower() {
                    follower.receiver.judge(at, findings, packets);
                }
                session.handle_timeout(&mut viewer.lines, at.now, &viewer.socket, packets)
            }
        }
    }

    /// It says goodbye.
    fn leave(group: &mut Group<'_, Self>, mut viewer: Viewer, now: u64) {
        let (reception, tally) = (&viewer.reception, &mut group.tally);
        tally.enter_gap(reception.longest_waits(now), group.in_window);
        tally.enter_picture_gap(reception.longest_picture_wait(now), group.in_window);
        tally.packets.add(viewer.lines.sum());
        let Viewer { socket, phase, .. } = &mut viewer;
        if let Phase::Linked(Link::Session(session)) = phase {
            session.connection.close(socket, Instant::now());
        }
    }
}
