//! One viewer of a worker: keys, a path, and a position on each of its lines.

use std::time::{Duration, Instant};

use container::rtp::{HEADER_BYTES, PayloadFormat, padding_bytes, without_padding};
use fanout::books::DEGRADED_FOR;
use fanout::{Follower, Judgement, ListenerHandle, Reason};
use media::{Kind, Span, Timestamp};
use webrtc::ice::{Path, Transport};
use webrtc::mux::Handle;
use webrtc::srtp::{Keys, Sealer};

use super::line::Line;
use super::link::{Flow, Link, PROBE_PACKETS};
use super::pace::{PACKETS_PER_VISIT, Pace, REST};
use super::repair::{Credit, Repair};
use super::run::Run;
use super::start::Start;
use super::track::{Packet, Track};
use crate::agree::Agreed;
use crate::out::{Sent, ViewerOutbox};
use crate::stats::Counters;
use formats::rtp::codes::{self, FORMATS, PICTURE, SOUND};
use formats::rtp::record;

/// Between two requests of one viewer for a keyframe.
const KEYFRAME_INTERVAL: Duration = Duration::from_secs(1);

/// Catching up from an older keyframe than this takes so long that another is requested.
const OLD_KEYFRAME: Span = Span::from_millis(1_500);

/// Bytes of a packet whose pieces lie apart in the log.
pub(super) const PACKET_BYTES_MAX: usize = 2_048;

/// What a lane has, as its viewers see it in a visit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane<'a> {
    pub(super) follower: &'a Follower,
    /// By format.
    pub(super) tracks: &'a [Track; FORMATS],
    /// The time of the newest unit.
    pub(super) newest: Timestamp,
}

/// State of one viewer: what each visit needs lies here, the rest is in [`Books`].
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) session: Handle,
    path: Path,
    sealer: Sealer,
    /// Sound and picture.
    pub(super) lines: [Option<Line>; 2],
    /// What its link takes.
    pub(super) flow: Flow,
    pub(super) pace: Pace,
    credit: Credit,
    /// Bytes and sends not yet reported to its handle.
    unsaid: (u32, u32),
    has_begun: bool,
    /// Whether it had everything there was after its last visit.
    pub(super) is_in_step: bool,
    /// Whether its path is gone; it may come back on another, until its session ends.
    is_adrift: bool,
    /// When it is sent the next report on its lines.
    pub(super) report_at: Instant,
    pub(super) books: Box<Books>,
}

/// State that is needed now and then.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) handle: ListenerHandle,
    pub(super) repair: Repair,
    pub(super) link: Link,
    pub(super) start: Start,
    /// Sender reports so far.
    pub(super) reports: u32,
    /// The most sound in one packet.
    pub(super) packet_time: Duration,
    pub(super) skipped_at: Option<Instant>,
    asked_for_keyframe: Option<Instant>,
}

impl Books {
    /// Asks the publisher for a keyframe, again if the last request was in vain.
    fn ask_for_keyframe(&mut self, now: Instant) {
        let is_due = |asked| now.saturating_duration_since(asked) >= KEYFRAME_INTERVAL;
        if self.asked_for_keyframe.is_none_or(is_due) {
            self.asked_for_keyframe = Some(now);
            self.handle.request_keyframe();
        }
    }
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Visit {
    /// It has everything that it may have now.
    Settled,
    /// It is to be visited again at this time, with or without news.
    Again(Instant),
    /// There was no space to send.
    Blocked,
    /// It must go.
    Leave(Reason),
}

impl Viewer {
    /// A viewer that has had nothing; `None` when its keys are unusable.
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
            books: Box::new(Books {
                handle,
                repair: Repair::default(),
                link: Link::default(),
                start: Start::default(),
                reports: 0,
                packet_time: agreed
                    .of(Kind::Audio)
                    .and_then(|agreed| agreed.packet_time)
                    .unwrap_or(Duration::MAX),
                skipped_at: None,
                asked_for_keyframe: None,
            }),
        })
    }

    /// It is to be sent to another address.
    pub(super) fn go(&mut self, path: Path) {
        self.path = path;
        self.is_adrift = false;
        self.books.link.moved();
    }

    pub(super) const fn path(&self) -> Path {
        self.path
    }

    /// Whether it has everything there is.
    pub(super) fn is_settled(&self, tracks: &[Track; FORMATS]) -> bool {
        self.lines.iter().flatten().all(|line| {
            let track = &tracks[line.format as usize];
            line.next() == track.end()
        })
    }

    /// When the oldest frame arrived that it lacks, if it had everything before; see [`Packet::arrived`].
    pub(super) fn oldest_unsent(&self, tracks: &[Track; FORMATS]) -> Option<u32> {
        if !self.is_in_step {
            return None;
        }
        let lines = self.lines.iter().flatten();
        let next = lines.filter_map(|line| tracks[line.format as usize].get(line.next()));
        // The earlier one, also where the count wrapped between the two.
        next.map(|packet| packet.arrived).reduce(|one, other| {
            match one.wrapping_sub(other) as i32 {
                ..0 => one,
                _ => other,
            }
        })
    }

    /// Sends what it lacks.
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

    /// Finds positions for lines that have none, and moves those that have fallen behind.
    fn place(&mut self, lane: Lane<'_>, now: Instant) -> Result<(), Reason> {
        let sound = self.place_sound(lane);
        let picture = self.place_picture(lane, now)?;
        if sound || picture {
            self.is_in_step = false;
            self.books.handle.skipped();
            self.books.skipped_at = Some(now);
            self.books.handle.set_degraded(true);
        }
        Ok(())
    }

    /// Sound starts at the present: a receiver plays what it is sent, and the past would stay as delay for
    /// good.
    fn place_sound(&mut self, lane: Lane<'_>) -> bool {
        let Some(line) = &mut self.lines[SOUND] else {
            return false;
        };
        let track = &lane.tracks[line.format as usize];
        if line.is_waiting() {
            if let Some(newest) = track.newest() {
                line.go(newest);
            }
            return false;
        }
        // Relative to the newest sound: pictures may be ahead of it by nature.
        let present = track.newest().and_then(|newest| track.get(newest));
        let lag = match track.get(line.next()) {
            Some(packet) => present.map_or(Span::ZERO, |present| present.at - packet.at),
            None if line.next() >= track.end() => return false,
            // The ring no longer has it.
            None => Span::from_ticks(i64::MAX),
        };
        let newest = track.newest().filter(|newest| *newest > line.next());
        let Some(newest) = newest.filter(|_| lag > lane.follower.policy().skip_after) else {
            return false;
        };
        line.go(newest);
        true
    }

    /// Pictures start at the newest keyframe, and go on there when a viewer falls too far behind.
    fn place_picture(&mut self, lane: Lane<'_>, now: Instant) -> Result<bool, Reason> {
        if self.flow != Flow::Whole {
            self.probe(lane, now);
            return Ok(false);
        }
        let Some(line) = &mut self.lines[PICTURE] else {
            return Ok(false);
        };
        let track = &lane.tracks[line.format as usize];
        let join = track.newest_join();
        let books = &mut *self.books;
        if line.is_waiting() {
            match join.and_then(|join| Some((join, track.get(join)?))) {
                Some((join, packet)) => {
                    let is_old = lane.newest - packet.at > OLD_KEYFRAME;
                    if is_old {
                        books.ask_for_keyframe(now);
                    }
                    // Catching up takes three times as much of a link that has just proved to take the stream.
                    if is_old && books.link.is_on_trial(now) {
                        return Ok(false);
                    }
                    line.go(join);
                    self.pace.catch_up(packet.at, now);
                    books.start.began(now);
                }
                None => books.ask_for_keyframe(now),
            }
            return Ok(false);
        }
        let Some(packet) = track.get(line.next()) else {
            if line.next() >= track.end() {
                return Ok(false);
            }
            // The ring no longer has it. A listener over datagrams loses nothing by being moved, unless it
            // has been slow for longer than the log is kept.
            if let Judgement::Drop(Reason::Lag) = lane.follower.judge(0) {
                return Err(Reason::Lag);
            }
            match join {
                Some(join) => line.go(join),
                None => line.wait(),
            }
            self.pace.caught_up();
            return Ok(true);
        };
        if join.is_none_or(|join| join <= line.next())
            && lane.newest - packet.at > lane.follower.policy().skip_after
        {
            books.ask_for_keyframe(now);
        }
        // A frame that was begun is finished, so that none is cut.
        let Some(join) = join.filter(|join| *join > line.next() && packet.begins) else {
            return Ok(false);
        };
        if self.pace.is_catching_up() {
            // There is a newer present to catch up with.
            line.go(join);
            if let Some(packet) = track.get(join) {
                self.pace.catch_up(packet.at, now);
            }
            return Ok(false);
        }
        if lane.newest - packet.at <= lane.follower.policy().skip_after {
            return Ok(false);
        }
        let unit = packet.offset - record::HEAD_BYTES as u64;
        match lane.follower.judge(unit) {
            Judgement::Keep => Ok(false),
            Judgement::Drop(reason) => Err(reason),
            Judgement::Skip => {
                line.go(join);
                Ok(true)
            }
        }
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
                let header = line.header(plain, line.own());
                let place = &mut out.buffer()[run.len()..];
                match self.sealer.seal(line.own(), &header, payload, place) {
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

    /// Sound and picture in the order in which one send takes both: a packet that is shorter than those before
    /// is a run's last.
    fn order(&self, lane: Lane<'_>) -> [usize; 2] {
        let len = |kind| {
            let next = self
                .track(lane, kind)
                .and_then(|track| self.next(track, kind));
            next.map_or(0, |packet| packet.len)
        };
        if len(SOUND) > len(PICTURE) {
            [SOUND, PICTURE]
        } else {
            [PICTURE, SOUND]
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
        match out.send(self.path, run.len(), run.segment()) {
            Sent::Sent => {}
            Sent::Blocked => {
                counters.blocked_sends += 1;
                self.lines = *before;
                return Err(Visit::Blocked);
            }
            Sent::Gone => {
                // Some of it may have left, so its numbers are not used again.
                self.is_adrift = true;
                return Err(Visit::Settled);
            }
        }
        *before = self.lines;
        self.credit.earn(run.len());
        self.count(run, counters);
        if !self.has_begun {
            self.has_begun = true;
            self.books.handle.began(now);
        }
        *run = Run::default();
        Ok(())
    }

    fn count(&mut self, run: &Run, counters: &mut Counters) {
        counters.packets += run.count() as u64;
        self.unsaid.0 = self.unsaid.0.saturating_add(run.len() as u32);
        self.unsaid.1 = self.unsaid.1.saturating_add(1);
    }

    /// Sends packets of `kind` again that it reports lost, as far as its share goes.
    #[expect(
        clippy::too_many_arguments,
        reason = "a visit's needs, and what is asked for"
    )]
    pub(super) fn repeat<O: ViewerOutbox>(
        &mut self,
        kind: usize,
        lost: impl Iterator<Item = u16>,
        lane: Lane<'_>,
        millis: u32,
        out: &mut O,
        scratch: &mut [u8; PACKET_BYTES_MAX],
        counters: &mut Counters,
    ) {
        let (Some(line), Some(track)) = (self.lines[kind], self.track(lane, kind)) else {
            return;
        };
        let may_repeat = kind != PICTURE || self.books.link.may_repeat();
        let mut run = Run::default();
        let mut rtx = self.books.repair.rtx[kind];
        for sequence in lost {
            counters.nacked += 1;
            if !may_repeat {
                counters.nacks_refused += 1;
                continue;
            }
            let found = line.sent(sequence);
            let found = found.and_then(|(own, at)| Some((own, track.get(at)?)));
            let Some((own, packet)) = found else {
                counters.nacks_refused += 1;
                continue;
            };
            let len = usize::from(packet.len) + REPEATED_EXTRA;
            let repair = &mut self.books.repair;
            let times = repair.times(kind, sequence, millis);
            let Some(times) = times.filter(|times| self.credit.spend(len, *times)) else {
                counters.nacks_refused += 1;
                continue;
            };
            let is_repetition = line.rtx().filter(|_| repair.is_repetition(times));
            repair.repeated(kind, sequence, millis, (times, is_repetition.is_some()));
            let bytes = lane
                .follower
                .bytes(packet.offset, len - REPEATED_EXTRA, scratch);
            let Some((plain, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
                continue;
            };
            let header = line.header(plain, own);
            let mut whole = [0; PACKET_BYTES_MAX];
            let (index, header, payload) = match is_repetition {
                None => (own, header, payload),
                Some(payload_type) => {
                    let header = repeated_header(header, payload_type, rtx, line.format);
                    let payload = &payload[..payload.len() - padding_bytes(plain, payload)];
                    let Some(whole) = with_original(sequence, payload, &mut whole) else {
                        continue;
                    };
                    rtx += 1;
                    (rtx - 1, header, whole)
                }
            };
            let len = header.len() + payload.len() + self.sealer.overhead();
            if !run.takes(len, out.buffer().len())
                && !self.flush_repeated(&mut run, kind, rtx, out, counters)
            {
                return;
            }
            let place = &mut out.buffer()[run.len()..];
            match self.sealer.seal(index, &header, payload, place) {
                Ok(sealed) => run.add(sealed),
                Err(_) => return,
            }
        }
        self.flush_repeated(&mut run, kind, rtx, out, counters);
    }

    /// Sends the buffer. If that fails, the packets count as lost, and will be asked for again.
    fn flush_repeated<O: ViewerOutbox>(
        &mut self,
        run: &mut Run,
        kind: usize,
        rtx: u64,
        out: &mut O,
        counters: &mut Counters,
    ) -> bool {
        // Numbers of packets that were not sent are not used for others either.
        self.books.repair.rtx[kind] = rtx;
        if run.is_empty() {
            return true;
        }
        let sent = out.send(self.path, run.len(), run.segment());
        if sent != Sent::Sent {
            counters.blocked_sends += u64::from(sent == Sent::Blocked);
            return false;
        }
        counters.retransmissions += run.count() as u64;
        self.count(run, counters);
        *run = Run::default();
        true
    }

    /// Tells its handle what it was sent and how far behind it is. Returns the latter.
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

    /// How far behind it is; `None` when that is further than the lane reaches back.
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

    /// Tells its handle what it was sent.
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

    fn track<'a>(&self, lane: Lane<'a>, kind: usize) -> Option<&'a Track> {
        let line = self.lines[kind].as_ref()?;
        Some(&lane.tracks[line.format as usize])
    }

    fn next<'a>(&self, track: &'a Track, kind: usize) -> Option<&'a Packet> {
        track.get(self.lines[kind].as_ref()?.next())
    }
}

/// Keys come from the handshake and packets from the log: the viewer causes neither error.
fn unsealed(error: webrtc::srtp::Error) -> Visit {
    tracing::error!(%error, "a packet could not be sealed");
    Visit::Leave(Reason::Shutdown)
}

/// Bytes by which a repeated packet is longer: its original number (RFC 4588 §4).
const REPEATED_EXTRA: usize = 2;

/// The header of a repeated packet, whose padding is taken off (RFC 4588 §4).
fn repeated_header(
    header: [u8; HEADER_BYTES],
    payload_type: u8,
    number: u64,
    format: PayloadFormat,
) -> [u8; HEADER_BYTES] {
    let mut header = without_padding(header);
    header[1] = header[1] & 0x80 | payload_type;
    header[2..4].copy_from_slice(&(number as u16).to_be_bytes());
    header[8..].copy_from_slice(&codes::rtx_ssrc(format).to_be_bytes());
    header
}

/// The payload of a repeated packet.
fn with_original<'a>(
    sequence: u16,
    payload: &[u8],
    whole: &'a mut [u8; PACKET_BYTES_MAX],
) -> Option<&'a [u8]> {
    let whole = whole.get_mut(..REPEATED_EXTRA + payload.len())?;
    let (original, rest) = whole.split_at_mut(REPEATED_EXTRA);
    original.copy_from_slice(&sequence.to_be_bytes());
    rest.copy_from_slice(payload);
    Some(whole)
}
