//! When each packet of a session arrived, for the sender's congestion control (transport-cc).
//!
//! ```text
//!  packet ─ its number ─► Arrivals ─ every 80 ms ─► message: which numbers have come since the last one, and when
//! ```
//!
//! The sender numbers the packets of all sections together, repetitions and probes as well, in a header extension. A
//! message covers all numbers after those of the message before; one that has not come counts as lost. If it comes all
//! the same, the next message says so.
//!
//! The session notes each packet here, whatever becomes of it, and sends what [`Arrivals::report`] writes when it is
//! [due](Arrivals::due).
//!
//! Bounds: packets between two messages, packets that came late, and numbers that a message covers.

use std::time::{Duration, Instant};

use container::rtp::Unwrapper;
use webrtc::rtcp::TransportFeedback;

/// Between two messages. Browsers' own receivers send them every 50 to 250 ms; the sender finds a queue that builds up
/// sooner with shorter ones, each of which costs a datagram.
const INTERVAL: Duration = Duration::from_millis(80);

/// Packets of a message: of 12 Mb/s. With more a message is due at once. With the late ones its length stays within every
/// path's datagrams, however many numbers are missing between them.
const PACKETS_MAX: usize = 128;

/// Late packets of a message, each of which is a short message of its own. Others stay lost.
const LATE_MAX: usize = 12;

/// Numbers of a message. A jump beyond this is no loss but a sender that counts anew: two seconds of 25 Mb/s.
const JUMP_MAX: u64 = 6_400;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// What times are counted from.
    origin: Instant,
    numbers: Unwrapper,
    /// The source of the last packet: libwebrtc reads only messages that name a source of its own.
    ssrc: u32,
    /// The first number that no message has covered, once a packet came.
    next: Option<i64>,
    /// Since the last message, in the order of their numbers.
    came: Vec<Arrival>,
    /// Since the last message, of numbers that an earlier one has covered.
    late: Vec<Arrival>,
    /// When the first of these came.
    since: Option<Instant>,
    /// Messages so far.
    count: u8,
    reported: Option<Instant>,
    /// Reused memory.
    statuses: Vec<Option<Duration>>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    number: i64,
    at: Duration,
}

impl Arrivals {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            origin: now,
            numbers: Unwrapper::sequence(),
            ssrc: 0,
            next: None,
            came: Vec::new(),
            late: Vec::new(),
            since: None,
            count: 0,
            reported: None,
            statuses: Vec::new(),
        }
    }

    /// Notes a packet with this number, of the source `ssrc`.
    pub(super) fn note(&mut self, number: u16, ssrc: u32, now: Instant) {
        self.ssrc = ssrc;
        let number = self.numbers.unwrap(number.into());
        let mut next = self.next.unwrap_or(number);
        if number.abs_diff(next) > JUMP_MAX {
            self.came.clear();
            self.late.clear();
            next = number;
        }
        self.next = Some(next);
        let at = now.saturating_duration_since(self.origin);
        let arrival = Arrival { number, at };
        if number < next {
            if self.late.len() == LATE_MAX {
                return;
            }
            self.late.push(arrival);
        } else {
            let place = self.came.partition_point(|other| other.number < number);
            let found = self.came.get(place);
            let is_known = found.is_some_and(|other| other.number == number);
            if is_known || self.came.len() == PACKETS_MAX {
                return;
            }
            self.came.insert(place, arrival);
        }
        self.since.get_or_insert(now);
    }

    /// When to send a message, if there is something to tell.
    pub(super) fn due(&self) -> Option<Instant> {
        let is_full = self.came.len() == PACKETS_MAX;
        let before = self.reported.filter(|_| !is_full);
        let since = self.since?;
        Some(before.map_or(since, |before| since.max(before + INTERVAL)))
    }

    /// Appends what there is to tell, by the source `ours`.
    pub(super) fn report(&mut self, ours: u32, now: Instant, out: &mut Vec<u8>) {
        (self.since, self.reported) = (None, Some(now));
        let mut late = std::mem::take(&mut self.late);
        for arrival in late.drain(..) {
            self.statuses.clear();
            self.statuses.push(Some(arrival.at));
            self.write(arrival.number, ours, out);
        }
        self.late = late;
        let (Some(next), Some(last)) = (self.next, self.came.last()) else {
            return;
        };
        self.next = Some(last.number + 1);
        self.statuses.clear();
        for arrival in self.came.drain(..) {
            // The distance is bounded when packets are noted.
            let place = usize::try_from(arrival.number - next).unwrap_or_default();
            self.statuses.resize(place, None);
            self.statuses.push(Some(arrival.at));
        }
        self.write(next, ours, out);
    }

    fn write(&mut self, base: i64, ssrc: u32, out: &mut Vec<u8>) {
        let feedback = TransportFeedback {
            ssrc,
            media: self.ssrc,
            number: self.count,
            base: base as u16,
            arrivals: &self.statuses,
        };
        feedback.write(out);
        self.count = self.count.wrapping_add(1);
    }
}
