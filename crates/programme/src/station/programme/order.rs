//! Order in which tracks are played: a turn over all of them, then the next one, if the order repeats.

/// Rule of an order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// As in the folder or the playlist.
    Sequential,
    /// At random; every track once in each turn.
    Shuffle,
}

/// Position in an order. It knows the next track before that is played.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    rule: Rule,
    is_looped: bool,
    /// Tracks still to come in this turn, and perhaps in the next one; the first to come is the last element.
    turn: Vec<usize>,
    tracks: usize,
    random: Random,
}

impl Order {
    /// Makes an order over some tracks, before the first.
    pub(crate) fn new(rule: Rule, is_looped: bool, tracks: usize, seed: u64) -> Self {
        let mut order = Self {
            rule,
            is_looped,
            turn: Vec::new(),
            tracks,
            random: Random(seed),
        };
        order.begin_turn(None);
        order
    }

    /// Replaces the tracks; continues after the one at index `last`, if given.
    pub(crate) fn renew(&mut self, tracks: usize, last: Option<usize>) {
        self.tracks = tracks;
        self.turn.clear();
        self.begin_turn(last);
        if let (Rule::Sequential, Some(last)) = (self.rule, last) {
            self.turn.retain(|at| *at > last);
            self.refill(Some(last));
        }
    }

    /// Returns the place of the next track in the turn, and its number; `None` if there is none. In a shuffled turn it
    /// is the first track for which `is_fit` holds, or if there is none, the one for which `waited` is largest.
    pub(crate) fn choose<T: Ord>(
        &self,
        is_fit: impl Fn(usize) -> bool,
        waited: impl Fn(usize) -> T,
    ) -> Option<(usize, usize)> {
        let all = || self.turn.iter().copied().enumerate().rev();
        match self.rule {
            Rule::Sequential => all().next(),
            Rule::Shuffle => all()
                .find(|(_, track)| is_fit(*track))
                .or_else(|| all().max_by_key(|(_, track)| waited(*track))),
        }
    }

    /// Returns whether there is a next track.
    pub(crate) fn has_next(&self) -> bool {
        !self.turn.is_empty()
    }

    /// Removes the track at a place from the turn.
    pub(crate) fn take(&mut self, place: usize) {
        if place < self.turn.len() {
            let track = self.turn.remove(place);
            self.refill(Some(track));
        }
    }

    /// Adds the next turn when it is needed. For a shuffled order that is while the present turn ends, so that there is
    /// a choice up to its end.
    fn refill(&mut self, last: Option<usize>) {
        let least = match self.rule {
            Rule::Sequential => 1,
            Rule::Shuffle => self.tracks,
        };
        if self.is_looped && self.turn.len() < least {
            self.begin_turn(last);
        }
    }

    /// Appends a turn. `last` is the track that was played last; no track comes twice in a row, if there are others.
    fn begin_turn(&mut self, last: Option<usize>) {
        let mut turn: Vec<_> = (0..self.tracks).rev().collect();
        if self.rule == Rule::Shuffle {
            for at in (1..turn.len()).rev() {
                turn.swap(at, self.random.below(at + 1));
            }
            let before = self.turn.first().copied().or(last);
            if turn.len() > 1 && turn.last().copied() == before {
                let first = turn.len() - 1;
                turn.swap(0, first);
            }
        }
        turn.append(&mut self.turn);
        self.turn = turn;
    }
}

/// SplitMix64: good enough for songs.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(order: &mut Order, count: usize) -> Vec<usize> {
        let next = |_| {
            let (place, track) = order.choose(|_| true, |_| 0)?;
            order.take(place);
            Some(track)
        };
        (0..count).map_while(next).collect()
    }

    #[test]
    fn a_sequence_is_played_again_if_it_is_looped() {
        let mut once = Order::new(Rule::Sequential, false, 3, 0);
        assert_eq!(take(&mut once, 9), [0, 1, 2]);
        let mut ever = Order::new(Rule::Sequential, true, 3, 0);
        assert_eq!(take(&mut ever, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert!(!Order::new(Rule::Sequential, true, 0, 0).has_next());
    }

    #[test]
    fn other_tracks_continue_behind_the_present_one() {
        let mut order = Order::new(Rule::Sequential, true, 3, 0);
        take(&mut order, 1);
        order.renew(5, Some(2));
        assert_eq!(take(&mut order, 3), [3, 4, 0]);
        order.renew(2, Some(1));
        assert_eq!(take(&mut order, 2), [0, 1]);
        order.renew(2, None);
        assert_eq!(take(&mut order, 1), [0]);
        let mut once = Order::new(Rule::Sequential, false, 2, 0);
        once.renew(2, Some(1));
        assert!(!once.has_next());
    }

    #[test]
    fn what_does_not_fit_waits_for_another_time() {
        let mut order = Order::new(Rule::Shuffle, true, 5, 3);
        let (place, track) = order.choose(|track| track == 2, |_| 0).expect("a track");
        assert_eq!(track, 2);
        order.take(place);
        let mut rest = take(&mut order, 4);
        rest.sort_unstable();
        assert_eq!(rest, [0, 1, 3, 4]);
        let longest = order.choose(|_| false, |track| u8::from(track == 4));
        assert_eq!(longest.map(|(_, track)| track), Some(4));
        // A sequence stays in order.
        let order = Order::new(Rule::Sequential, true, 3, 0);
        let first = order.choose(|track| track == 2, |track| track);
        assert_eq!(first.map(|(_, track)| track), Some(0));
    }

    proptest! {
        #[test]
        fn shuffled_turns_hold_every_track_once(tracks in 1_usize..40, seed in any::<u64>()) {
            let mut order = Order::new(Rule::Shuffle, true, tracks, seed);
            let turns = take(&mut order, tracks * 4);
            for turn in turns.chunks(tracks) {
                let mut sorted = turn.to_vec();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..tracks).collect::<Vec<_>>());
            }
            prop_assert!(tracks == 1 || turns.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
