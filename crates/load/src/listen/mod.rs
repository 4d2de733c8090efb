//! A group of listeners in one thread: an epoll loop, and a small state for each of them.
//!
//! Bytes that are not checked are discarded in the kernel. The loop's own lateness is measured, because it
//! would otherwise be blamed on the server.

mod listener;
pub(crate) mod role;

use std::os::fd::OwnedFd;

use net::Slab;
use rustix::event::epoll;

use crate::churn::Churn;
use crate::clock::Clock;
use crate::listen::listener::{Joining, Listener, Phase, Step};
use crate::listen::role::{Role, Roles};
use crate::muster::Muster;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::socket::{self, Moved};
use crate::tally::{Progress, Tally};
use crate::target::Protocol;
use crate::worker::{self, Rounds};

/// Connections begun between two looks at the sockets, so that joining does not starve reading.
const JOINS_PER_ROUND: u64 = 64;
/// Bytes taken from a socket at once.
const TAKE_BYTES: usize = 256 << 10;
/// Bytes taken at once before the first media has come.
const JOIN_BYTES: usize = 4 << 10;
/// How often slow listeners read, and others are checked.
const TICK: u64 = 100_000_000;
/// The longest sleep.
const NAP: u64 = 20_000_000;
/// A listener that has no media after this long gives up.
const JOIN_DEADLINE: u64 = 30_000_000_000;
/// Ticks in which every listener is checked once. RTMP players acknowledge then, as players do: some servers
/// drop clients that are silent for a minute.
const ROUND_TICKS: usize = 100;
/// Of listeners that read little or nothing, so that the server notices soon.
const SMALL_RECEIVE_BUFFER: usize = 16 << 10;
/// At the end, the time for stalled and slow listeners to read what has piled up.
const RELEASE_TIME: u64 = 1_500_000_000;
/// Reads of one of them in a row; a server that keeps sending may be faster than we are.
const TAKES_PER_RELEASE: usize = 64;
const DROPPED_STALLED: &str = "dropped while it was stalled";
const DROPPED_SLOW: &str = "dropped while it was slow";

/// Runs this process's listeners to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    listening: &Listening,
    progress: &mut dyn FnMut(Progress),
) -> std::io::Result<Tally> {
    worker::run_rounds(plan, ListenerGroup::new(plan, listening)?, progress)
}

struct ListenerGroup<'a> {
    plan: &'a Plan,
    listening: &'a Listening,
    roles: Roles,
    muster: Muster<'a>,
    churn: Churn,
    clock: Clock,
    epoll: OwnedFd,
    /// By place, which identifies a listener's events.
    listeners: Slab<Listener>,
    /// Places of slow listeners.
    slow: Vec<usize>,
    /// The next place to be checked.
    cursor: usize,
    next_tick: u64,
    in_window: bool,
    tally: Tally,
    buffer: Vec<u8>,
    reply: Vec<u8>,
}

impl<'a> ListenerGroup<'a> {
    fn new(plan: &'a Plan, listening: &'a Listening) -> std::io::Result<Self> {
        let clock = Clock::new(plan.begin_at);
        let roles = Roles::new(
            plan.members,
            listening.stalled,
            listening.slow.share,
            listening.checked,
        );
        Ok(Self {
            plan,
            listening,
            muster: Muster::new(plan, clock),
            churn: Churn::new(plan, listening),
            roles,
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            listeners: Slab::new(),
            slow: Vec::new(),
            cursor: 0,
            next_tick: 0,
            in_window: false,
            tally: Tally::default(),
            buffer: vec![0; TAKE_BYTES],
            reply: Vec::new(),
        })
    }

    /// One listener leaves and another one comes.
    fn replace_one(&mut self, now: u64) {
        self.tally.churned += 1;
        let Self {
            churn, listeners, ..
        } = self;
        let may_leave = |place: usize| {
            matches!(
                listeners.at(place),
                Some(Listener {
                    phase: Phase::Listening,
                    role: Role::Plain,
                    ..
                })
            )
        };
        if let Some(place) = churn.choose(listeners.places(), may_leave)
            && let Some(listener) = self.listeners.take(place)
        {
            self.tally
                .enter_gap(listener.reception.longest_waits(now), self.in_window);
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
        let stream = number % self.plan.streams;
        let (words, joining) = Joining::begin(&self.plan.target, stream, self.listening.icy)
            .map_err(|error| error.to_string())?;
        let receive_buffer =
            matches!(role, Role::Stalled | Role::Slow).then_some(SMALL_RECEIVE_BUFFER);
        let began = self.clock.now();
        let connected = socket::connect(self.plan.target.addr(), number, receive_buffer);
        let socket = connected.map_err(|error| format!("no connection: {error}"))?;
        let place = self.listeners.vacant().index;
        let flags = epoll::EventFlags::OUT;
        let data = epoll::EventData::new_u64(u64::from(place));
        if let Err(error) = epoll::add(&self.epoll, &socket, data, flags) {
            return Err(format!("not watched: {error}"));
        }
        let listener = Listener {
            socket,
            role,
            phase: Phase::Connecting(words, Box::new(joining)),
            reception: Reception::new(began),
        };
        self.listeners.insert(listener);
        Ok(())
    }

    fn connected(&mut self, place: usize) -> Result<(), String> {
        let Some(listener) = self.listeners.at_mut(place) else {
            return Ok(());
        };
        let phase = std::mem::replace(&mut listener.phase, Phase::Stalled);
        let Phase::Connecting(words, joining) = phase else {
            listener.phase = phase;
            return Ok(());
        };
        listener.phase = Phase::Joining(joining);
        socket::greet(&listener.socket, &words, &self.epoll, place)
    }

    fn join(&mut self, place: usize, now: u64) -> Result<(), String> {
        let Some(listener) = self.listeners.at_mut(place) else {
            return Ok(());
        };
        let Phase::Joining(joining) = &mut listener.phase else {
            return Ok(());
        };
        // The burst after the first media is not checked.
        let length = match socket::receive(&listener.socket, &mut self.buffer[..JOIN_BYTES]) {
            Moved::Bytes(length) => length,
            Moved::Later => return Ok(()),
            Moved::Gone(why) => return Err(why.to_owned()),
        };
        let times = (
            self.clock.wall_of(listener.reception.began),
            self.clock.wall(),
        );
        self.reply.clear();
        let findings = (listener.role == Role::Checked).then_some(&mut self.tally.findings);
        let bytes = &self.buffer[..length];
        let step = joining.push(bytes, times, &mut self.reply, findings);
        if !self.reply.is_empty() {
            socket::say(&listener.socket, &self.reply)?;
        }
        let Step::Joined(followed, media) = step.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        self.tally.enter_join(listener.reception.began, now);
        listener.reception.begin(media, now);
        listener.phase = match (followed, listener.role) {
            (Some(followed), _) => Phase::Checked(followed),
            (None, Role::Stalled) => Phase::Stalled,
            (None, _) => Phase::Listening,
        };
        match listener.role {
            Role::Plain => {}
            Role::Checked => self.tally.checked += 1,
            Role::Stalled => self.tally.stalled += 1,
            Role::Slow => {
                self.tally.slow += 1;
                self.slow.push(place);
            }
        }
        if matches!(listener.role, Role::Stalled | Role::Slow) {
            epoll::delete(&self.epoll, &listener.socket).map_err(|error| error.to_string())?;
        }
        self.tally.enter_bytes(media, self.in_window);
        Ok(())
    }

    fn follow(&mut self, place: usize, now: u64) -> Result<(), String> {
        let Some(listener) = self.listeners.at_mut(place) else {
            return Ok(());
        };
        let Phase::Checked(followed) = &mut listener.phase else {
            return Ok(());
        };
        let length = match socket::receive(&listener.socket, &mut self.buffer) {
            Moved::Bytes(length) => length,
            Moved::Later => return Ok(()),
            Moved::Gone(why) => return Err(why.to_owned()),
        };
        self.reply.clear();
        let bytes = &self.buffer[..length];
        let wall = self.clock.wall();
        let followed = followed.push(bytes, wall, &mut self.reply, &mut self.tally.findings);
        let wait = listener.reception.hear(length, now);
        self.tally.enter_wait(wait, self.in_window);
        if !self.reply.is_empty() {
            socket::say(&listener.socket, &self.reply)?;
        }
        self.tally.enter_bytes(length, self.in_window);
        followed.map_err(|error| error.to_string())
    }

    /// The listener at `place` is gone.
    fn lose(&mut self, place: usize, now: u64, reason: &dyn std::fmt::Display) {
        let Some(listener) = self.listeners.take(place) else {
            return;
        };
        if matches!(listener.phase, Phase::Connecting(..) | Phase::Joining(_)) {
            self.tally.failed.count(reason);
            return;
        }
        self.tally.lost.count(reason);
        if matches!(listener.role, Role::Stalled | Role::Slow) {
            return;
        }
        self.tally
            .enter_gap(listener.reception.longest_waits(now), self.in_window);
    }

    /// Slow listeners read their share of a tick.
    fn read_slowly(&mut self, now: u64) {
        let bytes = self.listening.slow.bit_rate * TICK / 8_000_000_000;
        let bytes = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .clamp(1, TAKE_BYTES);
        let mut slow = std::mem::take(&mut self.slow);
        slow.retain(|place| {
            let Some(listener) = self.listeners.at(*place) else {
                return false;
            };
            match socket::discard(&listener.socket, &mut self.buffer[..bytes]) {
                Moved::Bytes(length) => self.tally.enter_bytes(length, self.in_window),
                Moved::Later => {}
                Moved::Gone(_) => {
                    self.lose(*place, now, &DROPPED_SLOW);
                    return false;
                }
            }
            true
        });
        self.slow = slow;
    }

    /// Drops listeners that have waited too long, and has RTMP players acknowledge.
    fn look_after_some(&mut self, now: u64) {
        let some = self.listeners.places().div_ceil(ROUND_TICKS);
        for _ in 0..some {
            self.cursor = (self.cursor + 1) % self.listeners.places();
            let place = self.cursor;
            let Some(listener) = self.listeners.at(place) else {
                continue;
            };
            match listener.phase {
                Phase::Connecting(..) | Phase::Joining(_)
                    if now > listener.reception.began + JOIN_DEADLINE =>
                {
                    self.lose(place, now, &"no media within 30 s");
                }
                Phase::Listening if self.plan.target.protocol() == Protocol::Rtmp => {
                    // A server that does not read is no reason to stop.
                    socket::transmit(&listener.socket, &acknowledgement(listener.reception.bytes));
                }
                _ => {}
            }
        }
    }

    /// Listeners that were held back read what there is: only then do they learn whether the server has
    /// closed the connection, because that comes after what it has sent before.
    fn release(&mut self, mut held_back: Vec<Listener>) {
        let end = self.clock.now() + RELEASE_TIME;
        while !held_back.is_empty() && self.clock.now() < end {
            held_back.retain(|listener| {
                for _ in 0..TAKES_PER_RELEASE {
                    match socket::discard(&listener.socket, &mut self.buffer) {
                        Moved::Bytes(_) => {}
                        Moved::Later => return true,
                        Moved::Gone(_) if listener.role == Role::Slow => {
                            self.tally.lost.count(&DROPPED_SLOW);
                            return false;
                        }
                        Moved::Gone(_) => {
                            self.tally.lost.count(&DROPPED_STALLED);
                            return false;
                        }
                    }
                }
                true
            });
            std::thread::sleep(std::time::Duration::from_nanos(NAP));
        }
        self.tally.alive += held_back.len() as u64;
    }
}

impl Rounds for ListenerGroup<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Whether all listeners have come and gone.
    fn is_over(&self) -> bool {
        self.muster.is_complete() && self.listeners.is_empty() && self.churn.is_none()
    }

    fn begin_window(&mut self) {
        self.in_window = true;
        for listener in self.listeners.values_mut() {
            if matches!(listener.phase, Phase::Listening | Phase::Checked(_)) {
                listener.reception.begin_window();
            }
        }
    }

    /// Does what is due by the clock.
    fn look_after(&mut self, now: u64) {
        for _ in 0..JOINS_PER_ROUND {
            let Some(number) = self.muster.next(now) else {
                break;
            };
            self.begin(number, self.roles.of(number));
        }
        while self.tally.churned < self.churn.due(now) {
            self.replace_one(now);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.read_slowly(now);
            self.look_after_some(now);
        }
    }

    /// The time until something is due.
    fn pause(&self, now: u64) -> u64 {
        let next_member = self.muster.next_at();
        next_member.min(self.next_tick).saturating_sub(now).min(NAP)
    }

    fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// Something happened at the socket of the listener at `place`.
    fn attend(&mut self, place: usize, now: u64) {
        let Some(listener) = self.listeners.at_mut(place) else {
            return;
        };
        if let Phase::Listening = listener.phase {
            match socket::discard(&listener.socket, &mut self.buffer) {
                Moved::Bytes(length) => {
                    let wait = listener.reception.hear(length, now);
                    self.tally.enter_wait(wait, self.in_window);
                    self.tally.enter_bytes(length, self.in_window);
                }
                Moved::Later => {}
                Moved::Gone(why) => self.lose(place, now, &why),
            }
            return;
        }
        let outcome = match listener.phase {
            Phase::Connecting(..) => self.connected(place),
            Phase::Joining(_) => self.join(place, now),
            Phase::Checked(_) => self.follow(place, now),
            Phase::Listening | Phase::Stalled => Ok(()),
        };
        if let Err(reason) = outcome {
            self.lose(place, now, &reason);
        }
    }

    /// All listeners disconnect.
    fn end(&mut self) {
        let now = self.clock.now();
        let seconds = self.plan.window.as_secs_f64();
        let mut held_back = Vec::new();
        for listener in std::mem::take(&mut self.listeners).into_values() {
            match (&listener.phase, listener.role) {
                (Phase::Connecting(..) | Phase::Joining(_), _) => {
                    self.tally.failed.count(&"not yet at the end");
                }
                (_, Role::Stalled | Role::Slow) => held_back.push(listener),
                (_, Role::Plain | Role::Checked) => {
                    self.tally.alive += 1;
                    self.tally
                        .enter_gap(listener.reception.longest_waits(now), self.in_window);
                    if let Some(rate) = listener.reception.rate(seconds) {
                        self.tally.rate.record(rate);
                    }
                }
            }
        }
        self.release(held_back);
    }
}

/// RTMP's Acknowledgement, with a full chunk header on the chunk stream of control messages.
fn acknowledgement(bytes: u64) -> [u8; 16] {
    let mut message = [2, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0];
    // The sequence number wraps.
    message[12..].copy_from_slice(&(bytes as u32).to_be_bytes());
    message
}
