//! Writer of answers.

use std::fmt::{self, Write};
use std::net::SocketAddr;

use super::fingerprint::Fingerprint;
use super::kind::{Direction, MediaKind};
use super::media::{Extension, Media, OfferedFormat, TRANSPORT_CC};
use super::offer::Offer;
use crate::ice::{Credentials, Transport};

/// Format of a data channel's section (RFC 8841 §4.4), and the port that browsers name there.
const DATA_CHANNEL: &str = "webrtc-datachannel";
const SCTP_PORT: u16 = 5_000;

/// One of our addresses that a peer may check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// Our address as a literal, never a name, because some browsers resolve none.
    pub address: SocketAddr,
    /// Transport of the address.
    pub transport: Transport,
}

/// The answer's entry for one section of the offer.
#[derive(Clone, Copy, Debug)]
pub enum Section<'a> {
    /// The section is not used.
    Rejected,
    /// We send one track.
    Sends {
        /// Chosen format of the section.
        format: &'a OfferedFormat,
        /// Format parameters in the answer; `None` repeats the offer's.
        parameters: Option<&'a str>,
        /// Source of the track.
        ssrc: u32,
        /// Source of retransmissions, if the format has a payload type for them.
        rtx_ssrc: Option<u32>,
    },
    /// We receive one track.
    Receives {
        /// Preferred format of the section.
        format: &'a OfferedFormat,
        /// Parameters of all these formats in the answer; `None` repeats the offer's.
        parameters: Option<&'a str>,
        /// Further formats that may be sent instead.
        more: &'a [OfferedFormat],
        /// Header extensions that we read, among those the section offers.
        extensions: &'a [Extension],
        /// Layers of the section, all of which we accept (RFC 8853); empty without simulcast.
        layers: &'a [Box<str>],
    },
}

/// Content of an answer; its `Display` is the whole text.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Offer that is answered.
    pub offer: &'a Offer,
    /// Entry for each section of the offer. Sections without one are rejected.
    pub sections: &'a [Section<'a>],
    /// Random number that names the description.
    pub session_id: u64,
    /// Our name and password.
    pub ice: &'a Credentials,
    /// Our certificate's fingerprint.
    pub fingerprint: &'a Fingerprint,
    /// Our addresses, best first.
    pub candidates: &'a [Candidate],
    /// Name of the one stream that all tracks belong to, so that they are played in sync; a token.
    pub stream: &'a str,
    /// Canonical name of our sources; a token.
    pub cname: &'a str,
}

/// The whole text of the answer.
impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out = &mut String::with_capacity(2_048);
        // A browser accepts a session identifier of at most 63 bits.
        let id = self.session_id >> 1;
        write!(out, "v=0\r\no=- {id} 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n")?;
        out.push_str("a=ice-lite\r\n");
        let accepted = self.each().filter(|(media, section)| {
            !matches!(section, Section::Rejected) && !media.mid.is_empty()
        });
        let mut bundle = String::new();
        for (media, _) in accepted {
            write!(bundle, " {}", media.mid)?;
        }
        if !bundle.is_empty() {
            write!(out, "a=group:BUNDLE{bundle}\r\n")?;
        }
        out.push_str("a=msid-semantic: WMS *\r\n");
        let mut is_first = true;
        for (media, section) in self.each() {
            self.section(out, media, section, is_first)?;
            is_first &= matches!(section, Section::Rejected);
        }
        f.write_str(out)
    }
}

impl Answer<'_> {
    fn each(&self) -> impl Iterator<Item = (&Media, Section<'_>)> {
        let decided = self.sections.iter().copied();
        let missing = std::iter::repeat(Section::Rejected);
        // A section that is not usable cannot be accepted.
        self.offer
            .media
            .iter()
            .zip(decided.chain(missing))
            .map(|(media, section)| match media.usable {
                true => (media, section),
                false => (media, Section::Rejected),
            })
    }

    /// Writes a section, or its rejection. The addresses are written in the first one that is accepted.
    fn section(
        &self,
        out: &mut String,
        media: &Media,
        section: Section<'_>,
        is_first: bool,
    ) -> fmt::Result {
        let (Section::Sends { format, .. } | Section::Receives { format, .. }) = section else {
            return self.rejection(out, media);
        };
        let rtx = match section {
            Section::Sends { rtx_ssrc: None, .. } => None,
            _ => format.rtx,
        };
        // Port 9 means that the address is among the candidates (RFC 8829 §5.3.1).
        write!(out, "m={} 9 {}", media.media, media.protocol)?;
        write_numbers(out, format.payload_type, rtx)?;
        let more = match section {
            Section::Receives { more, .. } => more,
            _ => &[],
        };
        for format in more {
            write_numbers(out, format.payload_type, format.rtx)?;
        }
        out.push_str("\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\n");
        if !media.mid.is_empty() {
            write!(out, "a=mid:{}\r\n", media.mid)?;
        }
        self.transport(out, is_first)?;
        let direction = match section {
            Section::Sends { .. } => Direction::SendOnly,
            _ => Direction::RecvOnly,
        };
        write!(out, "a={}\r\na=rtcp-mux\r\n", direction.word())?;
        if media.rtcp_mux_only {
            out.push_str("a=rtcp-mux-only\r\n");
        }
        if media.reduced_size_rtcp {
            out.push_str("a=rtcp-rsize\r\n");
        }
        if let Section::Receives { extensions, .. } = section {
            for extension in extensions {
                write!(out, "a=extmap:{} {}\r\n", extension.id, extension.uri)?;
            }
        }
        self::format(out, section, format, rtx)?;
        for format in more {
            self::format(out, section, format, format.rtx)?;
        }
        if let Section::Receives { layers, .. } = section
            && !layers.is_empty()
        {
            for layer in layers {
                write!(out, "a=rid:{layer} recv\r\n")?;
            }
            write!(out, "a=simulcast:recv {}\r\n", layers.join(";"))?;
        }
        if let Section::Sends { ssrc, rtx_ssrc, .. } = section {
            self.sources(out, media, ssrc, rtx_ssrc.filter(|_| rtx.is_some()))?;
        }
        Ok(())
    }

    /// A rejected section keeps its index, with port 0 (RFC 3264 §6). Its other contents are meaningless, yet peers refuse a
    /// whole answer over things that a rejected section lacks: pion and werift the description of one of its formats; werift
    /// one of the offered formats, credentials in the section itself and a data channel's port; GStreamer a fingerprint; aiortc
    /// `rtcp-mux`. All of these are therefore written; where no format is known, 0 stands for it, which pion skips.
    fn rejection(&self, out: &mut String, media: &Media) -> fmt::Result {
        let Media {
            media: word,
            protocol,
            first_format,
            mid,
            ..
        } = media;
        let known = media.formats.first();
        let number = known.map(|format| format.payload_type.to_string());
        let format = match (&number, media.kind) {
            (Some(number), _) => number,
            (None, MediaKind::Other) => &**first_format,
            (None, _) => "0",
        };
        write!(
            out,
            "m={word} 0 {protocol} {format}\r\nc=IN IP4 0.0.0.0\r\n"
        )?;
        self.transport(out, false)?;
        if let Some(known) = known {
            let (number, codec) = (known.payload_type, known.codec.rtpmap());
            write!(out, "a=rtpmap:{number} {codec}\r\n")?;
        }
        if !mid.is_empty() {
            write!(out, "a=mid:{mid}\r\n")?;
        }
        match media.kind {
            MediaKind::Other if format == DATA_CHANNEL => {
                write!(out, "a=sctp-port:{SCTP_PORT}\r\n")?;
            }
            MediaKind::Other => {}
            MediaKind::Audio | MediaKind::Video => out.push_str("a=rtcp-mux\r\n"),
        }
        out.push_str("a=inactive\r\n");
        Ok(())
    }

    /// Writes our transport parameters. All sections share them; the addresses are written once.
    fn transport(&self, out: &mut String, is_first: bool) -> fmt::Result {
        write!(
            out,
            "a=ice-ufrag:{}\r\na=ice-pwd:{}\r\na=fingerprint:{}\r\na=setup:{}\r\n",
            self.ice.ufrag(),
            self.ice.password(),
            self.fingerprint,
            self.offer.setup.word(),
        )?;
        if is_first {
            candidates(out, self.candidates)?;
        }
        Ok(())
    }

    fn sources(
        &self,
        out: &mut String,
        media: &Media,
        ssrc: u32,
        rtx_ssrc: Option<u32>,
    ) -> fmt::Result {
        let Self { stream, cname, .. } = self;
        let track = &media.media;
        write!(out, "a=msid:{stream} {track}\r\n")?;
        if let Some(rtx) = rtx_ssrc {
            write!(out, "a=ssrc-group:FID {ssrc} {rtx}\r\n")?;
        }
        for ssrc in [Some(ssrc), rtx_ssrc].into_iter().flatten() {
            write!(out, "a=ssrc:{ssrc} cname:{cname}\r\n")?;
            write!(out, "a=ssrc:{ssrc} msid:{stream} {track}\r\n")?;
        }
        Ok(())
    }
}

/// Writes the candidates in our order of preference (RFC 8839 §5.1), and the end-of-candidates mark.
pub(super) fn candidates(out: &mut String, candidates: &[Candidate]) -> fmt::Result {
    /// Type preferences: host candidates over UDP come first; those over TCP are for paths that block UDP.
    const UDP: u32 = 126;
    const TCP: u32 = 90;
    for (place, Candidate { address, transport }) in candidates.iter().enumerate() {
        let (word, kind, tail) = match transport {
            Transport::Udp => ("udp", UDP, ""),
            Transport::Tcp => ("tcp", TCP, " tcptype passive"),
        };
        let local = 65_535 - u32::try_from(place).unwrap_or(0).min(65_535);
        let priority = kind << 24 | local << 8 | 255;
        write!(
            out,
            "a=candidate:{} 1 {word} {priority} {} {} typ host{tail}\r\n",
            place + 1,
            address.ip(),
            address.port(),
        )?;
    }
    out.push_str("a=end-of-candidates\r\n");
    Ok(())
}

fn format(
    out: &mut String,
    section: Section<'_>,
    format: &OfferedFormat,
    rtx: Option<u8>,
) -> fmt::Result {
    let (parameters, receives, extensions): (_, _, &[Extension]) = match section {
        Section::Sends { parameters, .. } => (parameters, false, &[]),
        Section::Receives {
            parameters,
            extensions,
            ..
        } => (parameters, true, extensions),
        Section::Rejected => (None, false, &[]),
    };
    let parameters = parameters.unwrap_or(&format.parameters);
    let offered = format.feedback;
    let numbers_packets = extensions.iter().any(|one| &*one.uri == TRANSPORT_CC);
    let transport_cc = offered.transport_cc && numbers_packets;
    let feedback = [
        (offered.nack, "nack"),
        (offered.pli, "nack pli"),
        (offered.fir, "ccm fir"),
        (transport_cc, "transport-cc"),
        // No receiver reports to us how much it can take, and a sender that gets feedback about each packet finds out by
        // itself.
        (offered.remb && receives && !transport_cc, "goog-remb"),
    ];
    let feedback = feedback.into_iter().filter(|(is_offered, _)| *is_offered);
    let (words, codec) = (feedback.map(|(_, word)| word), format.codec.rtpmap());
    write_format(out, format.payload_type, rtx, codec, parameters, words)
}

/// Writes a format's payload type in an `m=` line, and that of its retransmissions.
pub(crate) fn write_numbers(out: &mut String, payload_type: u8, rtx: Option<u8>) -> fmt::Result {
    write!(out, " {payload_type}")?;
    match rtx {
        Some(rtx) => write!(out, " {rtx}"),
        None => Ok(()),
    }
}

/// Writes a format's attributes, and those of its retransmissions.
pub(crate) fn write_format<'a>(
    out: &mut String,
    payload_type: u8,
    rtx: Option<u8>,
    rtpmap: &str,
    parameters: &str,
    feedback: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    write!(out, "a=rtpmap:{payload_type} {rtpmap}\r\n")?;
    if !parameters.is_empty() {
        write!(out, "a=fmtp:{payload_type} {parameters}\r\n")?;
    }
    for word in feedback {
        write!(out, "a=rtcp-fb:{payload_type} {word}\r\n")?;
    }
    if let Some(rtx) = rtx {
        let clock = rtpmap.split('/').nth(1).unwrap_or("90000");
        write!(
            out,
            "a=rtpmap:{rtx} rtx/{clock}\r\na=fmtp:{rtx} apt={payload_type}\r\n"
        )?;
    }
    Ok(())
}
