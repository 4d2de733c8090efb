//! Opus packets out of Ogg pages, at the pace at which they are played.
//!
//! Encoders put up to a second of audio into a page (ffmpeg's default), and an RTP receiver that gets a whole page at once
//! concludes that the network delays by a second. Therefore the packets of a page are written one by one, at their times.
//! Packets that remain when the next page arrives are written at once: a page waits no longer than until then.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use container::ogg::OpusPackets;
use fanout::DerivedWriter;
use media::codec::opus;
use media::{Codec, Framing, Sample, Timestamp, Track, TrackId};
use tokio::time::Instant;

/// Longest wait of a packet, whatever the times say: twice the longest page that encoders make.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Unpacker of one stream; call [`release`](Self::release) whenever it is [`due`](Self::due).
pub(super) struct Unpacker {
    writer: DerivedWriter,
    packets: OpusPackets,
    channels: u8,
    /// Track that was announced last.
    track: Option<Track>,
    /// Whether the track was announced with the header in force.
    is_announced: bool,
    /// Packets of the last page that are not due yet.
    waiting: VecDeque<Sample>,
    /// Time of that page's first packet, and the time at which it was written.
    began: (Timestamp, Instant),
    /// Kept for its allocation.
    out: Vec<Sample>,
}

impl Unpacker {
    pub(super) fn new(writer: DerivedWriter, channels: u8) -> Self {
        Self {
            writer,
            packets: OpusPackets::default(),
            channels,
            track: None,
            is_announced: false,
            waiting: VecDeque::new(),
            began: (Timestamp::ZERO, Instant::now()),
            out: Vec::new(),
        }
    }

    /// Announces that another header is in force.
    pub(super) const fn begin_link(&mut self) {
        self.is_announced = false;
    }

    /// Takes a page. A page of the past is written at once.
    pub(super) fn push(&mut self, page: &Sample, header: Option<&[u8]>, is_past: bool) {
        self.flush();
        if !std::mem::replace(&mut self.is_announced, true) {
            self.packets = OpusPackets::default();
            self.announce(header);
        }
        self.packets.push(page, &mut self.out);
        self.waiting.extend(self.out.drain(..));
        let now = Instant::now();
        if let Some(first) = self.waiting.front() {
            self.began = (first.dts, now);
        }
        if is_past {
            self.flush();
        }
        self.release(now);
    }

    /// Returns the time at which the next packet must be written.
    pub(super) fn due(&self) -> Option<Instant> {
        let (at, since) = self.began;
        let next = self.waiting.front()?;
        let after = (next.dts - at).seconds().clamp(0.0, WAIT_MAX.as_secs_f64());
        Some(since + Duration::from_secs_f64(after))
    }

    /// Writes the packets that are due.
    pub(super) fn release(&mut self, now: Instant) {
        while self.due().is_some_and(|due| due <= now)
            && let Some(packet) = self.waiting.pop_front()
        {
            self.writer.sample(packet, now.into_std());
        }
    }

    /// Writes all packets.
    pub(super) fn flush(&mut self) {
        let now = std::time::Instant::now();
        for packet in self.waiting.drain(..) {
            self.writer.sample(packet, now);
        }
    }

    /// Announces the track if it changed. Every title brings a new header, and usually the same track.
    fn announce(&mut self, header: Option<&[u8]>) {
        let usual = || Bytes::copy_from_slice(&opus::head(self.channels));
        let track = Track {
            id: TrackId::DERIVED,
            kind: media::Kind::Audio,
            codec: Codec::Opus,
            framing: Framing::Bare,
            config: header.and_then(OpusPackets::head).unwrap_or_else(usual),
            sample_rate: opus::RATE,
            channels: self.channels,
            flv: None,
        };
        if self.track.as_ref() != Some(&track) {
            self.writer.track(&track, std::time::Instant::now());
            self.track = Some(track);
        }
    }
}
