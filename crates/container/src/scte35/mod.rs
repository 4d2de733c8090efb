//! Splice information (ANSI/SCTE 35): parses sections into their instructions, and writes them.
//!
//! ```text
//! FC │ flags:4 length:12 │ version │ encryption:7 adjustment:33 │ cw │ tier:12 length:12 │ command │ descriptors │ CRC
//! ```
//!
//! Two commands are read, the ones that publishers use: `splice_insert` (§9.7.3) and `time_signal` (§9.7.4) with
//! segmentation descriptors (§10.3.3). Others are carried unchanged. The checksum is verified first, and every length
//! is checked against the bytes present.

mod read;
#[cfg(test)]
mod tests;
mod write;

use media::{Cue, CueAction, Span};
use thiserror::Error;

pub use read::{parse, section_of_text};
pub use write::{Insert, event_number, moved, write};

/// Length of the longest section: its length field has twelve bits, of which a private section uses up to 4,093
/// (§9.6.1).
pub const SECTION_BYTES_MAX: usize = 3 + 4_093;

/// Rate of the clock of times and durations, in Hz.
const CLOCK_RATE: u32 = 90_000;

const TABLE_ID: u8 = 0xFC;

/// Reason why bytes are not a section that can be passed on.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Invalid {
    /// The bytes begin like something else.
    #[error("it does not begin with the table id 0xFC of a splice_info_section")]
    Table,
    /// The bytes are fewer or more than the section states.
    #[error("it is not as long as its section_length says")]
    Length,
    /// The bytes were damaged.
    #[error("its CRC_32 is wrong")]
    Checksum,
    /// The version of the protocol is not 0.
    #[error("its protocol_version is not 0")]
    Version,
    /// The command, or a descriptor, ends too early.
    #[error("its command or a descriptor is cut")]
    Cut,
}

/// Instruction of a section.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Command {
    /// `splice_insert`.
    Insert {
        /// Number that identifies the break.
        event: u32,
        /// The break leaves the network; otherwise the network returns.
        is_out: bool,
        /// Time of the splice at 90 kHz; `None` for immediately.
        at: Option<u64>,
        /// Duration of the break, at 90 kHz.
        duration: Option<u64>,
    },
    /// `time_signal`, and the segmentations that it refers to.
    Signal {
        /// Time of the signal at 90 kHz; `None` for immediately.
        at: Option<u64>,
        /// Segmentations, in order.
        segmentations: Vec<Segmentation>,
    },
    /// Another command, or a cancelled or encrypted one.
    Other,
}

/// Segmentation descriptor that is in force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segmentation {
    /// Number that identifies the segment.
    pub event: u32,
    /// Type of what begins or ends (§10.3.3.1, `segmentation_type_id`).
    pub kind: u8,
    /// Duration of the segment, at 90 kHz.
    pub duration: Option<u64>,
}

impl Segmentation {
    /// Returns the meaning of the type for a break: the listed even types begin one, and the odd types after them end
    /// it (§10.3.3.1: breaks, advertisements, placement opportunities, promotions, ad blocks; no overlays).
    fn action(self) -> CueAction {
        match self.kind & !1 {
            0x22 | 0x30..=0x36 | 0x3C | 0x3E | 0x44 | 0x46 if self.kind & 1 == 0 => CueAction::Out,
            0x22 | 0x30..=0x36 | 0x3C | 0x3E | 0x44 | 0x46 => CueAction::In,
            _ => CueAction::Other,
        }
    }
}

impl Command {
    /// Converts the command of `section` to a cue for players. A break without an `id` of its own is named after its
    /// event.
    pub fn into_cue(self, section: bytes::Bytes, id: Option<String>) -> Cue {
        let (event, action, duration) = match self {
            Self::Insert {
                event,
                is_out,
                duration,
                ..
            } => match is_out {
                true => (Some(event), CueAction::Out, duration),
                false => (Some(event), CueAction::In, None),
            },
            Self::Signal { segmentations, .. } => {
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
            Self::Other => (None, CueAction::Other, None),
        };
        let name = || {
            // Without a number, the checksum distinguishes sections.
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
