//! Budget and record of a viewer's retransmissions.

use std::time::Duration;

/// Divisor of the bytes sent to a viewer that gives the bytes that may be retransmitted: 20 %.
const SHARE: u32 = 5;

/// Bytes that may be retransmitted to a viewer that has received nothing yet: one keyframe.
const CREDIT_FIRST_BYTES: u32 = 48 * 1024;

/// Largest credit that a viewer saves up: enough for a burst of losses at a few megabits, and the most that a viewer can have
/// sent to another host's address.
const CREDIT_MAX_BYTES: u32 = 192 * 1024;

/// Round trip assumed for a viewer that has not reported one.
const ROUND_TRIP_FIRST: Duration = Duration::from_millis(50);

/// Lower limit of the round trip: a request and its retransmission may arrive in one batch.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(5);

/// Credit reserved for less frequently retransmitted packets, for each time that a packet was retransmitted before. Some
/// receivers do not recognise retransmissions (pion's requests each packet every 100 ms for seconds), and would spend all
/// credit on copies.
const CREDIT_KEPT_BYTES: u32 = CREDIT_FIRST_BYTES / 4;

/// Limit of the retransmissions of one packet. On a network that loses a tenth of its packets, one in ten thousand lost packets
/// is still missing after this many.
const REPETITIONS_MAX: u8 = 4;

/// Packets whose retransmissions are remembered, by the last bits of their numbers. The size equals the number of packets that
/// pion requests, so that none of them occupies another's slot and is mistaken for one that was never retransmitted.
const MEMORY: usize = 512;

/// Share of retransmitted packets, in percent, which a receiver that does not recognise retransmissions requests again, and the
/// number of packets over which it is measured. A receiver that recognises them requests again only packets that were lost
/// twice.
const OVERLOOKED_MIN: u32 = 75;
const OVERLOOKED_OF: u32 = 16;

/// Bytes that may be retransmitted, in addition to the sends themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit(u32);

impl Default for Credit {
    fn default() -> Self {
        Self(CREDIT_FIRST_BYTES)
    }
}

impl Credit {
    /// Adds a share of media that was sent.
    pub(super) fn earn(&mut self, bytes: usize) {
        let share = (bytes as u32) / SHARE;
        self.0 = self.0.saturating_add(share).min(CREDIT_MAX_BYTES);
    }

    /// Spends the cost of a packet that was retransmitted `times` times before, if the credit suffices.
    pub(super) const fn spend(&mut self, bytes: usize, times: u8) -> bool {
        let kept = CREDIT_KEPT_BYTES * times as u32;
        match self.0.checked_sub(bytes as u32) {
            Some(left) if left >= kept => {
                self.0 = left;
                true
            }
            _ => false,
        }
    }
}

/// Record of one viewer's losses.
#[derive(Debug)]
pub(super) struct Repair {
    round_trip: Option<Duration>,
    /// Packets with the time and number of their retransmissions, indexed by the last bits of their numbers. Allocated with the
    /// first request.
    repeated: Option<Box<[Repeated; MEMORY]>>,
    /// Numbers of the next retransmission packets, for each kind.
    pub(super) rtx: [u64; 2],
    /// Packets lost as of the last report, for each kind.
    lost: [i32; 2],
    /// Recent packets retransmitted as such (RTX), and those of them that were requested again.
    shown: u32,
    asked_again: u32,
    /// Whether the viewer does not recognise retransmissions.
    overlooks: bool,
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    kind: u8,
    times: u8,
    sequence: u16,
    millis: u32,
    /// Whether the packet was sent as a retransmission (RTX) and has not been requested since.
    is_shown: bool,
}

impl Repeated {
    const NEVER: Self = Self {
        kind: u8::MAX,
        times: 0,
        sequence: 0,
        millis: 0,
        is_shown: false,
    };
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            round_trip: None,
            repeated: None,
            rtx: [1; 2],
            lost: [0; 2],
            shown: 0,
            asked_again: 0,
            overlooks: false,
        }
    }
}

impl Repair {
    /// Returns how many times this packet was retransmitted; `None` if it may not be retransmitted now, so soon after the last
    /// time, or at all.
    pub(super) fn times(&mut self, kind: usize, sequence: u16, millis: u32) -> Option<u8> {
        let patience = self.round_trip.unwrap_or(ROUND_TRIP_FIRST);
        let patience = patience.max(ROUND_TRIP_MIN).as_millis() as u32;
        let place = self.place(sequence);
        let last = *place;
        if (last.kind, last.sequence) != (kind as u8, sequence) {
            return Some(0);
        }
        let is_soon = millis.wrapping_sub(last.millis) < patience;
        if is_soon {
            return None;
        }
        place.is_shown = false;
        self.asked_again += u32::from(last.is_shown);
        (last.times < REPETITIONS_MAX).then_some(last.times)
    }

    /// Whether a packet that was retransmitted `times` times before is sent as a retransmission (RTX) rather than as the
    /// original packet. A receiver that requests it again may not have recognised the retransmission (pion's does not) and will
    /// accept the original; but only for a short time, so the next one is a retransmission again. A receiver that never
    /// recognises retransmissions gets the original first, since sending both would take twice the credit.
    pub(super) const fn is_repetition(&self, times: u8) -> bool {
        times.is_multiple_of(2) != self.overlooks
    }

    /// Records a retransmission after `times` earlier ones; `is_shown` if it was sent as such (RTX).
    pub(super) fn repeated(
        &mut self,
        kind: usize,
        sequence: u16,
        millis: u32,
        (times, is_shown): (u8, bool),
    ) {
        let is_shown = is_shown && times == 0;
        *self.place(sequence) = Repeated {
            kind: kind as u8,
            times: times + 1,
            sequence,
            millis,
            is_shown,
        };
        self.shown += u32::from(is_shown);
        if self.shown >= OVERLOOKED_OF {
            self.overlooks |= self.asked_again * 100 >= self.shown * OVERLOOKED_MIN;
            self.shown /= 2;
            self.asked_again /= 2;
        }
    }

    fn place(&mut self, sequence: u16) -> &mut Repeated {
        let memory = self
            .repeated
            .get_or_insert_with(|| Box::new([Repeated::NEVER; MEMORY]));
        &mut memory[usize::from(sequence) % MEMORY]
    }

    /// Records a round trip from a report.
    pub(super) fn went_round(&mut self, took: Duration) {
        let before = self.round_trip.unwrap_or(took);
        self.round_trip = Some((before * 7 + took) / 8);
    }

    /// Records the number of packets lost so far; returns the number of new losses.
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
        assert!(credit.spend(CREDIT_FIRST_BYTES as usize, 0) && !credit.spend(1, 0));
        credit.earn(10_000);
        assert!(!credit.spend(2_001, 0) && credit.spend(2_000, 0));
        for _ in 0..100 {
            credit.earn(1 << 20);
        }
        assert!(credit.spend(CREDIT_MAX_BYTES as usize, 0) && !credit.spend(1, 0));
    }

    #[test]
    fn copies_of_one_packet_leave_the_others_their_share() {
        let mut credit = Credit::default();
        let quarter = CREDIT_FIRST_BYTES as usize / 4;
        assert!(!credit.spend(quarter + 1, 3) && credit.spend(quarter, 3) && !credit.spend(1, 3));
        assert!(!credit.spend(quarter + 1, 2) && credit.spend(quarter, 2) && !credit.spend(1, 2));
        assert!(credit.spend(quarter, 1) && !credit.spend(1, 1));
        assert!(credit.spend(quarter, 0));
    }

    /// Whether a packet is sent again now, for a viewer with credit.
    fn repeats(repair: &mut Repair, kind: usize, sequence: u16, millis: u32) -> bool {
        let times = repair.times(kind, sequence, millis);
        let repeats = times.inspect(|times| {
            let is_shown = repair.is_repetition(*times);
            repair.repeated(kind, sequence, millis, (*times, is_shown));
        });
        repeats.is_some()
    }

    #[test]
    fn repeats_wait_for_a_round_trip() {
        let mut repair = Repair::default();
        assert!(repeats(&mut repair, 1, 7, 100));
        assert!(!repeats(&mut repair, 1, 7, 149));
        assert!(repeats(&mut repair, 0, 8, 149));
        assert!(repeats(&mut repair, 1, 7, 150));
        repair.went_round(Duration::from_millis(10));
        assert!(!repeats(&mut repair, 1, 7, 159) && repeats(&mut repair, 1, 7, 160));
        for _ in 0..102 {
            repair.went_round(Duration::ZERO);
        }
        assert!(!repeats(&mut repair, 1, 7, 164) && repeats(&mut repair, 1, 7, 165));
    }

    #[test]
    fn one_packet_is_sent_again_so_many_times() {
        let mut repair = Repair::default();
        let asked = (0..40).map(|time| 100 * time);
        let sent = asked.filter(|millis| repeats(&mut repair, 1, 7, *millis));
        assert_eq!(sent.count(), usize::from(REPETITIONS_MAX));
        assert_eq!(repair.times(0, 7, 9_999), Some(0), "another packet");
    }

    #[test]
    fn packets_that_are_asked_for_together_have_places_of_their_own() {
        let mut repair = Repair::default();
        // Every eighth packet of pion's window, each 100 ms.
        let mut sent = 0;
        for time in 0..40 {
            for sequence in (0..512).step_by(8) {
                sent += usize::from(repeats(&mut repair, 1, sequence, 100 * time));
            }
        }
        assert_eq!(sent, 64 * usize::from(REPETITIONS_MAX));
    }

    #[test]
    fn who_asks_for_everything_again_is_sent_the_packet_itself_first() {
        for (again, overlooks) in [(10, true), (4, false)] {
            let mut repair = Repair::default();
            assert!(repair.is_repetition(0) && !repair.is_repetition(1));
            for sequence in 0..100_u16 {
                let millis = 100 * u32::from(sequence);
                repeats(&mut repair, 1, sequence, millis);
                // The previous packet, for `again` of ten.
                if sequence > 0 && sequence % 10 < again {
                    repeats(&mut repair, 1, sequence - 1, millis);
                }
            }
            assert_eq!(!repair.is_repetition(0), overlooks, "{again}");
            assert_eq!(repair.is_repetition(1), overlooks, "{again}");
        }
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
