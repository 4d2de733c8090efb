//! Encoder from 48 kHz to Opus packets, with the playback time of each.
//!
//! An Opus decoder returns the encoder's input with a delay of some samples: the *pre-skip* (RFC 7845 §4.2). RTP has no field
//! for it, so the timestamps contain it: a packet's `pts` is the playback time of the first sample decoded from it. A run drops
//! as many samples at its start, so that no packet is stamped before the start.

use bytes::Bytes;
use media::{Codec, Framing, Kind, Sample, Span, Timestamp, Track, TrackId};
use opus::{Application, Bitrate, Channels, Encoder};

use crate::transcode::{Frame, OUTPUT_RATE, Options, PACKET, PACKET_FRAMES, Stats, Unsupported};

/// Largest packet, in bytes. Every packet fits an RTP packet of 1 200 bytes, which passes every path that browsers use.
const PACKET_BYTES_MAX: usize = 1_188;

/// Encoder of audio frames into samples of one track.
pub(crate) struct Packer {
    encoder: Encoder,
    options: Options,
    track: TrackId,
    /// Frames by which decoding lags.
    pre_skip: usize,
    /// Playback time of the run's first frame.
    start: Timestamp,
    /// Frames from that one up to the first pending one.
    packed: u64,
    /// Frames to drop at the front of the run.
    drop_left: usize,
    pending: Vec<Frame>,
    buffer: [u8; PACKET_BYTES_MAX],
}

impl Packer {
    pub(crate) fn new(track: TrackId, options: Options) -> Result<Self, Unsupported> {
        let refused = |error: opus::Error| Unsupported::Encoder(error.to_string());
        let options = options.clamped();
        let mut encoder =
            Encoder::new(OUTPUT_RATE, Channels::Stereo, Application::Audio).map_err(refused)?;
        encoder
            .set_complexity(i32::from(options.complexity))
            .map_err(refused)?;
        let pre_skip = encoder.get_lookahead().map_err(refused)?;
        let mut packer = Self {
            encoder,
            options,
            track,
            pre_skip: usize::try_from(pre_skip).unwrap_or_default(),
            start: Timestamp::ZERO,
            packed: 0,
            drop_left: 0,
            pending: Vec::with_capacity(2 * PACKET_FRAMES),
            buffer: [0; PACKET_BYTES_MAX],
        };
        packer.set_channels(2)?;
        Ok(packer)
    }

    /// Returns the track of the samples, with an OpusHead (RFC 7845 §5.1) for containers that need one.
    pub(crate) fn track(&self) -> Track {
        let mut head = media::codec::opus::head(2);
        head[10..12].copy_from_slice(&(self.pre_skip as u16).to_le_bytes());
        Track {
            id: self.track,
            kind: Kind::Audio,
            codec: Codec::Opus,
            framing: Framing::Bare,
            config: Bytes::copy_from_slice(&head),
            sample_rate: OUTPUT_RATE,
            channels: 2,
            flv: None,
        }
    }

    /// Sets the number of encoded channels: one if both are alike. Decoders output two in any case.
    pub(crate) fn set_channels(&mut self, channels: u8) -> Result<(), Unsupported> {
        let (forced, bitrate) = if channels == 1 {
            (Some(Channels::Mono), self.options.bitrate / 2)
        } else {
            (None, self.options.bitrate)
        };
        self.encoder
            .set_force_channels(forced)
            .and_then(|()| self.encoder.set_bitrate(Bitrate::Bits(bitrate as i32)))
            .map_err(|error| Unsupported::Encoder(error.to_string()))
    }

    /// Begins a run whose first frame is played at `start`. The previous run must be finished.
    pub(crate) fn begin(&mut self, start: Timestamp) {
        debug_assert!(self.pending.is_empty());
        self.start = start;
        self.packed = 0;
        self.drop_left = self.pre_skip;
    }

    /// Returns the playback time of the next frame.
    pub(crate) fn end(&self) -> Timestamp {
        self.heard_at(self.packed + self.pending.len() as u64)
    }

    /// Takes `frames`, appending the packets that they complete to `out`.
    pub(crate) fn push(&mut self, frames: &[Frame], stats: &mut Stats, out: &mut Vec<Sample>) {
        let dropped = self.drop_left.min(frames.len());
        self.drop_left -= dropped;
        self.packed += dropped as u64;
        self.pending.extend_from_slice(&frames[dropped..]);
        let whole = self.pending.len() / PACKET_FRAMES * PACKET_FRAMES;
        for at in (0..whole).step_by(PACKET_FRAMES) {
            self.pack(at, stats, out);
        }
        self.pending.drain(..whole);
        self.packed += whole as u64;
    }

    /// Ends the run: fills the last packet with silence, so that all input is played. Returns the end of the last packet.
    pub(crate) fn finish(&mut self, stats: &mut Stats, out: &mut Vec<Sample>) -> Timestamp {
        let heard = self.packed > self.pre_skip as u64 || !self.pending.is_empty();
        if heard {
            let padded = (self.pending.len() + self.pre_skip).next_multiple_of(PACKET_FRAMES);
            let silence = vec![[0.0; 2]; padded - self.pending.len()];
            self.push(&silence, stats, out);
        }
        self.drop_left = 0;
        // A run too short for any packet ends where it began.
        (self.heard_at(self.packed) - self.delay()).max(self.start)
    }

    fn pack(&mut self, at: usize, stats: &mut Stats, out: &mut Vec<Sample>) {
        let frames = &self.pending[at..at + PACKET_FRAMES];
        let encoded = self
            .encoder
            .encode_float(frames.as_flattened(), &mut self.buffer);
        let Ok(bytes) = encoded else {
            stats.failed_packets += 1;
            return;
        };
        stats.packets += 1;
        stats.packet_bytes += bytes as u64;
        let pts = self.heard_at(self.packed + at as u64) - self.delay();
        out.push(Sample {
            track: self.track,
            dts: pts,
            pts,
            duration: PACKET,
            keyframe: true,
            data: Bytes::copy_from_slice(&self.buffer[..bytes]),
            flv: None,
        });
    }

    fn heard_at(&self, frame: u64) -> Timestamp {
        self.start + Span::from_samples(frame, OUTPUT_RATE)
    }

    fn delay(&self) -> Span {
        Span::from_samples(self.pre_skip as u64, OUTPUT_RATE)
    }
}
