//! Entry of a track in a transport stream, and the reason why a track may have none.

use media::codec::aac::AudioSpecificConfig;
use media::codec::h264::AvcConfig;
use media::codec::hevc::HevcConfig;
use media::{Codec, Framing, Kind, Track, TrackId};
use thiserror::Error;

use super::packet::Pid;
use super::tables::Entry;
use super::{opus, pes};
use crate::adts;

/// Lowest sample rate of MPEG-1; lower rates are MPEG-2's.
const MPEG1_RATE_MIN: u32 = 32_000;

const DESCRIPTOR_REGISTRATION: u8 = 5;

/// PIDs of each coding: as many as there are track numbers.
const PIDS_PER_CODING: u16 = 0x100;

/// Reason why a track cannot be carried.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Unsupported {
    /// A transport stream cannot carry the codec, or not in a way that players know: AV1, VP8, VP9.
    #[error("MPEG-TS players know no way to carry {}", .0.label())]
    Codec(Codec),
    /// The decoder configuration cannot be read.
    #[error("the decoder configuration of {} cannot be read", .0.label())]
    Config(Codec),
    /// ADTS headers cannot express the configuration: a profile, a rate or a channel layout without a number. Or
    /// several streams of Opus in one packet in an unusual arrangement.
    #[error("MPEG-TS has no way to say how this {} is arranged", .0.label())]
    Layout(Codec),
    /// The track is part of the source's own container.
    #[error("{} in its source's container cannot be taken out of it", .0.label())]
    Framing(Codec),
}

impl Unsupported {
    /// Returns a short lower-case name for logs and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codec(_) => "codec",
            Self::Config(_) => "config",
            Self::Layout(_) => "layout",
            Self::Framing(_) => "framing",
        }
    }
}

/// Coding that a stream type stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Coding {
    H264,
    Hevc,
    /// AAC in ADTS frames.
    Aac,
    /// MPEG-1 layer III.
    Mp3,
    /// Layer III at the lower rates of MPEG-2 and 2.5.
    Mp3LowRate,
    Ac3,
    Eac3,
    Opus,
}

impl Coding {
    fn of(track: &Track) -> Result<Self, Unsupported> {
        let coding = match track.codec {
            Codec::H264 => Self::H264,
            Codec::Hevc => Self::Hevc,
            Codec::Aac => Self::Aac,
            Codec::Mp3 if (1..MPEG1_RATE_MIN).contains(&track.sample_rate) => Self::Mp3LowRate,
            Codec::Mp3 => Self::Mp3,
            Codec::Ac3 => Self::Ac3,
            Codec::Eac3 => Self::Eac3,
            Codec::Opus => Self::Opus,
            other => return Err(Unsupported::Codec(other)),
        };
        let is_framed = matches!(track.codec, Codec::Aac | Codec::Mp3);
        match track.framing {
            Framing::Bare => Ok(coding),
            Framing::SelfFramed if is_framed => Ok(coding),
            _ => Err(Unsupported::Framing(track.codec)),
        }
    }

    /// Returns the stream type (ISO/IEC 13818-1 table 2-34; the two of Dolby in ATSC A/52 annex A).
    pub(super) const fn stream_type(self) -> u8 {
        match self {
            Self::H264 => 0x1B,
            Self::Hevc => 0x24,
            Self::Aac => 0x0F,
            Self::Mp3 => 0x03,
            Self::Mp3LowRate => 0x04,
            Self::Ac3 => 0x81,
            Self::Eac3 => 0x87,
            Self::Opus => 0x06,
        }
    }

    pub(super) const fn stream_id(self) -> u8 {
        match self {
            Self::H264 | Self::Hevc => pes::VIDEO,
            Self::Aac | Self::Mp3 | Self::Mp3LowRate => pes::AUDIO,
            Self::Ac3 | Self::Eac3 | Self::Opus => pes::PRIVATE,
        }
    }

    /// Returns the PID: one for each coding and track, so that no PID is ever another coding's.
    fn pid(self, track: TrackId) -> Pid {
        Pid(PIDS_PER_CODING * (1 + self as u16) + u16::from(track.0))
    }

    /// Returns the registration that identifies a private stream type (§2.6.8).
    const fn registration(self) -> Option<[u8; 4]> {
        match self {
            Self::Ac3 => Some(*b"AC-3"),
            Self::Eac3 => Some(*b"EAC3"),
            Self::Opus => Some(*b"Opus"),
            _ => None,
        }
    }
}

/// Track as it is carried.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) coding: Coding,
    /// Entry of the track in the program map.
    pub(super) entry: Entry,
}

impl Stream {
    /// Returns the stream of `track`, if it can be carried.
    pub(super) fn new(track: &Track) -> Result<Self, Unsupported> {
        let coding = Coding::of(track)?;
        let kind = match coding.stream_id() {
            pes::VIDEO => Kind::Video,
            _ => Kind::Audio,
        };
        if kind != track.kind {
            return Err(Unsupported::Codec(track.codec));
        }
        check_config(coding, track)?;
        let mut descriptors = Vec::new();
        if let Some(name) = coding.registration() {
            descriptors.extend_from_slice(&[DESCRIPTOR_REGISTRATION, name.len() as u8]);
            descriptors.extend_from_slice(&name);
        }
        if coding == Coding::Opus {
            let layout = opus::layout(track).ok_or(Unsupported::Layout(track.codec))?;
            descriptors.extend_from_slice(&opus::descriptor(layout));
        }
        Ok(Self {
            coding,
            entry: Entry {
                stream_type: coding.stream_type(),
                pid: coding.pid(track.id),
                descriptors,
            },
        })
    }
}

fn check_config(coding: Coding, track: &Track) -> Result<(), Unsupported> {
    let config = &track.config[..];
    let is_readable = match coding {
        // Without a record, the samples have start codes.
        Coding::H264 => config.is_empty() || AvcConfig::parse(config).is_some(),
        Coding::Hevc => config.is_empty() || HevcConfig::parse(config).is_some(),
        Coding::Aac if track.framing == Framing::Bare => {
            AudioSpecificConfig::parse(config).is_some()
        }
        _ => true,
    };
    if !is_readable {
        return Err(Unsupported::Config(track.codec));
    }
    let is_bare_aac = coding == Coding::Aac && track.framing == Framing::Bare;
    if is_bare_aac && adts::Writer::new(config).is_none() {
        return Err(Unsupported::Layout(track.codec));
    }
    Ok(())
}
