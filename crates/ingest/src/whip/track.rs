//! One track of a publisher: assembly of packets into items, and requests to its sender.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use container::rtp::{
    self, Arrival, Depacketizer, Event, Incoming, PACKETS_MAX, Packet, Reorder, retransmitted,
};
use media::{Item, Kind, Timestamp, TrackId};
use webrtc::rtcp::{self, ReportBlock};
use webrtc::sdp::OfferedFormat;

use super::agree::{self, Chosen};
use super::clock::Clock;
use super::counters::Counters;
use super::keyframes::Keyframes;
use super::reception::Reception;
use super::repair::Repair;
use super::source::{Source, Verdict};
use crate::Stats;

/// Least time between two requests for lost packets: losses come in bursts, and one request names them all.
const NACK_INTERVAL: Duration = Duration::from_millis(10);

/// Channels with which Opus is announced in any case: its packets state how many they have, and may change
/// that.
const AUDIO_CHANNELS: u8 = 2;

/// Arrival time by two clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Instant,
    /// Time on the publisher's timeline.
    pub(super) came: Timestamp,
}

/// Relation of a packet to the track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Taken {
    /// The packet belongs to the track.
    Yes,
    /// The packet is the first of its source.
    First,
    /// The packet does not belong to the track.
    No,
}

/// One track of a publisher: pass packets to [`take`](Self::take), and call [`pop`](Self::pop) and
/// [`ask`](Self::ask) at [`due`](Self::due).
#[derive(Debug)]
pub(super) struct Track {
    pub(super) kind: Kind,
    id: TrackId,
    clock_rate: u32,
    /// Header extension that numbers packets across all sections, if this section has it.
    pub(super) numbering: Option<u8>,
    /// Formats that may arrive; `format` is the index of the one that does.
    formats: Vec<OfferedFormat>,
    format: usize,
    stats: Arc<Stats>,
    source: Source,
    pub(super) reception: Reception,
    reorder: Reorder<Held>,
    repair: Repair,
    pub(super) clock: Clock,
    depacketizer: Depacketizer,
    keyframes: Keyframes,
    /// Earliest time of the next request for lost packets.
    ask_from: Instant,
    /// Counts that were last added to the shared counters.
    counted: rtp::Counts,
    counted_frames: u64,
    /// Reused memory.
    events: Vec<Event>,
    requests: Vec<rtp::Nack>,
}

/// A packet that waits for those before it.
#[derive(Debug)]
struct Held {
    payload: Bytes,
    marker: bool,
    timestamp: u32,
}

impl Track {
    pub(super) fn new(chosen: &Chosen, stats: &Arc<Stats>, now: Instant) -> Self {
        let best = &chosen.formats.best;
        // All formats of a kind have the same clock rate.
        let clock_rate = agree::rtp_format(best.codec).clock_rate();
        let id = TrackId::first(chosen.kind);
        let repair = Repair::new(best.feedback.nack);
        Self {
            kind: chosen.kind,
            id,
            clock_rate,
            numbering: chosen.numbering,
            formats: chosen.formats.all().cloned().collect(),
            format: 0,
            stats: Arc::clone(stats),
            source: Source::new(chosen),
            reception: Reception::new(clock_rate, now),
            reorder: Reorder::new(repair.patience()),
            repair,
            clock: Clock::new(clock_rate),
            depacketizer: depacketizer(best, id),
            keyframes: Keyframes::default(),
            ask_from: now,
            counted: rtp::Counts::default(),
            counted_frames: 0,
            events: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Whether packets of this payload type belong to the track.
    pub(super) fn carries(&self, payload_type: u8) -> bool {
        let mut formats = self.formats.iter();
        formats.any(|one| one.payload_type == payload_type || one.rtx == Some(payload_type))
    }

    /// Whether packets of this payload type are media of the track, and not repetitions.
    pub(super) fn is_media(&self, payload_type: u8) -> bool {
        let mut formats = self.formats.iter();
        formats.any(|one| one.payload_type == payload_type)
    }

    /// Returns the number of pixels of a frame, 0 until that is known.
    pub(super) fn size(&self) -> u64 {
        let dimensions = self.depacketizer.dimensions();
        dimensions.map_or(0, |(width, height)| u64::from(width) * u64::from(height))
    }

    /// Returns the present source, once a packet has arrived.
    pub(super) fn ssrc(&self) -> Option<u32> {
        self.source.taken.filter(|_| self.reception.has_begun())
    }

    /// Takes a packet that the track [carries](Self::carries), and appends the items that it completes to
    /// `items`.
    pub(super) fn take(
        &mut self,
        packet: &Packet<'_>,
        moment: Moment,
        items: &mut Vec<Item>,
    ) -> Taken {
        let Moment { now, .. } = moment;
        let mut taken = Taken::Yes;
        let number = packet.header.payload_type;
        let format = self
            .formats
            .iter()
            .position(|one| one.payload_type == number);
        let is_media = format.is_some();
        let (sequence, payload) = if let Some(format) = format {
            match self.source.judge(packet, now) {
                Verdict::Other => return Taken::No,
                Verdict::New => {
                    self.begin(now);
                    self.change_to(format, now);
                    taken = Taken::First;
                }
                Verdict::Ours if format == self.format => {}
                // A late packet, from before the sender changed the format.
                Verdict::Ours if !self.is_ahead(packet.header.sequence) => return Taken::No,
                Verdict::Ours => self.change_to(format, now),
            }
            (packet.header.sequence, packet.payload)
        } else {
            let is_current = self.formats[self.format].rtx == Some(number);
            if !self.source.repeats(packet) || !is_current {
                return Taken::No;
            }
            match retransmitted(packet.payload) {
                Some((sequence, payload)) if self.is_near(sequence) => (sequence, payload),
                // Padding, and old packets sent as padding.
                _ => return taken,
            }
        };
        if self.repair.came(sequence, now) {
            self.reorder.set_patience(self.repair.patience());
        } else if is_media {
            self.reception.packet(&packet.header, now);
        }
        let held = Held {
            payload: Bytes::copy_from_slice(payload),
            marker: packet.header.marker,
            timestamp: packet.header.timestamp,
        };
        self.reorder.push(sequence, held, now);
        self.pop(moment, items);
        taken
    }

    /// Appends the items that have become due to `items`.
    pub(super) fn pop(&mut self, moment: Moment, items: &mut Vec<Item>) {
        while let Some(arrival) = self.reorder.pop(moment.now) {
            match arrival {
                Arrival::Lost => self.depacketizer.lost(),
                // A packet without payload is a bandwidth probe, and its timestamp may be anything.
                Arrival::Packet(held) if held.payload.is_empty() => {}
                Arrival::Packet(held) => {
                    let incoming = Incoming {
                        payload: &held.payload,
                        marker: held.marker,
                        timestamp: held.timestamp,
                        at: self.clock.at(held.timestamp, moment.came),
                    };
                    self.depacketizer.push(incoming, &mut self.events);
                }
            }
        }
        for event in self.events.drain(..) {
            match event {
                Event::KeyframeWanted => self.keyframes.want(moment.now),
                Event::Item(item) => {
                    if matches!(&item, Item::Sample(sample) if sample.keyframe) {
                        self.keyframes.arrived();
                    }
                    items.push(item);
                }
            }
        }
    }

    /// Notes that a listener cannot continue without a keyframe.
    pub(super) fn want_keyframe(&mut self, now: Instant) {
        if self.kind == Kind::Video && self.ssrc().is_some() {
            self.keyframes.want_for_listeners(now);
        }
    }

    /// Handles a report from the track's source.
    pub(super) fn sender_report(&mut self, ntp: u64, timestamp: u32, now: Instant) {
        self.reception.sender_report(ntp, now);
        // Senders without a clock send zero (RFC 3550 §6.4.1).
        if ntp != 0 {
            self.clock.report(ntp, timestamp);
        }
    }

    /// Handles the goodbye of the source `ssrc`.
    pub(super) fn leave(&mut self, ssrc: u32) {
        if self.ssrc() == Some(ssrc) {
            self.forget();
            self.keyframes = Keyframes::default();
        }
        self.source.leave(ssrc);
    }

    /// Appends the due requests to the sender to `out`.
    pub(super) fn ask(&mut self, ours: u32, now: Instant, out: &mut Vec<u8>) {
        let Some(ssrc) = self.ssrc() else {
            return;
        };
        if self.repair.is_agreed && now >= self.ask_from {
            self.ask_for_packets(ours, ssrc, now, out);
        }
        if self
            .keyframes
            .poll(now, self.depacketizer.awaits_keyframe())
        {
            rtcp::write_pli(out, ours, ssrc);
            self.counters().plis.add(1);
        }
    }

    /// Returns the report to the sender on its packets, if any arrived.
    pub(super) fn report(&mut self, now: Instant) -> Option<ReportBlock> {
        let report = self.reception.report(self.ssrc()?, now);
        self.counters().jitter(self.reception.jitter());
        Some(report)
    }

    /// Adds the counts since the last call to the shared counters.
    pub(super) fn count(&mut self) {
        let counts = self.reorder.counts();
        self.counters().came(&self.counted, &counts);
        self.counted = counts;
        let frames = self.depacketizer.dropped_frames();
        let dropped = &self.counters().dropped_frames;
        dropped.add(frames - self.counted_frames);
        self.counted_frames = frames;
    }

    /// Returns the time of the next work if no packet arrives before.
    pub(super) fn due(&self) -> Option<Instant> {
        // There is no source to send requests to.
        self.ssrc()?;
        let packets = self.reorder.deadline().map(|due| due.max(self.ask_from));
        packets.into_iter().chain(self.keyframes.due()).min()
    }

    fn counters(&self) -> &Counters {
        &self.stats.whip
    }

    /// Begins a new source.
    fn begin(&mut self, now: Instant) {
        if self.reception.has_begun() {
            self.forget();
            self.clock.replace_source();
        }
        self.reception = Reception::new(self.clock_rate, now);
        if self.kind == Kind::Video {
            self.keyframes.begin(now);
        }
    }

    /// Changes to another format for all further packets.
    fn change_to(&mut self, format: usize, now: Instant) {
        if std::mem::replace(&mut self.format, format) == format {
            return;
        }
        let format = &self.formats[format];
        tracing::debug!(
            codec = format.codec.name(),
            "a publisher's track changes to another format"
        );
        self.repair = Repair::new(format.feedback.nack);
        self.depacketizer = depacketizer(format, self.id);
        self.forget();
        self.counted_frames = 0;
        if self.kind == Kind::Video {
            self.keyframes.begin(now);
        }
    }

    /// Whether a packet is later than all others of its source.
    fn is_ahead(&self, sequence: u16) -> bool {
        let highest = self.reception.highest();
        highest.is_none_or(|highest| sequence.wrapping_sub(highest) < 1 << 15)
    }

    /// Drops all packets of the source that wait or were requested.
    fn forget(&mut self) {
        self.count();
        self.counted = rtp::Counts::default();
        self.repair.forget();
        self.reorder = Reorder::new(self.repair.patience());
        self.depacketizer.lost();
    }

    /// Whether a repeated packet may be one that is waited for. Browsers also repeat old packets only to
    /// probe the bandwidth.
    fn is_near(&self, sequence: u16) -> bool {
        self.reception.highest().is_some_and(|highest| {
            let behind = usize::from(highest.wrapping_sub(sequence));
            let ahead = usize::from(sequence.wrapping_sub(highest));
            behind.min(ahead) < PACKETS_MAX
        })
    }

    fn ask_for_packets(&mut self, ours: u32, ssrc: u32, now: Instant, out: &mut Vec<u8>) {
        self.requests.clear();
        self.reorder.requests(now, &mut self.requests);
        if self.requests.is_empty() {
            return;
        }
        let requests = self.requests.iter();
        let lost: Vec<u16> = requests.flat_map(|request| request.packets()).collect();
        rtcp::write_nack(out, ours, ssrc, &lost);
        for sequence in &lost {
            self.repair.asked(*sequence, now);
        }
        self.counters().nacked(lost.len());
        self.ask_from = now + NACK_INTERVAL;
    }
}

/// Creates the frame builder for a format's packets.
fn depacketizer(format: &OfferedFormat, id: TrackId) -> Depacketizer {
    let mut made = Depacketizer::new(agree::rtp_format(format.codec), id, AUDIO_CHANNELS);
    for set in agree::parameter_sets(&format.parameters) {
        made.learn(&set);
    }
    made
}
