//! Lengths of packets in decoded samples.

use media::codec::{flac, opus};

use super::super::mapping::Mapping;

/// Bits of a mode in Vorbis' setup header, the first of which gives the mode's block size.
const MODE_BITS: usize = 41;

/// Upper bound on the modes of a Vorbis stream.
const MODES_MAX: usize = 64;

/// Counter of the samples of a stream's packets.
#[derive(Clone, Debug)]
pub(in super::super) struct Counter {
    lengths: Lengths,
    /// Samples of the packets that have ended.
    pub(in super::super) samples: u64,
    pub(in super::super) packets: u64,
    /// Length of the packet that has begun and not ended.
    pub(in super::super) open: Option<u64>,
}

impl Counter {
    /// Creates the counter of a stream with these header packets, of which there are two or three; `None` if its
    /// positions cannot be changed, or are not understood.
    pub(in super::super) fn of(mapping: Mapping, headers: &[Vec<u8>]) -> Option<Self> {
        Some(Self {
            lengths: Lengths::of(mapping, headers)?,
            samples: 0,
            packets: 0,
            open: None,
        })
    }

    /// Takes a piece of a packet; `ends` marks the last piece. A packet's first bytes determine its length.
    pub(in super::super) fn take(&mut self, piece: &[u8], ends: bool) {
        let open = self.open.take();
        let length = open.unwrap_or_else(|| self.lengths.of_packet(piece));
        if ends {
            self.samples = self.samples.saturating_add(length);
            self.packets += 1;
        } else {
            self.open = Some(length);
        }
    }
}

/// Data needed to determine the lengths of a stream's packets.
#[derive(Clone, Debug)]
enum Lengths {
    /// Opus packets state their lengths.
    Opus,
    /// FLAC packets state their lengths, too.
    Flac,
    /// A Vorbis packet lasts a quarter of its block plus a quarter of the block before.
    Vorbis {
        blocks: [u32; 2],
        /// Flag of each mode that is true for the larger block.
        modes: Vec<bool>,
        last: Option<u32>,
    },
}

impl Lengths {
    fn of(mapping: Mapping, headers: &[Vec<u8>]) -> Option<Self> {
        match mapping {
            Mapping::Opus { .. } => Some(Self::Opus),
            Mapping::Flac { .. } => Some(Self::Flac),
            Mapping::Vorbis { .. } => {
                let sizes = *headers.first()?.get(28)?;
                let setup = headers
                    .get(2)
                    .filter(|setup| setup.starts_with(b"\x05vorbis"))?;
                Some(Self::Vorbis {
                    blocks: [1 << (sizes & 15), 1 << (sizes >> 4)],
                    modes: modes(setup)?,
                    last: None,
                })
            }
            _ => None,
        }
    }

    /// Returns the samples that a decoder returns for the next packet.
    fn of_packet(&mut self, packet: &[u8]) -> u64 {
        match self {
            Self::Opus => opus::samples(packet).unwrap_or(0),
            Self::Flac => flac::frame_samples(packet).unwrap_or(0).into(),
            Self::Vorbis {
                blocks,
                modes,
                last,
            } => {
                let Some(first) = packet.first().filter(|first| **first & 1 == 0) else {
                    return 0;
                };
                let bits = (modes.len() - 1).checked_ilog2().map_or(0, |log| log + 1);
                let mode = usize::from(first >> 1) & ((1 << bits) - 1);
                let Some(is_long) = modes.get(mode) else {
                    return 0;
                };
                let block = blocks[usize::from(*is_long)];
                let before = last.replace(block);
                before.map_or(0, |before| u64::from(before / 4 + block / 4))
            }
        }
    }
}

/// Reads whether each mode of a Vorbis setup header has the larger block. The modes are at the end, after much other
/// data: they are read backwards, until a count of them precedes them.
fn modes(setup: &[u8]) -> Option<Vec<bool>> {
    let end = setup.len() * 8;
    let bit = |at: usize| setup[at / 8] >> (at % 8) & 1 == 1;
    let number = |at: usize, bits: usize| {
        (0..bits).fold(0_usize, |sum, index| {
            sum | usize::from(bit(at + index)) << index
        })
    };
    // The framing bit is the last one set.
    let framing = (0..end).rev().find(|at| bit(*at))?;
    let mut found = None;
    for count in 1..=MODES_MAX {
        let begin = framing.checked_sub(count * MODE_BITS)?;
        let is_mode = number(begin + 1, 32) == 0 && number(begin + 33, 8) < 64;
        if !is_mode {
            break;
        }
        let before = begin.checked_sub(6)?;
        if number(before, 6) + 1 == count {
            found = Some((begin, count));
        }
    }
    let (begin, count) = found?;
    Some(
        (0..count)
            .map(|mode| bit(begin + mode * MODE_BITS))
            .collect(),
    )
}
