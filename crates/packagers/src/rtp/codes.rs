//! Numbers and names that all viewers of all streams share.
//!
//! Each viewer's session has its own keys, so sources and clock origins that are identical in all sessions reveal nothing; and
//! an answer can name its sources before any lane is open.

use container::rtp::{PayloadFormat, Sequencer};
use media::Kind;

/// Canonical name of all sources we send (RFC 3550 §6.5.1); answers also name it.
pub const CNAME: &str = "carillon";

/// Number of payload formats, which index a lane's tracks.
pub const FORMATS: usize = PayloadFormat::ALL.len();

/// Index of audio in pairs of audio and video.
pub const AUDIO: usize = 0;
/// Index of video in pairs of audio and video.
pub const PICTURE: usize = 1;

/// Base of media sources: `CAR` and the number of the format.
const SSRC: u32 = 0x4341_5200;

/// Base of retransmission sources: `CAR` and the number of the format, plus 128.
const RTX_SSRC: u32 = 0x4341_5280;

/// Value of each RTP clock when its stream begins; not 0, which some receivers interpret as unset.
const CLOCK_ORIGIN: u32 = 0x1000_0000;

/// Returns the source of a format's packets.
pub const fn ssrc(format: PayloadFormat) -> u32 {
    SSRC + format as u32
}

/// Returns the source of a format's retransmissions.
pub const fn rtx_ssrc(format: PayloadFormat) -> u32 {
    RTX_SSRC + format as u32
}

/// Returns a format's clock, and its packets' numbers from the first one on.
pub const fn sequencer(format: PayloadFormat) -> Sequencer {
    Sequencer::new(ssrc(format), 0, CLOCK_ORIGIN, format.clock_rate())
}

/// Returns [`AUDIO`] or [`PICTURE`].
pub const fn place(kind: Kind) -> usize {
    match kind {
        Kind::Audio => AUDIO,
        Kind::Video => PICTURE,
    }
}
