//! What a publisher's offer is answered: one format for each section that sends.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use container::rtp;
use media::Kind;
use thiserror::Error;
use webrtc::sdp::{Codec, Format, Group, Media, MediaKind, Offer, Section};

/// The header extensions that name a simulcast layer, and the layer that is repeated (RFC 8852).
const LAYER_URI: &str = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id";
const REPEATED_LAYER_URI: &str = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id";

/// What we say of Opus. Browsers send two channels only to who asks for them, and 64 kb/s unless
/// told; both is less than music wants. Loss is mended in band, for sound is repeated by few.
const OPUS_PARAMETERS: &str = "minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=128000";

/// Parameter sets in a description; encoders write two or three.
const PARAMETER_SETS_MAX: usize = 8;

/// Why an offer cannot be published with. All of it is for the client to mend: 422.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Unusable {
    /// No section sends anything.
    #[error("the offer sends neither sound nor picture")]
    SendsNothing,
    /// Two sections of sound, or of picture, send.
    #[error("the offer sends more than one track of {}", word(.0))]
    TooMany(Kind),
    /// None of a section's formats is known.
    #[error("the offer has no known format for {}: {}", word(.0), known(.0))]
    NoFormat(Kind),
    /// Sound and picture have the same payload type, so nobody could tell them apart.
    #[error("the offer gives sound and picture the same payload type")]
    SamePayloadType,
}

const fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Audio => "sound",
        Kind::Video => "picture",
    }
}

const fn known(kind: &Kind) -> &'static str {
    match kind {
        Kind::Audio => "it must be Opus",
        Kind::Video => {
            "it must be H.264 with packetization-mode=1, H.265, VP8, VP9 or AV1, at 90 kHz"
        }
    }
}

/// What becomes of each section of an offer.
#[derive(Clone, Debug)]
pub struct Agreed {
    sections: Vec<Option<Chosen>>,
}

/// A section that is received.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) kind: Kind,
    pub(super) format: Format,
    pub(super) rtp: rtp::Format,
    /// Which source repeats lost packets of which, as far as the offer says.
    pub(super) groups: Vec<Group>,
    /// Of simulcast, the layer that is taken.
    pub(super) layer: Option<Layer>,
    /// How many layers are offered; 0 without simulcast.
    pub(super) layers: usize,
    /// Parameter sets of the description, as NAL units.
    pub(super) parameter_sets: Vec<Vec<u8>>,
    /// Whether feedback may go without a report before it.
    pub(super) reduced_size_rtcp: bool,
}

/// A simulcast layer, and how its packets are known.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: Box<str>,
    /// The header extension that names a packet's layer.
    pub(super) extension: Option<u8>,
    /// The one that names it in repeated packets.
    pub(super) repeated_extension: Option<u8>,
}

/// Decides on an offer.
///
/// Of pictures H.264 is taken if it is among the formats, because every listener can be given it,
/// whatever browsers would like better; otherwise the peer's first. Who wants another codec offers
/// that alone. Of simulcast the first layer is taken.
///
/// Sections that send nothing, and data channels, are rejected in the answer; the offer is refused
/// as a whole when a section that sends has no format for us (RFC 9725 §4.2).
///
/// # Errors
/// See [`Unusable`].
pub fn agree(offer: &Offer) -> Result<Agreed, Unusable> {
    let mut sections: Vec<Option<Chosen>> = Vec::with_capacity(offer.media.len());
    for media in &offer.media {
        let kind = match media.kind {
            MediaKind::Audio => Kind::Audio,
            MediaKind::Video => Kind::Video,
            MediaKind::Other => {
                sections.push(None);
                continue;
            }
        };
        if !media.usable || !media.direction.sends() {
            sections.push(None);
            continue;
        }
        if sections.iter().flatten().any(|other| other.kind == kind) {
            return Err(Unusable::TooMany(kind));
        }
        let chosen = Chosen::new(kind, media).ok_or(Unusable::NoFormat(kind))?;
        sections.push(Some(chosen));
    }
    let agreed = Agreed { sections };
    agreed.check()?;
    Ok(agreed)
}

impl Agreed {
    /// What an answer says of each section of the offer.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let sections = self.sections.iter();
        let sections = sections.map(|section| match section {
            None => Section::Rejected,
            Some(chosen) => Section::Receives {
                format: &chosen.format,
                parameters: (chosen.rtp == rtp::Format::Opus).then_some(OPUS_PARAMETERS),
                // Payload types tell sections apart, and layers are not agreed on.
                extensions: &[],
            },
        });
        sections.collect()
    }

    /// The codecs of the tracks, for logs and the API.
    pub fn codecs(&self) -> impl Iterator<Item = &'static str> {
        self.chosen().map(|chosen| chosen.format.codec.name())
    }

    /// Simulcast layers that are offered, of which one is taken; 0 without simulcast.
    pub fn layers(&self) -> usize {
        self.chosen().map(|chosen| chosen.layers).max().unwrap_or(0)
    }

    pub(super) fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.sections.iter().flatten()
    }

    fn check(&self) -> Result<(), Unusable> {
        let mut numbers = Vec::new();
        for chosen in self.chosen() {
            for number in [Some(chosen.format.payload_type), chosen.format.rtx] {
                let Some(number) = number else { continue };
                if numbers.contains(&number) {
                    return Err(Unusable::SamePayloadType);
                }
                numbers.push(number);
            }
        }
        match numbers.is_empty() {
            true => Err(Unusable::SendsNothing),
            false => Ok(()),
        }
    }
}

impl Chosen {
    fn new(kind: Kind, media: &Media) -> Option<Self> {
        let is_ours = |codec| rtp_format(codec).kind() == kind;
        let h264 = media.first(|codec| matches!(codec, Codec::H264(_)) && is_ours(codec));
        let format = h264.or_else(|| media.first(is_ours))?;
        let layer = media.layers.first().map(|name| Layer {
            name: name.clone(),
            extension: media.extension(LAYER_URI),
            repeated_extension: media.extension(REPEATED_LAYER_URI),
        });
        Some(Self {
            kind,
            rtp: rtp_format(format.codec),
            format: format.clone(),
            groups: media.groups.clone(),
            layer,
            layers: media.layers.len(),
            parameter_sets: parameter_sets(&format.parameters),
            reduced_size_rtcp: media.reduced_size_rtcp,
        })
    }
}

const fn rtp_format(codec: Codec) -> rtp::Format {
    match codec {
        Codec::H264(_) => rtp::Format::H264,
        Codec::H265 { .. } => rtp::Format::Hevc,
        Codec::Vp8 => rtp::Format::Vp8,
        Codec::Vp9 { .. } => rtp::Format::Vp9,
        Codec::Av1 { .. } => rtp::Format::Av1,
        Codec::Opus => rtp::Format::Opus,
    }
}

/// The parameter sets among a format's parameters (RFC 6184 §8.1, RFC 7798 §7.1).
fn parameter_sets(parameters: &str) -> Vec<Vec<u8>> {
    const KEYS: [&str; 4] = [
        "sprop-parameter-sets",
        "sprop-vps",
        "sprop-sps",
        "sprop-pps",
    ];
    let pairs = parameters.split(';').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        KEYS.contains(&key.trim()).then_some(value.trim())
    });
    let sets = pairs.flat_map(|value| value.split(','));
    let sets = sets.filter_map(|set| BASE64_STANDARD.decode(set).ok());
    sets.take(PARAMETER_SETS_MAX).collect()
}
