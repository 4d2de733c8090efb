//! Numbers and names that all viewers of all streams share.
//!
//! Each viewer's session has keys of its own, so sources and clock origins that are the same in all of them
//! give nothing away; and an answer can name its sources before any lane is open.

use container::rtp::{PayloadFormat, Sequencer};
use media::Kind;

/// The canonical name of all sources we send (RFC 3550 §6.5.1); an answer names it, too.
pub const CNAME: &str = "carillon";

/// Payload formats, which number a lane's tracks.
pub const FORMATS: usize = PayloadFormat::ALL.len();

/// The index of sound wherever sound and picture stand side by side.
pub const SOUND: usize = 0;
/// The index of the picture.
pub const PICTURE: usize = 1;

/// `CAR` and the number of the format.
const SSRC: u32 = 0x4341_5200;

/// The same for repeated packets.
const RTX_SSRC: u32 = 0x4341_5280;

/// What each RTP clock shows when its stream begins: not 0, which some receivers take for unset.
const CLOCK_ORIGIN: u32 = 0x1000_0000;

/// The source of a format's packets.
pub const fn ssrc(format: PayloadFormat) -> u32 {
    SSRC + format as u32
}

/// The source of a format's repeated packets.
pub const fn rtx_ssrc(format: PayloadFormat) -> u32 {
    RTX_SSRC + format as u32
}

/// A format's clock, and its packets' numbers from the first one on.
pub const fn sequencer(format: PayloadFormat) -> Sequencer {
    Sequencer::new(ssrc(format), 0, CLOCK_ORIGIN, format.clock_rate())
}

/// [`SOUND`] or [`PICTURE`].
pub const fn place(kind: Kind) -> usize {
    match kind {
        Kind::Audio => SOUND,
        Kind::Video => PICTURE,
    }
}
