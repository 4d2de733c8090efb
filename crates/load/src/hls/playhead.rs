//! Simulated playhead: its start time, and the number and length of its stalls.
//!
//! A player that joins loads everything from its start position to the end, and begins to play the media that is hold-back
//! behind the end. From then on, the playhead advances with the clock, and stands still while nothing is buffered. Spans and
//! times are in nanoseconds.

use super::record::Record;

/// Simulated playhead of a player; report media with [`load`](Self::load).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Playhead {
    state: State,
    /// Duration of media loaded since the start position.
    loaded: u64,
    /// Position of the playhead at `since`, relative to the start position.
    at: u64,
    since: u64,
    /// Duration that must be loaded before the playhead moves.
    needed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The playhead has not moved yet.
    #[default]
    Filling,
    Playing,
    Stalled,
    /// The stream is over.
    Done,
}

impl Playhead {
    /// Creates the playhead of a player that starts `distance` behind the end, and plays `hold_back` behind it.
    pub(super) fn new(distance: u64, hold_back: u64) -> Self {
        let lead = distance.saturating_sub(hold_back);
        Self {
            at: lead,
            needed: lead + hold_back,
            ..Self::default()
        }
    }

    /// Records that `duration` of media was loaded.
    pub(super) fn load(&mut self, duration: u64, now: u64, record: &mut Record) {
        self.settle(now);
        self.loaded += duration;
        let is_enough = self.loaded >= self.needed;
        match self.state {
            State::Filling if is_enough => self.play(now),
            State::Stalled if is_enough => {
                record.stall.record(now.saturating_sub(self.since));
                self.play(now);
            }
            _ => {}
        }
    }

    /// Starts anew, `distance` behind the end, because the buffered media is of no use any more.
    pub(super) fn jump(&mut self, distance: u64, hold_back: u64, now: u64) {
        self.settle(now);
        let (state, since) = match self.state {
            State::Playing => (State::Stalled, now),
            state => (state, self.since),
        };
        *self = Self {
            state,
            since,
            ..Self::new(distance, hold_back)
        };
    }

    /// Ends the playback with the stream or the player. Media left to play does not count as a stall.
    pub(super) fn finish(&mut self, now: u64, record: &mut Record) {
        self.settle(now);
        if self.state == State::Stalled {
            record.stall.record(now.saturating_sub(self.since));
        }
        self.state = State::Done;
    }

    /// Detects that the playhead has reached the end of the loaded media.
    fn settle(&mut self, now: u64) {
        let empty_at = self.since + self.loaded.saturating_sub(self.at);
        if self.state == State::Playing && now > empty_at {
            self.state = State::Stalled;
            self.since = empty_at;
            self.at = self.loaded;
            // Browsers continue with whatever arrives.
            self.needed = self.loaded + 1;
        }
    }

    fn play(&mut self, now: u64) {
        self.state = State::Playing;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_in_time_is_no_stall() {
        let mut record = Record::default();
        let mut playhead = Playhead::new(5, 3);
        (0..5).for_each(|now| playhead.load(1, now, &mut record));
        assert_eq!(playhead.state, State::Playing);
        // Three are buffered at time 4; each following one arrives before they are used up.
        (1..20).for_each(|number| playhead.load(1, 6 + number, &mut record));
        playhead.finish(25, &mut record);
        assert_eq!(record.stall.count(), 0);
    }

    #[test]
    fn an_empty_buffer_is_a_stall_until_more_comes() {
        let mut record = Record::default();
        let mut playhead = Playhead::new(3, 3);
        playhead.load(2, 0, &mut record);
        assert_eq!(playhead.state, State::Filling);
        playhead.load(1, 10, &mut record);
        // Plays from 10 to 13.
        playhead.load(2, 20, &mut record);
        assert_eq!((record.stall.count(), record.stall.max()), (1, 7));
        // Plays from 20 to 22.
        playhead.finish(30, &mut record);
        assert_eq!((record.stall.count(), record.stall.max()), (2, 8));
    }

    #[test]
    fn a_jump_stalls_until_the_new_position_is_loaded() {
        let mut record = Record::default();
        let mut playhead = Playhead::new(3, 3);
        playhead.load(3, 0, &mut record);
        playhead.jump(4, 3, 1);
        playhead.load(3, 2, &mut record);
        assert_eq!(record.stall.count(), 0);
        playhead.load(1, 5, &mut record);
        assert_eq!((record.stall.count(), record.stall.max()), (1, 4));
    }
}
