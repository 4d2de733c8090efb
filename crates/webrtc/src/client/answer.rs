//! Parser of answers.

use std::net::{IpAddr, SocketAddr};

use thiserror::Error;

use crate::ice::{Credentials, Transport};
use crate::sdp::{Candidate, Fingerprint, MediaKind};

/// Largest answer that is parsed, in bytes.
const ANSWER_LEN_MAX: usize = 64 * 1024;

/// Limits of the sections and candidates that are kept.
const MEDIA_MAX: usize = 16;
const CANDIDATES_MAX: usize = 64;

/// Session parameters that a server agreed to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Name and password of the server for ICE.
    pub ice: Credentials,
    /// Certificate that the server's DTLS must use.
    pub fingerprint: Fingerprint,
    /// Addresses of the server, in its order; host names are skipped.
    pub candidates: Vec<Candidate>,
    /// Sections in the offer's order.
    pub media: Vec<Accepted>,
}

/// The answer to one section.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Accepted {
    /// Audio or video.
    pub kind: MediaKind,
    /// Payload type of the format used; `None` if the section was rejected.
    pub payload_type: Option<u8>,
    /// Name of its encoding, such as `H264`; empty if the section was rejected.
    pub encoding: Box<str>,
    /// Format parameters; empty if there are none.
    pub parameters: Box<str>,
    /// Payload type of its retransmissions.
    pub rtx: Option<u8>,
    /// Source of the server's track, if the server names one.
    pub ssrc: Option<u32>,
}

/// Reason why an answer cannot be used. In every case the server is at fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum AnswerError {
    /// The answer is longer than any real one.
    #[error("the answer is longer than {ANSWER_LEN_MAX} bytes")]
    TooLong,
    /// The answer is not a session description.
    #[error("the answer is not SDP")]
    Syntax,
    /// The answer lacks well-formed ICE credentials.
    #[error("the answer has no ice-ufrag and ice-pwd, or they are not well formed")]
    Ice,
    /// The answer lacks a fingerprint by a known hash function.
    #[error("the answer has no fingerprint that is known, or it is not well formed")]
    Fingerprint,
    /// The server wants to open the DTLS connection.
    #[error("the answer must have setup:passive")]
    Setup,
}

impl Answer {
    /// Parses an answer. If sections disagree about session parameters, the first one counts.
    ///
    /// # Errors
    /// The answer lacks something that a session needs.
    pub fn parse(text: &str) -> Result<Self, AnswerError> {
        if text.len() > ANSWER_LEN_MAX {
            return Err(AnswerError::TooLong);
        }
        if !text.starts_with("v=0") {
            return Err(AnswerError::Syntax);
        }
        let first = |name: &'static str| attributes(text, name).next();
        let (ufrag, password) = (first("ice-ufrag"), first("ice-pwd"));
        let ice = ufrag
            .zip(password)
            .and_then(|(ufrag, password)| Credentials::parse(ufrag, password))
            .ok_or(AnswerError::Ice)?;
        let fingerprint = attributes(text, "fingerprint")
            .find_map(|value| value.parse().ok())
            .ok_or(AnswerError::Fingerprint)?;
        if first("setup").is_some_and(|setup| setup == "active") {
            return Err(AnswerError::Setup);
        }
        // The first piece is the session's own; each of the others begins after its `m=`.
        let sections = text.split("\nm=").skip(1).take(MEDIA_MAX);
        Ok(Self {
            ice,
            fingerprint,
            candidates: attributes(text, "candidate")
                .filter_map(candidate)
                .take(CANDIDATES_MAX)
                .collect(),
            media: sections.filter_map(Accepted::parse).collect(),
        })
    }

    /// Returns the first accepted section of a kind.
    pub fn section(&self, kind: MediaKind) -> Option<&Accepted> {
        let mut sections = self.media.iter();
        sections.find(|media| media.kind == kind && media.payload_type.is_some())
    }
}

impl Accepted {
    /// Parses a section, given the text after its `m=`.
    fn parse(section: &str) -> Option<Self> {
        let mut words = section.lines().next()?.split_ascii_whitespace();
        let kind = MediaKind::of(words.next()?);
        let is_rejected = words.next()? == "0";
        let formats: Vec<u8> = words.skip(1).filter_map(|word| word.parse().ok()).collect();
        let of = |name: &'static str, payload_type: u8| {
            attributes(section, name).find_map(|value| {
                let (number, rest) = value.split_once(' ')?;
                (number.parse() == Ok(payload_type)).then(|| rest.trim())
            })
        };
        let encoding = |payload_type| {
            let encoding = of("rtpmap", payload_type).unwrap_or_default();
            encoding.split('/').next().unwrap_or_default()
        };
        let is_rtx = |payload_type: u8| encoding(payload_type).eq_ignore_ascii_case("rtx");
        let mut media = formats.iter().copied().filter(|number| !is_rtx(*number));
        let payload_type = media.next().filter(|_| !is_rejected);
        let rtx = formats.iter().copied().find(|number| {
            let apt = of("fmtp", *number).and_then(|value| value.strip_prefix("apt="));
            is_rtx(*number) && apt.and_then(|apt| apt.parse().ok()) == payload_type
        });
        let ssrc = attributes(section, "ssrc").next();
        Some(Self {
            kind,
            payload_type,
            encoding: payload_type.map_or("", encoding).into(),
            parameters: payload_type
                .and_then(|number| of("fmtp", number))
                .unwrap_or_default()
                .into(),
            rtx: rtx.filter(|_| payload_type.is_some()),
            ssrc: ssrc.and_then(|value| value.split(' ').next()?.parse().ok()),
        })
    }
}

/// Returns the values of an attribute, in order.
fn attributes<'a>(text: &'a str, name: &'static str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.strip_prefix("a=")?.split_once(':')?;
        (key == name).then(|| value.trim())
    })
}

/// Parses a candidate attribute (RFC 8839 §5.1): foundation, component, transport, priority, address, port.
fn candidate(value: &str) -> Option<Candidate> {
    let mut words = value.split_ascii_whitespace().skip(1);
    let component = words.next()?;
    let transport = match words.next()? {
        word if word.eq_ignore_ascii_case("udp") => Transport::Udp,
        word if word.eq_ignore_ascii_case("tcp") => Transport::Tcp,
        _ => return None,
    };
    let ip: IpAddr = words.nth(1)?.parse().ok()?;
    let port = words.next()?.parse().ok()?;
    (component == "1").then(|| Candidate {
        address: SocketAddr::new(ip, port),
        transport,
    })
}
