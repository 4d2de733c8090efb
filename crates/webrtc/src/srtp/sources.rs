//! The sources of one peer: which of their packets were seen.

use super::Error;
use super::window::Window;

/// Sources one peer may use: sound, three sizes of picture and their retransmissions, twice over.
/// A browser reports with one or a few.
const SOURCES_MAX: usize = 16;

/// A replay window for each source of which a packet was authentic.
#[derive(Debug, Default)]
pub(super) struct Sources<const WORDS: usize>(Vec<([u8; 4], Window<WORDS>)>);

impl<const WORDS: usize> Sources<WORDS> {
    /// Checks the index of a packet of the source, which `index` tells from the highest so far,
    /// and returns it with the source's place.
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

    /// Notes an authentic packet of the source, whose place [`Self::check`] told.
    pub(super) fn note(&mut self, place: usize, ssrc: [u8; 4], index: u64) {
        match self.0.get_mut(place) {
            Some((_, window)) => window.accept(index),
            None => self.0.push((ssrc, Window::starting_at(index))),
        }
    }
}
