//! A player's handling of decrypted packets: ordering, requests for missing packets, reassembly of frames. A ledger judges the
//! frames.

use std::time::{Duration, Instant};

use bytes::Bytes;
use container::rtp::{
    Arrival, Depacketizer, Event, Incoming, Packet, Patience, PayloadFormat, Reorder, ReportClock,
    retransmitted,
};
use media::{Item, Kind, Timestamp, TrackId};
use webrtc::client::Accepted;
use webrtc::rtcp::{self, ReportBlock};

use super::packets::Packets;
use crate::ledger::{Findings, Ledger};

/// Time to wait for packets: enough for two round trips of 100 ms.
const PATIENCE: Patience = Patience {
    hold: Duration::from_millis(500),
    ask_after: Duration::from_millis(10),
    ask_again: Duration::from_millis(120),
};

/// Interval between two requests for a keyframe, about the shortest interval of browsers.
const KEYFRAME_INTERVAL: Duration = Duration::from_millis(500);

/// Time of a receipt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Instant,
    /// Wall clock.
    pub(super) wall: u64,
}

/// The tracks of one session.
#[derive(Debug)]
pub(super) struct Receiver {
    tracks: Vec<Track>,
    ledger: Ledger,
    /// Wall clock at which the session was connected: media sent before that is old on purpose.
    asked: u64,
    events: Vec<Event>,
}

#[derive(Debug)]
struct Track {
    kind: Kind,
    payload_type: u8,
    rtx: Option<u8>,
    ssrc: Option<u32>,
    reorder: Reorder<Held>,
    clock: ReportClock,
    depacketizer: Depacketizer,
    /// Time at which to request a keyframe, while one is needed, and time of the last request.
    keyframe_due: Option<Instant>,
    keyframe_asked: Option<Instant>,
    /// Middle 32 bits of the last sender report's timestamp, and its arrival time.
    sender_report: Option<(u32, Instant)>,
    dropped_before: u64,
}

/// A decrypted packet that waits for its turn.
#[derive(Debug)]
struct Held {
    payload: Bytes,
    marker: bool,
    timestamp: u32,
}

impl Receiver {
    /// Creates a receiver for the sections that were accepted.
    pub(super) fn new<'a>(sections: impl IntoIterator<Item = &'a Accepted>, asked: u64) -> Self {
        Self {
            tracks: sections.into_iter().filter_map(Track::new).collect(),
            ledger: Ledger::default(),
            asked,
            events: Vec::new(),
        }
    }

    /// Takes a decrypted packet.
    pub(super) fn rtp(
        &mut self,
        packet: &[u8],
        at: Moment,
        findings: &mut Findings,
        packets: &mut Packets,
    ) {
        let Ok(packet) = Packet::parse(packet) else {
            packets.refused += 1;
            return;
        };
        let number = packet.header.payload_type;
        let is_own = |track: &&mut Track| track.payload_type == number || track.rtx == Some(number);
        let Some(track) = self.tracks.iter_mut().find(is_own) else {
            return;
        };
        track.enter(&packet, at.now);
        self.judge(at, findings, packets);
    }

    /// Takes a decrypted compound packet.
    pub(super) fn rtcp(&mut self, compound: &[u8], now: Instant) {
        for packet in rtcp::packets(compound) {
            if let rtcp::Packet::SenderReport { report, .. } = packet {
                let of = |track: &&mut Track| track.ssrc == Some(report.ssrc);
                if let Some(track) = self.tracks.iter_mut().find(of) {
                    track.sender_report = Some(((report.ntp >> 16) as u32, now));
                }
            }
        }
    }

    /// Returns the time at which there is something to give up or to request.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let tracks = self.tracks.iter();
        let due = tracks.flat_map(|track| [track.reorder.deadline(), track.keyframe_due]);
        due.flatten().min()
    }

    /// Completes `reports` with the last sender reports.
    pub(super) fn complete(&self, reports: &mut [ReportBlock], now: Instant) {
        for report in reports {
            let track = self
                .tracks
                .iter()
                .find(|track| track.ssrc == Some(report.ssrc));
            if let Some((middle, came)) = track.and_then(|track| track.sender_report) {
                let since = now.saturating_duration_since(came);
                report.last_report = middle;
                report.since_last_report = (since.as_secs_f64() * 65_536.0) as u32;
            }
        }
    }

    /// Appends the requests that are due at `now`.
    pub(super) fn requests(
        &mut self,
        own_ssrc: u32,
        now: Instant,
        out: &mut Vec<u8>,
        packets: &mut Packets,
    ) {
        for track in &mut self.tracks {
            let Some(ssrc) = track.ssrc else {
                continue;
            };
            let mut nacks = Vec::new();
            track.reorder.requests(now, &mut nacks);
            let lost: Vec<u16> = nacks.into_iter().flat_map(|nack| nack.packets()).collect();
            if !lost.is_empty() {
                packets.nacked += lost.len() as u64;
                rtcp::write_nack(out, own_ssrc, ssrc, &lost);
            }
            if track.keyframe_due.is_some_and(|due| due <= now) {
                track.keyframe_asked = Some(now);
                track.keyframe_due = Some(now + KEYFRAME_INTERVAL);
                packets.keyframes_asked += 1;
                rtcp::write_pli(out, own_ssrc, ssrc);
            }
        }
    }

    /// Gives up packets that have been waited for too long, and judges the complete frames.
    pub(super) fn judge(&mut self, at: Moment, findings: &mut Findings, packets: &mut Packets) {
        let Self {
            tracks,
            events,
            ledger,
            asked,
            ..
        } = self;
        for track in tracks {
            track.deliver(at.now, events);
            for event in events.drain(..) {
                match event {
                    Event::Item(Item::Sample(sample)) => {
                        packets.frames += 1;
                        ledger.enter(track.kind, &sample.data, *asked, at.wall, findings);
                    }
                    Event::Item(_) => {}
                    Event::KeyframeWanted => track.want_keyframe(at.now),
                }
            }
            if !track.depacketizer.awaits_keyframe() {
                track.keyframe_due = None;
            }
            let dropped = track.depacketizer.dropped_frames();
            packets.frames_dropped +=
                dropped - std::mem::replace(&mut track.dropped_before, dropped);
        }
    }
}

impl Track {
    fn new(section: &Accepted) -> Option<Self> {
        let named = |format: &PayloadFormat| {
            let name = format.encoding_name();
            name.eq_ignore_ascii_case(&section.encoding)
        };
        let format = PayloadFormat::ALL.into_iter().find(named)?;
        let id = match format.kind() {
            Kind::Audio => TrackId::AUDIO,
            Kind::Video => TrackId::VIDEO,
        };
        Some(Self {
            kind: format.kind(),
            payload_type: section.payload_type?,
            rtx: section.rtx,
            ssrc: section.ssrc,
            reorder: Reorder::new(PATIENCE),
            clock: ReportClock::new(format.clock_rate()),
            depacketizer: Depacketizer::new(format, id, 2),
            keyframe_due: None,
            keyframe_asked: None,
            sender_report: None,
            dropped_before: 0,
        })
    }

    fn enter(&mut self, packet: &Packet<'_>, now: Instant) {
        let header = packet.header;
        let (sequence, payload) = if self.rtx == Some(header.payload_type) {
            match retransmitted(packet.payload) {
                Some(original) => original,
                None => return,
            }
        } else {
            self.ssrc.get_or_insert(header.ssrc);
            (header.sequence, packet.payload)
        };
        let held = Held {
            payload: Bytes::copy_from_slice(payload),
            marker: header.marker,
            timestamp: header.timestamp,
        };
        self.reorder.push(sequence, held, now);
    }

    fn deliver(&mut self, now: Instant, events: &mut Vec<Event>) {
        while let Some(arrival) = self.reorder.pop(now) {
            match arrival {
                Arrival::Lost => self.depacketizer.lost(),
                Arrival::Packet(held) => {
                    let packet = Incoming {
                        payload: &held.payload,
                        marker: held.marker,
                        timestamp: held.timestamp,
                        at: self.clock.at(held.timestamp, Timestamp::ZERO),
                    };
                    self.depacketizer.push(packet, events);
                }
            }
        }
    }

    fn want_keyframe(&mut self, now: Instant) {
        let allowed = self.keyframe_asked.map(|asked| asked + KEYFRAME_INTERVAL);
        self.keyframe_due = Some(allowed.map_or(now, |allowed| allowed.max(now)));
    }
}
