//! What is sent to a viewer again.

use std::time::Duration;

/// Of what a viewer was sent, one part in this many may be sent again: 20 %.
const SHARE: u32 = 5;

/// What may be sent again to a viewer that has had nothing yet: one keyframe.
const CREDIT_FIRST_BYTES: u32 = 48 * 1024;

/// The most credit a viewer saves up: a burst of losses at a few megabits, and no more than a viewer can have
/// sent to another host's address.
const CREDIT_MAX_BYTES: u32 = 192 * 1024;

/// The round trip of a viewer that has not reported one.
const ROUND_TRIP_FIRST: Duration = Duration::from_millis(50);

/// A shorter round trip counts as this: a request and its repetition may come in one batch.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(5);

/// Packets whose last repetition is remembered.
const MEMORY: usize = 128;

/// Bytes that may be sent again, beyond the sends themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit(u32);

impl Default for Credit {
    fn default() -> Self {
        Self(CREDIT_FIRST_BYTES)
    }
}

impl Credit {
    /// Media was sent.
    pub(super) fn earn(&mut self, bytes: usize) {
        let share = (bytes as u32) / SHARE;
        self.0 = self.0.saturating_add(share).min(CREDIT_MAX_BYTES);
    }

    /// Takes the cost of a packet, if the credit suffices.
    pub(super) const fn spend(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes as u32) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// What is known of one viewer's losses.
#[derive(Debug)]
pub(super) struct Repair {
    round_trip: Option<Duration>,
    /// By the last bits of their numbers, packets and when they were last sent again. Allocated with the
    /// first request.
    repeated: Option<Box<[Repeated; MEMORY]>>,
    /// The numbers of the next repeated packets, for each kind.
    pub(super) rtx: [u64; 2],
    /// Packets lost as of the last report, for each kind.
    lost: [i32; 2],
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    kind: u8,
    sequence: u16,
    millis: u32,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            round_trip: None,
            repeated: None,
            rtx: [1; 2],
            lost: [0; 2],
        }
    }
}

impl Repair {
    /// Whether enough time has passed since this packet was last sent again. If so, it counts as sent again
    /// now.
    pub(super) fn may_repeat(&mut self, kind: usize, sequence: u16, millis: u32) -> bool {
        const NEVER: Repeated = Repeated {
            kind: u8::MAX,
            sequence: 0,
            millis: 0,
        };
        let patience = self.round_trip.unwrap_or(ROUND_TRIP_FIRST);
        let patience = patience.max(ROUND_TRIP_MIN).as_millis() as u32;
        let memory = self
            .repeated
            .get_or_insert_with(|| Box::new([NEVER; MEMORY]));
        let place = &mut memory[usize::from(sequence) % MEMORY];
        let now = Repeated {
            kind: kind as u8,
            sequence,
            millis,
        };
        let is_same = (place.kind, place.sequence) == (now.kind, now.sequence);
        if is_same && millis.wrapping_sub(place.millis) < patience {
            return false;
        }
        *place = now;
        true
    }

    /// Records a round trip from a report.
    pub(super) fn went_round(&mut self, took: Duration) {
        let before = self.round_trip.unwrap_or(took);
        self.round_trip = Some((before * 7 + took) / 8);
    }

    /// Records the number of packets lost so far. Returns how many are new.
    pub(super) fn lost(&mut self, kind: usize, lost: i32) -> u64 {
        let before = std::mem::replace(&mut self.lost[kind], lost);
        u64::try_from(i64::from(lost) - i64::from(before)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_what_was_sent_may_be_sent_again() {
        let mut credit = Credit::default();
        assert!(credit.spend(CREDIT_FIRST_BYTES as usize) && !credit.spend(1));
        credit.earn(10_000);
        assert!(!credit.spend(2_001) && credit.spend(2_000));
        for _ in 0..100 {
            credit.earn(1 << 20);
        }
        assert!(credit.spend(CREDIT_MAX_BYTES as usize) && !credit.spend(1));
    }

    #[test]
    fn repeats_wait_for_a_round_trip() {
        let mut repair = Repair::default();
        assert!(repair.may_repeat(1, 7, 100));
        assert!(!repair.may_repeat(1, 7, 149));
        assert!(repair.may_repeat(0, 8, 149));
        assert!(repair.may_repeat(1, 7, 150));
        repair.went_round(Duration::from_millis(10));
        assert!(!repair.may_repeat(1, 7, 159) && repair.may_repeat(1, 7, 160));
        repair.went_round(Duration::ZERO);
        repair.went_round(Duration::ZERO);
        for _ in 0..100 {
            repair.went_round(Duration::ZERO);
        }
        assert!(!repair.may_repeat(1, 7, 164) && repair.may_repeat(1, 7, 165));
    }

    #[test]
    fn losses_are_counted_once() {
        let mut repair = Repair::default();
        assert_eq!(repair.lost(1, 5), 5);
        assert_eq!(repair.lost(1, 3), 0, "repaired");
        assert_eq!(repair.lost(1, 8), 5);
        assert_eq!(repair.lost(0, i32::MIN), 0);
        assert_eq!(repair.lost(0, i32::MAX), u64::from(u32::MAX));
    }
}
