//! Listeners: they connect, read, send and leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use fanout::gate::Play;
use fanout::{
    Conversation, Departure, Format, Heard, ListenerId, ListenerRecord, NewListener, Protocol,
    Reason, Released, testing,
};
use media::Timestamp;
use net::Transport;

use super::agenda::What;
use super::peer::{AT_ONCE, MILLI, Nanos, Peer, SECOND};
use super::plan::Pace;
use super::reader::Reader;
use super::rng::mix;
use super::wire::{Kind, Stamper, aside};
use super::world::{Lane, World};

/// A lane's number is part of each of its units.
const LANES_MAX: usize = u16::MAX as usize;

/// Message by which a talker asks for its release.
const GOODBYE: u8 = b'b';

/// One listener, by the number of its peer.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) id: ListenerId,
    pub(crate) lane: usize,
    pub(crate) pace: Pace,
    pub(crate) joined: Nanos,
    pub(crate) reason: Option<Reason>,
    pub(crate) is_kicked: bool,
    /// Set if it has a conversation; becomes true when its socket was given back.
    pub(crate) talks: Option<Arc<AtomicBool>>,
    /// Number of seconds for which it has been further behind than it may.
    pub(crate) seconds_over: u32,
    /// Number of units a second ago.
    pub(crate) units_before: Option<u64>,
    /// Upper bound on early visits that a window's change may have caused.
    pub(crate) regroupings: u64,
    pub(crate) groups: usize,
}

/// Echoes the bytes it receives.
#[derive(Debug)]
struct Talk {
    is_released: Arc<AtomicBool>,
}

impl Conversation for Talk {
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, _: Instant) -> Heard {
        for byte in bytes {
            if *byte == GOODBYE {
                return Heard::Release;
            }
            words.extend_from_slice(&aside(Kind::Words, 60));
        }
        Heard::Stay
    }

    fn announce_leave(&mut self, words: &mut BytesMut) {
        words.extend_from_slice(&aside(Kind::Words, 44));
    }

    fn release(self: Box<Self>, _: Transport, _: Released, _: Option<Timestamp>) {
        self.is_released.store(true, Ordering::Relaxed);
    }
}

impl World {
    /// Connects a listener, which retries later if there is no stream.
    pub(crate) fn arrive(&mut self) {
        let pace = self.rng.pick(&self.plan.kinds);
        let stream = self.rng.next() as usize % self.plan.streams.len();
        if self.join(stream, pace).is_none() {
            self.tally.refused += 1;
            let at = self.now + self.rng.range(200, 2_000) * MILLI;
            self.plan(at, What::Arrive);
        }
    }

    /// Connects the one listener more: it reads at once, or never.
    pub(crate) fn arrive_ghost(&mut self) {
        let Some(pace) = self.plan.ghost else { return };
        // It does not use the random numbers of the others.
        let rng = self.rng.clone();
        let joined = self.join(0, pace);
        self.rng = rng;
        let now = self.now;
        let Some(joined) = joined else {
            self.plan(now + SECOND, What::Ghost);
            return;
        };
        self.sockets().stall(joined, pace == Pace::Dead, now);
        self.ghost = Some(joined);
        self.ghost_peer = Some(joined);
    }

    /// Connects a listener, if there is something to listen to.
    pub(crate) fn join(&mut self, stream: usize, pace: Pace) -> Option<usize> {
        let at = self.instant();
        let plan = &self.plan.streams[stream];
        let rate = plan.rate();
        let (format_name, style) = self.rng.pick(&plan.styles);
        let format = Format {
            name: format_name,
            protocol: Protocol::Http,
            retention: fanout::Retention::Live,
        };
        let name = super::station::name(stream);
        let permission = self.gatekeeper.authorize(Play {
            stream: name.clone(),
        });
        let number = self.lanes.len();
        assert!(number < LANES_MAX, "fewer lanes than numbers");
        let mut written = None;
        let make = || {
            let (stamper, lane) = Stamper::new(style, number as u16);
            written = Some(lane);
            Box::new(stamper) as Box<dyn fanout::Packager>
        };
        let known = self.registry.stream(&name)?;
        let guard = known.lane(&permission, format, make, at).ok()?;
        if let Some(written) = written {
            self.lane_index.insert(guard.id(), number);
            self.lanes.push(Lane {
                id: guard.id(),
                stream,
                written,
            });
        }
        let lane = self.lane_index[&guard.id()];

        let (rate, capacity) = match pace {
            Pace::Fast => (AT_ONCE, u64::MAX),
            Pace::Quick => (8 * rate, 128 << 10),
            Pace::Slow => (rate * self.rng.range(20, 110) / 100, 16 << 10),
            Pace::Stalling | Pace::Dead => (4 * rate, self.rng.range(4, 256) << 10),
        };
        let has_head = self.rng.chance(50);
        let reader = Reader::new(lane as u16, style, has_head);
        let socket = self.sockets().connect(Peer::new(reader, rate, capacity));
        let socket = socket.expect("a descriptor");
        let talks = self.rng.chance(self.plan.talkers);
        let talks = talks.then(Arc::<AtomicBool>::default);
        let id = self.fanout.next_id();
        let attached = self.fanout.attach(NewListener {
            record: ListenerRecord {
                requested: at,
                ..testing::record(id, name, format)
            },
            transport: socket.into(),
            head: match has_head {
                true => aside(Kind::Head, 100),
                false => Bytes::new(),
            },
            lane: guard,
            conversation: talks
                .clone()
                .map(|is_released| Box::new(Talk { is_released }) as Box<dyn Conversation>),
            after: None,
        });
        let is_attached = attached.is_ok();
        let peer = self.listeners.len();
        self.listeners.push(Listener {
            id,
            lane,
            pace,
            joined: self.now,
            reason: (!is_attached).then_some(Reason::Shutdown),
            is_kicked: false,
            talks,
            seconds_over: 0,
            units_before: None,
            regroupings: 0,
            groups: 0,
        });
        if !is_attached {
            return None;
        }
        self.present += 1;
        self.roll.push(peer);
        self.tally.joins += 1;
        self.live(peer);
        Some(peer)
    }

    /// Plans a listener's life.
    fn live(&mut self, peer: usize) {
        let (from, to) = self.plan.session;
        let leaves = self.now + self.rng.range(from * 1_000, to * 1_000) * MILLI;
        self.plan(leaves, What::Leave(peer));
        let stalls = match self.listeners[peer].pace {
            Pace::Fast | Pace::Quick | Pace::Slow => None,
            Pace::Stalling => Some((100, 20_000)),
            Pace::Dead => Some((0, 5_000)),
        };
        if let Some((from, to)) = stalls {
            let at = self.now + self.rng.range(from, to) * MILLI;
            self.plan(at, What::Stall(peer, true));
        }
        if self.listeners[peer].talks.is_some() {
            let at = self.now + self.rng.range(0, 10_000) * MILLI;
            self.plan(at, What::Speak(peer));
        }
    }

    pub(crate) fn stall(&mut self, peer: usize, stalls: bool) {
        if self.listeners[peer].reason.is_some() {
            return;
        }
        let now = self.now;
        self.sockets().stall(peer, stalls, now);
        if self.listeners[peer].pace == Pace::Stalling {
            let longest = if stalls { 40_000 } else { 20_000 };
            let at = now + self.rng.range(100, longest) * MILLI;
            self.plan(at, What::Stall(peer, !stalls));
        }
    }

    pub(crate) fn speak(&mut self, peer: usize) {
        if self.listeners[peer].reason.is_some() {
            return;
        }
        let says = if self.rng.chance(5) { GOODBYE } else { b'x' };
        self.sockets().say(peer, &[says]);
        let at = self.now + self.rng.range(1_000, 15_000) * MILLI;
        self.plan(at, What::Speak(peer));
    }

    pub(crate) fn storm(&mut self) {
        let next = self.now + self.rng.range(10, 120) * SECOND;
        self.plan(next, What::Storm);
        let many = self.rng.range(1, 1 + self.plan.audience.min(400));
        let comes = self.rng.chance(50);
        for _ in 0..many {
            let at = self.now + self.rng.range(0, 20) * MILLI;
            if comes {
                self.plan(at, What::Arrive);
            } else if let Some(peer) = self.some_listener() {
                self.plan(at, What::Leave(peer));
            }
        }
    }

    pub(crate) fn kick(&mut self) {
        let next = self.now + self.rng.range(5, 60) * SECOND;
        self.plan(next, What::Kick);
        if let Some(peer) = self.some_listener() {
            self.listeners[peer].is_kicked = true;
            self.fanout.kick(self.listeners[peer].id);
        }
    }

    /// Any listener that is there.
    fn some_listener(&mut self) -> Option<usize> {
        let count = self.listeners.len();
        let first = self.rng.next() as usize % count.max(1);
        let mut all = (first..count).chain(0..first);
        all.find(|peer| self.listeners[*peer].reason.is_none())
    }

    /// Handles the departure of a listener.
    pub(crate) fn see_off(&mut self, departure: &Departure) {
        // Each listener that ever connected has the next number, and the next name.
        let peer = (departure.id.0 - 1) as usize;
        let record = self.fanout.directory().leave(departure);
        let known = &self.listeners[peer];
        let is_new = record.is_some() && known.reason.is_none();
        law!(self, is_new, "listener {peer} leaves twice");
        self.check_departure(peer, departure);
        self.listeners[peer].reason = Some(departure.reason);
        self.present -= 1;
        self.tally.departures[departure.reason as usize] += 1;
        self.tally.skips += u64::from(departure.skips);
        self.tally.trace =
            mix(self.tally.trace ^ self.now ^ departure.id.0 << 32) ^ departure.reason as u64;
        // Another comes, unless there are enough.
        if self.ghost == Some(peer) {
            self.ghost = None;
        } else if self.present - u64::from(self.ghost.is_some()) < self.plan.audience {
            let at = self.now + self.rng.range(0, 3_000) * MILLI;
            self.plan(at, What::Arrive);
        }
    }
}
