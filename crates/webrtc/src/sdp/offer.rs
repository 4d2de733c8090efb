//! Parser of offers.

use std::io::Cursor;

use rtc_sdp::description::common::Attribute;
use rtc_sdp::description::media::MediaDescription;
use rtc_sdp::description::session::SessionDescription;
use thiserror::Error;

use super::attributes::{has, value, values};
use super::fingerprint::Fingerprint;
use super::kind::{Direction, MediaKind};
use super::media::Media;
use crate::ice::Credentials;

/// Largest offer, in bytes. Chromium's have 7 KiB, with simulcast and all codecs less than 16.
pub(super) const OFFER_LEN_MAX: usize = 64 * 1024;

/// Largest number of media sections in an offer: audio, video, perhaps data and a few that are off.
const MEDIA_MAX: usize = 16;

/// Checked offer of a peer.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Name and password of the peer for ICE.
    pub ice: Credentials,
    /// Certificate that the peer's DTLS must use.
    pub fingerprint: Fingerprint,
    /// Our role in opening the DTLS connection.
    pub setup: Setup,
    /// Media sections in their order, which an answer keeps.
    pub media: Vec<Media>,
}

/// Our role in opening the DTLS connection (RFC 4145 §4, RFC 8842 §5): one of the two peers is active.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Setup {
    /// We open it, once the peer has proved a path.
    Active,
    /// The peer opens it.
    Passive,
}

impl Setup {
    /// Returns the word in a description.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Passive => "passive",
        }
    }
}

/// Reason why an offer cannot be answered. In every case the peer is at fault.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum OfferError {
    /// The offer is longer than any real one.
    #[error("the offer is longer than {OFFER_LEN_MAX} bytes")]
    TooLong,
    /// The offer violates SDP's grammar.
    #[error("the offer is not SDP")]
    Syntax,
    /// The offer has no media section that RTP over DTLS could use.
    #[error("the offer has no usable media section")]
    NoMedia,
    /// The offer has more media sections than any real one.
    #[error("the offer has more than {MEDIA_MAX} media sections")]
    TooManyMedia,
    /// Two sections have the same name, or a name has illegal characters.
    #[error("a media section's name is used twice or is not well formed")]
    Mid,
    /// The offer lacks well-formed ICE credentials.
    #[error("the offer has no ice-ufrag and ice-pwd, or they are not well formed")]
    Ice,
    /// The offer lacks a fingerprint by a known hash function.
    #[error(
        "the offer has no fingerprint by sha-256, sha-384 or sha-512, or it is not well formed"
    )]
    Fingerprint,
    /// The peer does not say that a DTLS connection may be opened.
    #[error("the offer must have setup:actpass, setup:active or setup:passive")]
    Setup,
    /// The peer wants RTCP on a separate port.
    #[error("the offer must have rtcp-mux")]
    NoRtcpMux,
    /// The peer wants a separate transport for each section, but all share one.
    #[error(
        "the offer must bundle its sections (a=group:BUNDLE; of webrtcbin bundle-policy=max-bundle)"
    )]
    NoBundle,
}

impl Offer {
    /// Parses an offer.
    pub fn parse(text: &str) -> Result<Self, OfferError> {
        if text.len() > OFFER_LEN_MAX {
            return Err(OfferError::TooLong);
        }
        let session = SessionDescription::unmarshal(&mut Cursor::new(text.as_bytes()))
            .map_err(|_| OfferError::Syntax)?;
        if session.media_descriptions.len() > MEDIA_MAX {
            return Err(OfferError::TooManyMedia);
        }
        let bundle = bundle(&session.attributes);
        let mut media: Vec<Media> = Vec::new();
        let mut transport = None;
        for section in &session.media_descriptions {
            let read = Media::parse(section, &bundle)?;
            let twice = media.iter().any(|other| other.mid == read.mid);
            if twice && !read.mid.is_empty() {
                return Err(OfferError::Mid);
            }
            if read.usable && transport.is_none() {
                transport = Some(Transport::parse(section, &session.attributes)?);
            }
            media.push(read);
        }
        let Transport {
            ice,
            fingerprint,
            setup,
        } = transport.ok_or(OfferError::NoMedia)?;
        let is_used = |media: &&Media| media.usable && media.direction != Direction::Inactive;
        if bundle.is_empty() && media.iter().filter(is_used).count() > 1 {
            return Err(OfferError::NoBundle);
        }
        Ok(Self {
            ice,
            fingerprint,
            setup,
            media,
        })
    }

    /// Returns the usable sections of a kind, each with its index.
    pub fn sections(&self, kind: MediaKind) -> impl Iterator<Item = (usize, &Media)> {
        self.media
            .iter()
            .enumerate()
            .filter(move |(_, media)| media.usable && media.kind == kind)
    }
}

/// Transport parameters that all sections of a bundle share.
struct Transport {
    ice: Credentials,
    fingerprint: Fingerprint,
    setup: Setup,
}

impl Transport {
    /// Reads the parameters from a section, or from the session if the section lacks them.
    fn parse(section: &MediaDescription, session: &[Attribute]) -> Result<Self, OfferError> {
        let either = |key| value(&section.attributes, key).or_else(|| value(session, key));
        let ufrag = either("ice-ufrag").ok_or(OfferError::Ice)?;
        let password = either("ice-pwd").ok_or(OfferError::Ice)?;
        let ice = Credentials::parse(ufrag, password).ok_or(OfferError::Ice)?;
        let setup = match either("setup") {
            None | Some("actpass" | "active") => Setup::Passive,
            Some("passive") => Setup::Active,
            Some(_) => return Err(OfferError::Setup),
        };
        if !has(&section.attributes, "rtcp-mux") && !has(session, "rtcp-mux") {
            return Err(OfferError::NoRtcpMux);
        }
        let fingerprint = fingerprint(&section.attributes)
            .or_else(|| fingerprint(session))
            .ok_or(OfferError::Fingerprint)?;
        Ok(Self {
            ice,
            fingerprint,
            setup,
        })
    }
}

fn bundle(session: &[Attribute]) -> Vec<&str> {
    values(session, "group")
        .filter_map(|value| value.strip_prefix("BUNDLE "))
        .flat_map(str::split_ascii_whitespace)
        .take(MEDIA_MAX)
        .collect()
}

/// Returns the first fingerprint by a known function. All fingerprints describe one certificate.
fn fingerprint(attributes: &[Attribute]) -> Option<Fingerprint> {
    values(attributes, "fingerprint").find_map(|value| value.trim().parse().ok())
}
