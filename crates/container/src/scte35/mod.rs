//! Splice information (ANSI/SCTE 35): sections in, what they instruct out, and the other way.
//!
//! ```text
//! FC │ flags:4 length:12 │ version │ encryption:7 adjustment:33 │ cw │ tier:12 length:12 │ command │ descriptors │ CRC
//! ```
//!
//! Two commands are read, those that publishers use: `splice_insert` (§9.7.3) and `time_signal` (§9.7.4) with
//! segmentation descriptors (§10.3.3). Others are carried as they are. Every length is checked against what is
//! there, and the checksum before anything else.

mod read;
#[cfg(test)]
mod tests;
mod write;

use media::{Cue, CueAction, Span};
use thiserror::Error;

pub use read::{parse, section_of_text};
pub use write::{Insert, event_number, moved, write};

/// The longest section: its length field has twelve bits, of which a private section uses up to 4,093 (§9.6.1).
pub const SECTION_BYTES_MAX: usize = 3 + 4_093;

/// The clock of times and durations, in Hz.
const CLOCK_RATE: u32 = 90_000;

const TABLE_ID: u8 = 0xFC;

/// Why bytes are no section that can be passed on.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Invalid {
    /// They begin like something else.
    #[error("it does not begin with the table id 0xFC of a splice_info_section")]
    Table,
    /// They are fewer or more than they say.
    #[error("it is not as long as its section_length says")]
    Length,
    /// They were damaged.
    #[error("its CRC_32 is wrong")]
    Checksum,
    /// The version of the protocol is not 0.
    #[error("its protocol_version is not 0")]
    Version,
    /// The command, or a descriptor, ends too early.
    #[error("its command or a descriptor is cut")]
    Cut,
}

/// A section, as far as it is of interest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Section {
    /// What it instructs.
    pub command: Command,
    /// What is added to every time in it, on a clock of 90 kHz that wraps after 33 bits.
    pub adjustment: u64,
}

/// What a section instructs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Command {
    /// `splice_insert`.
    Insert {
        /// Names the break.
        event: u32,
        /// The network is left; otherwise it is returned to.
        is_out: bool,
        /// When, at 90 kHz; `None` for at once.
        at: Option<u64>,
        /// How long the break lasts, at 90 kHz.
        duration: Option<u64>,
    },
    /// `time_signal`, and the segmentations that it is about.
    Signal {
        /// When, at 90 kHz; `None` for at once.
        at: Option<u64>,
        /// The segmentations, in order.
        segmentations: Vec<Segmentation>,
    },
    /// Another command, a cancelled or an encrypted one.
    Other,
}

/// A segmentation descriptor that is in force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segmentation {
    /// Names the segment.
    pub event: u32,
    /// What begins or ends (§10.3.3.1, `segmentation_type_id`).
    pub kind: u8,
    /// How long the segment lasts, at 90 kHz.
    pub duration: Option<u64>,
}

impl Segmentation {
    /// What its type means for a break: the even types that are listed begin one, the odd ones that follow end it
    /// (§10.3.3.1: breaks, advertisements, placement opportunities, promotions, ad blocks; no overlays).
    fn action(self) -> CueAction {
        match self.kind & !1 {
            0x22 | 0x30..=0x36 | 0x3C | 0x3E | 0x44 | 0x46 if self.kind & 1 == 0 => CueAction::Out,
            0x22 | 0x30..=0x36 | 0x3C | 0x3E | 0x44 | 0x46 => CueAction::In,
            _ => CueAction::Other,
        }
    }
}

impl Section {
    /// What it means for players; `section` is its bytes. A break without an `id` of its own is named by its event.
    pub fn into_cue(self, section: bytes::Bytes, id: Option<String>) -> Cue {
        let (event, action, duration) = match self.command {
            Command::Insert {
                event,
                is_out,
                duration,
                ..
            } => match is_out {
                true => (Some(event), CueAction::Out, duration),
                false => (Some(event), CueAction::In, None),
            },
            Command::Signal { segmentations, .. } => {
                let about_breaks = segmentations
                    .iter()
                    .find(|one| one.action() != CueAction::Other);
                match about_breaks.or_else(|| segmentations.first()) {
                    Some(one) if one.action() == CueAction::Out => {
                        (Some(one.event), CueAction::Out, one.duration)
                    }
                    Some(one) => (Some(one.event), one.action(), None),
                    None => (None, CueAction::Other, None),
                }
            }
            Command::Other => (None, CueAction::Other, None),
        };
        let name = || {
            // Where there is no number, the checksum tells sections apart.
            let checksum = || {
                section
                    .last_chunk()
                    .map_or(0, |sum| u32::from_be_bytes(*sum))
            };
            format!("splice-{:08X}", event.unwrap_or_else(checksum))
        };
        Cue {
            id: id.unwrap_or_else(name),
            action,
            duration: duration.map(|count| Span::from_samples(count, CLOCK_RATE)),
            section,
            began: None,
        }
    }
}
