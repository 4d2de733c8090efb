//! Which layer the stream itself shows.
//!
//! It is the largest. A sender with too little bandwidth pauses that one first, and listeners of the stream itself,
//! who know nothing of renditions, would look at a still picture for as long. So another layer stands in while the
//! stream's own is silent: the largest that sends, from its next keyframe on. The stream's own returns with a keyframe.
//! Renditions never change their layer.

use std::time::{Duration, Instant};

/// A layer that was silent for this long pauses: twice the distance of a browser's pictures of a screen that does not
/// change.
const PAUSED_AFTER: Duration = Duration::from_secs(2);

/// What a layer has at the moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// As an index into the session's tracks.
    pub(super) track: usize,
    pub(super) size: u64,
    /// There is a keyframe in it.
    pub(super) has_keyframe: bool,
}

/// What the stream is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Show {
    /// What this layer has.
    GoOn(usize),
    /// What this layer has from its keyframe on, which another one was shown before.
    Begin(usize),
}

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    own: usize,
    shown: usize,
    /// When the shown layer last had something.
    heard: Instant,
    /// The largest of the others that send: its track, its size, and when it last had something.
    next: Option<(usize, u64, Instant)>,
}

impl Picture {
    /// Of a stream whose own layer is the track `own`.
    pub(super) const fn new(own: usize, now: Instant) -> Self {
        Self {
            own,
            shown: own,
            heard: now,
            next: None,
        }
    }

    /// The stream's own layer.
    pub(super) const fn own(&self) -> usize {
        self.own
    }

    /// From now on the stream's own layer is another one. It is shown from its next keyframe on.
    pub(super) const fn change_own(&mut self, own: usize) {
        self.own = own;
    }

    /// The layer that is shown.
    pub(super) const fn shown(&self) -> usize {
        self.shown
    }

    /// Decides by what the layers have; layers without anything are not among `supplies`. `lacks` is called with a track
    /// that would be shown if it had a keyframe.
    pub(super) fn show(
        &mut self,
        supplies: impl Iterator<Item = Supply> + Clone,
        now: Instant,
        mut lacks: impl FnMut(usize),
    ) -> Show {
        let is = |track: usize| move |supply: &Supply| supply.track == track;
        if supplies.clone().any(|supply| supply.track == self.shown) {
            self.heard = now;
        }
        supplies
            .clone()
            .for_each(|supply| self.remember(supply, now));
        let own = supplies.clone().find(is(self.own));
        let is_paused = now.saturating_duration_since(self.heard) >= PAUSED_AFTER;
        let wanted = match own.filter(|_| self.shown != self.own) {
            Some(own) => Some(own),
            None if is_paused => self.next.and_then(|(next, ..)| {
                let mut supplies = supplies;
                supplies.find(is(next))
            }),
            None => None,
        };
        match wanted {
            Some(Supply {
                track,
                has_keyframe: true,
                ..
            }) => {
                (self.shown, self.heard) = (track, now);
                Show::Begin(track)
            }
            Some(wanted) => {
                lacks(wanted.track);
                Show::GoOn(self.shown)
            }
            None => Show::GoOn(self.shown),
        }
    }

    /// Layers have something at different moments: the largest is known only over some time.
    fn remember(&mut self, supply: Supply, now: Instant) {
        if supply.track == self.shown {
            return;
        }
        let is_next = self.next.is_none_or(|(track, size, heard)| {
            let is_silent = now.saturating_duration_since(heard) >= PAUSED_AFTER;
            track == supply.track || size < supply.size || is_silent
        });
        if is_next {
            self.next = Some((supply.track, supply.size, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What layers 1 to 3, of which 1 is the largest, have: their numbers, negative with a keyframe.
    fn shown(picture: &mut Picture, layers: &[i32], now: Instant) -> (Show, Vec<usize>) {
        let supplies = layers.iter().map(|layer| Supply {
            track: layer.unsigned_abs() as usize,
            size: 100 / u64::from(layer.unsigned_abs()),
            has_keyframe: *layer < 0,
        });
        let mut lacking = Vec::new();
        let show = picture.show(supplies, now, |track| lacking.push(track));
        (show, lacking)
    }

    #[test]
    fn another_layer_stands_in_while_the_stream_s_own_pauses() {
        let start = Instant::now();
        let mut picture = Picture::new(1, start);
        assert_eq!(
            shown(&mut picture, &[1, 2, -3], start),
            (Show::GoOn(1), vec![])
        );
        let soon = start + PAUSED_AFTER / 2;
        assert_eq!(
            shown(&mut picture, &[-2, -3], soon),
            (Show::GoOn(1), vec![])
        );
        let later = start + PAUSED_AFTER;
        assert_eq!(shown(&mut picture, &[], later), (Show::GoOn(1), vec![]));
        assert_eq!(
            shown(&mut picture, &[2, -3], later),
            (Show::GoOn(1), vec![2])
        );
        assert_eq!(
            shown(&mut picture, &[-2, 3], later),
            (Show::Begin(2), vec![])
        );
        assert_eq!(shown(&mut picture, &[2, 3], later), (Show::GoOn(2), vec![]));
        // The stand-in pauses, too.
        let later = later + PAUSED_AFTER;
        assert_eq!(shown(&mut picture, &[-3], later), (Show::Begin(3), vec![]));
        assert_eq!(
            shown(&mut picture, &[-2, 3], later),
            (Show::GoOn(3), vec![])
        );
        // The stream's own comes back.
        assert_eq!(
            shown(&mut picture, &[1, 3], later),
            (Show::GoOn(3), vec![1])
        );
        assert_eq!(
            shown(&mut picture, &[-1, 3], later),
            (Show::Begin(1), vec![])
        );
        assert_eq!(
            shown(&mut picture, &[1, -3], later),
            (Show::GoOn(1), vec![])
        );
    }
}
