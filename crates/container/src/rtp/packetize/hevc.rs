//! HEVC (RFC 7798 §4.4): single units, aggregation packets and fragmentation units.

use bytes::Bytes;
use media::codec::hevc::{HevcConfig, UnitHeader, unit};

use super::super::depacketize::hevc::{AGGREGATION, FRAGMENTATION};
use super::nal::{Class, SET_KINDS, Syntax, class_of_sei};

#[derive(Debug)]
pub(super) struct Hevc;

impl Syntax for Hevc {
    const HEAD_BYTES: usize = 2;
    const FRAGMENT_HEAD_BYTES: usize = 3;

    fn class(nal: &[u8]) -> Class {
        let Some(header) = UnitHeader::parse(nal) else {
            return Class::Drop;
        };
        match header.kind {
            AGGREGATION.. | unit::DELIMITER | unit::FILLER => Class::Drop,
            unit::SEI => class_of_sei(&nal[Self::HEAD_BYTES..]),
            unit::VPS => Class::Set(0),
            unit::SPS => Class::Set(1),
            unit::PPS => Class::Set(2),
            _ if header.is_slice() => Class::Slice {
                is_key: header.is_random_access(),
                is_disposable: header.is_sub_layer_non_reference(),
                layer: header.temporal_plus_1.saturating_sub(1),
            },
            _ => Class::Other,
        }
    }

    fn configuration(record: &[u8]) -> Option<(usize, u8, [Vec<Bytes>; SET_KINDS])> {
        let config = HevcConfig::parse(record)?;
        let sets = [&config.vps, &config.sps, &config.pps].map(|units| {
            units
                .iter()
                .map(|unit| Bytes::copy_from_slice(unit))
                .collect()
        });
        Some((config.length_bytes, config.temporal_layers, sets))
    }

    /// Returns the header of a shared packet, with the lowest layers of all units (§4.4.2).
    fn shared_head(units: &[&[u8]]) -> [u8; 2] {
        let headers = || units.iter().filter_map(|unit| UnitHeader::parse(unit));
        let layer = headers().map(|header| header.layer).min();
        let temporal = headers().map(|header| header.temporal_plus_1).min();
        let layer = layer.unwrap_or_default();
        [
            AGGREGATION << 1 | layer >> 5,
            layer << 3 | temporal.unwrap_or(1),
        ]
    }

    fn fragment_head(nal: &[u8]) -> [u8; 3] {
        let [first, second] = nal.first_chunk().copied().unwrap_or_default();
        let kind = first >> 1 & 0x3F;
        [first & 0x81 | FRAGMENTATION << 1, second, kind]
    }
}
