//! Track as carried in MP4: its sample entry, the bytes of its samples, and the duration of audio frames.
//!
//! Most tracks are described by their configuration, others by their frames: the dimensions of VP9 video are only in
//! its keyframes, and MP3 and Dolby codecs have no configuration.

use bytes::Bytes;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::dolby::{self, SyncFrame};
use media::codec::flac::{self, StreamInfo};
use media::codec::h264::AvcConfig;
use media::codec::hevc::HevcConfig;
use media::codec::mpeg_audio::FrameHeader;
use media::codec::vp9::{self, KeyHeader};
use media::codec::{av1, opus, vp8};
use media::{Codec, Framing, Kind, Sample, TICKS_PER_SECOND, Track};

use super::{PICTURE_TIMESCALE, entry};
use crate::ogg::OpusMuxer;

const OPUS_TICKS_PER_SAMPLE: i64 = TICKS_PER_SECOND / opus::RATE as i64;

/// Lowest sample rate of MPEG-1; lower rates are MPEG-2.
pub(super) const MPEG1_RATE_MIN: u32 = 32_000;

/// Entries of a track in `moov`.
#[derive(Debug)]
pub(super) struct Description {
    /// Whole sample entry.
    pub(super) entry: Vec<u8>,
    /// Units of the track's clock per second.
    pub(super) timescale: u32,
    /// Width and height; zeros for audio.
    pub(super) size: (u16, u16),
}

/// Track of a muxer, with the facts known about it.
#[derive(Debug)]
pub(super) struct Carried {
    /// Track as it was announced.
    pub(super) track: Track,
    /// Samples begin with an ADTS header, which MP4 cannot carry.
    is_adts: bool,
    /// The codec's record; for Opus, always an identification header.
    config: Bytes,
    /// Frames hold facts that the configuration does not.
    do_frames_tell: bool,
    facts: Facts,
}

/// Facts about a track beyond its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Facts {
    /// A frame will hold the facts.
    Unknown,
    Picture(u16, u16),
    Vp9(KeyHeader),
    Audio {
        rate: u32,
        channels: u8,
        /// Samples of each frame; 0 where frames differ.
        frame_samples: u32,
    },
    Dolby {
        frame: SyncFrame,
        /// Bytes of the first sample. Bitrates may vary, so a change does not count as new.
        sample_bytes: usize,
    },
}

impl Carried {
    /// Creates the state of a track; `None` if MP4 cannot carry it: an unknown codec or framing, an unreadable record,
    /// or video of unknown dimensions.
    pub(super) fn new(track: &Track) -> Option<Self> {
        let is_framed = matches!(track.codec, Codec::Aac | Codec::Mp3);
        match track.framing {
            Framing::Bare => {}
            Framing::SelfFramed if is_framed => {}
            _ => return None,
        }
        let facts = Facts::of(track)?;
        Some(Self {
            track: track.clone(),
            is_adts: track.codec == Codec::Aac && track.framing == Framing::SelfFramed,
            config: match track.codec {
                Codec::Opus => OpusMuxer::head_of(track),
                // Only frames hold the facts.
                Codec::Mp3 => Bytes::new(),
                _ => track.config.clone(),
            },
            do_frames_tell: facts == Facts::Unknown,
            facts,
        })
    }

    /// Returns whether players accept the track in a live body or a segment: VP8 is only in files.
    pub(super) fn is_live(&self) -> bool {
        self.track.codec != Codec::Vp8
    }

    /// Returns whether `other` was announced in the same way.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.track.kind == other.track.kind
            && self.track.codec == other.track.codec
            && self.is_adts == other.is_adts
            && self.config == other.config
    }

    /// Returns whether enough is known for a [`Description`].
    pub(super) fn is_known(&self) -> bool {
        self.facts != Facts::Unknown
    }

    /// Returns the facts in `frame`, which is a keyframe if it is video, if they are new.
    pub(super) fn news(&self, frame: &[u8]) -> Option<News> {
        if !self.do_frames_tell {
            return None;
        }
        let facts = Facts::reported_by(self.track.codec, frame)?;
        let is_known = match (self.facts, facts) {
            (Facts::Dolby { frame: known, .. }, Facts::Dolby { frame, .. }) => known == frame,
            (known, new) => known == new,
        };
        (!is_known).then_some(News(facts))
    }

    /// Puts news in force.
    pub(super) fn learn(&mut self, news: News) {
        self.facts = news.0;
    }

    pub(super) fn config(&self) -> &Bytes {
        &self.config
    }

    /// Returns a video frame with the parameter sets of H.264 or HEVC before it.
    pub(super) fn with_parameter_sets(&self, data: Bytes) -> Bytes {
        let (length_bytes, units) = match self.track.codec {
            Codec::H264 => AvcConfig::parse(&self.config)
                .map(|record| (record.length_bytes, [record.sps, record.pps].concat())),
            Codec::Hevc => HevcConfig::parse(&self.config).map(|record| {
                let units = [record.vps, record.sps, record.pps].concat();
                (record.length_bytes, units)
            }),
            _ => None,
        }
        .unwrap_or_default();
        let mut whole = Vec::with_capacity(self.config.len() + data.len());
        for unit in units {
            let length = (unit.len() as u32).to_be_bytes();
            // A length of one byte is too short for some.
            if unit.len() >> (8 * length_bytes) == 0 {
                whole.extend_from_slice(&length[length.len() - length_bytes..]);
                whole.extend_from_slice(unit);
            }
        }
        whole.extend_from_slice(&data);
        whole.into()
    }

    /// Returns the units of the track's clock per second; 0 when unknown.
    pub(super) fn timescale(&self) -> u32 {
        match self.facts {
            Facts::Unknown => 0,
            Facts::Picture(..) | Facts::Vp9(_) => PICTURE_TIMESCALE,
            Facts::Audio { rate, .. } => rate,
            Facts::Dolby { frame, .. } => frame.sample_rate,
        }
    }

    /// Returns the bytes of a sample; `None` for a sample without any, and for an ADTS frame of more than one access
    /// unit.
    pub(super) fn payload(&self, sample: &Sample) -> Option<Bytes> {
        let data = &sample.data;
        if !self.is_adts {
            let data = match self.track.codec {
                Codec::Av1 => without_delimiter(data),
                _ => data.clone(),
            };
            return Some(data).filter(|data| !data.is_empty());
        }
        let header = AdtsHeader::parse(data).filter(|header| header.blocks == 1)?;
        let unit = data.get(header.header_bytes..)?;
        (!unit.is_empty()).then(|| data.slice_ref(unit))
    }

    /// Returns the duration of an audio frame in units of the track's clock; `None` for bytes that are not a frame.
    pub(super) fn frame_samples(&self, frame: &[u8]) -> Option<u32> {
        let samples = match (self.track.codec, self.facts) {
            (_, Facts::Audio { frame_samples, .. }) if frame_samples > 0 => Some(frame_samples),
            (Codec::Mp3, _) => FrameHeader::parse(frame).map(|header| header.samples()),
            (Codec::Opus, _) => opus::duration(frame)
                .and_then(|span| u32::try_from(span.ticks() / OPUS_TICKS_PER_SAMPLE).ok()),
            (Codec::Flac, _) => flac::frame_samples(frame),
            (Codec::Ac3 | Codec::Eac3, _) => dolby::samples(frame),
            _ => None,
        };
        samples.filter(|samples| *samples > 0)
    }

    /// Returns the track's entries in `moov`; `None` before enough is known.
    pub(super) fn describe(&self) -> Option<Description> {
        let (entry, size) = match self.facts {
            Facts::Unknown => return None,
            Facts::Picture(width, height) => {
                let size = (width, height);
                (self.visual_entry(size, &self.config)?, size)
            }
            Facts::Vp9(header) => {
                let size = header_size(&header)?;
                let record = vp9::bare_record(&self.config).copied();
                let record = record.unwrap_or_else(|| header.record());
                (self.visual_entry(size, &record)?, size)
            }
            Facts::Audio { rate, channels, .. } => (self.audio_entry(rate, channels)?, (0, 0)),
            Facts::Dolby {
                frame,
                sample_bytes,
            } => (self.dolby_entry(&frame, sample_bytes), (0, 0)),
        };
        Some(Description {
            entry,
            timescale: self.timescale(),
            size,
        })
    }

    fn visual_entry(&self, size: (u16, u16), record: &[u8]) -> Option<Vec<u8>> {
        let (kind, record_box) = match self.track.codec {
            Codec::H264 => (b"avc1", b"avcC"),
            Codec::Hevc => (b"hvc1", b"hvcC"),
            Codec::Av1 => (b"av01", b"av1C"),
            Codec::Vp8 => return Some(vp_entry(b"vp08", size, &vp8::RECORD)),
            Codec::Vp9 => return Some(vp_entry(b"vp09", size, record)),
            _ => return None,
        };
        Some(entry::visual(kind, size, |entry| {
            entry.put_box(record_box, |content| content.put(record));
        }))
    }

    fn audio_entry(&self, rate: u32, channels: u8) -> Option<Vec<u8>> {
        Some(match self.track.codec {
            Codec::Aac => entry::audio(b"mp4a", channels, rate, |mp4a| {
                entry::put_esds(mp4a, entry::OBJECT_AAC, &self.config);
            }),
            Codec::Mp3 => entry::audio(b"mp4a", channels, rate, |mp4a| {
                entry::put_esds(mp4a, mpeg_object(rate), &[]);
            }),
            Codec::Opus => {
                let content = entry::opus_box(&self.config)?;
                entry::audio(b"Opus", channels, rate, |opus| {
                    opus.put_box(b"dOps", |dops| dops.put(&content));
                })
            }
            Codec::Flac => {
                let block = flac::stream_info(&self.config)?;
                entry::audio(b"fLaC", channels, rate, |flac| {
                    flac.put_full_box(b"dfLa", 0, 0, |dfla| {
                        // The last block, of type 0 (FLAC in ISOBMFF §3.3.2).
                        dfla.put_u32(0x80 << 24 | block.len() as u32);
                        dfla.put(block);
                    });
                })
            }
            _ => return None,
        })
    }

    fn dolby_entry(&self, frame: &SyncFrame, sample_bytes: usize) -> Vec<u8> {
        let (kind, record_box, made) = match frame.is_enhanced {
            true => (
                b"ec-3",
                b"dec3",
                frame.enhanced_record(sample_bytes).to_vec(),
            ),
            false => (b"ac-3", b"dac3", frame.plain_record().to_vec()),
        };
        let has_record = !self.config.is_empty();
        let record = if has_record { &self.config } else { &made[..] };
        entry::audio(kind, frame.channels, frame.sample_rate, |entry| {
            entry.put_box(record_box, |content| content.put(record));
        })
    }
}

/// Creates the entry of VP8 or VP9 (VP Codec ISO Media File Format Binding).
fn vp_entry(kind: &[u8; 4], size: (u16, u16), record: &[u8]) -> Vec<u8> {
    entry::visual(kind, size, |entry| {
        entry.put_full_box(b"vpcC", 1, 0, |vpcc| vpcc.put(record));
    })
}

/// Removes the delimiter with which an AV1 temporal unit may begin: a sample is one unit, and should have none (AV1 in
/// ISOBMFF §2.4).
fn without_delimiter(data: &Bytes) -> Bytes {
    let mut rest = &data[..];
    match av1::Obu::take(&mut rest) {
        Some(unit) if unit.kind() == av1::obu::TEMPORAL_DELIMITER => data.slice_ref(rest),
        _ => data.clone(),
    }
}

/// Facts from a frame that were not known before; see [`Carried::news`].
#[derive(Clone, Copy, Debug)]
pub(super) struct News(Facts);

impl Facts {
    /// Returns the facts in the announcement of a track; `None` if MP4 cannot carry it.
    fn of(track: &Track) -> Option<Self> {
        let config = &track.config;
        match (track.kind, track.codec) {
            (Kind::Video, Codec::H264) => Self::picture(AvcConfig::parse(config)?.dimensions()?),
            (Kind::Video, Codec::Hevc) => Self::picture(HevcConfig::parse(config)?.dimensions()?),
            (Kind::Video, Codec::Av1) => match av1::dimensions(av1::record_units(config)?) {
                Some(size) => Self::picture(size),
                None => Some(Self::Unknown),
            },
            (Kind::Audio, Codec::Aac) => {
                let parsed = AudioSpecificConfig::parse(config)?;
                Some(Self::Audio {
                    rate: parsed.sample_rate,
                    channels: parsed.channels,
                    frame_samples: parsed.samples_per_frame(),
                })
            }
            (Kind::Audio, Codec::Opus) => {
                let head = OpusMuxer::head_of(track);
                entry::opus_box(&head)?;
                Some(Self::audio(opus::RATE, opus::head_channels(&head)?))
            }
            (Kind::Audio, Codec::Flac) => {
                let parsed = StreamInfo::parse(config)?;
                Some(Self::audio(parsed.sample_rate, parsed.channels))
            }
            (Kind::Video, Codec::Vp8 | Codec::Vp9)
            | (Kind::Audio, Codec::Mp3 | Codec::Ac3 | Codec::Eac3) => Some(Self::Unknown),
            _ => None,
        }
    }

    /// Returns the facts in a frame; for video, in a keyframe.
    fn reported_by(codec: Codec, frame: &[u8]) -> Option<Self> {
        match codec {
            Codec::Av1 => Self::picture(av1::dimensions(frame)?),
            Codec::Vp8 => match vp8::FrameHeader::parse(frame)? {
                vp8::FrameHeader::Key { width, height } => Self::picture((width, height)),
                vp8::FrameHeader::Inter => None,
            },
            Codec::Vp9 => match vp9::FrameHeader::parse(frame)? {
                vp9::FrameHeader::Key(header) => header_size(&header).map(|_| Self::Vp9(header)),
                vp9::FrameHeader::Inter => None,
            },
            Codec::Mp3 => {
                let header = FrameHeader::parse(frame)?;
                Some(Self::audio(header.sample_rate, header.channels))
            }
            Codec::Ac3 | Codec::Eac3 => Some(Self::Dolby {
                frame: SyncFrame::parse(frame)?,
                sample_bytes: frame.len(),
            }),
            _ => None,
        }
    }

    const fn audio(rate: u32, channels: u8) -> Self {
        Self::Audio {
            rate,
            channels,
            frame_samples: 0,
        }
    }

    fn picture(size: (u32, u32)) -> Option<Self> {
        let (width, height) = fitting(size)?;
        Some(Self::Picture(width, height))
    }
}

/// Returns the object type of MPEG audio at `rate`.
pub(super) const fn mpeg_object(rate: u32) -> u8 {
    if rate >= MPEG1_RATE_MIN {
        entry::OBJECT_MPEG1_AUDIO
    } else {
        entry::OBJECT_MPEG2_AUDIO
    }
}

fn header_size(header: &KeyHeader) -> Option<(u16, u16)> {
    fitting((header.width, header.height))
}

/// Returns a size if it fits into a sample entry.
fn fitting((width, height): (u32, u32)) -> Option<(u16, u16)> {
    let side = |side: u32| u16::try_from(side).ok().filter(|side| *side > 0);
    Some((side(width)?, side(height)?))
}
