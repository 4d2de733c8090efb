//! A group of listeners, with a small state for each of them.
//!
//! Bytes that are not checked are discarded in the kernel. The loop measures its own lateness, which would otherwise be blamed
//! on the server.

mod listener;
pub(crate) mod role;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustix::event::epoll::{self, EventFlags};
use rustls::ClientConfig;

use crate::args::Listening;
use crate::group::{Behaviour, Context, Group, Member, NAP, Outcome, Reason, Seat, TICK};
use crate::listen::listener::{Joining, Listener, Phase, Step};
use crate::listen::role::Role;
use crate::messages;
use crate::plan::Plan;
use crate::socket;
use crate::target::Protocol;
use crate::tls::{self, Secured};

/// Number of bytes taken at once before the first media has arrived.
const JOIN_BYTES: usize = 4 << 10;
/// Receive buffer of listeners that read little or nothing, so that the server notices soon.
const SMALL_RECEIVE_BUFFER: usize = 16 << 10;
/// Time in nanoseconds, at the end, for stalled and slow listeners to read what has piled up.
const RELEASE_TIME: u64 = 1_500_000_000;
/// Maximum number of consecutive reads of such a listener; a server that keeps sending may be faster than we are.
const TAKES_PER_RELEASE: usize = 64;
const DROPPED_STALLED: &str = "dropped while it was stalled";
const DROPPED_SLOW: &str = "dropped while it was slow";

/// State that the listeners of a group share.
pub(crate) struct Listeners {
    /// Queries, one per listener, starting over after the last; empty if there are none.
    queries: Vec<String>,
    /// Places of slow listeners.
    slow: Vec<usize>,
    reply: Vec<u8>,
    /// TLS settings for the handshakes, if there are any.
    tls: Option<Arc<ClientConfig>>,
}

impl Listeners {
    pub(crate) fn new(plan: &Plan, listening: &Listening) -> std::io::Result<Self> {
        let queries = match &listening.queries {
            Some(file) => std::fs::read_to_string(file)?,
            None => String::new(),
        };
        Ok(Self {
            queries: queries.lines().map(str::to_owned).collect(),
            slow: Vec::new(),
            reply: Vec::new(),
            tls: match plan.target.is_secure {
                true => Some(tls::config()?),
                false => None,
            },
        })
    }

    fn query(&self, number: u64) -> Option<&str> {
        let mut queries = self.queries.iter();
        let count = u64::try_from(queries.len()).unwrap_or(u64::MAX);
        let at = usize::try_from(number.checked_rem(count)?).ok()?;
        queries.nth(at).map(String::as_str)
    }
}

impl Context<Listeners> {
    fn join(&mut self, member: &mut Member<Listener>) -> Outcome {
        let Member {
            seat,
            own: listener,
        } = member;
        let Phase::Joining(words, _) = &mut listener.phase else {
            return Ok(());
        };
        if let Some(words) = words.take() {
            let greeted = socket::greet(&listener.socket, &words, &self.epoll, seat.place);
            return Ok(greeted?);
        }
        // The burst after the first media is not checked.
        let received = socket::receive(&listener.socket, &mut self.buffer[..JOIN_BYTES])?;
        let Some(length) = received else {
            return Ok(());
        };
        let times = (self.clock.wall_of(seat.reception.began), self.clock.wall());
        self.own.reply.clear();
        let findings = (seat.role == Role::Checked).then_some(&mut self.tally.findings);
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
        self.hear(seat, media);
        listener.phase = match (followed, seat.role) {
            (Some(followed), _) => Phase::Checked(followed),
            (None, Role::Stalled) => Phase::Stalled,
            (None, _) => Phase::Listening,
        };
        let speaks_on = self.plan.target.protocol == Protocol::Websocket;
        if seat.role != Role::Checked && !speaks_on {
            // From now on the listener only counts bytes.
            listener.secured = None;
        }
        match seat.role {
            Role::Plain | Role::Checked => {}
            Role::Stalled => self.tally.members.stalled += 1,
            Role::Slow => {
                self.tally.members.slow += 1;
                self.own.slow.push(seat.place);
            }
        }
        if seat.role.is_held_back() {
            epoll::delete(&self.epoll, &listener.socket)?;
        }
        Ok(())
    }

    fn follow(&mut self, member: &mut Member<Listener>) -> Outcome {
        let listener = &mut member.own;
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
        self.hear(&mut member.seat, length);
        if !self.own.reply.is_empty() {
            listener.reply(&self.own.reply)?;
        }
        Ok(followed?)
    }
}

impl Behaviour for Listeners {
    type Own = Listener;

    const JOINS_PER_ROUND: u64 = 64;
    /// RTMP players acknowledge when they are checked, as players do: some servers drop clients that are silent for
    /// a minute.
    const ROUND_TICKS: usize = 100;
    const TAKE_BYTES: usize = 256 << 10;

    fn begin(context: &mut Context<Self>, seat: &Seat) -> Result<Listener, Reason> {
        let target = &context.plan.target;
        let stream = context.listening.stream(seat.number);
        let query = context.own.query(seat.number);
        let (mut words, joining) = Joining::begin(target, stream, (context.listening.icy, query))?;
        let mut secured = None;
        if let Some(config) = &context.own.tls {
            let mut begun = Box::new(Secured::new(config, target, &words)?);
            words = begun.take_output()?;
            secured = Some(begun);
        }
        let receive_buffer = seat.role.is_held_back().then_some(SMALL_RECEIVE_BUFFER);
        Ok(Listener {
            socket: context.connect(seat, EventFlags::OUT, receive_buffer)?,
            phase: Phase::Joining(Some(words), Box::new(joining)),
            secured,
        })
    }

    fn attend(context: &mut Context<Self>, member: &mut Member<Listener>, _: usize) -> Outcome {
        match member.own.phase {
            Phase::Listening => {
                if let Some(length) = socket::discard(&member.own.socket, &mut context.buffer)? {
                    context.hear(&mut member.seat, length);
                }
                Ok(())
            }
            Phase::Joining(..) => context.join(member),
            Phase::Checked(_) => context.follow(member),
            Phase::Stalled => Ok(()),
        }
    }

    /// Slow listeners read their share of a tick.
    fn tick(group: &mut Group<Self>) {
        let slow = group.context.listening.slow.unwrap_or_default();
        let bytes = slow.bit_rate * TICK / 8_000_000_000;
        let bytes = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .clamp(1, Self::TAKE_BYTES);
        let mut slow = std::mem::take(&mut group.context.own.slow);
        slow.retain(|place| {
            let Some(listener) = group.members.at(*place) else {
                return false;
            };
            let buffer = &mut group.context.buffer[..bytes];
            match socket::discard(&listener.own.socket, buffer) {
                Ok(moved) => group.context.enter_bytes(moved.unwrap_or(0)),
                Err(_) => {
                    group.lose(*place, &DROPPED_SLOW);
                    return false;
                }
            }
            true
        });
        group.context.own.slow = slow;
    }

    fn check(context: &mut Context<Self>, member: &mut Member<Listener>) -> Outcome {
        let target = &context.plan.target;
        let Member {
            seat,
            own: listener,
        } = member;
        match (&listener.phase, target.protocol) {
            (Phase::Listening, Protocol::Rtmp) if !target.is_secure => {
                // A server that does not read is no reason to stop. Within TLS, no keys are left to say it with.
                socket::transmit(&listener.socket, &acknowledgement(seat.reception.bytes)).ok();
            }
            (Phase::Listening, Protocol::Websocket) => {
                // It reads no pings; a server that is gone shows elsewhere.
                listener.reply(&messages::pong(&[])).ok();
            }
            _ => {}
        }
        Ok(())
    }

    /// Listeners that were held back read what there is: only then do they learn whether the server has
    /// closed the connection, because that comes after what it has sent before.
    fn release(context: &mut Context<Self>, mut held_back: Vec<Member<Listener>>) {
        let end = context.clock.now() + RELEASE_TIME;
        while !held_back.is_empty() && context.clock.now() < end {
            held_back.retain(|listener| {
                for _ in 0..TAKES_PER_RELEASE {
                    match socket::discard(&listener.own.socket, &mut context.buffer) {
                        Ok(Some(_)) => {}
                        Ok(None) => return true,
                        Err(_) => {
                            let reason = match listener.seat.role {
                                Role::Slow => DROPPED_SLOW,
                                _ => DROPPED_STALLED,
                            };
                            context.tally.lost.count(&reason);
                            return false;
                        }
                    }
                }
                true
            });
            std::thread::sleep(std::time::Duration::from_nanos(NAP));
        }
        context.tally.members.alive += held_back.len() as u64;
    }
}

/// RTMP's Acknowledgement, with a full chunk header on the chunk stream of control messages.
fn acknowledgement(bytes: u64) -> [u8; 16] {
    let mut message = [2, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0];
    // The sequence number wraps.
    message[12..].copy_from_slice(&(bytes as u32).to_be_bytes());
    message
}
