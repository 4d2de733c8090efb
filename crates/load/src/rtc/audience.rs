//! A crowd of viewers in one thread: an epoll loop, and a small state for each of them.

use std::fmt::Display;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use webrtc::client::{self, Identity, is_media};
use webrtc::rtcp::is_rtcp;
use webrtc::srtp::Profile;

use super::lines::Lines;
use super::receiver::Moment;
use super::session::Session;
use super::signal::{SignalReader, post};
use super::timers::Timers;
use super::viewer::{Asking, Link, Phase, Viewer};
use super::{offer, random};
use crate::clock::{Clock, nanoseconds};
use crate::listen::role::{Role, Roles};
use crate::plan::{Listening, Plan, Timeline};
use crate::reception::Reception;
use crate::socket::{self, Moved};
use crate::tally::{Progress, Tally};
use crate::target::Protocol;
use crate::worker::{self, Laps, Rounds};

/// Sockets looked at between two sleeps: about a millisecond's work.
const EVENTS_PER_WAIT: usize = 512;
/// Joins begun between two looks at the sockets: a handshake costs half a millisecond.
const JOINS_PER_ROUND: u64 = 8;
/// Members woken between two looks at the sockets.
const WAKES_PER_ROUND: usize = 256;
/// Datagrams taken from a socket in a row: a keyframe's, or an answer of HTTP.
const DATAGRAMS_PER_EVENT: usize = 64;
/// The longest datagram, and what is taken of an answer at once.
const TAKE_BYTES: usize = 4 << 10;
/// The longest sleep.
const NAP: u64 = 20_000_000;
/// A viewer that has no media after this long gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;
/// Between two looks at some of those who wait, and how many looks go round.
const TICK: u64 = 100_000_000;
const ROUND_TICKS: usize = 10;
/// Between two greetings of the floor.
const HELLO_INTERVAL: Duration = Duration::from_millis(200);
const HELLO: &[u8] = b"hello";
/// Viewers looked at to find one that may leave.
const CHURN_TRIES: usize = 16;

/// Runs this process's viewers to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    listening: &Listening,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    worker::run_rounds(plan, Audience::new(plan, listening)?, progress)
}

struct Audience<'a> {
    plan: &'a Plan,
    listening: &'a Listening,
    timeline: Timeline,
    roles: Roles,
    clock: Clock,
    epoll: OwnedFd,
    identity: Identity,
    /// A viewer's place is what its events are known by.
    viewers: Vec<Option<Viewer>>,
    /// Places whose viewer is gone.
    free: Vec<usize>,
    timers: Timers,
    /// The next place to be looked after.
    cursor: usize,
    next_tick: u64,
    /// Of the plan's members; churn comes on top.
    members_begun: u64,
    random: u64,
    in_window: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

impl<'a> Audience<'a> {
    fn new(plan: &'a Plan, listening: &'a Listening) -> std::io::Result<Self> {
        let identity = Identity::generate(&[Profile::Aes128Gcm, Profile::Aes128CmSha1_80]);
        Ok(Self {
            plan,
            listening,
            timeline: plan.timeline(),
            roles: Roles::new(plan.members, 0.0, 0.0, listening.checked),
            clock: Clock::new(plan.begin_at),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            identity: identity.map_err(std::io::Error::other)?,
            viewers: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            cursor: 0,
            next_tick: 0,
            members_begun: 0,
            random: plan.begin_at | 1,
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; TAKE_BYTES],
        })
    }

    fn moment(&self) -> Moment {
        Moment {
            now: Instant::now(),
            wall: self.clock.wall(),
        }
    }

    /// How many should have left by now.
    fn churn_due(&self, now: u64) -> u64 {
        let since = now.saturating_sub(self.timeline.ramp_end) as f64 / 1e9;
        (since * self.listening.churn / self.plan.processes as f64) as u64
    }

    /// One viewer leaves and another one comes.
    fn churn(&mut self, now: u64) {
        self.tally.churned += 1;
        for _ in 0..CHURN_TRIES {
            // xorshift64: who leaves need not be a secret.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let place = self.random as usize % self.viewers.len().max(1);
            let is_plain = self.viewers.get(place).is_some_and(|viewer| {
                viewer
                    .as_ref()
                    .is_some_and(|viewer| viewer.is_watching() && viewer.role == Role::Plain)
            });
            if is_plain {
                if let Some(viewer) = self.take(place) {
                    self.leave(viewer, now);
                }
                break;
            }
        }
        let number = self.plan.members + self.plan.global(self.tally.churned);
        self.begin(number, Role::Plain);
    }

    fn begin(&mut self, number: u64, role: Role) {
        self.tally.begun += 1;
        if let Err(reason) = self.connect(number, role) {
            self.tally.failed.count(&reason);
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
            let offer = offer::of_viewer(&local, &self.identity);
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
        let place = self.free.last().copied().unwrap_or(self.viewers.len());
        let data = epoll::EventData::new_u64(place as u64);
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
            self.timers.set(place, due);
        }
        if self.free.pop().is_none() {
            self.viewers.push(Some(viewer));
        } else {
            self.viewers[place] = Some(viewer);
        }
        Ok(())
    }

    /// Something happened at the socket of the viewer at `place`.
    fn attend(&mut self, place: usize, now: u64) -> Result<(), String> {
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
            return Ok(());
        };
        match viewer.phase {
            Phase::Connecting(..) => self.connected(place),
            Phase::Asking(_) => self.ask(place),
            Phase::Joining(_) | Phase::Watching(_) => self.receive(place, now),
        }
    }

    fn connected(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
            return Ok(());
        };
        socket::connect_result(&viewer.socket)
            .map_err(|error| format!("no connection: {error}"))?;
        let next = Link::Hello {
            next: Instant::now(),
        };
        let phase = std::mem::replace(&mut viewer.phase, Phase::Joining(next));
        if let Phase::Connecting(words, asking) = phase {
            viewer.phase = Phase::Asking(asking);
            socket::say(&viewer.socket, &words)?;
            let data = epoll::EventData::new_u64(place as u64);
            epoll::modify(&self.epoll, &viewer.socket, data, epoll::EventFlags::IN)
                .map_err(|error| format!("not watched: {error}"))?;
        }
        Ok(())
    }

    fn ask(&mut self, place: usize) -> Result<(), String> {
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
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

    /// The server has agreed: its UDP port takes the place of its HTTP port.
    fn join(
        &mut self,
        place: usize,
        answer: &client::Answer,
        local: webrtc::ice::Credentials,
    ) -> Result<(), String> {
        let own = || offer::choose_candidate(answer, self.plan.target.addr());
        let server = self
            .plan
            .via
            .or_else(own)
            .ok_or("the answer names no UDP address")?;
        let random = random::number().map_err(|error| error.to_string())?;
        let at = self.moment();
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
            return Ok(());
        };
        let socket = socket::converse(server, viewer.number)
            .map_err(|error| format!("no UDP socket: {error}"))?;
        let data = epoll::EventData::new_u64(place as u64);
        epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)
            .map_err(|error| format!("not watched: {error}"))?;
        // The connection ends with its descriptor.
        viewer.socket = socket;
        let is_checked = viewer.role == Role::Checked;
        let session = Session::new(
            &self.identity,
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

    /// Takes the datagrams that are there.
    fn receive(&mut self, place: usize, now: u64) -> Result<(), String> {
        let at = self.moment();
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
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

    /// So many bytes of media came to the viewer at `place`.
    fn hear(&mut self, place: usize, media: usize, now: u64, at: Moment) {
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
            return;
        };
        if viewer.is_watching() {
            let wait = viewer.reception.hear(media, now);
            self.tally.enter_wait(wait, self.in_window);
        } else {
            let began = viewer.reception.began;
            self.tally.joined += 1;
            self.tally.join.record(now.saturating_sub(began));
            self.tally.checked += u64::from(viewer.role == Role::Checked);
            viewer.reception.begin(media, now);
            let next = Link::Hello { next: at.now };
            let phase = std::mem::replace(&mut viewer.phase, Phase::Joining(next));
            if let Phase::Joining(link) = phase {
                viewer.phase = Phase::Watching(link);
            }
        }
        self.tally.bytes += media as u64;
        if self.in_window {
            self.tally.window_bytes += media as u64;
        }
    }

    /// The viewer at `place` has something to do unasked, perhaps.
    fn wake(&mut self, place: usize, at: Moment) {
        let Some(Some(viewer)) = self.viewers.get_mut(place) else {
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
                // Until somebody listens there, it may be refused.
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
        let viewer = self.viewers.get(place).and_then(Option::as_ref);
        if let Some(due) = viewer.and_then(Viewer::due) {
            self.timers.set(place, due);
        }
    }

    fn take(&mut self, place: usize) -> Option<Viewer> {
        let viewer = self.viewers.get_mut(place).and_then(Option::take)?;
        self.free.push(place);
        self.timers.clear(place);
        Some(viewer)
    }

    /// The viewer at `place` is gone.
    fn lose(&mut self, place: usize, now: u64, reason: &dyn Display) {
        let Some(viewer) = self.take(place) else {
            return;
        };
        if viewer.is_watching() {
            self.tally.lost.count(reason);
            self.leave(viewer, now);
        } else {
            self.tally.failed.count(reason);
        }
    }

    /// Adds up what a viewer was given, and has it say goodbye.
    fn leave(&mut self, mut viewer: Viewer, now: u64) {
        self.tally
            .enter_gap(viewer.reception.longest_waits(now), self.in_window);
        self.tally.packets.enter_sum(viewer.lines.sum());
        let Viewer { socket, phase, .. } = &mut viewer;
        if let Phase::Watching(Link::Session(session)) = phase {
            session.close(socket, Instant::now());
        }
    }

    /// Gives up those who have waited too long.
    fn give_up_some(&mut self, now: u64) {
        let some = self.viewers.len().div_ceil(ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.viewers.len();
            let is_late = self.viewers[self.cursor].as_ref().is_some_and(|viewer| {
                !viewer.is_watching() && now > viewer.reception.began + JOIN_DEADLINE
            });
            if is_late {
                self.lose(self.cursor, now, &"no media within 30 s");
            }
        }
    }
}

impl Rounds for Audience<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Whether everybody has come and gone.
    fn is_over(&self) -> bool {
        self.members_begun == self.plan.own_share(self.plan.members)
            && self.free.len() == self.viewers.len()
            && self.listening.churn == 0.0
    }

    fn begin_window(&mut self) {
        self.in_window = true;
        let viewers = self.viewers.iter_mut().flatten();
        for viewer in viewers.filter(|viewer| viewer.is_watching()) {
            viewer.reception.begin_window();
        }
    }

    /// What is due by the clock.
    fn look_after(&mut self, now: u64) {
        if self.clock.until_begin() == 0 {
            let due = self.plan.due(&self.clock, now) - self.members_begun;
            for _ in 0..JOINS_PER_ROUND.min(due) {
                let number = self.plan.global(self.members_begun);
                self.members_begun += 1;
                self.begin(number, self.roles.of(number));
            }
        }
        while self.tally.churned < self.churn_due(now) {
            self.churn(now);
        }
        let at = self.moment();
        for _ in 0..WAKES_PER_ROUND {
            let Some(place) = self.timers.pop(at.now) else {
                break;
            };
            self.wake(place, at);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.give_up_some(now);
        }
    }

    /// Until something is due.
    fn pause(&self, now: u64) -> u64 {
        let own = self.plan.own_share(self.plan.members);
        let next_member = if self.members_begun < own {
            let at = self.plan.ramp().at(self.plan.global(self.members_begun));
            nanoseconds(at) + self.clock.until_begin()
        } else {
            u64::MAX
        };
        let timer = self.timers.next().map_or(u64::MAX, |due| {
            nanoseconds(due.saturating_duration_since(Instant::now()))
        });
        next_member
            .min(self.next_tick)
            .saturating_sub(now)
            .min(timer)
            .min(NAP)
    }

    fn wait(&mut self, pause: u64, laps: &mut Laps) -> std::io::Result<()> {
        let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        let Some(ready) = socket::ready(&self.epoll, &mut ready, pause)? else {
            return Ok(());
        };
        let now = self.clock.now();
        laps.resume(now);
        for event in ready {
            let place = { event.data }.u64() as usize;
            let outcome = self.attend(place, now);
            self.settle(place, now, outcome);
        }
        Ok(())
    }

    /// Everybody hangs up.
    fn end(&mut self) {
        let now = self.clock.now();
        let seconds = self.plan.window.as_secs_f64();
        for viewer in std::mem::take(&mut self.viewers).into_iter().flatten() {
            if !viewer.is_watching() {
                self.tally.failed.count(&"not yet at the end");
                continue;
            }
            self.tally.alive += 1;
            if let Some(base) = viewer.reception.base {
                let bits = (viewer.reception.bytes - base) as f64 * 8.0;
                self.tally.rate.record((bits / seconds) as u64);
            }
            self.leave(viewer, now);
        }
    }
}
