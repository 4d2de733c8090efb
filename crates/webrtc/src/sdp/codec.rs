//! Codec names in SDP, and the choice of an offered format for a track.

use super::H264Profile;
use super::h264::{H264Format, ProfileLevelId};

/// Codec of an offered format, with the parameters that decide whether a track fits it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Codec {
    /// H.264 (RFC 6184).
    H264(H264Format),
    /// HEVC (RFC 7798).
    H265 {
        /// `profile-id`: 1 is Main, 2 Main 10.
        profile: u8,
    },
    /// VP8 (RFC 7741).
    Vp8,
    /// VP9 (RFC 9628).
    Vp9 {
        /// `profile-id`: 0 is 8 bits, 2 is 10 or 12 bits, both 4:2:0.
        profile: u8,
    },
    /// AV1 (AOM's RTP payload specification).
    Av1 {
        /// `profile`: 0 is Main.
        profile: u8,
    },
    /// Opus (RFC 7587).
    Opus,
}

impl Codec {
    /// Parses an `rtpmap` value's encoding and a format's parameters; `None` for codecs that are not relayed.
    pub(super) fn parse(encoding: &str, parameters: &str) -> Option<Self> {
        let mut parts = encoding.split('/');
        let name = parts.next()?;
        let clock: u32 = parts.next()?.parse().ok()?;
        let channels = parts.next();
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        let small = |key, default| -> u8 {
            parameter(parameters, key)
                .and_then(|value| value.parse().ok())
                .unwrap_or(default)
        };
        Some(match clock {
            90_000 if is("H264") => Self::H264(H264Format {
                profile_level_id: match parameter(parameters, "profile-level-id") {
                    Some(text) => ProfileLevelId::parse(text)?,
                    None => ProfileLevelId::DEFAULT,
                },
                // GStreamer omits the mode but accepts fragments; receivers that accept none say 0.
                fragments: small("packetization-mode", 1) == 1,
            }),
            90_000 if is("H265") => Self::H265 {
                profile: small("profile-id", 1),
            },
            90_000 if is("VP8") => Self::Vp8,
            90_000 if is("VP9") => Self::Vp9 {
                profile: small("profile-id", 0),
            },
            90_000 if is("AV1") => Self::Av1 {
                profile: small("profile", 0),
            },
            // GStreamer omits the channels, of which there are two in any case (RFC 7587 §4.1).
            48_000 if is("opus") && matches!(channels, None | Some("2")) => Self::Opus,
            _ => return None,
        })
    }

    /// Returns the encoding as `rtpmap` writes it.
    pub const fn rtpmap(self) -> &'static str {
        match self {
            Self::H264(_) => "H264/90000",
            Self::H265 { .. } => "H265/90000",
            Self::Vp8 => "VP8/90000",
            Self::Vp9 { .. } => "VP9/90000",
            Self::Av1 { .. } => "AV1/90000",
            Self::Opus => "opus/48000/2",
        }
    }

    /// Returns a short lower-case name for pages, logs and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::H264(_) => "h264",
            Self::H265 { .. } => "h265",
            Self::Vp8 => "vp8",
            Self::Vp9 { .. } => "vp9",
            Self::Av1 { .. } => "av1",
            Self::Opus => "opus",
        }
    }

    /// Returns the ticks per second of the RTP clock.
    pub const fn clock_rate(self) -> u32 {
        match self {
            Self::Opus => 48_000,
            _ => 90_000,
        }
    }
}

/// Codec of a track that is to be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// H.264 with this profile and level in its sequence parameter set.
    H264(ProfileLevelId),
    /// HEVC with this `general_profile_idc`.
    H265 {
        /// 1 is Main, 2 Main 10.
        profile: u8,
    },
    /// VP8.
    Vp8,
    /// VP9 of this profile.
    Vp9 {
        /// 0 to 3.
        profile: u8,
    },
    /// AV1 of this profile.
    Av1 {
        /// 0 to 2.
        profile: u8,
    },
    /// Opus.
    Opus,
}

/// Suitability of a format for a track, ordered from worse to better.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fit {
    /// The peer did not promise to decode this profile. Most decoders do.
    Exceeds,
    /// The peer decodes the profile as part of a larger one.
    Contains,
    /// The peer named exactly this profile.
    Exact,
}

impl Wanted {
    /// Returns the suitability of an offered format, and its rank among equals. `None` for another codec.
    pub(super) fn fit(self, offered: Codec) -> Option<(Fit, u8)> {
        let same = |equal| {
            let fit = if equal { Fit::Exact } else { Fit::Exceeds };
            Some((fit, 0))
        };
        match (self, offered) {
            (Self::H264(stream), Codec::H264(format)) if format.fragments => Some(h264_fit(
                stream.profile(),
                format.profile_level_id.profile(),
            )),
            (Self::H265 { profile }, Codec::H265 { profile: offered }) => same(profile == offered),
            // VP9 and AV1 decoders do not decode a profile they do not name.
            (Self::Vp9 { profile }, Codec::Vp9 { profile: offered })
            | (Self::Av1 { profile }, Codec::Av1 { profile: offered })
                if profile == offered =>
            {
                same(true)
            }
            (Self::Vp8, Codec::Vp8) | (Self::Opus, Codec::Opus) => same(true),
            _ => None,
        }
    }
}

/// Rates an offered H.264 profile: among profiles that contain the stream's the smallest is best, among the others the largest.
fn h264_fit(stream: H264Profile, offered: H264Profile) -> (Fit, u8) {
    if stream == offered {
        (Fit::Exact, 0)
    } else if offered.decodes(stream) {
        (Fit::Contains, u8::MAX - offered.rank())
    } else {
        (Fit::Exceeds, offered.rank())
    }
}

/// Returns the value of a parameter in a `key=value; key=value` list.
pub(super) fn parameter<'a>(parameters: &'a str, key: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
    })
}
