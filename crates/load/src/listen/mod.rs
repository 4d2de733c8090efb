//! A group of listeners: a small state for each of them.
//!
//! Bytes that are not checked are discarded in the kernel. The loop's own lateness is measured, because it
//! would otherwise be blamed on the server.

mod listener;
pub(crate) mod role;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustix::event::epoll::{self, EventFlags};
use rustls::ClientConfig;

use crate::group::{Behaviour, Group, NAP, Reason, TICK};
use crate::listen::listener::{Joining, Listener, Phase, Step};
use crate::listen::role::Role;
use crate::messages;
use crate::plan::{Listening, Plan};
use crate::reception::Reception;
use crate::socket;
use crate::tally::{Progress, Tally};
use crate::target::Protocol;
use crate::tls::{self, Secured};

/// Bytes taken at once before the first media has come.
const JOIN_BYTES: usize = 4 << 10;
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
    let queries = match &listening.queries {
        Some(file) => std::fs::read_to_string(file)?,
        None => String::new(),
    };
    let listeners = Listeners {
        queries: queries.lines().map(str::to_owned).collect(),
        icy: listening.icy,
        slow_rate: listening.slow.bit_rate,
        slow: Vec::new(),
        reply: Vec::new(),
        tls: match plan.target.is_secure() {
            true => Some(tls::config()?),
            false => None,
        },
    };
    Group::new(plan, listening, listeners)?.run(progress)
}

/// What the listeners of a group share.
struct Listeners {
    /// They ask for titles.
    icy: bool,
    /// One for each, from the first on again; none for those without.
    queries: Vec<String>,
    /// Bits per second that slow listeners read.
    slow_rate: u64,
    /// Places of slow listeners.
    slow: Vec<usize>,
    reply: Vec<u8>,
    /// How they do their handshakes, if they do.
    tls: Option<Arc<ClientConfig>>,
}

impl Group<'_, Listeners> {
    fn query(&self, number: u64) -> Option<&str> {
        let mut queries = self.own.queries.iter();
        let count = u64::try_from(queries.len()).unwrap_or(u64::MAX);
        let at = usize::try_from(number.checked_rem(count)?).ok()?;
        queries.nth(at).map(String::as_str)
    }

    fn join(&mut self, place: usize, now: u64) -> Result<(), Reason> {
        let Some(listener) = self.members.at_mut(place) else {
            return Ok(());
        };
        let Phase::Joining(words, _) = &mut listener.phase else {
            return Ok(());
        };
        if let Some(words) = words.take() {
            return Ok(socket::greet(&listener.socket, &words, &self.epoll, place)?);
        }
        // The burst after the first media is not checked.
        let received = socket::receive(&listener.socket, &mut self.buffer[..JOIN_BYTES])?;
        let Some(length) = received else {
            return Ok(());
        };
        let times = (
            self.clock.wall_of(listener.reception.began),
            self.clock.wall(),
        );
        self.own.reply.clear();
        let findings = (listener.role == Role::Checked).then_some(&mut self.tally.findings);
        let bytes = listener.open(&self.buffer[..length])?;
        let Phase::Joining(_, joining) = &mut listener.phase else {
            return Ok(());
        };
        let step = match bytes.is_empty() {
            true => Ok(Step::Waiting),
            false => joining.push(&bytes, times, &mut self.own.reply, findings),
        };
        if !self.own.reply.is_empty() {
            listener.reply(&self.own.reply)?;
        }
        let Step::Joined(followed, media) = step? else {
            return Ok(());
        };
        self.tally.enter_join(listener.reception.began, now);
        listener.reception.begin(media, now);
        listener.phase = match (followed, listener.role) {
            (Some(followed), _) => Phase::Checked(followed),
            (None, Role::Stalled) => Phase::Stalled,
            (None, _) => Phase::Listening,
        };
        let speaks_on = self.plan.target.protocol() == Protocol::Websocket;
        if listener.role != Role::Checked && !speaks_on {
            // From now on it counts bytes.
            listener.secured = None;
        }
        match listener.role {
            Role::Plain => {}
            Role::Checked => self.tally.checked += 1,
            Role::Stalled => self.tally.members.stalled += 1,
            Role::Slow => {
                self.tally.members.slow += 1;
                self.own.slow.push(place);
            }
        }
        if matches!(listener.role, Role::Stalled | Role::Slow) {
            epoll::delete(&self.epoll, &listener.socket)?;
        }
        self.tally.enter_bytes(media, self.in_window);
        Ok(())
    }

    fn follow(&mut self, place: usize, now: u64) -> Result<(), Reason> {
        let Some(listener) = self.members.at_mut(place) else {
            return Ok(());
        };
        if !matches!(listener.phase, Phase::Checked(_)) {
            return Ok(());
        }
        let Some(length) = socket::receive(&listener.socket, &mut self.buffer)? else {
            return Ok(());
        };
        self.own.reply.clear();
        let bytes = listener.open(&self.buffer[..length])?;
        let Phase::Checked(followed) = &mut listener.phase else {
            return Ok(());
        };
        let wall = self.clock.wall();
        let followed = followed.push(&bytes, wall, &mut self.own.reply, &mut self.tally.findings);
        let wait = listener.reception.hear(length, now);
        self.tally.enter_wait(wait, self.in_window);
        if !self.own.reply.is_empty() {
            listener.reply(&self.own.reply)?;
        }
        self.tally.enter_bytes(length, self.in_window);
        Ok(followed?)
    }

    /// Slow listeners read their share of a tick.
    fn read_slowly(&mut self, now: u64) {
        let bytes = self.own.slow_rate * TICK / 8_000_000_000;
        let bytes = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .clamp(1, Listeners::TAKE_BYTES);
        let mut slow = std::mem::take(&mut self.own.slow);
        slow.retain(|place| {
            let Some(listener) = self.members.at(*place) else {
                return false;
            };
            match socket::discard(&listener.socket, &mut self.buffer[..bytes]) {
                Ok(Some(length)) => self.tally.enter_bytes(length, self.in_window),
                Ok(None) => {}
                Err(_) => {
                    self.lose(*place, now, &DROPPED_SLOW);
                    return false;
                }
            }
            true
        });
        self.own.slow = slow;
    }

    /// Listeners that were held back read what there is: only then do they learn whether the server has
    /// closed the connection, because that comes after what it has sent before.
    fn release(&mut self, mut held_back: Vec<Listener>) {
        let end = self.clock.now() + RELEASE_TIME;
        while !held_back.is_empty() && self.clock.now() < end {
            held_back.retain(|listener| {
                for _ in 0..TAKES_PER_RELEASE {
                    match socket::discard(&listener.socket, &mut self.buffer) {
                        Ok(Some(_)) => {}
                        Ok(None) => return true,
                        Err(_) => {
                            let reason = match listener.role {
                                Role::Slow => DROPPED_SLOW,
                                _ => DROPPED_STALLED,
                            };
                            self.tally.lost.count(&reason);
                            return false;
                        }
                    }
                }
                true
            });
            std::thread::sleep(std::time::Duration::from_nanos(NAP));
        }
        self.tally.members.alive += held_back.len() as u64;
    }
}

impl Behaviour for Listeners {
    type Member = Listener;

    const JOINS_PER_ROUND: u64 = 64;
    /// RTMP players acknowledge when they are checked, as players do: some servers drop clients that are silent for
    /// a minute.
    const ROUND_TICKS: usize = 100;
    const TAKE_BYTES: usize = 256 << 10;

    fn begin(
        group: &mut Group<'_, Self>,
        number: u64,
        role: Role,
        place: usize,
    ) -> Result<Listener, Reason> {
        let stream = number % group.plan.streams;
        let target = &group.plan.target;
        let query = group.query(number);
        let (mut words, joining) = Joining::begin(target, stream, (group.own.icy, query))?;
        let mut secured = None;
        if let Some(config) = &group.own.tls {
            let mut begun = Box::new(Secured::new(config, target, &words)?);
            words = begun.take_output()?;
            secured = Some(begun);
        }
        let receive_buffer =
            matches!(role, Role::Stalled | Role::Slow).then_some(SMALL_RECEIVE_BUFFER);
        let began = group.clock.now();
        let socket = socket::connect(target.addr(), number, receive_buffer)?;
        socket::watch(&group.epoll, &socket, place, EventFlags::OUT)?;
        Ok(Listener {
            socket,
            role,
            phase: Phase::Joining(Some(words), Box::new(joining)),
            reception: Reception::new(began),
            secured,
        })
    }

    fn attend(group: &mut Group<'_, Self>, place: usize, now: u64) -> Result<(), Reason> {
        let Some(listener) = group.members.at_mut(place) else {
            return Ok(());
        };
        match listener.phase {
            Phase::Listening => {
                if let Some(length) = socket::discard(&listener.socket, &mut group.buffer)? {
                    let wait = listener.reception.hear(length, now);
                    group.tally.enter_wait(wait, group.in_window);
                    group.tally.enter_bytes(length, group.in_window);
                }
                Ok(())
            }
            Phase::Joining(..) => group.join(place, now),
            Phase::Checked(_) => group.follow(place, now),
            Phase::Stalled => Ok(()),
        }
    }

    fn tick(group: &mut Group<'_, Self>, now: u64) {
        group.read_slowly(now);
    }

    fn check(group: &mut Group<'_, Self>, place: usize, _: u64) -> Result<(), Reason> {
        let target = &group.plan.target;
        let Some(listener) = group.members.at_mut(place) else {
            return Ok(());
        };
        match (&listener.phase, target.protocol()) {
            (Phase::Listening, Protocol::Rtmp) if !target.is_secure() => {
                // A server that does not read is no reason to stop. Within TLS it has no keys left to say it with.
                socket::transmit(&listener.socket, &acknowledgement(listener.reception.bytes)).ok();
            }
            (Phase::Listening, Protocol::Websocket) => {
                // It reads no pings; a server that is gone shows elsewhere.
                listener.reply(&messages::pong(&[])).ok();
            }
            _ => {}
        }
        Ok(())
    }

    fn leave(group: &mut Group<'_, Self>, listener: Listener, now: u64) {
        let waits = listener.reception.longest_waits(now);
        group.tally.enter_gap(waits, group.in_window);
    }

    fn release(group: &mut Group<'_, Self>, held_back: Vec<Listener>) {
        group.release(held_back);
    }
}

/// RTMP's Acknowledgement, with a full chunk header on the chunk stream of control messages.
fn acknowledgement(bytes: u64) -> [u8; 16] {
    let mut message = [2, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0];
    // The sequence number wraps.
    message[12..].copy_from_slice(&(bytes as u32).to_be_bytes());
    message
}
