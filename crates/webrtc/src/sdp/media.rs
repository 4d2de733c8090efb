//! Media sections of an offer.

use std::num::NonZeroU16;

use rtc_sdp::description::common::Attribute;
use rtc_sdp::description::media::MediaDescription;

use super::attributes::{has, is_token, value, values};
use super::codec::{Codec, Fit, parameter};
use super::kind::{Direction, MediaKind};
use super::offer::OfferError;

/// Largest number of formats in a section: there are 128 payload types.
const FORMATS_MAX: usize = 128;

/// Limits of the header extensions and sources that are kept per section.
const EXTENSIONS_MAX: usize = 32;
const SOURCES_MAX: usize = 32;

/// Limits of the layers that are kept per section, and of the characters in a layer's name (RFC 8852 §3.1 sets no limit, header
/// extensions do).
const LAYERS_MAX: usize = 8;
const LAYER_LEN_MAX: usize = 16;

/// Limit of the characters in a section's name, which is written into answers and into RTP headers.
const MID_LEN_MAX: usize = 32;

/// Limit of the characters in a format's parameters, which are written into answers. Parameter sets in them may be a few
/// hundred bytes long.
const PARAMETERS_LEN_MAX: usize = 1_024;

/// Limit of the characters in an extension's name.
const URI_LEN_MAX: usize = 128;

/// Name of the header extension that numbers the packets of all sections together, so that a receiver can report when each of
/// them arrived.
pub const TRANSPORT_CC: &str =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

/// One media section.
#[derive(Clone, Debug)]
pub struct Media {
    /// Kind of its media.
    pub kind: MediaKind,
    /// Word for the kind in the `m=` line, which a rejection repeats.
    pub(super) media: Box<str>,
    /// Word for the transport in the `m=` line, which a rejection repeats.
    pub(super) protocol: Box<str>,
    /// Format that the rejection of a section other than audio and video repeats, since it must name one.
    pub(super) first_format: Box<str>,
    /// Name of the section; empty if the peer gave it none.
    pub mid: Box<str>,
    /// Whether the peer can use it with us: it is enabled, bundled and uses RTP over DTLS.
    pub usable: bool,
    /// Direction that the peer wants.
    pub direction: Direction,
    /// Formats that a relay understands, best first.
    pub formats: Vec<OfferedFormat>,
    /// RTP header extensions.
    pub extensions: Vec<Extension>,
    /// Sources that the peer announces to send from.
    pub sources: Vec<u32>,
    /// Pairs of media and retransmission sources.
    pub groups: Vec<Group>,
    /// Names of the layers that the peer would send at once, in its order (RFC 8853); empty without simulcast.
    pub layers: Vec<Box<str>>,
    /// Longest audio in one packet, in milliseconds, that the peer accepts or would like to have (`a=maxptime`, else `a=ptime`;
    /// RFC 8866 §6.4).
    pub packet_time: Option<NonZeroU16>,
    /// Whether the peer wrote `rtcp-mux-only`.
    pub(super) rtcp_mux_only: bool,
    /// Whether the peer accepts RTCP packets that do not begin with a report (RFC 5506).
    pub reduced_size_rtcp: bool,
}

/// One offered format.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OfferedFormat {
    /// Payload type in RTP headers; any value from 0 to 127.
    pub payload_type: u8,
    /// Codec of the format.
    pub codec: Codec,
    /// Parameters as offered, which an answer repeats; empty if there are none.
    pub parameters: Box<str>,
    /// Feedback that the peer supports.
    pub feedback: Feedback,
    /// Payload type of its retransmissions (RFC 4588).
    pub rtx: Option<u8>,
}

/// Feedback that a peer offers for a format, limited to the kinds a relay uses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Feedback {
    /// Whether it requests lost packets.
    pub nack: bool,
    /// Whether it requests a keyframe after a loss.
    pub pli: bool,
    /// Whether it requests a keyframe on demand.
    pub fir: bool,
    /// Whether it reports how much may be sent (draft-alvestrand-rmcat-remb).
    pub remb: bool,
    /// Whether it reports when each packet arrived ([`TRANSPORT_CC`]).
    pub transport_cc: bool,
}

/// Number and name of a header extension.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Extension {
    /// Number in RTP headers.
    pub id: u8,
    /// Name of the extension.
    pub uri: Box<str>,
}

/// Source of media, and source of its retransmissions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Group {
    /// Source of the media.
    pub media: u32,
    /// Source of the retransmissions.
    pub rtx: u32,
}

impl Media {
    pub(super) fn parse(section: &MediaDescription, bundle: &[&str]) -> Result<Self, OfferError> {
        let name = &section.media_name;
        let kind = MediaKind::of(&name.media);
        let mid = value(&section.attributes, "mid").unwrap_or_default();
        if mid.len() > MID_LEN_MAX || !mid.bytes().all(is_token) {
            return Err(OfferError::Mid);
        }
        let protocol = name.protos.join("/");
        let first_format = name.formats.first().map_or("0", String::as_str);
        for word in [&name.media, &protocol, first_format] {
            let fine = |byte| is_token(byte) || byte == b'/';
            if word.is_empty() || word.len() > MID_LEN_MAX || !word.bytes().all(fine) {
                return Err(OfferError::Syntax);
            }
        }
        let attributes = &section.attributes;
        // In an offer, a section with port 0 is off, unless it shares another section's transport.
        let is_on = name.port.value != 0 || has(attributes, "bundle-only");
        let is_bundled = bundle.is_empty() || bundle.contains(&mid);
        let is_rtp = matches!(
            protocol.as_str(),
            "UDP/TLS/RTP/SAVPF" | "TCP/DTLS/RTP/SAVPF" | "UDP/TLS/RTP/SAVP" | "RTP/SAVPF"
        );
        Ok(Self {
            kind,
            media: name.media.as_str().into(),
            protocol: protocol.into(),
            first_format: first_format.into(),
            mid: mid.into(),
            usable: kind != MediaKind::Other && is_on && is_bundled && is_rtp,
            direction: Direction::of(attributes),
            formats: formats(&name.formats, attributes),
            extensions: extensions(attributes),
            sources: sources(attributes),
            groups: groups(attributes),
            layers: layers(attributes),
            packet_time: packet_time(attributes),
            rtcp_mux_only: has(attributes, "rtcp-mux-only"),
            reduced_size_rtcp: has(attributes, "rtcp-rsize"),
        })
    }

    /// Returns the offered format that suits a track of this codec best, and its suitability. Among equals the peer's first is
    /// chosen.
    pub fn choose(&self, track: Codec) -> Option<(&OfferedFormat, Fit)> {
        // The last of equals would be chosen, hence the reversed order.
        let formats = self.formats.iter().rev();
        let suitable = formats.filter_map(|format| Some((format, track.fit(format.codec)?)));
        let best = suitable.max_by_key(|(_, fit)| *fit);
        best.map(|(format, (fit, _))| (format, fit))
    }

    /// Returns the peer's formats that `accept` accepts, in its order, without H.264 that cannot fragment.
    pub fn each(&self, accept: impl Fn(Codec) -> bool) -> impl Iterator<Item = &OfferedFormat> {
        self.formats.iter().filter(move |format| {
            let sendable = !matches!(format.codec, Codec::H264(h264) if !h264.fragments);
            sendable && accept(format.codec)
        })
    }

    /// Returns the number of the extension of this name.
    pub fn extension(&self, uri: &str) -> Option<u8> {
        let found = self.extensions.iter().find(|known| &*known.uri == uri);
        found.map(|extension| extension.id)
    }
}

fn packet_time(attributes: &[Attribute]) -> Option<NonZeroU16> {
    let mut limits = ["maxptime", "ptime"].iter();
    limits.find_map(|name| value(attributes, name)?.trim().parse().ok())
}

/// Returns the formats in the order of the `m=` line.
fn formats(numbers: &[String], attributes: &[Attribute]) -> Vec<OfferedFormat> {
    let numbers: Vec<u8> = numbers
        .iter()
        .take(FORMATS_MAX)
        .filter_map(|number| number.parse().ok().filter(|number| *number < 128))
        .collect();
    // The value of each payload type's last line, by kind of line.
    let mut encodings = [""; 128];
    let mut parameters = [""; 128];
    let mut feedback = [Feedback::default(); 128];
    for attribute in attributes {
        let Some(text) = attribute.value.as_deref() else {
            continue;
        };
        let Some((number, rest)) = text.split_once(' ') else {
            continue;
        };
        let number = number.parse::<usize>().ok().filter(|number| *number < 128);
        match (attribute.key.as_str(), number) {
            ("rtpmap", Some(number)) => encodings[number] = rest.trim(),
            ("fmtp", Some(number)) => parameters[number] = rest.trim(),
            ("rtcp-fb", Some(number)) => feedback[number].add(rest.trim()),
            ("rtcp-fb", None) if text.starts_with("* ") => {
                feedback.iter_mut().for_each(|known| known.add(rest.trim()));
            }
            _ => {}
        }
    }
    let rtx_of = |media: u8| {
        numbers.iter().copied().find(|number| {
            let at = usize::from(*number);
            let apt = parameter(parameters[at], "apt").and_then(|apt| apt.parse().ok());
            is_rtx(encodings[at]) && apt == Some(media)
        })
    };
    let mut formats = Vec::new();
    for &payload_type in &numbers {
        let at = usize::from(payload_type);
        let echoed = parameters[at];
        let printable = |byte: u8| (b' '..=b'~').contains(&byte);
        if echoed.len() > PARAMETERS_LEN_MAX || !echoed.bytes().all(printable) {
            continue;
        }
        if let Some(codec) = Codec::parse(encodings[at], echoed) {
            formats.push(OfferedFormat {
                payload_type,
                codec,
                parameters: echoed.into(),
                feedback: feedback[at],
                rtx: rtx_of(payload_type),
            });
        }
    }
    formats
}

fn is_rtx(encoding: &str) -> bool {
    encoding
        .split('/')
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("rtx"))
}

impl Feedback {
    fn add(&mut self, value: &str) {
        match value {
            "nack" => self.nack = true,
            "nack pli" => self.pli = true,
            "ccm fir" => self.fir = true,
            "goog-remb" => self.remb = true,
            "transport-cc" => self.transport_cc = true,
            _ => {}
        }
    }
}

fn extensions(attributes: &[Attribute]) -> Vec<Extension> {
    values(attributes, "extmap")
        .filter_map(|value| {
            let mut words = value.split_ascii_whitespace();
            // A direction may follow the number.
            let id = words.next()?.split('/').next()?.parse().ok()?;
            let uri = words.next()?;
            let fine = uri.len() <= URI_LEN_MAX && uri.bytes().all(|byte| byte.is_ascii_graphic());
            fine.then(|| Extension {
                id,
                uri: uri.into(),
            })
        })
        .take(EXTENSIONS_MAX)
        .collect()
}

fn sources(attributes: &[Attribute]) -> Vec<u32> {
    let mut sources = Vec::new();
    for value in values(attributes, "ssrc") {
        let ssrc = value.split(' ').next().and_then(|ssrc| ssrc.parse().ok());
        if let Some(ssrc) = ssrc
            && !sources.contains(&ssrc)
            && sources.len() < SOURCES_MAX
        {
            sources.push(ssrc);
        }
    }
    sources
}

fn groups(attributes: &[Attribute]) -> Vec<Group> {
    values(attributes, "ssrc-group")
        .filter_map(|value| {
            let mut words = value.strip_prefix("FID ")?.split_ascii_whitespace();
            Some(Group {
                media: words.next()?.parse().ok()?,
                rtx: words.next()?.parse().ok()?,
            })
        })
        .take(SOURCES_MAX)
        .collect()
}

/// Returns the layers listed as sent in `a=simulcast`, each by its first alternative.
fn layers(attributes: &[Attribute]) -> Vec<Box<str>> {
    let mut words = value(attributes, "simulcast")
        .unwrap_or_default()
        .split_ascii_whitespace();
    let sent = words
        .find(|word| *word == "send")
        .and_then(|_| words.next());
    let names = sent.into_iter().flat_map(|list| list.split(';'));
    let names = names.filter_map(|layer| {
        // A layer that is paused initially is marked.
        let name = layer.split(',').next()?.trim_start_matches('~');
        let fine = !name.is_empty() && name.len() <= LAYER_LEN_MAX && name.bytes().all(is_token);
        fine.then(|| name.into())
    });
    names.take(LAYERS_MAX).collect()
}
