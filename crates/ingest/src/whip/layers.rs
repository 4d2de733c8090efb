//! Assignment of a simulcast section's packets to layers.
//!
//! ```text
//!  rid ─► layer ◄─ source of media ◄─ a packet that names its layer (RFC 8852: rtp-stream-id)
//!               ◄─ source of repetitions ◄─ repaired-rtp-stream-id, or the offer's groups
//! ```
//!
//! Senders name a layer in its first packets only, until a report from this server has acknowledged one, so
//! each layer remembers its sources: one of media and one of repetitions. Packets of a source that no packet
//! has named yet are dropped: the next ones will name it, and the layer's first frame begins with a keyframe
//! either way.
//!
//! Bounds: as many sources as twice the accepted layers, whatever packets claim.

use std::time::{Duration, Instant};

use container::rtp::Packet;
use webrtc::sdp::Group;

use super::agree::{Chosen, Layers};

/// Silence of a layer's source after which the layer may get another one. Packets of the former source may
/// arrive late, and would otherwise take the layer back.
const REPLACED_AFTER: Duration = Duration::from_millis(1_000);

/// Sources of a simulcast section's layers; ask it for the layer of each packet.
#[derive(Debug)]
pub(super) struct LayerMap {
    agreed: Layers,
    groups: Vec<Group>,
    /// Sources of the layers, in the order of the agreed names.
    sources: Vec<Sources>,
}

/// Sources of one layer, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
struct Sources {
    media: Option<u32>,
    /// Time at which media last arrived.
    heard: Option<Instant>,
    repeats: Option<u32>,
}

impl LayerMap {
    /// Creates the map of a section; `None` if the section has no simulcast.
    pub(super) fn of(chosen: &Chosen) -> Option<Self> {
        let agreed = chosen.layers.clone();
        if agreed.names.is_empty() {
            return None;
        }
        Some(Self {
            sources: vec![Sources::default(); agreed.names.len()],
            groups: chosen.groups.clone(),
            agreed,
        })
    }

    /// Returns the layer of a media packet, as an index into the agreed names; `None` if that is not known,
    /// or the packet names another section.
    pub(super) fn of_media(&mut self, packet: &Packet<'_>, now: Instant) -> Option<usize> {
        if !self.is_of_section(packet) {
            return None;
        }
        let ssrc = packet.header.ssrc;
        let known = self.sources.iter().position(|of| of.media == Some(ssrc));
        let named = self.named(packet, self.agreed.extension);
        let layer = match (known, named) {
            (Some(known), named) if named.is_none_or(|named| named == known) => known,
            (_, Some(named)) => {
                if !self.sources[named].is_vacant(now) {
                    return None;
                }
                self.leave(ssrc);
                self.sources[named] = Sources {
                    media: Some(ssrc),
                    ..Sources::default()
                };
                named
            }
            (_, None) => return None,
        };
        self.sources[layer].heard = Some(now);
        Some(layer)
    }

    /// Returns the layer of a repeated packet. If the packet does not name it, the offer may.
    pub(super) fn of_repetition(&mut self, packet: &Packet<'_>) -> Option<usize> {
        if !self.is_of_section(packet) {
            return None;
        }
        let ssrc = packet.header.ssrc;
        if let Some(named) = self.named(packet, self.agreed.repeated_extension) {
            self.sources[named].repeats = Some(ssrc);
            return Some(named);
        }
        let known = self.sources.iter().position(|of| of.repeats == Some(ssrc));
        known.or_else(|| {
            let group = self.groups.iter().find(|group| group.rtx == ssrc)?;
            let media = Some(group.media);
            self.sources.iter().position(|of| of.media == media)
        })
    }

    /// Handles the goodbye of a source.
    pub(super) fn leave(&mut self, ssrc: u32) {
        for of in &mut self.sources {
            if of.media == Some(ssrc) {
                *of = Sources::default();
            }
        }
    }

    /// Whether the packet belongs to this section, as far as it names one (RFC 9143 §9.2).
    fn is_of_section(&self, packet: &Packet<'_>) -> bool {
        let mid = self.agreed.mid_extension;
        let mid = mid.and_then(|id| packet.element(id));
        mid.is_none_or(|mid| mid == self.agreed.mid.as_bytes())
    }

    fn named(&self, packet: &Packet<'_>, extension: Option<u8>) -> Option<usize> {
        let name = packet.element(extension?)?;
        let mut names = self.agreed.names.iter();
        names.position(|known| known.as_bytes() == name)
    }
}

impl Sources {
    /// Whether another source may have the layer.
    fn is_vacant(&self, now: Instant) -> bool {
        self.heard
            .is_none_or(|heard| now.saturating_duration_since(heard) >= REPLACED_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use container::rtp::{Header, PayloadFormat};
    use proptest::prelude::*;

    use super::super::tests::offers::{agreed, picture};
    use super::*;

    const MID: u8 = 4;
    const RID: u8 = 10;
    const REPAIRED: u8 = 11;

    /// The map of a section with three layers, whose name is 0.
    fn map(more: &str) -> LayerMap {
        let lines = format!(
            "a=extmap:{MID} urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
             a=extmap:{RID} urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
             a=extmap:{REPAIRED} urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\n\
             a=rid:h send\r\na=rid:m send\r\na=rid:l send\r\na=simulcast:send h;m;l\r\n{more}"
        );
        let agreed = agreed(&[picture(PayloadFormat::Vp8, &lines)]).expect("usable");
        LayerMap::of(agreed.chosen().next().expect("a section")).expect("it has layers")
    }

    /// Returns a packet of a source with these elements in its header.
    fn packet(ssrc: u32, elements: &[(u8, &str)]) -> Vec<u8> {
        let header = Header {
            ssrc,
            ..Header::default()
        };
        let mut bytes = header.to_bytes().to_vec();
        let mut extension = Vec::new();
        for (id, value) in elements {
            extension.push(id << 4 | (value.len() as u8 - 1));
            extension.extend(value.bytes());
        }
        extension.resize(extension.len().next_multiple_of(4), 0);
        bytes[0] |= 0x10;
        bytes.extend([0xBE, 0xDE, 0, (extension.len() / 4) as u8]);
        bytes.extend(extension);
        bytes.push(7);
        bytes
    }

    type Elements<'a> = &'a [(u8, &'a str)];

    fn media(map: &mut LayerMap, ssrc: u32, elements: Elements<'_>, now: Instant) -> Option<usize> {
        let bytes = packet(ssrc, elements);
        map.of_media(&Packet::parse(&bytes).expect("a packet"), now)
    }

    fn repetition(map: &mut LayerMap, ssrc: u32, elements: Elements<'_>) -> Option<usize> {
        map.of_repetition(&Packet::parse(&packet(ssrc, elements)).expect("a packet"))
    }

    #[test]
    fn a_source_is_known_from_the_first_packet_that_names_its_layer() {
        let (mut map, now) = (map(""), Instant::now());
        for (step, ssrc, elements, layer) in [
            ("it has not said", 1, &[][..], None),
            ("it says", 1, &[(RID, "m"), (MID, "0")], Some(1)),
            ("it has said", 1, &[], Some(1)),
            ("another", 2, &[(RID, "h")], Some(0)),
            ("no such layer", 3, &[(RID, "x")], None),
            ("no such section", 3, &[(RID, "l"), (MID, "9")], None),
            ("at last", 3, &[(RID, "l")], Some(2)),
        ] {
            assert_eq!(media(&mut map, ssrc, elements, now), layer, "{step}");
        }
    }

    #[test]
    fn repetitions_find_their_layer_by_name_or_by_the_offer() {
        let (mut map, now) = (map("a=ssrc-group:FID 2 22\r\n"), Instant::now());
        for (step, ssrc, elements, layer) in [
            ("nothing is known", 11, &[][..], None),
            ("that names media", 11, &[(RID, "h")], None),
            ("it says", 11, &[(REPAIRED, "l")], Some(2)),
            ("it has said", 11, &[], Some(2)),
            ("its media is unknown", 22, &[], None),
        ] {
            assert_eq!(repetition(&mut map, ssrc, elements), layer, "{step}");
        }
        media(&mut map, 2, &[(RID, "h")], now);
        assert_eq!(repetition(&mut map, 22, &[]), Some(0));
    }

    #[test]
    fn a_late_packet_of_a_former_source_does_not_take_its_layer_back() {
        let (mut map, start) = (map(""), Instant::now());
        let named: &[(u8, &str)] = &[(RID, "h")];
        assert_eq!(media(&mut map, 1, named, start), Some(0));
        let soon = start + REPLACED_AFTER / 2;
        let got = media(&mut map, 2, named, soon);
        assert_eq!(got, None, "the first still sends");
        let later = start + REPLACED_AFTER;
        assert_eq!(media(&mut map, 2, named, later), Some(0));
        assert_eq!(media(&mut map, 1, named, later), None);
        assert_eq!(media(&mut map, 1, &[], later), None);
        // A source that says goodbye makes room at once, and may become another layer's.
        map.leave(2);
        assert_eq!(media(&mut map, 1, named, later), Some(0));
        assert_eq!(media(&mut map, 1, &[(RID, "l")], later), Some(2));
        assert_eq!(media(&mut map, 3, named, later), Some(0));
    }

    proptest! {
        /// Whatever packets claim, no source has two layers.
        #[test]
        fn a_source_has_one_layer(claims in proptest::collection::vec((0u32..6, 0usize..4, 0u64..900), 0..60)) {
            let (mut map, mut now) = (map(""), Instant::now());
            for (ssrc, name, passed) in claims {
                now += Duration::from_millis(passed);
                let named = ["h", "m", "l"].get(name).map(|name| (RID, *name));
                let elements: Vec<_> = named.into_iter().collect();
                let layer = media(&mut map, ssrc, &elements, now);
                prop_assert!(layer.is_none() || named.is_none() || layer == Some(name));
                for ssrc in 0..6 {
                    let of = map.sources.iter().filter(|of| of.media == Some(ssrc));
                    prop_assert!(of.count() <= 1);
                }
            }
        }
    }
}
