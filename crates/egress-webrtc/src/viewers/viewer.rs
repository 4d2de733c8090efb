//! One viewer of a worker: keys, a path, and a position on each of its lines.

use std::time::Instant;

use container::rtp::{HEADER_BYTES, padding_bytes};
use fanout::books::DEGRADED_FOR;
use fanout::{Follower, ListenerHandle, Reason};
use media::{Kind, Span, Timestamp};
use webrtc::ice::{Path, Transport};
use webrtc::mux::Handle;
use webrtc::srtp::{Keys, Sealer};

use super::books::Books;
use super::line::Line;
use super::link::{Flow, PROBE_PACKETS};
use super::pace::{PACKETS_PER_VISIT, Pace, REST};
use super::repair::Credit;
use super::run::Run;
use super::track::{Packet, Track};
use crate::agree::Agreed;
use crate::out::{Sent, ViewerOutbox};
use crate::stats::Counters;
use packagers::rtp::codes::{AUDIO, FORMATS, PICTURE};

/// Buffer size for a packet whose parts are separate in the log.
pub(super) const PACKET_BYTES_MAX: usize = 2_048;

/// Content of a lane, as a visit needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane<'a> {
    pub(super) follower: &'a Follower,
    /// Indexed by format.
    pub(super) tracks: &'a [Track; FORMATS],
    /// Time of the newest unit.
    pub(super) newest: Timestamp,
}

/// State of one viewer. Everything that each visit needs is here, the rest in [`Books`].
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) session: Handle,
    pub(super) path: Path,
    pub(super) sealer: Sealer,
    /// Lines of audio and video.
    pub(super) lines: [Option<Line>; 2],
    /// Media that its link carries.
    pub(super) flow: Flow,
    pub(super) pace: Pace,
    pub(super) credit: Credit,
    /// Bytes and sends not yet reported to its handle.
    unsaid: (u32, u32),
    has_begun: bool,
    /// Whether the viewer had everything available after its last visit.
    pub(super) is_in_step: bool,
    /// Whether its path is gone; the viewer may return on another until its session ends.
    is_adrift: bool,
    /// Time of its next report.
    pub(super) report_at: Instant,
    pub(super) books: Box<Books>,
}

/// Result of a visit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Visit {
    /// The viewer has everything that it may have now.
    Settled,
    /// The viewer must be visited again at this time, with or without news.
    Again(Instant),
    /// There was no space to send.
    Blocked,
    /// The viewer must be disconnected.
    Leave(Reason),
}

impl Viewer {
    /// Creates a viewer that has received nothing; `None` if its keys are unusable.
    pub(super) fn new(
        session: Handle,
        path: Path,
        keys: &Keys,
        agreed: &Agreed,
        handle: ListenerHandle,
        now: Instant,
    ) -> Option<Self> {
        let line = |kind| agreed.of(kind).map(Line::new);
        Some(Self {
            session,
            path,
            sealer: Sealer::new(keys).ok()?,
            lines: [line(Kind::Audio), line(Kind::Video)],
            flow: Flow::default(),
            pace: Pace::default(),
            credit: Credit::default(),
            unsaid: (0, 0),
            has_begun: false,
            is_in_step: false,
            is_adrift: false,
            report_at: now,
            books: Box::new(Books::new(handle, agreed)),
        })
    }

    /// Directs its packets to another address.
    pub(super) fn go(&mut self, path: Path) {
        self.path = path;
        self.is_adrift = false;
        self.books.link.moved();
    }

    /// Whether the viewer has everything available.
    pub(super) fn is_settled(&self, tracks: &[Track; FORMATS]) -> bool {
        self.lines.iter().flatten().all(|line| {
            let track = &tracks[line.format as usize];
            line.next() == track.end()
        })
    }

    /// Returns the arrival time of the oldest frame that the viewer lacks, if it had everything before; see
    /// [`Packet::arrived`].
    pub(super) fn oldest_unsent(&self, tracks: &[Track; FORMATS]) -> Option<u32> {
        if !self.is_in_step {
            return None;
        }
        let lines = self.lines.iter().flatten();
        let next = lines.filter_map(|line| tracks[line.format as usize].get(line.next()));
        // This picks the earlier one, even if the count wrapped between the two.
        next.map(|packet| packet.arrived).reduce(|one, other| {
            match one.wrapping_sub(other) as i32 {
                ..0 => one,
                _ => other,
            }
        })
    }

    /// Sends the packets that the viewer lacks.
    pub(super) fn visit<O: ViewerOutbox>(
        &mut self,
        lane: Lane<'_>,
        now: Instant,
        out: &mut O,
        scratch: &mut [u8; PACKET_BYTES_MAX],
        counters: &mut Counters,
    ) -> Visit {
        let visit = self.give(lane, now, out, scratch, counters);
        // A viewer that waits only for our full socket was in step.
        let is_ours = visit == Visit::Blocked && self.path.transport == Transport::Udp;
        if !is_ours {
            self.is_in_step = visit == Visit::Settled && !self.is_adrift;
        }
        visit
    }

    fn give<O: ViewerOutbox>(
        &mut self,
        lane: Lane<'_>,
        now: Instant,
        out: &mut O,
        scratch: &mut [u8; PACKET_BYTES_MAX],
        counters: &mut Counters,
    ) -> Visit {
        if self.is_adrift || self.is_settled(lane.tracks) {
            self.pace.caught_up();
            return Visit::Settled;
        }
        if let Err(reason) = self.place(lane, now) {
            return Visit::Leave(reason);
        }
        self.send(lane, now, out, scratch, counters)
    }

    fn send<O: ViewerOutbox>(
        &mut self,
        lane: Lane<'_>,
        now: Instant,
        out: &mut O,
        scratch: &mut [u8; PACKET_BYTES_MAX],
        counters: &mut Counters,
    ) -> Visit {
        let overhead = self.sealer.overhead();
        let mut run = Run::default();
        let mut before = self.lines;
        let mut again: Option<Instant> = None;
        let mut sooner = |due: Instant| again = Some(again.map_or(due, |other| other.min(due)));
        for kind in self.order(lane) {
            let Some(track) = self.track(lane, kind) else {
                continue;
            };
            let probing = (kind == PICTURE && self.flow == Flow::Probe)
                .then(|| self.books.link.probing())
                .flatten();
            let (mut left, rest) = match probing {
                Some((_, rest)) => (PROBE_PACKETS, rest),
                None => (PACKETS_PER_VISIT, REST),
            };
            while let Some(packet) = self.next(track, kind) {
                if let Some((end, _)) = probing
                    && self.lines[kind].is_some_and(|line| line.next() >= end)
                {
                    break;
                }
                if kind == PICTURE
                    && let Some(due) = self.pace.waits(packet.at, now)
                {
                    sooner(due);
                    break;
                }
                if left == 0 {
                    sooner(self.pace.rest(kind, rest, now));
                    break;
                }
                left -= 1;
                let len = usize::from(packet.len);
                if !run.takes(len + overhead, out.buffer().len())
                    && let Err(end) = self.flush(&mut run, &mut before, now, out, counters)
                {
                    return end;
                }
                let Some(line) = &mut self.lines[kind] else {
                    break;
                };
                let bytes = lane.follower.bytes(packet.offset, len, scratch);
                let Some((plain, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
                    break;
                };
                let header = line.header(plain, line.own);
                let place = &mut out.buffer()[run.len..];
                match self.sealer.seal(line.own, &header, payload, place) {
                    Ok(sealed) => run.add(sealed),
                    Err(error) => return unsealed(error),
                }
                line.advance(payload.len() - padding_bytes(plain, payload));
            }
        }
        if let Err(end) = self.flush(&mut run, &mut before, now, out, counters) {
            return end;
        }
        if let Some(track) = self.track(lane, PICTURE)
            && self.next(track, PICTURE).is_none()
        {
            self.pace.caught_up();
        }
        self.end_probe(now);
        again.map_or(Visit::Settled, Visit::Again)
    }

    /// Returns the order of audio and video in which one send takes both: a packet that is shorter than those before it ends
    /// the run.
    fn order(&self, lane: Lane<'_>) -> [usize; 2] {
        let len = |kind| {
            let next = self
                .track(lane, kind)
                .and_then(|track| self.next(track, kind));
            next.map_or(0, |packet| packet.len)
        };
        if len(AUDIO) > len(PICTURE) {
            [AUDIO, PICTURE]
        } else {
            [PICTURE, AUDIO]
        }
    }

    /// Sends the buffer. If that fails, the lines are restored to `before`.
    fn flush<O: ViewerOutbox>(
        &mut self,
        run: &mut Run,
        before: &mut [Option<Line>; 2],
        now: Instant,
        out: &mut O,
        counters: &mut Counters,
    ) -> Result<(), Visit> {
        if run.is_empty() {
            return Ok(());
        }
        match out.send(self.path, run.len, run.segment) {
            Sent::Sent => {}
            Sent::Blocked => {
                counters.blocked_sends += 1;
                self.lines = *before;
                return Err(Visit::Blocked);
            }
            Sent::Gone => {
                // Part of it may have left, so its numbers are not used again.
                self.is_adrift = true;
                return Err(Visit::Settled);
            }
        }
        *before = self.lines;
        self.credit.earn(run.len);
        self.count(run, counters);
        if !self.has_begun {
            self.has_begun = true;
            self.books.handle.began(now);
        }
        *run = Run::default();
        Ok(())
    }

    pub(super) fn count(&mut self, run: &Run, counters: &mut Counters) {
        counters.packets += run.count as u64;
        self.unsaid.0 = self.unsaid.0.saturating_add(run.len as u32);
        self.unsaid.1 = self.unsaid.1.saturating_add(1);
    }

    /// Reports to the handle the bytes sent and the lag; returns the lag.
    pub(super) fn tell(&mut self, lane: Lane<'_>, now: Instant) -> Option<Span> {
        let lag = self.lag(lane);
        let Books {
            handle, skipped_at, ..
        } = &mut *self.books;
        handle.lags(lag);
        if self.flow != Flow::Whole {
            *skipped_at = Some(now);
        }
        if skipped_at.is_some_and(|at| now.saturating_duration_since(at) >= DEGRADED_FOR) {
            *skipped_at = None;
            handle.set_degraded(false);
        }
        self.settle_books();
        lag
    }

    /// Returns the lag; `None` if it exceeds the lane's log.
    fn lag(&self, lane: Lane<'_>) -> Option<Span> {
        let mut most = Span::ZERO;
        for line in self.lines.iter().flatten() {
            let track = &lane.tracks[line.format as usize];
            if !line.is_waiting() && line.next() < track.end() {
                most = most.max(lane.newest - track.get(line.next())?.at);
            }
        }
        Some(most)
    }

    /// Reports to the handle the bytes and sends since the last report.
    pub(super) fn settle_books(&mut self) {
        let (bytes, sends) = std::mem::take(&mut self.unsaid);
        if sends > 0 {
            self.books.handle.sent(bytes.into(), sends.into());
        }
    }

    /// Whether a report on its lines is due.
    pub(super) fn is_due_for_report(&self, now: Instant) -> bool {
        self.has_begun && now >= self.report_at
    }

    pub(super) fn track<'a>(&self, lane: Lane<'a>, kind: usize) -> Option<&'a Track> {
        let line = self.lines[kind].as_ref()?;
        Some(&lane.tracks[line.format as usize])
    }

    fn next<'a>(&self, track: &'a Track, kind: usize) -> Option<&'a Packet> {
        track.get(self.lines[kind].as_ref()?.next())
    }
}

/// Logs a packet that could not be sealed. Keys come from the handshake and packets from the log, so the viewer causes neither
/// error.
fn unsealed(error: webrtc::srtp::Error) -> Visit {
    tracing::error!(%error, "a packet could not be sealed");
    Visit::Leave(Reason::Shutdown)
}
