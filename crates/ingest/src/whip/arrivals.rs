//! Arrival times of a session's packets, for the sender's congestion control (transport-cc).
//!
//! ```text
//!  packet ─ its number ─► Arrivals ─ every 80 ms ─► message: numbers received since the last one, and their times
//! ```
//!
//! The sender numbers the packets of all sections together, repetitions and probes as well, in a header
//! extension. A message covers all numbers after those of the message before; one that has not arrived counts
//! as lost. If it arrives after all, the next message reports it.
//!
//! The session notes each packet here, however it is used later, and sends the message that
//! [`Arrivals::report`] writes when it is [due](Arrivals::due).
//!
//! Bounds: packets between two messages, packets that arrived late, and numbers that a message covers.

use std::time::{Duration, Instant};

use container::rtp::Unwrapper;
use webrtc::rtcp::TransportFeedback;

/// Interval between two messages. Browsers' own receivers send them every 50 to 250 ms; with a shorter
/// interval the sender finds a growing queue sooner, but each message costs a datagram.
const INTERVAL: Duration = Duration::from_millis(80);

/// Most packets of a message: those of 12 Mb/s. When there are this many, a message is due at once. With the
/// late ones its length stays within every path's datagrams, however many numbers are missing between them.
const PACKETS_MAX: usize = 128;

/// Most late packets of a message, each of which is a short message of its own. Others stay lost.
const LATE_MAX: usize = 12;

/// Most numbers of a message: two seconds of 25 Mb/s. A larger jump is no loss but a sender that restarts its
/// numbering.
const JUMP_MAX: u64 = 6_400;

/// Record of a session's packets since the last message; [`note`](Self::note) each packet and send a
/// [`report`](Self::report) when one is [`due`](Self::due).
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Origin of the recorded times.
    origin: Instant,
    numbers: Unwrapper,
    /// Source of the last packet: libwebrtc reads only messages that name one of its own sources.
    ssrc: u32,
    /// First number that no message has covered, once a packet has arrived.
    next: Option<i64>,
    /// Packets since the last message, in the order of their numbers.
    came: Vec<Arrival>,
    /// Packets since the last message whose numbers an earlier message covered.
    late: Vec<Arrival>,
    /// Arrival time of the first of these packets.
    since: Option<Instant>,
    /// Messages sent so far.
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

    /// Returns the time at which to send a message, if there is something to report.
    pub(super) fn due(&self) -> Option<Instant> {
        let is_full = self.came.len() == PACKETS_MAX;
        let before = self.reported.filter(|_| !is_full);
        let since = self.since?;
        Some(before.map_or(since, |before| since.max(before + INTERVAL)))
    }

    /// Appends the pending messages to `out`, with `ours` as their source.
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
