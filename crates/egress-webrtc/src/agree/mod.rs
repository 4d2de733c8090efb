//! Matching of a stream's tracks with an offer.
//!
//! At most one video and one audio track are sent: the stream's first of each kind that RTP carries, in the offer's first
//! sections that receive. If the player requests video and cannot decode it, that is an error rather than a session without
//! video, so that the viewer is notified.

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::time::Duration;

use container::rtp::PayloadFormat as Carried;
use fanout::PictureOrder;
use media::codec::vp9;
use media::{Kind, Track};
use thiserror::Error;
use webrtc::sdp::{
    Codec, Fit, H264Format, Media, MediaKind, Offer, OfferedFormat, ProfileLevelId, Section,
};

use packagers::rtp::{REORDERED, codes};

/// Profile assumed for an H.264 track that names none; every decoder supports it.
const H264_USUAL: ProfileLevelId = ProfileLevelId([0x42, 0xe0, 0x1f]);

/// Format parameters of Opus in an answer. Two channels are sent, whatever the player requested; every player can decode them
/// as stereo or mono.
const OPUS_STEREO: &str = "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1";
const OPUS_MONO: &str = "minptime=10;useinbandfec=1";

/// Tracks agreed on for the sections of an offer.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// One entry per section of the offer, in its order.
    sections: Vec<Option<Agreement>>,
}

/// One track in one section.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    pub(crate) carries: Carried,
    pub(crate) format: OfferedFormat,
    fit: Fit,
    parameters: Option<&'static str>,
    /// Longest audio in one packet, if the player has a limit.
    pub(crate) packet_time: Option<Duration>,
}

/// Reason why a stream cannot be played to a viewer; it names both sides where they differ.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Unplayable {
    /// The player offers to receive neither audio nor video.
    #[error("the offer has no section that receives sound or picture")]
    NotReceiving,
    /// The player requested video and cannot decode this stream's.
    #[error("the stream's picture is {stream}; the player takes {offered}")]
    Picture {
        /// Video codec of the stream.
        stream: String,
        /// Formats that the player accepts instead.
        offered: String,
    },
    /// The player requested video, but its frames are reordered and cannot be shown in time.
    #[error("{REORDERED}")]
    Reordered,
    /// The player can use none of the stream's tracks.
    #[error("the stream has {stream}; the player takes {offered}")]
    Nothing {
        /// The stream's tracks.
        stream: String,
        /// Formats that the player accepts instead.
        offered: String,
    },
}

/// Finds the tracks that the offer can receive. `order` is the order in which the stream's video frames arrive.
///
/// # Errors
/// See [`Unplayable`].
pub fn agree<T: Borrow<Track>>(
    offer: &Offer,
    tracks: &[T],
    order: PictureOrder,
) -> Result<Agreed, Unplayable> {
    let mut sections = vec![None; offer.media.len()];
    let mut offered = Vec::new();
    for (wanted, kind) in [
        (MediaKind::Audio, Kind::Audio),
        (MediaKind::Video, Kind::Video),
    ] {
        let mut receiving = offer.sections(wanted);
        let Some((place, media)) = receiving.find(|(_, media)| media.direction.receives()) else {
            continue;
        };
        offered.push(listing(media));
        let Some((carries, track)) = carried(tracks, kind) else {
            continue;
        };
        sections[place] = match Agreement::find(media, carries, track) {
            None if kind == Kind::Video => {
                return Err(Unplayable::Picture {
                    stream: describe(codec_of(carries, track)),
                    offered: listing(media),
                });
            }
            Some(_) if kind == Kind::Video && order == PictureOrder::Reordered => {
                return Err(Unplayable::Reordered);
            }
            found => found,
        };
    }
    if offered.is_empty() {
        return Err(Unplayable::NotReceiving);
    }
    if sections.iter().all(Option::is_none) {
        let names = tracks.iter().map(<T as Borrow<Track>>::borrow).map(name);
        return Err(Unplayable::Nothing {
            stream: enumerate(names.collect()),
            offered: enumerate(offered),
        });
    }
    Ok(Agreed { sections })
}

impl Agreed {
    /// Returns the answer's entry for each section of the offer.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let each = self.sections.iter().map(|agreed| match agreed {
            None => Section::Rejected,
            Some(agreed) => Section::Sends {
                format: &agreed.format,
                parameters: agreed.parameters,
                ssrc: codes::ssrc(agreed.carries),
                rtx_ssrc: agreed.format.rtx.map(|_| codes::rtx_ssrc(agreed.carries)),
            },
        });
        each.collect()
    }

    /// Whether the video's profile is one that the player did not promise to decode, although it accepts the codec. Most
    /// players decode it nevertheless; it is worth a line in the log.
    pub fn exceeds(&self) -> bool {
        let picture = self.of(Kind::Video);
        picture.is_some_and(|agreed| agreed.fit == Fit::Exceeds)
    }

    /// Returns what is agreed on for a track of this kind, if one is sent.
    pub(crate) fn of(&self, kind: Kind) -> Option<&Agreement> {
        let mut all = self.sections.iter().flatten();
        all.find(|agreed| agreed.carries.kind() == kind)
    }
}

impl Agreement {
    fn find(media: &Media, carries: Carried, track: &Track) -> Option<Self> {
        let (format, fit) = media.choose(codec_of(carries, track))?;
        Some(Self {
            carries,
            format: format.clone(),
            fit,
            packet_time: media
                .packet_time
                .map(|millis| Duration::from_millis(millis.get().into())),
            parameters: match (carries, track.channels) {
                (Carried::Opus, 1) => Some(OPUS_MONO),
                (Carried::Opus, _) => Some(OPUS_STEREO),
                _ => None,
            },
        })
    }
}

/// Finds the track of this kind that the RTP lane carries; see [`packagers::rtp::packager`].
fn carried<T: Borrow<Track>>(tracks: &[T], kind: Kind) -> Option<(Carried, &Track)> {
    let tracks = tracks.iter().map(<T as Borrow<Track>>::borrow);
    tracks
        .filter_map(|track| Some((Carried::of(track)?, track)))
        .filter(|(format, _)| format.kind() == kind)
        .min_by_key(|(_, track)| track.id)
}

/// Returns a track's codec in the terms of session descriptions.
fn codec_of(carries: Carried, track: &Track) -> Codec {
    let record = &track.config[..];
    match carries {
        Carried::H264 => Codec::H264(H264Format {
            profile_level_id: ProfileLevelId::of_avc_config(record).unwrap_or(H264_USUAL),
            fragments: true,
        }),
        // `general_profile_idc`, `seq_profile` and `profile`: ISO/IEC 14496-15 §8.3.3.1, AV1 codec ISO media file format
        // binding §2.3.3, VP codec binding §2.2.
        Carried::Hevc => Codec::H265 {
            profile: record.get(1).map_or(1, |second| second & 0x1F),
        },
        Carried::Av1 => Codec::Av1 {
            profile: record.get(1).map_or(0, |second| second >> 5),
        },
        Carried::Vp9 => Codec::Vp9 {
            profile: vp9::record_profile(record).unwrap_or(0),
        },
        Carried::Vp8 => Codec::Vp8,
        Carried::Opus => Codec::Opus,
    }
}

/// Describes a track's codec for people.
fn name(track: &Track) -> String {
    match Carried::of(track) {
        Some(format) => describe(codec_of(format, track)),
        None => track.codec.to_string(),
    }
}

/// Describes a codec of a format or of a track for people.
fn describe(codec: Codec) -> String {
    let name = codec.name();
    match codec {
        Codec::H264(format) if format.fragments => {
            let [profile, flags, level] = format.profile_level_id.0;
            format!("{name} ({profile:02x}{flags:02x}{level:02x})")
        }
        Codec::H264(_) => format!("{name} in whole packets"),
        Codec::H265 { profile } | Codec::Vp9 { profile } | Codec::Av1 { profile } => {
            format!("{name} (profile {profile})")
        }
        Codec::Vp8 | Codec::Opus => name.to_owned(),
    }
}

/// Describes for people which formats a section accepts.
fn listing(media: &Media) -> String {
    let each = media.formats.iter().map(|format| describe(format.codec));
    enumerate(each.collect())
}

fn enumerate(mut names: Vec<String>) -> String {
    names.retain(|name| !name.is_empty());
    names.dedup();
    if names.is_empty() {
        return "nothing that is known here".to_owned();
    }
    names.join(", ")
}
