//! HEVC (RFC 7798 §4.4) without decoding order numbers.

use media::codec::hevc::{HevcConfig, UnitHeader, parameter_set_id, unit};

use super::nal::{Class, Payload, Syntax};
use super::parameter_sets::ParameterSets;

/// Unit types that exist only in packets.
pub(in crate::rtp) const AGGREGATION: u8 = 48;
pub(in crate::rtp) const FRAGMENTATION: u8 = 49;

#[derive(Debug, Default)]
pub(super) struct Hevc;

impl Syntax for Hevc {
    const HEAD_BYTES: usize = 2;

    fn payload(payload: &[u8]) -> Option<Payload<'_>> {
        let ([first, second], rest) = payload.split_first_chunk()?;
        match first >> 1 & 0x3F {
            AGGREGATION => Some(Payload::Shared(rest)),
            FRAGMENTATION => {
                let (header, piece) = rest.split_first()?;
                Some(Payload::Fragment {
                    head: [first & 0x81 | (header & 0x3F) << 1, *second],
                    flags: *header,
                    piece,
                })
            }
            50.. => None,
            _ => Some(Payload::Single),
        }
    }

    fn class(nal: &[u8]) -> Class {
        let Some(header) = UnitHeader::parse(nal) else {
            return Class::Drop;
        };
        match header.kind {
            unit::VPS..=unit::PPS => {
                parameter_set_id(nal).map_or(Class::Drop, |id| Class::Set(header.kind, id))
            }
            unit::DELIMITER | unit::FILLER | AGGREGATION.. => Class::Drop,
            _ if header.is_random_access() => Class::KeepKey,
            _ => Class::Keep,
        }
    }

    fn begins_sample(head: [u8; 2], piece: &[u8]) -> bool {
        let is_slice = head[0] >> 1 & 0x3F < unit::SLICES_END;
        // first_slice_segment_in_pic_flag (H.265 §7.3.6.1).
        !is_slice || piece.first().is_some_and(|byte| byte & 0x80 != 0)
    }

    fn record(sets: &ParameterSets) -> Option<Vec<u8>> {
        let [vps, sps, pps] = [unit::VPS, unit::SPS, unit::PPS].map(|kind| sets.of(kind));
        HevcConfig::write(&vps, &sps, &pps)
    }

    fn dimensions(sets: &ParameterSets) -> Option<(u32, u32)> {
        HevcConfig::parse(&Self::record(sets)?)?.dimensions()
    }
}
