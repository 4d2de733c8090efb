//! Sources of one peer, with the replay window of each.

use super::Error;
use super::window::Window;

/// Largest number of sources of one peer: audio, three sizes of video and their retransmissions, twice over. A browser reports
/// with one or a few.
const SOURCES_MAX: usize = 16;

/// Replay windows of all sources from which an authentic packet arrived.
#[derive(Debug, Default)]
pub(super) struct Sources<const WORDS: usize>(Vec<([u8; 4], Window<WORDS>)>);

impl<const WORDS: usize> Sources<WORDS> {
    /// Checks the index of a packet of the source, which `index` derives from the highest so far, and returns it with the
    /// source's place.
    pub(super) fn check(
        &self,
        ssrc: [u8; 4],
        index: impl FnOnce(Option<u64>) -> Option<u64>,
    ) -> Result<(usize, u64), Error> {
        let known = self.0.iter().position(|(known, _)| *known == ssrc);
        let place = known.unwrap_or(self.0.len());
        if place >= SOURCES_MAX {
            return Err(Error::TooManySources);
        }
        let window = self.0.get(place).map(|(_, window)| window);
        let index = index(window.map(Window::highest)).ok_or(Error::Replayed)?;
        if window.is_some_and(|window| !window.is_new(index)) {
            return Err(Error::Replayed);
        }
        Ok((place, index))
    }

    /// Records an authentic packet of the source at the place that [`Self::check`] returned.
    pub(super) fn note(&mut self, place: usize, ssrc: [u8; 4], index: u64) {
        match self.0.get_mut(place) {
            Some((_, window)) => window.accept(index),
            None => self.0.push((ssrc, Window::starting_at(index))),
        }
    }
}
