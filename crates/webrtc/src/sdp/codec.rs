//! Codec names in SDP, and the choice of an offered format for a track.

use super::H264Profile;
use super::h264::{H264Format, ProfileLevelId};

/// Codec of an offered format or of a track, with the parameters that decide whether the track fits the format.
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

    /// Returns the suitability of an offered format for a track of this codec, and its rank among equals. `None` for another
    /// codec.
    pub(super) fn fit(self, offered: Self) -> Option<(Fit, u8)> {
        match (self, offered) {
            (Self::H264(stream), Self::H264(format)) if format.fragments => Some(h264_fit(
                stream.profile_level_id.profile(),
                format.profile_level_id.profile(),
            )),
            (Self::H264(_), _) => None,
            (Self::H265 { profile }, Self::H265 { profile: offered }) if profile != offered => {
                Some((Fit::Exceeds, 0))
            }
            // VP9 and AV1 decoders do not decode a profile they do not name.
            _ => (self == offered).then_some((Fit::Exact, 0)),
        }
    }
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

/// Rates an offered H.264 profile: among profiles that contain the stream's the smallest is best, among the others the largest.
fn h264_fit(stream: H264Profile, offered: H264Profile) -> (Fit, u8) {
    if stream == offered {
        (Fit::Exact, 0)
    } else if offered.decodes(stream) {
        (Fit::Contains, u8::MAX - offered as u8)
    } else {
        (Fit::Exceeds, offered as u8)
    }
}

/// Returns the value of a parameter in a `key=value; key=value` list.
pub(super) fn parameter<'a>(parameters: &'a str, key: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
    })
}
