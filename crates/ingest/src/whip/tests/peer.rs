//! A publisher: it packetizes, numbers, repeats packets on request, and sends a keyframe on
//! request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::rtp::{
    HEADER_BYTES, Header, PAYLOAD_BYTES, Packet, Packetizer, PayloadFormat, Payloads, Sequencer,
};
use media::{Codec, Framing, Kind, Sample, Span, Timestamp, Track, TrackId};
use webrtc::rtcp::SenderReport;

use super::media_clips::Media;

/// Origin of a line's samples.
pub(super) enum Feed {
    /// These samples, once.
    Samples(VecDeque<Sample>),
    /// VP8 frames of that many bytes, 25 a second. A keyframe is ten times as long.
    Pictures { bytes: usize, next: i64 },
    /// Opus in packets of 20 ms.
    Audio { next: i64 },
}

/// The packets sent for one track.
pub(super) struct Line {
    pub(super) ssrc: u32,
    pub(super) payload_type: u8,
    /// The payload type and the source of repetitions; without, packets are repeated as they were.
    pub(super) rtx: Option<(u8, u32)>,
    /// From a sample's time to its first packet on the network.
    pub(super) takes: Duration,
    /// The layer that is named in a header extension: with the number 3, in repetitions 4.
    pub(super) layer: Option<&'static str>,
    /// Width of the frames in pixels; their height is 180.
    pub(super) width: u16,
    pub(super) sent: Vec<Sample>,
    pub(super) packets: u32,
    feed: Feed,
    packetizer: Packetizer,
    sequencer: Sequencer,
    history: HashMap<u16, Vec<u8>>,
    rtx_sequence: u16,
    wants_key: bool,
}

pub(super) fn vp8_track() -> Arc<Track> {
    let track = Track::new(TrackId::VIDEO, Kind::Video, Codec::Vp8, Framing::Bare);
    Arc::new(track)
}

fn opus_track() -> Arc<Track> {
    Arc::new(Track {
        config: Bytes::copy_from_slice(&media::codec::opus::head(2)),
        sample_rate: 48_000,
        channels: 2,
        ..Track::new(TrackId::AUDIO, Kind::Audio, Codec::Opus, Framing::Bare)
    })
}

fn sample(track: TrackId, millis: i64, duration: i64, keyframe: bool, data: Vec<u8>) -> Sample {
    let (at, duration) = (Timestamp::from_millis(millis), Span::from_millis(duration));
    Sample {
        keyframe,
        ..Sample::frame(track, at, duration, data.into())
    }
}

/// A frame unlike any other.
fn picture(number: i64, keyframe: bool, bytes: usize, width: u16) -> Sample {
    let mut data = Vec::new();
    match keyframe {
        true => {
            data.extend([0x50, 5, 0, 0x9D, 1, 0x2A]);
            data.extend(width.to_le_bytes());
            data.extend([0xB4, 0]);
        }
        false => data.extend([0x51, 5, 0]),
    }
    data.extend(number.to_be_bytes());
    let bytes = if keyframe { 10 * bytes } else { bytes };
    data.extend((0..bytes).map(|at| (at % 251) as u8));
    sample(TrackId::VIDEO, 40 * number, 0, keyframe, data)
}

fn audio(number: i64) -> Sample {
    let mut data = vec![0xFC];
    data.extend(number.to_be_bytes());
    data.extend([7; 150]);
    sample(TrackId::AUDIO, 20 * number, 20, true, data)
}

impl Line {
    fn new(format: PayloadFormat, track: &Track, ssrc: u32, payload_type: u8, feed: Feed) -> Self {
        Self {
            ssrc,
            payload_type,
            rtx: None,
            takes: Duration::ZERO,
            layer: None,
            width: 320,
            sent: Vec::new(),
            packets: 0,
            feed,
            packetizer: Packetizer::new(format, track, PAYLOAD_BYTES),
            // Both numbers wrap soon.
            sequencer: Sequencer::new(ssrc, 65_500, u32::MAX - 20_000, format.clock_rate()),
            history: HashMap::new(),
            rtx_sequence: 65_530,
            wants_key: true,
        }
    }

    pub(super) fn of_media(media: &Media, ssrc: u32, payload_type: u8) -> Self {
        let feed = Feed::Samples(media.samples.iter().cloned().collect());
        Self::new(media.format, &media.track, ssrc, payload_type, feed)
    }

    pub(super) fn pictures(bytes: usize) -> Self {
        let feed = Feed::Pictures { bytes, next: 0 };
        Self::new(PayloadFormat::Vp8, &vp8_track(), 200, 96, feed)
    }

    pub(super) fn audio() -> Self {
        let feed = Feed::Audio { next: 0 };
        Self::new(PayloadFormat::Opus, &opus_track(), 100, 111, feed)
    }

    /// Time of the next sample.
    pub(super) fn next_at(&self) -> Option<Duration> {
        let at = match &self.feed {
            // In the order of decoding, whatever is presented when.
            Feed::Samples(samples) => samples.front()?.dts.millis(),
            Feed::Pictures { next, .. } => 40 * next,
            Feed::Audio { next } => 20 * next,
        };
        let at = u64::try_from(at).expect("samples are not of the past");
        Some(Duration::from_millis(at) + self.takes)
    }

    /// The packets of the next sample.
    pub(super) fn send(&mut self) -> Vec<Vec<u8>> {
        let sample = match &mut self.feed {
            Feed::Samples(samples) => samples.pop_front().expect("there is one"),
            Feed::Pictures { bytes, next } => {
                *next += 1;
                let keyframe = std::mem::take(&mut self.wants_key);
                picture(*next - 1, keyframe, *bytes, self.width)
            }
            Feed::Audio { next } => {
                *next += 1;
                audio(*next - 1)
            }
        };
        let mut payloads = Payloads::default();
        self.packetizer.push(&sample, &mut payloads).ok();
        let timestamp = self.sequencer.timestamp(sample.pts);
        let mut packets = Vec::new();
        for payload in payloads.packets() {
            let mut head = self.sequencer.number(payload, timestamp).to_vec();
            head[1] |= self.payload_type;
            if let Some(name) = self.layer {
                name_layer(&mut head, 3, name);
            }
            let packet = [&head[..], &payloads.bytes()[payload.range.clone()]].concat();
            let sequence = u16::from_be_bytes([packet[2], packet[3]]);
            self.history.insert(sequence, packet.clone());
            packets.push(packet);
        }
        self.packets += packets.len() as u32;
        self.sent.push(sample);
        packets
    }

    /// A packet again.
    pub(super) fn repeat(&mut self, sequence: u16) -> Option<Vec<u8>> {
        let packet = self.history.get(&sequence)?;
        let Some((payload_type, ssrc)) = self.rtx else {
            return Some(packet.clone());
        };
        let original = Packet::parse(packet).expect("it was made here");
        let header = Header {
            payload_type,
            ssrc,
            sequence: self.rtx_sequence,
            ..original.header
        };
        self.rtx_sequence = self.rtx_sequence.wrapping_add(1);
        let mut head = header.to_bytes().to_vec();
        if let Some(name) = self.layer {
            name_layer(&mut head, 4, name);
        }
        Some([&head[..], &sequence.to_be_bytes(), original.payload].concat())
    }

    /// A layer of simulcast, of this source.
    pub(super) fn layer(name: &'static str, ssrc: u32, width: u16) -> Self {
        let mut line = Self::pictures(usize::from(width) * 2);
        (line.layer, line.width) = (Some(name), width);
        line.become_another(ssrc, 65_400, ssrc);
        line.rtx = Some((97, ssrc + 1));
        line
    }

    /// Sends video again after it had [stopped](Self::stop): from the time `at` on, with a keyframe.
    pub(super) fn proceed(&mut self, at: Duration) {
        let next = i64::try_from(at.as_millis()).expect("tests are short") / 40 + 1;
        let bytes = usize::from(self.width) * 2;
        self.feed = Feed::Pictures { bytes, next };
        self.wants_key = true;
    }

    pub(super) const fn begin_anew(&mut self) {
        self.wants_key = true;
    }

    /// Sends nothing from now on.
    pub(super) fn stop(&mut self) {
        self.feed = Feed::Samples(VecDeque::new());
    }

    /// Continues as another source, in the middle of things.
    pub(super) fn become_another(&mut self, ssrc: u32, sequence: u16, origin: u32) {
        self.ssrc = ssrc;
        self.sequencer = Sequencer::new(ssrc, sequence, origin, 90_000);
    }

    /// Continues with other media of the same format.
    pub(super) fn continue_with(&mut self, media: &Media) {
        self.packetizer.reconfigure(&media.track);
        let last = self.sent.last().map_or(0, |last| last.dts.millis() + 40);
        let later = media.samples.iter().map(|sample| {
            let shift = Span::from_millis(last);
            let (dts, pts) = (sample.dts + shift, sample.pts + shift);
            Sample {
                dts,
                pts,
                ..sample.clone()
            }
        });
        self.feed = Feed::Samples(later.collect());
    }

    /// A report at the sender's time `at`.
    pub(super) fn report(&self, at: Duration) -> Vec<u8> {
        let millis = i64::try_from(at.as_millis()).expect("tests are short");
        let report = SenderReport {
            ssrc: self.ssrc,
            ntp: ntp(at),
            rtp_timestamp: self.sequencer.timestamp(Timestamp::from_millis(millis)),
            packets: self.packets,
            octets: 0,
        };
        let mut out = Vec::new();
        report.write(&mut out);
        out
    }
}

/// Adds a header extension with one short element.
fn name_layer(head: &mut Vec<u8>, id: u8, name: &str) {
    head[0] |= 0x10;
    head.extend([0xBE, 0xDE, 0, 1, id << 4 | (name.len() as u8 - 1)]);
    head.extend(name.bytes().chain([0; 3]).take(3));
}

/// Adds a header extension with the number of a packet among all of the sender's.
pub(super) fn numbered(mut packet: Vec<u8>, number: u16) -> Vec<u8> {
    packet[0] |= 0x10;
    let [high, low] = number.to_be_bytes();
    let extension = [0xBE, 0xDE, 0, 1, 3 << 4 | 1, high, low, 0];
    drop(packet.splice(HEADER_BYTES..HEADER_BYTES, extension));
    packet
}

/// The sender's wall clock.
pub(super) fn ntp(at: Duration) -> u64 {
    let millis = u64::try_from(at.as_millis()).expect("tests are short");
    0xE000_0000_0000_0000 + (millis << 32) / 1_000
}
