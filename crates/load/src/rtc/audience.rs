//! A group of viewers: a small state for each of them.

use std::time::{Duration, Instant};

use rustix::event::epoll;
use webrtc::client::{self, ClientIdentity, is_media};
use webrtc::rtcp::is_rtcp;
use webrtc::srtp::Profile;

use super::lines::Lines;
use super::reach::reach;
use super::receiver::Moment;
use super::session::Session;
use super::signal::{SignalReader, post};
use super::viewer::{Asking, Link, Phase, Viewer};
use super::{offer, random};
use crate::clock::nanoseconds;
use crate::group::{Behaviour, Group};
use crate::ledger::Kind;
use crate::listen::role::Role;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::socket::{self, Moved};
use crate::tally::{Progress, Tally};
use crate::target::Protocol;
use crate::timers::Timers;
use crate::worker;

/// Members woken between two looks at the sockets.
const WAKES_PER_ROUND: usize = 256;
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
    let identity = ClientIdentity::generate(&[Profile::Aes128Gcm, Profile::Aes128CmSha1_80]);
    let viewers = Viewers {
        identity: identity.map_err(std::io::Error::other)?,
        timers: Timers::default(),
    };
    worker::run_rounds(plan, Group::new(plan, listening, viewers)?, progress)
}

/// What the viewers of a group share.
struct Viewers {
    identity: ClientIdentity,
    timers: Timers<Instant>,
}

impl Group<'_, Viewers> {
    fn moment(&self) -> Moment {
        Moment {
            now: Instant::now(),
            wall: self.clock.wall(),
        }
    }

    fn connect(&mut self, number: u64, role: Role) -> Result<(), String> {
        let target = &self.plan.target;
        let began = self.clock.now();
        let no_connection = |error: std::io::Error| format!("no connection: {error}");
        let (socket, phase, flags) = if target.protocol() == Protocol::Srtp {
            let socket = socket::converse(target.addr(), number).map_err(no_connection)?;
            let next = Instant::now();
            let phase = Phase::Joining(Link::Hello { next });
            (socket, phase, epoll::EventFlags::IN)
        } else {
            let local = random::credentials().map_err(|error| error.to_string())?;
            let offer = offer::of_viewer(&local, &self.own.identity);
            let offer = offer.map_err(|error| error.to_string())?;
            let words = post(target, number % self.plan.streams, &offer);
            let asking = Box::new(Asking {
                local,
                reader: SignalReader::default(),
            });
            let socket = socket::connect(target.addr(), number, None).map_err(no_connection)?;
            let phase = Phase::Connecting(words.into_bytes(), asking);
            (socket, phase, epoll::EventFlags::OUT)
        };
        let place = self.members.vacant().index;
        let data = epoll::EventData::new_u64(u64::from(place));
        epoll::add(&self.epoll, &socket, data, flags)
            .map_err(|error| format!("not watched: {error}"))?;
        let viewer = Viewer {
            socket,
            number,
            role,
            phase,
            reception: Reception::new(began),
            lines: Lines::default(),
        };
        if let Some(due) = viewer.due() {
            self.own.timers.set(place as usize, due);
        }
        self.members.insert(viewer);
        Ok(())
    }

    fn look_at(&mut self, place: usize, now: u64) -> Result<(), String> {
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        match viewer.phase {
            Phase::Connecting(..) => self.connected(place),
            Phase::Asking(_) => self.ask(place),
            Phase::Joining(_) | Phase::Watching(_) => self.receive(place, now),
        }
    }

    fn connected(&mut self, place: usize) -> Result<(), String> {
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        let next = Link::Hello {
            next: Instant::now(),
        };
        let phase = std::mem::replace(&mut viewer.phase, Phase::Joining(next));
        let Phase::Connecting(words, asking) = phase else {
            viewer.phase = phase;
            return Ok(());
        };
        viewer.phase = Phase::Asking(asking);
        socket::greet(&viewer.socket, &words, &self.epoll, place)
    }

    fn ask(&mut self, place: usize) -> Result<(), String> {
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Asking(asking) = &mut viewer.phase else {
            return Ok(());
        };
        let answer = match socket::receive(&viewer.socket, &mut self.buffer) {
            Moved::Bytes(length) => asking.reader.push(&self.buffer[..length]),
            Moved::Later => return Ok(()),
            Moved::Gone(_) => asking.reader.finish().map(Some),
        };
        let Some(answer) = answer.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        let local = asking.local.clone();
        self.join(place, &answer, local)
    }

    /// The server has accepted: its UDP port replaces its HTTP port.
    fn join(
        &mut self,
        place: usize,
        answer: &client::Answer,
        local: webrtc::ice::Credentials,
    ) -> Result<(), String> {
        let random = random::number().map_err(|error| error.to_string())?;
        let at = self.moment();
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        let (socket, server) = reach(self.plan, answer, viewer.number, &self.epoll, place)?;
        // The connection ends with its descriptor.
        viewer.socket = socket;
        let is_checked = viewer.role == Role::Checked;
        let session = Session::new(
            &self.own.identity,
            local,
            (answer, server),
            random,
            is_checked,
            at.now,
        );
        viewer.phase = Phase::Joining(Link::Session(Box::new(session)));
        self.wake(place, at);
        Ok(())
    }

    /// Reads the datagrams that are there.
    fn receive(&mut self, place: usize, now: u64) -> Result<(), String> {
        let at = self.moment();
        let Some(viewer) = self.members.at_mut(place) else {
            return Ok(());
        };
        let mut media = 0;
        for _ in 0..DATAGRAMS_PER_EVENT {
            let length = match socket::receive_datagram(&viewer.socket, &mut self.buffer) {
                Moved::Bytes(length) => length,
                Moved::Later => break,
                Moved::Gone(why) => return Err(why.to_owned()),
            };
            let (Phase::Joining(link) | Phase::Watching(link)) = &mut viewer.phase else {
                return Ok(());
            };
            let datagram = &mut self.buffer[..length];
            if !is_media(datagram) {
                if let Link::Session(session) = link {
                    let heard = session.receive(datagram, at);
                    let flushed = session.flush(&viewer.socket);
                    heard.and(flushed).map_err(|error| error.to_string())?;
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
            self.hear(place, media, now, at);
        }
        Ok(())
    }

    /// `media` bytes of media came to the viewer at `place`.
    fn hear(&mut self, place: usize, media: usize, now: u64, at: Moment) {
        let Some(viewer) = self.members.at_mut(place) else {
            return;
        };
        if viewer.is_watching() {
            let wait = viewer.reception.hear(media, now);
            self.tally.enter_wait(wait, self.in_window);
        } else {
            self.tally.enter_join(viewer.reception.began, now);
            self.tally.checked += u64::from(viewer.role == Role::Checked);
            viewer.reception.begin(media, now);
            let next = Link::Hello { next: at.now };
            let phase = std::mem::replace(&mut viewer.phase, Phase::Joining(next));
            if let Phase::Joining(link) = phase {
                viewer.phase = Phase::Watching(link);
            }
        }
        self.tally.enter_bytes(media, self.in_window);
    }

    /// The viewer at `place` may have something to do by the clock.
    fn wake(&mut self, place: usize, at: Moment) {
        let Some(viewer) = self.members.at_mut(place) else {
            return;
        };
        if viewer.due().is_none_or(|due| due > at.now) {
            return self.schedule(place);
        }
        let (Phase::Joining(link) | Phase::Watching(link)) = &mut viewer.phase else {
            return;
        };
        let Tally {
            findings, packets, ..
        } = &mut self.tally;
        let outcome = match link {
            Link::Hello { next } => {
                *next = at.now + HELLO_INTERVAL;
                // Until the server listens there, it may be refused.
                socket::transmit_datagram(&viewer.socket, HELLO);
                Ok(())
            }
            Link::Session(session) => {
                if let Some(follower) = session.follower() {
                    follower.handle_timeout(at, findings, packets);
                }
                session
                    .handle_timeout(&mut viewer.lines, at.now, &viewer.socket, packets)
                    .map_err(|error| error.to_string())
            }
        };
        let now = self.clock.now();
        self.settle(place, now, outcome);
    }

    /// After something happened: the viewer at `place` is lost, or woken when it is due.
    fn settle(&mut self, place: usize, now: u64, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.schedule(place),
            Err(reason) => self.lose(place, now, &reason),
        }
    }

    fn schedule(&mut self, place: usize) {
        if let Some(due) = self.members.at(place).and_then(Viewer::due) {
            self.own.timers.set(place, due);
        }
    }
}

impl Behaviour for Viewers {
    type Member = Viewer;

    /// A handshake costs half a millisecond.
    const JOINS_PER_ROUND: u64 = 8;
    const ROUND_TICKS: usize = 10;
    /// The longest datagram, and the bytes of an answer read at once.
    const TAKE_BYTES: usize = 4 << 10;

    fn begin(group: &mut Group<'_, Self>, number: u64, role: Role) -> Result<(), String> {
        group.connect(number, role)
    }

    fn attend(group: &mut Group<'_, Self>, place: usize, now: u64) {
        let outcome = group.look_at(place, now);
        group.settle(place, now, outcome);
    }

    fn wake(group: &mut Group<'_, Self>, _: u64) {
        let at = group.moment();
        for _ in 0..WAKES_PER_ROUND {
            let Some(place) = group.own.timers.pop(at.now) else {
                break;
            };
            group.wake(place, at);
        }
    }

    fn until_wake(&self, _: u64) -> u64 {
        self.timers.next().map_or(u64::MAX, |due| {
            nanoseconds(due.saturating_duration_since(Instant::now()))
        })
    }

    fn forget(&mut self, place: usize) {
        self.timers.clear(place);
    }

    /// It says goodbye.
    fn leave(group: &mut Group<'_, Self>, mut viewer: Viewer, now: u64) {
        let (reception, tally) = (&viewer.reception, &mut group.tally);
        tally.enter_gap(reception.longest_waits(now), group.in_window);
        tally.enter_picture_gap(reception.longest_picture_wait(now), group.in_window);
        tally.packets.enter_sum(viewer.lines.sum());
        let Viewer { socket, phase, .. } = &mut viewer;
        if let Phase::Watching(Link::Session(session)) = phase {
            session.close(socket, Instant::now());
        }
    }
}
