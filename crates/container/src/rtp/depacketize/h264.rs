//! H.264 (RFC 6184 §5), packetization modes 0 and 1.

use media::codec::h264::{AvcConfig, pps_id, sps_id, unit, unit_type};

use super::nal::{Class, Payload, Syntax};
use super::parameter_sets::ParameterSets;

/// Unit types that exist only in packets.
pub(in crate::rtp) const STAP_A: u8 = 24;
pub(in crate::rtp) const FU_A: u8 = 28;

/// Payload type of the SEI message that marks where decoders may start (§D.1.8).
const RECOVERY_POINT: u8 = 6;

#[derive(Debug, Default)]
pub(super) struct H264;

impl Syntax for H264 {
    const HEAD_BYTES: usize = 1;

    fn payload(payload: &[u8]) -> Option<Payload<'_>> {
        let (first, rest) = payload.split_first()?;
        match unit_type(*first) {
            STAP_A => Some(Payload::Shared(rest)),
            FU_A => {
                let (header, piece) = rest.split_first()?;
                Some(Payload::Fragment {
                    head: [first & 0xE0 | unit_type(*header), 0],
                    flags: *header,
                    piece,
                })
            }
            // Interleaving belongs to mode 2; 0, 30 and 31 are undefined.
            0 | 25.. => None,
            _ => Some(Payload::Single),
        }
    }

    fn class(nal: &[u8]) -> Class {
        let set = |id: Option<u32>| {
            id.map_or(Class::Drop, |id| {
                Class::Set(unit_type(nal.first().copied().unwrap_or_default()), id)
            })
        };
        match unit_type(nal.first().copied().unwrap_or_default()) {
            unit::SPS => set(sps_id(nal)),
            unit::PPS => set(pps_id(nal)),
            unit::IDR => Class::KeepKey,
            // Encoders that refresh video piece by piece send no other keyframes.
            unit::SEI if nal.get(1) == Some(&RECOVERY_POINT) => Class::KeepKey,
            0 | unit::DELIMITER | unit::FILLER | STAP_A.. => Class::Drop,
            _ => Class::Keep,
        }
    }

    fn begins_sample(head: [u8; 2], piece: &[u8]) -> bool {
        match unit_type(head[0]) {
            // first_mb_in_slice is 0 when its code is a single one (§7.3.3).
            unit::SLICE | 2 | unit::IDR => piece.first().is_some_and(|byte| byte & 0x80 != 0),
            3 | 4 => false,
            _ => true,
        }
    }

    fn record(sets: &ParameterSets) -> Option<Vec<u8>> {
        AvcConfig::write(&sets.of(unit::SPS), &sets.of(unit::PPS))
    }

    fn dimensions(sets: &ParameterSets) -> Option<(u32, u32)> {
        AvcConfig::parse(&Self::record(sets)?)?.dimensions()
    }
}
