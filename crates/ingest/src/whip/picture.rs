//! Selection of the layer that the stream itself shows.
//!
//! It is the largest. A sender with too little bandwidth pauses the largest layer first, and listeners of the
//! stream itself, which know nothing of renditions, would see a frozen frame for as long. So another layer
//! stands in while the stream's own is silent: the largest that sends, from its next keyframe on. The
//! stream's own returns with a keyframe. Renditions never change their layer.

use std::time::{Duration, Instant};

/// Silence after which a layer counts as paused: twice the interval of a browser's frames of a screen that
/// does not change.
const PAUSED_AFTER: Duration = Duration::from_secs(2);

/// Items that a layer has at the moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// Index into the session's tracks.
    pub(super) track: usize,
    pub(super) size: u64,
    /// Whether a keyframe is among them.
    pub(super) has_keyframe: bool,
}

/// Decision on the items that the stream receives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Show {
    /// The items of this layer.
    GoOn(usize),
    /// The items of this layer from its keyframe on; another layer was shown before.
    Begin(usize),
}

/// Selection of a stream's shown layer; call [`show`](Self::show) for each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    /// Stream's own layer. A new one is shown from its next keyframe on.
    pub(super) own: usize,
    /// Layer that is shown.
    pub(super) shown: usize,
    /// Time at which the shown layer last had items.
    heard: Instant,
    /// Largest of the other layers that send: its track, its size, and the time at which it last had items.
    next: Option<(usize, u64, Instant)>,
}

impl Picture {
    /// Creates the selection for a stream whose own layer is the track `own`.
    pub(super) const fn new(own: usize, now: Instant) -> Self {
        Self {
            own,
            shown: own,
            heard: now,
            next: None,
        }
    }

    /// Decides by the items that the layers have; layers without any are not among `supplies`. `lacks` is
    /// called with a track that would be shown if it had a keyframe.
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

    /// Remembers the largest other layer over some time, because layers have items at different moments.
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

    /// Returns the decision for the items of layers 1 to 3, of which 1 is the largest: their numbers,
    /// negative with a keyframe.
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
        use Show::{Begin, GoOn};
        let start = Instant::now();
        let mut picture = Picture::new(1, start);
        // In halves of the time after which a layer pauses.
        for (at, layers, show, lacking) in [
            (0, &[1, 2, -3][..], GoOn(1), None),
            (1, &[-2, -3], GoOn(1), None),
            (2, &[], GoOn(1), None),
            (2, &[2, -3], GoOn(1), Some(2)),
            (2, &[-2, 3], Begin(2), None),
            (2, &[2, 3], GoOn(2), None),
            // The stand-in pauses, too.
            (4, &[-3], Begin(3), None),
            (4, &[-2, 3], GoOn(3), None),
            // The stream's own comes back.
            (4, &[1, 3], GoOn(3), Some(1)),
            (4, &[-1, 3], Begin(1), None),
            (4, &[1, -3], GoOn(1), None),
        ] {
            let now = start + PAUSED_AFTER / 2 * at;
            let expected = (show, Vec::from_iter(lacking));
            assert_eq!(shown(&mut picture, layers, now), expected, "{layers:?}");
        }
    }
}
