//! H.264 and HEVC access units in a transport stream: NAL units after start codes, with a delimiter at the beginning of
//! each access unit, and parameter sets in every one at which a decoder may start.

use media::codec::h264::{self, AvcConfig};
use media::codec::hevc::{self, HevcConfig};
use media::codec::nal::{self, Packing, Units};

const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Delimiter after which any kind of slice may follow (ISO/IEC 14496-10 §7.4.2.4).
const H264_DELIMITER: [u8; 3] = [h264::unit::DELIMITER, 0xF0, 0];
const H264_DELIMITER_BYTES: usize = 2;

/// The corresponding delimiter of HEVC (ITU-T H.265 §7.4.3.5), in the lowest temporal sub-layer.
const HEVC_DELIMITER: [u8; 3] = [hevc::unit::DELIMITER << 1, 1, 0x50];

/// Kinds of parameter set, as bits.
const VPS: u8 = 1;
const SPS: u8 = 2;
const PPS: u8 = 4;

/// State of a video track.
#[derive(Debug)]
pub(super) struct Picture {
    syntax: Syntax,
    packing: Packing,
    /// Parameter sets of the record, each after a start code; empty when a kind is missing.
    sets: Vec<u8>,
    /// A frame was written at which a decoder can start. Earlier ones cannot be decoded.
    pub(super) is_open: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    H264,
    Hevc,
}

impl Picture {
    /// Creates the state for a track with this record; without one, samples hold start codes.
    pub(super) fn new(syntax: Syntax, record: &[u8]) -> Self {
        let config = match syntax {
            Syntax::H264 => AvcConfig::parse(record)
                .map(|config| (config.length_bytes, put_sets(&[&config.sps, &config.pps]))),
            Syntax::Hevc => HevcConfig::parse(record).map(|config| {
                let sets = put_sets(&[&config.vps, &config.sps, &config.pps]);
                (config.length_bytes, sets)
            }),
        };
        let (length_bytes, sets) = config.unzip();
        Self {
            syntax,
            packing: length_bytes.map_or(Packing::StartCodes, Packing::Lengths),
            sets: sets.unwrap_or_default(),
            is_open: false,
        }
    }

    /// Reads a sample. `None` when its lengths are wrong, or it holds nothing.
    pub(super) fn access_unit<'a>(
        &'a self,
        sample: &'a [u8],
        keyframe: bool,
    ) -> Option<AccessUnit<'a>> {
        let mut units = nal::units(sample, self.packing);
        let mut seen = Seen::default();
        for unit in units.by_ref() {
            self.syntax.look(unit, &mut seen);
        }
        if seen.unit_bytes == 0 || !units.rest().is_empty() {
            return None;
        }
        let brings_sets = seen.sets == self.syntax.all_sets();
        let is_entry = keyframe && seen.has_slice && (brings_sets || !self.sets.is_empty());
        let sets = if is_entry && !brings_sets {
            &self.sets[..]
        } else {
            &[]
        };
        let own = self.syntax.delimiter(seen.temporal);
        let delimiter_bytes = match seen.delimiter {
            Some(found) => found.len(),
            None => self.syntax.delimiter_bytes(),
        };
        Some(AccessUnit {
            syntax: self.syntax,
            units: nal::units(sample, self.packing),
            sets,
            found: seen.delimiter,
            own,
            bytes: START_CODE.len() + delimiter_bytes + sets.len() + seen.unit_bytes,
            is_entry,
        })
    }
}

impl Syntax {
    const fn all_sets(self) -> u8 {
        match self {
            Self::H264 => SPS | PPS,
            Self::Hevc => VPS | SPS | PPS,
        }
    }

    const fn delimiter_bytes(self) -> usize {
        match self {
            Self::H264 => H264_DELIMITER_BYTES,
            Self::Hevc => HEVC_DELIMITER.len(),
        }
    }

    /// Returns a delimiter, which for H.264 includes a byte that is not part of it. A delimiter of HEVC belongs to the
    /// temporal sub-layer of its frame.
    const fn delimiter(self, temporal: u8) -> [u8; 3] {
        match self {
            Self::H264 => H264_DELIMITER,
            Self::Hevc if temporal == 0 => HEVC_DELIMITER,
            Self::Hevc => [HEVC_DELIMITER[0], temporal, HEVC_DELIMITER[2]],
        }
    }

    fn is_delimiter(self, unit: &[u8]) -> bool {
        let first = unit.first().copied().unwrap_or(0);
        match self {
            Self::H264 => h264::unit_type(first) == h264::unit::DELIMITER,
            Self::Hevc => first >> 1 & 0x3F == hevc::unit::DELIMITER,
        }
    }

    /// Records the kind of `unit`.
    fn look<'a>(self, unit: &'a [u8], seen: &mut Seen<'a>) {
        if self.is_delimiter(unit) {
            seen.delimiter = seen.delimiter.or(Some(unit));
            return;
        }
        seen.unit_bytes += START_CODE.len() + unit.len();
        let first = unit.first().copied().unwrap_or(0);
        match self {
            Self::H264 => match h264::unit_type(first) {
                h264::unit::SLICE..=h264::unit::IDR => seen.has_slice = true,
                h264::unit::SPS => seen.sets |= SPS,
                h264::unit::PPS => seen.sets |= PPS,
                _ => {}
            },
            Self::Hevc => {
                let Some(header) = hevc::UnitHeader::parse(unit) else {
                    return;
                };
                match header.kind {
                    hevc::unit::VPS => seen.sets |= VPS,
                    hevc::unit::SPS => seen.sets |= SPS,
                    hevc::unit::PPS => seen.sets |= PPS,
                    _ if header.is_slice() && !seen.has_slice => {
                        seen.has_slice = true;
                        seen.temporal = header.temporal_plus_1;
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Parts found in a sample.
#[derive(Default)]
struct Seen<'a> {
    /// Bytes of everything but delimiters, with start codes.
    unit_bytes: usize,
    delimiter: Option<&'a [u8]>,
    sets: u8,
    has_slice: bool,
    temporal: u8,
}

/// Complete sample, ready to be written.
#[derive(Debug)]
pub(super) struct AccessUnit<'a> {
    syntax: Syntax,
    units: Units<'a>,
    sets: &'a [u8],
    /// Delimiter in the sample.
    found: Option<&'a [u8]>,
    own: [u8; 3],
    /// Bytes that [`write`](Self::write) emits.
    pub(super) bytes: usize,
    /// A decoder can start here.
    pub(super) is_entry: bool,
}

impl AccessUnit<'_> {
    /// Emits the access unit piece by piece: the delimiter, missing parameter sets, and its units.
    pub(super) fn write(&self, mut emit: impl FnMut(&[u8])) {
        let own = &self.own[..self.syntax.delimiter_bytes()];
        emit(&START_CODE);
        emit(self.found.unwrap_or(own));
        emit(self.sets);
        for unit in self.units.clone() {
            if !self.syntax.is_delimiter(unit) {
                emit(&START_CODE);
                emit(unit);
            }
        }
    }
}

/// Returns the sets of all kinds, in order; empty if a kind has none.
fn put_sets(kinds: &[&[&[u8]]]) -> Vec<u8> {
    if kinds
        .iter()
        .any(|sets| sets.iter().all(|set| set.is_empty()))
    {
        return Vec::new();
    }
    let sets = kinds.iter().copied().flatten();
    let parts = sets.filter(|set| !set.is_empty());
    parts
        .flat_map(|set| [&START_CODE[..], set])
        .collect::<Vec<_>>()
        .concat()
}
