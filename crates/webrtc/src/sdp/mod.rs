//! SDP: parser of browsers' offers, and writer of our answers.
//!
//! `rtc-sdp` handles the syntax. This module turns its result into checked types with bounds, decides nothing, and writes
//! answers as text, because an answer is a dozen lines whose order matters to some peers. Everything that is echoed into an
//! answer was checked to be printable and short.
//!
//! An [`Offer`] is parsed once, by the handler of the POST. [`Media::choose`] finds the format for an existing track (WHEP),
//! [`Media::each`] the formats that a publisher may use (WHIP), and [`Answer`] writes the outcome.
//!
//! Sources: RFC 8829 (JSEP), RFC 8839 (ICE), RFC 8122 (fingerprints), RFC 9143 (BUNDLE), RFC 4588 (retransmission), RFC 8842
//! (DTLS), RFC 9725 (WHIP), draft-holmer-rmcat-transport-wide-cc-extensions-01 (feedback about each packet).

mod answer;
mod attributes;
mod codec;
mod fingerprint;
mod fragment;
mod h264;
mod kind;
mod media;
mod offer;
#[cfg(test)]
mod tests;

pub(crate) use answer::{write_format, write_numbers};

pub use answer::{Answer, Candidate, Section};
pub use codec::{Codec, Fit};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use fragment::{Fragment, FragmentError, write_fragment};
pub use h264::{H264Format, H264Profile, ProfileLevelId};
pub use kind::{Direction, MediaKind};
pub use media::{Extension, Feedback, Group, Media, OfferedFormat, TRANSPORT_CC};
pub use offer::{Offer, OfferError, Setup};
