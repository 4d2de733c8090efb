//! Subject of a completion, packed into the 64 bits that the kernel returns with it.

use crate::Slot;

/// Name of a socket in completions: its [`Slot`], with as many bits of the reuse count as fit. A completion
/// of a closed socket is recognised, unless its index has been reused 2^28 times between the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Name {
    pub(super) index: u32,
    reuse: u32,
}

impl Name {
    /// Whether the completion is about the socket in this slot, and no earlier one.
    pub(super) fn is(self, slot: Slot) -> bool {
        self == Self::from(slot)
    }
}

impl From<Slot> for Name {
    fn from(slot: Slot) -> Self {
        Self {
            index: slot.index,
            reuse: slot.reuse & REUSE_MAX,
        }
    }
}

/// Subject of a completion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Token {
    /// An operation that the caller waits for, by its position among those waited for.
    Job(u32),
    /// The watch for input and hang-up of a socket.
    Input(Name),
    /// The watch for room in a full socket.
    Room(Name),
    /// The place of a closed socket in the table of descriptors.
    Vacated(u32),
    /// The watch over the waker.
    Waker,
    /// The watch over a further descriptor that ends a receiver's sleep.
    Another,
    /// The watch over another ring.
    Ring(u32),
    /// The end of a watch that was called off.
    CalledOff,
}

const KIND_SHIFT: u32 = 60;
const REUSE_SHIFT: u32 = 32;
const REUSE_MAX: u32 = (1 << (KIND_SHIFT - REUSE_SHIFT)) - 1;

impl Token {
    pub(super) fn pack(self) -> u64 {
        let (kind, name) = match self {
            Self::Job(position) => (0, Name::bare(position)),
            Self::Input(name) => (1, name),
            Self::Room(name) => (2, name),
            Self::Vacated(place) => (3, Name::bare(place)),
            Self::Waker => (4, Name::bare(0)),
            Self::Ring(number) => (5, Name::bare(number)),
            Self::CalledOff => (6, Name::bare(0)),
            Self::Another => (7, Name::bare(0)),
        };
        kind << KIND_SHIFT | u64::from(name.reuse) << REUSE_SHIFT | u64::from(name.index)
    }

    pub(super) fn unpack(bits: u64) -> Self {
        let name = Name {
            index: bits as u32,
            reuse: (bits >> REUSE_SHIFT) as u32 & REUSE_MAX,
        };
        match bits >> KIND_SHIFT {
            0 => Self::Job(name.index),
            1 => Self::Input(name),
            2 => Self::Room(name),
            3 => Self::Vacated(name.index),
            4 => Self::Waker,
            5 => Self::Ring(name.index),
            7 => Self::Another,
            _ => Self::CalledOff,
        }
    }
}

impl Name {
    fn bare(index: u32) -> Self {
        Self { index, reuse: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_kernel_and_a_reused_index_is_another_socket() {
        let slot = Slot {
            index: u32::MAX,
            reuse: u32::MAX,
        };
        let name = Name::from(slot);
        let tokens = [
            Token::Job(31),
            Token::Input(name),
            Token::Room(name),
            Token::Vacated(7),
            Token::Waker,
            Token::Ring(3),
            Token::CalledOff,
            Token::Another,
        ];
        for token in tokens {
            assert_eq!(Token::unpack(token.pack()), token);
        }
        assert!(name.is(slot));
        let later = Slot { reuse: 0, ..slot };
        assert!(!name.is(later));
    }
}
