//! In which order tracks are played: a turn over all of them, and the next one, if there is to be one.

/// What a station's order follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// As in the folder or the playlist.
    Sequential,
    /// At random; every track once in each turn.
    Shuffle,
}

/// A position in an order. It knows the next track before it is played.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    rule: Rule,
    is_looped: bool,
    /// The tracks of this turn that are still to come, the next one last.
    turn: Vec<usize>,
    tracks: usize,
    random: Random,
}

impl Order {
    /// Before the first of some tracks.
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

    /// For other tracks: behind the one that stands at `last` among them, if it does.
    pub(crate) fn renew(&mut self, tracks: usize, last: Option<usize>) {
        self.tracks = tracks;
        self.begin_turn(last);
        if let (Rule::Sequential, Some(last)) = (self.rule, last) {
            self.turn.retain(|at| *at > last);
            self.refill(Some(last));
        }
    }

    /// The number of the next track; `None` when there is none.
    pub(crate) fn peek(&self) -> Option<usize> {
        self.turn.last().copied()
    }

    /// Goes on to the next track.
    pub(crate) fn advance(&mut self) -> Option<usize> {
        let next = self.turn.pop()?;
        self.refill(Some(next));
        Some(next)
    }

    fn refill(&mut self, last: Option<usize>) {
        if self.turn.is_empty() && self.is_looped {
            self.begin_turn(last);
        }
    }

    /// `last` is not the first of a shuffled turn, if there are others.
    fn begin_turn(&mut self, last: Option<usize>) {
        self.turn = (0..self.tracks).rev().collect();
        if self.rule == Rule::Shuffle {
            for at in (1..self.turn.len()).rev() {
                self.turn.swap(at, self.random.below(at + 1));
            }
            if self.turn.len() > 1 && self.peek() == last {
                let first = self.turn.len() - 1;
                self.turn.swap(0, first);
            }
        }
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
        (0..count)
            .map_while(|_| {
                let announced = order.peek();
                let next = order.advance();
                assert_eq!(announced, next);
                next
            })
            .collect()
    }

    #[test]
    fn a_sequence_is_played_again_if_it_is_looped() {
        let mut once = Order::new(Rule::Sequential, false, 3, 0);
        assert_eq!(take(&mut once, 9), [0, 1, 2]);
        let mut ever = Order::new(Rule::Sequential, true, 3, 0);
        assert_eq!(take(&mut ever, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(Order::new(Rule::Sequential, true, 0, 0).peek(), None);
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
        assert_eq!(once.peek(), None);
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
