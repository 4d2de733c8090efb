//! The media of a player that is checked: every frame, and how old a part is when it is there.

use super::fragment::Tracks;
use crate::ledger::{Findings, Ledger};

/// Follows one player.
#[derive(Debug)]
pub(super) struct Judge {
    /// Of the map in force; none for media that is no fMP4, whose frames are not looked at.
    tracks: Option<Tracks>,
    ledger: Ledger,
    /// Wall clock when the player connected.
    asked: u64,
}

impl Judge {
    pub(super) fn new(asked: u64) -> Self {
        Self {
            tracks: None,
            ledger: Ledger::default(),
            asked,
        }
    }

    /// What describes the media that follows.
    pub(super) fn map(&mut self, bytes: &[u8]) {
        self.tracks = Some(Tracks::read(bytes));
    }

    /// A part or a segment that was complete at `now`, wall clock. Returns when its last synthetic frame was sent.
    pub(super) fn media(&mut self, bytes: &[u8], now: u64, findings: &mut Findings) -> Option<u64> {
        let tracks = self.tracks.as_ref()?;
        let (ledger, asked) = (&mut self.ledger, self.asked);
        let mut newest = None;
        let read = tracks.samples(bytes, |kind, sample| {
            let sent = ledger.enter(kind, sample, asked, now, findings);
            newest = newest.max(sent);
        });
        if read.is_err() {
            findings.damaged += 1;
        }
        newest
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
            None
        );
        judge.map(&map());
        let mut media =
            |numbers, sent| judge.media(&fragment(7, numbers, sent), 150, &mut findings);
        assert_eq!(media(3..6, 100), Some(100));
        assert_eq!(media(6..9, 120), Some(120));
        assert_eq!(media(11..12, 130), Some(130));
        assert_eq!(
            (findings.frames, findings.holes, findings.missing),
            (7, 1, 2)
        );
        assert_eq!(findings.delay.max(), 50);
        let mut cut = fragment(7, 12..13, 140);
        cut.pop();
        judge.media(&cut, 150, &mut findings);
        assert_eq!(findings.damaged, 1);
    }
}
