//! The answer to a publisher's offer: the accepted formats of each section that sends.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use container::rtp;
use media::Kind;
use thiserror::Error;
use webrtc::sdp::{
    Codec, Extension, Group, Media, MediaKind, Offer, OfferedFormat, Section, TRANSPORT_CC,
};

/// Header extensions that name a section (RFC 9143 §15), a simulcast layer, and the layer that is repeated
/// (RFC 8852).
const MID_URI: &str = "urn:ietf:params:rtp-hdrext:sdes:mid";
const LAYER_URI: &str = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id";
const REPEATED_LAYER_URI: &str = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id";

/// This server's parameters for Opus. Without them browsers send one channel and 64 kb/s, which is too little
/// for music. Loss is repaired in band, because few senders repeat audio.
const OPUS_PARAMETERS: &str = "minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=128000";

/// Most simulcast layers that are accepted; each is a stream with lanes of its own. Browsers send three.
pub(super) const LAYERS_MAX: usize = 4;

/// Most parameter sets in a description; encoders write two or three.
const PARAMETER_SETS_MAX: usize = 8;

/// Reason why an offer cannot be published with. In every case the client is at fault: 422.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Unusable {
    /// No section sends anything.
    #[error("the offer sends neither audio nor video")]
    SendsNothing,
    /// Two sections of audio, or of video, send.
    #[error("the offer sends more than one track of {}", word(.0))]
    TooMany(Kind),
    /// None of a section's formats is known.
    #[error("the offer has no known format for {}: {}", word(.0), known(.0))]
    NoFormat(Kind),
    /// Audio and video have the same payload type, so they could not be distinguished.
    #[error("the offer gives audio and video the same payload type")]
    SamePayloadType,
}

const fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Audio => "audio",
        Kind::Video => "video",
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

/// Decision on each section of an offer.
#[derive(Clone, Debug)]
pub struct Agreed {
    sections: Vec<Option<Chosen>>,
}

/// A section that is received.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) kind: Kind,
    /// The formats that may arrive; the server's first choice until a packet shows which one does.
    pub(super) formats: Formats,
    /// Sources that repeat the lost packets of other sources, as far as the offer names them.
    pub(super) groups: Vec<Group>,
    pub(super) layers: Layers,
    /// Header extensions that are read, as an answer states them.
    extensions: Vec<Extension>,
    /// Header extension that numbers packets across all sections, for feedback about each of them.
    pub(super) numbering: Option<u8>,
    /// Whether feedback may be sent without a report before it.
    pub(super) reduced_size_rtcp: bool,
}

/// Accepted formats of a section, the best one first.
#[derive(Clone, Debug)]
pub(super) struct Formats {
    pub(super) best: OfferedFormat,
    pub(super) more: Vec<OfferedFormat>,
}

/// Simulcast layers, with the header extensions that distinguish their packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// Names of the layers, in the peer's order: two to [`LAYERS_MAX`], or none without simulcast.
    pub(super) names: Vec<Box<str>>,
    /// Name of the section.
    pub(super) mid: Box<str>,
    /// Header extension that names a packet's section.
    pub(super) mid_extension: Option<u8>,
    /// Header extension that names a packet's layer.
    pub(super) extension: Option<u8>,
    /// Header extension that names the layer of a repeated packet.
    pub(super) repeated_extension: Option<u8>,
}

/// Decides on an offer.
///
/// Accepts all formats that listeners can receive: H.264 before all others, because every listener can
/// receive it, and then in the peer's order. Browsers send the first one of an answer, encoders the one that
/// they have; the first packet shows which one it is. Of simulcast the first four layers are accepted whose
/// names may be labels of renditions; a sender leaves out the others, which the answer does not name (RFC
/// 8853 §5.3.2).
///
/// Sections that send nothing, and data channels, are rejected in the answer; the offer is refused as a whole
/// when a section that sends has no acceptable format (RFC 9725 §4.2).
///
/// # Errors
/// See [`Unusable`].
pub fn agree(offer: &Offer) -> Result<Agreed, Unusable> {
    let mut sections: Vec<Option<Chosen>> = Vec::with_capacity(offer.media.len());
    let mut numbers = Vec::new();
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
        sections.push(Some(Chosen::new(kind, media, &mut numbers)?));
    }
    match sections.iter().flatten().next() {
        Some(_) => Ok(Agreed { sections }),
        None => Err(Unusable::SendsNothing),
    }
}

impl Agreed {
    /// Returns the answer's content for each section of the offer.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let sections = self.sections.iter();
        let sections = sections.map(|section| match section {
            None => Section::Rejected,
            Some(chosen) => Section::Receives {
                format: &chosen.formats.best,
                parameters: (chosen.kind == Kind::Audio).then_some(OPUS_PARAMETERS),
                more: &chosen.formats.more,
                extensions: &chosen.extensions,
                layers: &chosen.layers.names,
            },
        });
        sections.collect()
    }

    /// Returns the agreed codecs of the tracks, for logs.
    pub fn codecs(&self) -> impl Iterator<Item = &'static str> {
        self.chosen().map(|chosen| chosen.formats.best.codec.name())
    }

    /// Returns the names of the accepted simulcast layers; empty without simulcast.
    pub fn layers(&self) -> &[Box<str>] {
        let mut layers = self.chosen().map(|chosen| &*chosen.layers.names);
        layers.find(|names| !names.is_empty()).unwrap_or_default()
    }

    /// Returns the tracks to be received, each with its kind and, for a layer, its name; those of a section
    /// are in the order of its layers.
    pub(super) fn tracks(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.chosen().flat_map(|chosen| {
            let names = chosen.layers.names.iter().map(|name| &**name);
            let whole = chosen.layers.names.is_empty().then_some("");
            names.chain(whole).map(|name| (chosen.kind, name))
        })
    }

    pub(super) fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.sections.iter().flatten()
    }
}

impl Chosen {
    /// Decides on a section; `numbers` are the payload types that are already in use.
    fn new(kind: Kind, media: &Media, numbers: &mut Vec<u8>) -> Result<Self, Unusable> {
        let formats = Formats::of(kind, media, numbers)?;
        let layers = Layers::of(kind, media);
        let numbering = media.extension(TRANSPORT_CC);
        let numbering = numbering.filter(|_| formats.best.feedback.transport_cc);
        let is_read = |known: &&Extension| match &*known.uri {
            TRANSPORT_CC => numbering.is_some(),
            // Payload types distinguish sections; only layers need more.
            MID_URI | LAYER_URI | REPEATED_LAYER_URI => !layers.names.is_empty(),
            _ => false,
        };
        Ok(Self {
            kind,
            extensions: media.extensions.iter().filter(is_read).cloned().collect(),
            formats,
            groups: media.groups.clone(),
            layers,
            numbering,
            reduced_size_rtcp: media.reduced_size_rtcp,
        })
    }

    /// Whether the sender accepts an allowed bit rate. A sender that receives feedback on each packet finds
    /// its rate by itself.
    pub(super) const fn takes_bit_rate(&self) -> bool {
        self.formats.best.feedback.remb && self.numbering.is_none()
    }
}

impl Formats {
    fn of(kind: Kind, media: &Media, numbers: &mut Vec<u8>) -> Result<Self, Unusable> {
        let is_ours = |codec| rtp_format(codec).kind() == kind;
        let is_h264 = |codec| matches!(codec, Codec::H264(_));
        let h264 = media.each(|codec| is_ours(codec) && is_h264(codec));
        let others = media.each(|codec| is_ours(codec) && !is_h264(codec));
        let mut found = h264.chain(others).peekable();
        if found.peek().is_none() {
            return Err(Unusable::NoFormat(kind));
        }
        let mut taken = found.filter(|format| {
            let own = [Some(format.payload_type), format.rtx];
            let mut own = own.into_iter().flatten();
            let is_free = own.clone().all(|number| !numbers.contains(&number));
            if is_free {
                numbers.extend(&mut own);
            }
            is_free
        });
        let best = taken.next().ok_or(Unusable::SamePayloadType)?.clone();
        let more = match kind {
            // All of them are Opus.
            Kind::Audio => Vec::new(),
            Kind::Video => taken.cloned().collect(),
        };
        Ok(Self { best, more })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &OfferedFormat> {
        std::iter::once(&self.best).chain(&self.more)
    }
}

impl Layers {
    fn of(kind: Kind, media: &Media) -> Self {
        // Without this extension layers could not be named, and no browser would send more than one.
        let Some(extension) = media.extension(LAYER_URI).filter(|_| kind == Kind::Video) else {
            return Self::default();
        };
        let names = layer_names(&media.layers);
        if names.len() < 2 {
            return Self::default();
        }
        Self {
            names,
            mid: media.mid.clone(),
            mid_extension: media.extension(MID_URI),
            extension: Some(extension),
            repeated_extension: media.extension(REPEATED_LAYER_URI),
        }
    }
}

/// Returns the names of the layers that are accepted, each once.
fn layer_names(offered: &[Box<str>]) -> Vec<Box<str>> {
    // As in RFC 8851 §10, without `_`, which a label may not have.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let mut names: Vec<Box<str>> = Vec::with_capacity(LAYERS_MAX);
    for name in offered {
        if names.len() < LAYERS_MAX && name.bytes().all(is_plain) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns the payload format for the packets of a codec.
pub(super) const fn rtp_format(codec: Codec) -> rtp::PayloadFormat {
    match codec {
        Codec::H264(_) => rtp::PayloadFormat::H264,
        Codec::H265 { .. } => rtp::PayloadFormat::Hevc,
        Codec::Vp8 => rtp::PayloadFormat::Vp8,
        Codec::Vp9 { .. } => rtp::PayloadFormat::Vp9,
        Codec::Av1 { .. } => rtp::PayloadFormat::Av1,
        Codec::Opus => rtp::PayloadFormat::Opus,
    }
}

/// Returns the parameter sets among a format's parameters (RFC 6184 §8.1, RFC 7798 §7.1), as NAL units.
pub(super) fn parameter_sets(parameters: &str) -> Vec<Vec<u8>> {
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
