//! Positions of a lane's packets: one ring per format, from which packets are sent and retransmitted.

use std::collections::VecDeque;

use media::Timestamp;

/// Largest number of remembered packets, 24 bytes each: ten seconds at 60 Mb/s. The log's own limits are reached first.
const PACKETS_MAX: usize = 65_536;

/// A packet in the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Packet {
    /// Position of its header in the log.
    pub(super) offset: u64,
    /// Time of its frame.
    pub(super) at: Timestamp,
    /// Length in bytes, including the header.
    pub(super) len: u16,
    /// Whether it is the first of its frame.
    pub(super) begins: bool,
    /// Arrival time of its frame in microseconds after the group's epoch, modulo 2^32.
    pub(super) arrived: u32,
}

/// Packets of one format by their extended sequence numbers, which are contiguous.
#[derive(Debug, Default)]
pub(super) struct Track {
    packets: VecDeque<Packet>,
    /// Number of the first packet in the ring.
    base: u64,
    /// Numbers of the first packet of the newest frame, and of the newest keyframe.
    newest: Option<u64>,
    newest_join: Option<u64>,
}

impl Track {
    /// Adds a packet with this number on the wire; a viewer may start at it if `joins`.
    pub(super) fn push(&mut self, sequence: u16, packet: Packet, joins: bool) {
        let missing = sequence.wrapping_sub(self.end() as u16);
        if missing != 0 {
            // This thread slept through the whole log, or has just started.
            self.base = self.end() + u64::from(missing);
            self.packets.clear();
            self.newest_join = None;
        }
        if packet.begins {
            self.newest = Some(self.end());
        }
        if joins {
            self.newest_join = Some(self.end());
        }
        self.packets.push_back(packet);
        if self.packets.len() > PACKETS_MAX {
            self.pop();
        }
    }

    /// Forgets packets before `offset`, which the log no longer has.
    pub(super) fn forget_before(&mut self, offset: u64) {
        while self
            .packets
            .front()
            .is_some_and(|packet| packet.offset < offset)
        {
            self.pop();
        }
    }

    /// Returns the number of the next packet to come.
    pub(super) fn end(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Packet> {
        let index = sequence.checked_sub(self.base)?;
        self.packets.get(usize::try_from(index).ok()?)
    }

    /// Returns the number of the newest frame's first packet.
    pub(super) fn newest(&self) -> Option<u64> {
        self.newest.filter(|newest| *newest >= self.base)
    }

    /// Returns the number of the newest keyframe's first packet.
    pub(super) fn newest_join(&self) -> Option<u64> {
        self.newest_join.filter(|join| *join >= self.base)
    }

    /// Returns the number after the last known packet of the frame that begins at `first`.
    pub(super) fn frame_end(&self, first: u64) -> u64 {
        let mut end = first + 1;
        while self.get(end).is_some_and(|packet| !packet.begins) {
            end += 1;
        }
        end
    }

    /// Returns the bytes per second of all tracks of the lane while these packets arrived; `None` if that time was too short.
    pub(super) fn lane_rate(&self) -> Option<u32> {
        let (first, last) = (self.packets.front()?, self.packets.back()?);
        let time = (last.at - first.at).seconds();
        let bytes = last.offset.saturating_sub(first.offset) as f64;
        (time >= 1.0).then(|| (bytes / time) as u32)
    }

    fn pop(&mut self) {
        if self.packets.pop_front().is_some() {
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(offset: u64, begins: bool) -> Packet {
        Packet {
            offset,
            at: Timestamp::ZERO,
            len: 100,
            begins,
            arrived: 0,
        }
    }

    #[test]
    fn numbers_are_counted_on_past_sixteen_bits() {
        let mut track = Track::default();
        for number in 65_530..65_546u64 {
            let joins = number == 65_534;
            track.push(number as u16, packet(number * 10, number % 4 == 2), joins);
        }
        assert_eq!((track.base, track.end()), (65_530, 65_546));
        assert_eq!(track.newest(), Some(65_542));
        assert_eq!(track.newest_join(), Some(65_534));
        assert_eq!(track.get(65_540).map(|packet| packet.offset), Some(655_400));
        assert_eq!((track.get(65_529), track.get(65_546)), (None, None));
        track.forget_before(655_350);
        assert_eq!((track.base, track.newest_join()), (65_535, None));
    }

    #[test]
    fn a_gap_begins_anew_with_higher_numbers() {
        let mut track = Track::default();
        track.push(0, packet(0, true), true);
        track.push(1, packet(10, false), false);
        track.push(500, packet(5_000, false), false);
        assert_eq!((track.base, track.end()), (500, 501));
        assert_eq!((track.newest(), track.newest_join()), (None, None));
    }

    #[test]
    fn a_frame_and_a_lane_are_measured() {
        let mut track = Track::default();
        for number in 0..10u64 {
            let mut packet = packet(number * 1_000, number % 4 == 0);
            packet.at = Timestamp::from_millis(number as i64 * 250);
            track.push(number as u16, packet, false);
            let rate = (number >= 4).then_some(4_000);
            assert_eq!(track.lane_rate(), rate, "of {number}");
        }
        assert_eq!([0, 4, 8].map(|first| track.frame_end(first)), [4, 8, 10]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut track = Track::default();
        for number in 0..100_000u64 {
            track.push(number as u16, packet(number, true), false);
        }
        assert_eq!(track.end() - track.base, PACKETS_MAX as u64);
    }
}
