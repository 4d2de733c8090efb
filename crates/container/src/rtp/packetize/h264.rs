//! H.264 (RFC 6184 §5): single units, STAP-A and FU-A.

use bytes::Bytes;
use media::codec::h264::{AvcConfig, reference_idc, unit, unit_type};

use super::super::depacketize::h264::{FU_A, STAP_A};
use super::nal::{Class, SET_KINDS, Syntax, class_of_sei};

const FORBIDDEN: u8 = 0x80;
const REFERENCE: u8 = 0x60;

#[derive(Debug)]
pub(super) struct H264;

impl Syntax for H264 {
    const HEAD_BYTES: usize = 1;
    const FRAGMENT_HEAD_BYTES: usize = 2;

    fn class(nal: &[u8]) -> Class {
        let first = nal.first().copied().unwrap_or_default();
        match unit_type(first) {
            // Includes types that H.264 leaves unspecified and packets use for themselves.
            0 | STAP_A.. | unit::DELIMITER | unit::FILLER => Class::Drop,
            unit::SEI => class_of_sei(&nal[Self::HEAD_BYTES..]),
            unit::SPS => Class::Set(1),
            unit::PPS => Class::Set(2),
            kind @ unit::SLICE..=unit::IDR => Class::Slice {
                is_key: kind == unit::IDR,
                is_disposable: reference_idc(first) == 0,
                layer: 0,
            },
            _ => Class::Other,
        }
    }

    fn configuration(record: &[u8]) -> Option<(usize, u8, [Vec<Bytes>; SET_KINDS])> {
        let config = AvcConfig::parse(record)?;
        let own = |units: &[&[u8]]| {
            let units = units.iter().filter(|unit| !unit.is_empty());
            units.map(|unit| Bytes::copy_from_slice(unit)).collect()
        };
        let sets = [Vec::new(), own(&config.sps), own(&config.pps)];
        Some((config.length_bytes, 0, sets))
    }

    /// Returns the header of a shared packet: the forbidden bit if any unit has it, and the highest reference (§5.7.1).
    fn shared_head(units: &[&[u8]]) -> [u8; 2] {
        let firsts = || units.iter().filter_map(|unit| unit.first());
        let forbidden = firsts().fold(0, |bits, first| bits | first & FORBIDDEN);
        let reference = firsts().map(|first| first & REFERENCE).max();
        [forbidden | reference.unwrap_or_default() | STAP_A, 0]
    }

    fn fragment_head(nal: &[u8]) -> [u8; 3] {
        let first = nal.first().copied().unwrap_or_default();
        [first & (FORBIDDEN | REFERENCE) | FU_A, unit_type(first), 0]
    }
}
