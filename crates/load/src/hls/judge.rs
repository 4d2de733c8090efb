//! Checks of a player's media: every frame, and the age of each part on arrival.

use super::fragment::Tracks;
use crate::ledger::{Findings, Ledger};

/// Checker of one player.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// Tracks of the current map; `None` for media other than fMP4, whose frames are not checked.
    tracks: Option<Tracks>,
    ledger: Ledger,
    /// Wall clock at which the player connected.
    asked: u64,
    /// Wall clock at which the last part was complete.
    had: Option<u64>,
}

/// Sending and arrival times of a part's frames, wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timing {
    /// Time at which the part's last frame was sent.
    pub(super) sent: Option<u64>,
    /// For the previous part: the time at which the frame that completed it was sent, and its arrival time.
    pub(super) before: Option<(u64, u64)>,
}

impl Judge {
    pub(super) fn new(asked: u64) -> Self {
        Self {
            asked,
            ..Self::default()
        }
    }

    /// Takes the initialization segment of the media that follows.
    pub(super) fn map(&mut self, bytes: &[u8]) {
        self.tracks = Some(Tracks::read(bytes));
    }

    /// Judges a part or a segment that was complete at `now`, wall clock.
    pub(super) fn media(&mut self, bytes: &[u8], now: u64, findings: &mut Findings) -> Timing {
        let Some(tracks) = &self.tracks else {
            return Timing::default();
        };
        let (ledger, asked) = (&mut self.ledger, self.asked);
        let (mut newest, mut oldest) = (None, None);
        let read = tracks.samples(bytes, |kind, sample| {
            let sent = ledger.enter(kind, sample, asked, now, findings);
            newest = newest.max(sent);
            oldest = match (oldest, sent) {
                (Some(oldest), Some(sent)) => Some(u64::min(oldest, sent)),
                (oldest, sent) => oldest.or(sent),
            };
        });
        if read.is_err() {
            findings.counts.damaged += 1;
        }
        let had = self.had.replace(now);
        // If parts were left out, this frame is later than the previous part's arrival.
        let before = oldest.zip(had).filter(|(complete, had)| complete <= had);
        Timing {
            sent: newest,
            before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fragment, map};
    use super::*;

    #[test]
    fn frames_are_followed_over_parts() {
        let mut judge = Judge::new(0);
        let mut findings = Findings::default();
        assert_eq!(
            judge.media(&fragment(7, 0..3, 100), 150, &mut findings),
            Timing::default()
        );
        judge.map(&map());
        let mut media = |numbers, sent| {
            let timing = judge.media(&fragment(7, numbers, sent), 150, &mut findings);
            (timing.sent, timing.before)
        };
        assert_eq!(media(3..6, 100), (Some(100), None));
        assert_eq!(media(6..9, 120), (Some(120), Some((120, 150))));
        // A frame that was sent after the last part arrived did not complete that part.
        assert_eq!(media(9..10, 151), (Some(151), None));
        assert_eq!(media(12..13, 130), (Some(130), Some((130, 150))));
        let counts = &findings.counts;
        assert_eq!((counts.frames, counts.holes, counts.missing), (8, 1, 2));
        assert_eq!(findings.delay.max(), 50);
        let mut cut = fragment(7, 13..14, 140);
        cut.pop();
        judge.media(&cut, 150, &mut findings);
        assert_eq!(findings.counts.damaged, 1);
    }
}
