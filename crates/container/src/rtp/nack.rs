//! Generic negative acknowledgements (RFC 4585 §6.2.1).

/// Packets that one entry can request.
const SPAN: i64 = 17;

/// Entry of a retransmission request: a lost packet, and a mask of the 16 after it that are lost too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Nack {
    /// Sequence number of the first lost packet.
    pub packet_id: u16,
    /// Bit mask: bit `n` is set when packet `packet_id + n + 1` is lost too.
    pub lost_after: u16,
}

impl Nack {
    /// Encodes the entry.
    pub fn to_bytes(self) -> [u8; 4] {
        let [a, b] = self.packet_id.to_be_bytes();
        let [c, d] = self.lost_after.to_be_bytes();
        [a, b, c, d]
    }

    /// Decodes an entry.
    pub fn from_bytes(bytes: [u8; 4]) -> Self {
        let [a, b, c, d] = bytes;
        Self {
            packet_id: u16::from_be_bytes([a, b]),
            lost_after: u16::from_be_bytes([c, d]),
        }
    }

    /// Returns the requested packets, in order.
    pub fn packets(self) -> impl Iterator<Item = u16> {
        let after = (0..16u16).filter(move |bit| self.lost_after >> bit & 1 == 1);
        let after = after.map(move |bit| self.packet_id.wrapping_add(bit + 1));
        std::iter::once(self.packet_id).chain(after)
    }
}

/// Packs lost packets, ascending and unwrapped, into as few entries as possible.
pub fn nacks(lost: impl IntoIterator<Item = i64>) -> impl Iterator<Item = Nack> {
    let mut lost = lost.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = lost.next()?;
        let mut lost_after = 0;
        while let Some(next) = lost.next_if(|next| (first..first + SPAN).contains(next)) {
            if next > first {
                lost_after |= 1 << (next - first - 1);
            }
        }
        Some(Nack {
            packet_id: first as u16,
            lost_after,
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_reach_seventeen_packets() {
        let entries: Vec<_> = nacks([65_535, 65_536, 65_551, 65_552]).collect();
        let wanted = [
            Nack {
                packet_id: 65_535,
                lost_after: 0x8001,
            },
            Nack {
                packet_id: 16,
                lost_after: 0,
            },
        ];
        assert_eq!(entries, wanted);
        assert_eq!(wanted[0].packets().collect::<Vec<_>>(), [65_535, 0, 15]);
    }

    proptest! {
        #[test]
        fn all_that_is_lost_is_asked_for(lost in proptest::collection::btree_set(0..200_000i64, 0..200)) {
            let entries: Vec<_> = nacks(lost.iter().copied()).collect();
            let asked: Vec<_> = entries.iter().flat_map(|entry| entry.packets()).collect();
            let wanted: Vec<_> = lost.iter().map(|number| *number as u16).collect();
            prop_assert_eq!(asked, wanted);
            for entry in entries {
                prop_assert_eq!(Nack::from_bytes(entry.to_bytes()), entry);
            }
        }
    }
}
