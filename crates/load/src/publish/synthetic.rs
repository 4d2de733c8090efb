//! Synthetic media: every frame states when it was sent.
//!
//! Headers are real, so that servers frame the media, time it and let listeners join as with a recording; a [`Stamp`] follows
//! the headers in place of coded media.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use media::codec::opus;
use media::{Codec, Framing, Kind, Track, TrackId};
use serde::{Deserialize, Serialize};

use media::codec::aac::{AdtsHeader, AudioSpecificConfig};

use crate::stamp::{STAMP_BYTES, Stamp};

/// Sample rate of all audio: at this rate, MP3 frames have whole sizes, so that a bit rate is exact.
const SAMPLE_RATE: u64 = 48_000;
/// MPEG-1 layer III bit rates in kb/s, by their number in a header, from 1 on.
const MP3_RATES: [u64; 14] = [
    32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
];
/// AAC-LC, 48 kHz, stereo.
const AAC_CONFIG: [u8; 2] = [0x11, 0x90];
/// Baseline profile, 640×360, as an encoder would send it.
pub(crate) const AVC_CONFIG: [u8; 41] = [
    0x01, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0x00, 0x19, 0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x2f,
    0xf9, 0x70, 0x11, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x32, 0x0f, 0x16, 0x2e,
    0x48, 0x01, 0x00, 0x05, 0x68, 0xcb, 0x83, 0xcb, 0x20,
];
/// Byte before an Opus packet's only frame: 20 ms of full-band CELT in stereo (RFC 6716 §3.1).
const OPUS_TOC: u8 = 31 << 3 | 1 << 2;
const PICTURES_PER_SECOND: u64 = 25;
/// Longest time between two keyframes in seconds: as good as never, unless one is requested.
const INTERVAL_SECONDS_MAX: u64 = 86_400;
/// Length of a keyframe, in other video frames.
const KEYFRAME_WEIGHT: u64 = 6;

/// Codec of the audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Audio {
    /// MPEG-1 layer III frames.
    Mp3,
    /// AAC-LC access units; in ADTS towards Icecast.
    Aac,
    /// Opus packets of 20 ms, over WHIP and, as Enhanced RTMP has them, over RTMP.
    Opus,
}

/// Media that a synthetic source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) audio: SyntheticAudio,
    /// Video, if any.
    pub(crate) picture: Option<Picture>,
}

/// Frames of audio at an exact rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SyntheticAudio {
    pub(crate) audio: Audio,
    /// Length of a frame in bytes, including its MP3 header but not an ADTS header.
    frame_bytes: u64,
    header: [u8; 4],
}

/// H.264-like video frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Picture {
    /// Length in bytes of a video frame that is not a keyframe.
    frame_bytes: u64,
    /// Number of frames from one keyframe to the next, without requests.
    per_keyframe: u64,
}

/// Errors of a rate that the media cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// MP3 has only a few rates.
    #[error("MP3 has 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256 or 320 kb/s")]
    Mp3,
    /// A frame must hold a stamp and not exceed what a header can declare.
    #[error("synthetic AAC has 20 to 1000 kb/s")]
    Aac,
    /// A packet must hold a stamp and be no longer than Opus allows.
    #[error("synthetic Opus has 21 to 500 kb/s")]
    Opus,
    /// A video frame must hold a stamp.
    #[error("synthetic video has 20 kb/s to 100 Mb/s")]
    Picture,
    /// The interval must be a whole number of frames, within a day.
    #[error("keyframes are 1 s to a day apart")]
    Interval,
}

impl SyntheticAudio {
    /// Creates audio of `bit_rate` bits per second.
    pub(crate) fn new(audio: Audio, bit_rate: u64) -> Result<Self, RateError> {
        let frame_bytes = bit_rate * samples(audio) / SAMPLE_RATE / 8;
        match audio {
            Audio::Mp3 => {
                let rate = MP3_RATES.iter().position(|rate| rate * 1_000 == bit_rate);
                let number = rate.ok_or(RateError::Mp3)? as u8 + 1;
                // MPEG-1 layer III without a checksum; 48 kHz, no padding; stereo.
                let header = [0xFF, 0xFB, number << 4 | 1 << 2, 0];
                Ok(Self {
                    audio,
                    frame_bytes,
                    header,
                })
            }
            Audio::Aac if (20_000..=1_000_000).contains(&bit_rate) => Ok(Self {
                audio,
                frame_bytes: frame_bytes.max(STAMP_BYTES as u64),
                header: [0; 4],
            }),
            Audio::Aac => Err(RateError::Aac),
            Audio::Opus if (21_000..=500_000).contains(&bit_rate) => Ok(Self {
                audio,
                frame_bytes,
                header: [OPUS_TOC, 0, 0, 0],
            }),
            Audio::Opus => Err(RateError::Opus),
        }
    }

    /// Returns the time at which frame `number` is due, in nanoseconds since the first one.
    pub(crate) fn due(&self, number: u64) -> u64 {
        // Exact: 24 ms, 20 ms, or 64/3 ms, of which three make a whole number.
        number * samples(self.audio) * (1_000_000_000 / 8_000) / (SAMPLE_RATE / 8_000)
    }

    /// Appends a frame: an MP3 frame, an AAC access unit or an Opus packet.
    pub(crate) fn write_frame(&self, stamp: Stamp, out: &mut Vec<u8>) {
        let header: &[u8] = match self.audio {
            Audio::Mp3 => &self.header,
            Audio::Aac => &[],
            Audio::Opus => &self.header[..1],
        };
        out.extend_from_slice(header);
        stamp.write(self.frame_bytes as usize - header.len(), out);
    }

    /// Returns the ADTS header of each access unit, if there is one.
    pub(crate) fn adts(&self) -> Option<[u8; AdtsHeader::BYTES]> {
        if self.audio != Audio::Aac {
            return None;
        }
        let config = AudioSpecificConfig::parse(&AAC_CONFIG)?;
        AdtsHeader::for_config(&config)?.to_bytes(self.frame_bytes as usize)
    }

    /// Returns the media type that is sent to Icecast.
    pub(crate) fn content_type(&self) -> &'static str {
        match self.audio {
            Audio::Mp3 => "audio/mpeg",
            Audio::Aac => "audio/aac",
            Audio::Opus => "audio/ogg",
        }
    }

    /// Returns the bytes before a frame in an FLV tag's body.
    pub(crate) fn flv_prelude(&self) -> &'static [u8] {
        match self.audio {
            // MP3; "44 kHz", the highest rate that a tag can state; 16 bits, stereo.
            Audio::Mp3 => &[0x2F],
            Audio::Aac => &[0xAF, 1],
            Audio::Opus => b"\x91Opus",
        }
    }

    /// Returns the FLV tag's body that configures a decoder.
    pub(crate) fn flv_header(&self) -> Option<Bytes> {
        match self.audio {
            Audio::Mp3 => None,
            Audio::Aac => Some([&[0xAF, 0], &AAC_CONFIG[..]].concat().into()),
            Audio::Opus => Some([&b"\x90Opus"[..], &opus::head(2)].concat().into()),
        }
    }

    /// Returns the track sent over RTP, if RTP can carry it.
    pub(crate) fn track(&self) -> Option<Arc<Track>> {
        let track = Track {
            id: TrackId::AUDIO,
            kind: Kind::Audio,
            codec: Codec::Opus,
            framing: Framing::Bare,
            config: Bytes::copy_from_slice(&opus::head(2)),
            sample_rate: opus::RATE,
            channels: 2,
            flv: None,
        };
        (self.audio == Audio::Opus).then(|| Arc::new(track))
    }
}

impl Picture {
    /// Creates video of `bit_rate` bits per second, with a keyframe in each `interval`.
    pub(crate) fn new(bit_rate: u64, interval: Duration) -> Result<Self, RateError> {
        let seconds = interval.as_secs();
        if !(20_000..=100_000_000).contains(&bit_rate) {
            return Err(RateError::Picture);
        }
        if !(1..=INTERVAL_SECONDS_MAX).contains(&seconds) {
            return Err(RateError::Interval);
        }
        let per_keyframe = seconds * PICTURES_PER_SECOND;
        Ok(Self {
            frame_bytes: bit_rate / 8 * seconds / (per_keyframe - 1 + KEYFRAME_WEIGHT),
            per_keyframe,
        })
    }

    pub(crate) fn due(&self, number: u64) -> u64 {
        number * 1_000_000_000 / PICTURES_PER_SECOND
    }

    /// Returns whether frame `number` is a keyframe without being requested.
    pub(crate) fn is_keyframe(&self, number: u64) -> bool {
        number.is_multiple_of(self.per_keyframe)
    }

    /// Appends a frame as an FLV tag's body.
    pub(crate) fn write_tag(&self, stamp: Stamp, is_keyframe: bool, out: &mut Vec<u8>) {
        let frame = if is_keyframe { 0x17 } else { 0x27 };
        out.extend_from_slice(&[frame, 1, 0, 0, 0]);
        self.write_unit(stamp, is_keyframe, out);
    }

    /// Appends the frame's only NAL unit: its length, its type, the beginning of a slice, its content.
    pub(crate) fn write_unit(&self, stamp: Stamp, is_keyframe: bool, out: &mut Vec<u8>) {
        // The slice is the frame's first, with only intra macroblocks or with predicted ones (§7.3.3).
        let (weight, head) = if is_keyframe {
            (KEYFRAME_WEIGHT, [0x65, 0x88])
        } else {
            (1, [0x41, 0x9A])
        };
        let size = (self.frame_bytes * weight).max(STAMP_BYTES as u64) as usize;
        out.extend_from_slice(&((size + head.len()) as u32).to_be_bytes());
        out.extend_from_slice(&head);
        stamp.write(size, out);
    }

    /// Returns the track sent over RTP.
    pub(crate) fn track(&self) -> Arc<Track> {
        Arc::new(Track {
            id: TrackId::VIDEO,
            kind: Kind::Video,
            codec: Codec::H264,
            framing: Framing::Bare,
            config: Bytes::from_static(&AVC_CONFIG),
            sample_rate: 0,
            channels: 0,
            flv: None,
        })
    }

    /// Returns the FLV tag's body that configures a decoder.
    pub(crate) fn flv_header(&self) -> Bytes {
        [&[0x17, 0, 0, 0, 0], &AVC_CONFIG[..]].concat().into()
    }
}

fn samples(audio: Audio) -> u64 {
    match audio {
        Audio::Mp3 => 1_152,
        Audio::Aac => 1_024,
        Audio::Opus => 960,
    }
}

#[cfg(test)]
mod tests {
    use media::codec::h264::AvcConfig;
    use media::codec::mpeg_audio::FrameHeader;

    use super::*;

    impl Program {
        /// Returns audio at so many bits per second, and video, if any, with a keyframe every two seconds.
        pub(crate) fn of(audio: Audio, rate: u64, picture_rate: Option<u64>) -> Self {
            let picture = |rate| Picture::new(rate, Duration::from_secs(2)).expect("a rate");
            Self {
                audio: SyntheticAudio::new(audio, rate).expect("a rate"),
                picture: picture_rate.map(picture),
            }
        }
    }

    impl SyntheticAudio {
        /// Returns frames of MP3 at 128 kb/s with these numbers, sent at 50.
        pub(crate) fn mp3(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
            let audio = Self::new(Audio::Mp3, 128_000).expect("a rate of MP3");
            let mut frames = Vec::new();
            for number in numbers {
                audio.write_frame(Stamp::of(1, number, 50), &mut frames);
            }
            frames
        }
    }

    const fn stamp(number: u64) -> Stamp {
        Stamp::of(1, number, 3)
    }

    #[test]
    fn mp3_frames_are_what_their_header_says() {
        for rate in MP3_RATES {
            let audio = SyntheticAudio::new(Audio::Mp3, rate * 1_000).expect("a rate of MP3");
            let mut frame = Vec::new();
            audio.write_frame(stamp(2), &mut frame);
            let header = FrameHeader::parse(&frame).expect("a header");
            assert_eq!(u64::from(header.bitrate), rate * 1_000);
            assert_eq!(header.frame_bytes(), frame.len());
            let per_second = frame.len() as u64 * 8 * 1_000_000_000 / audio.due(1);
            assert_eq!(per_second, rate * 1_000);
            assert_eq!(Stamp::read(&frame).map(|stamp| stamp.number), Ok(2));
        }
        let refused = SyntheticAudio::new(Audio::Mp3, 100_000);
        assert_eq!(refused, Err(RateError::Mp3));
    }

    #[test]
    fn aac_units_have_their_rate_and_header() {
        let audio = SyntheticAudio::new(Audio::Aac, 96_000).expect("a rate");
        let mut unit = Vec::new();
        audio.write_frame(stamp(0), &mut unit);
        let head = AdtsHeader::parse(&audio.adts().expect("ADTS")).expect("a header");
        assert_eq!(head.frame_bytes, unit.len() + AdtsHeader::BYTES);
        assert_eq!((head.sample_rate, head.channels()), (48_000, 2));
        let bits = unit.len() as u64 * 8 * 375;
        assert_eq!(audio.due(375), 8_000_000_000);
        assert_eq!(bits / 8, 96_000);
        assert_eq!(SyntheticAudio::new(Audio::Aac, 5_000), Err(RateError::Aac));
    }

    #[test]
    fn opus_packets_are_what_their_first_byte_says() {
        let audio = SyntheticAudio::new(Audio::Opus, 96_000).expect("a rate");
        let mut packet = Vec::new();
        audio.write_frame(stamp(4), &mut packet);
        assert_eq!(packet.len(), 240);
        let duration = opus::duration(&packet).expect("a packet");
        assert_eq!(duration.millis() as u64 * 1_000_000, audio.due(1));
        assert_eq!(Stamp::read(&packet).map(|stamp| stamp.number), Ok(4));
        let header = audio.flv_header().expect("a header");
        assert_eq!((header[0], &header[1..5]), (0x90, &b"Opus"[..]));
        for rate in [20_000, 510_000] {
            let refused = SyntheticAudio::new(Audio::Opus, rate);
            assert_eq!(refused, Err(RateError::Opus), "{rate}");
        }
    }

    #[test]
    fn pictures_have_their_rate() {
        let usual = Duration::from_secs(2);
        let picture = Picture::new(1_000_000, usual).expect("a rate");
        let mut bytes = Vec::new();
        let second = (0..).take_while(|number| picture.due(*number) < 4_000_000_000);
        second.for_each(|number| {
            let keyframe = picture.is_keyframe(number);
            picture.write_tag(stamp(number), keyframe, &mut bytes);
        });
        let rate = bytes.len() as f64 * 8.0 / 4.0;
        assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
        let config = AvcConfig::parse(&AVC_CONFIG).expect("a record");
        assert_eq!(config.dimensions(), Some((640, 360)));
        assert_eq!(Picture::new(10, usual), Err(RateError::Picture));
        let never = Picture::new(1_000_000, Duration::from_secs(3_600)).expect("a rate");
        let keyframes = (0..10_000).filter(|number| never.is_keyframe(*number));
        assert!(keyframes.eq([0]));
        let short = Picture::new(1_000_000, Duration::ZERO);
        assert_eq!(short, Err(RateError::Interval));
    }
}
