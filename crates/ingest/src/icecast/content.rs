//! Content of a source's body: its container format and the items in it.

use std::time::Duration;

use container::mp3_file::Reservoir;
use container::ogg::Retitler;
use container::{Demuxer, Found, Sniffer};
use media::{Container, Item};

use crate::Error;
use crate::admission::PublishedEpoch;

/// A body from its first byte to its last.
#[derive(Debug)]
pub(crate) struct Content {
    /// Media type that the source declares; empty when it declares none.
    announced: String,
    state: State,
    /// Set for MP3 that follows another publisher's: the first frames of a source joined midway refer to
    /// audio that its listeners do not have.
    reservoir: Option<Reservoir>,
    /// Set for Ogg, which carries its titles inside.
    retitler: Option<Retitler>,
}

#[derive(Debug)]
enum State {
    /// Not identified yet.
    Unknown(Sniffer),
    Known(Demuxer),
}

impl Content {
    pub(crate) fn new(announced: &str) -> Self {
        Self {
            announced: announced.to_owned(),
            state: State::Unknown(Sniffer::new(announced)),
            reservoir: None,
            retitler: None,
        }
    }

    /// Returns the container format, as far as it is known.
    pub(super) const fn container(&self) -> Container {
        match &self.state {
            State::Unknown(_) => Container::Unknown,
            State::Known(demuxer) => demuxer.container(),
        }
    }

    /// Takes `bytes` and appends to `out` the items that they complete. Sets the format of the stream as soon
    /// as it is known.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        epoch: &mut PublishedEpoch,
        out: &mut Vec<Item>,
    ) -> Result<(), Error> {
        let known = out.len();
        match &mut self.state {
            State::Known(demuxer) => demuxer.push(bytes, out),
            State::Unknown(sniffer) => {
                let found = sniffer.push(bytes, out);
                let found = found.map_err(|_| Error::NotMedia(self.announced.clone()))?;
                found.map_or(Ok(()), |found| self.identify(found, epoch))?;
            }
        }
        self.mend(&mut out[known..]);
        self.retitle(known, epoch, out);
        Ok(())
    }

    /// Writes the title that was set beside the stream into the stream.
    fn retitle(&mut self, known: usize, epoch: &PublishedEpoch, out: &mut Vec<Item>) {
        let Some(retitler) = self.retitler.as_mut().filter(|_| known < out.len()) else {
            return;
        };
        for item in out.split_off(known) {
            retitler.push(item, out);
        }
        if let Some(song) = epoch.publisher.exchange_titles(retitler.takes_titles()) {
            retitler.wish(song);
        }
    }

    /// Notes that the latest output reached no listener, so that later frames follow another publisher's.
    pub(super) fn interrupt(&mut self) {
        if self.container() == Container::Mp3 {
            self.reservoir = Some(Reservoir::default());
        }
    }

    /// Silences frames that cannot be decoded after those of another publisher.
    fn mend(&mut self, items: &mut [Item]) {
        let Some(reservoir) = self.reservoir.as_mut().filter(|one| !one.is_audio()) else {
            return;
        };
        for item in items {
            if let Item::Sample(sample) = item {
                sample.data = reservoir.mended(std::mem::take(&mut sample.data));
            }
        }
    }

    /// Ends the body: appends the items that are still usable in the bytes held back.
    pub(super) fn finish(
        &mut self,
        epoch: &mut PublishedEpoch,
        out: &mut Vec<Item>,
    ) -> Result<(), Error> {
        match &mut self.state {
            State::Known(demuxer) => demuxer.finish(out),
            State::Unknown(sniffer) => {
                if let Some(found) = sniffer.finish(out) {
                    self.identify(found, epoch)?;
                }
            }
        }
        Ok(())
    }

    fn identify(&mut self, found: Found, epoch: &mut PublishedEpoch) -> Result<(), Error> {
        epoch.identify(
            found.demuxer.container(),
            &found.media_type,
            &self.announced,
        )?;
        let is_spliced =
            found.demuxer.container() == Container::Mp3 && epoch.publisher.follows_another();
        self.reservoir = is_spliced.then(Reservoir::default);
        let is_ogg = found.demuxer.container() == Container::Ogg;
        self.retitler = is_ogg.then(Retitler::default);
        self.state = State::Known(found.demuxer);
        Ok(())
    }

    /// Returns the number of bytes that were dropped so far.
    pub(super) const fn skipped_bytes(&self) -> u64 {
        match &self.state {
            State::Unknown(_) => 0,
            State::Known(demuxer) => demuxer.skipped_bytes(),
        }
    }

    /// Returns the error of a source whose body has contained no media for `waited`.
    pub(super) fn missing(&self, waited: Duration) -> Error {
        match &self.state {
            State::Unknown(_) => Error::NotMedia(self.announced.clone()),
            State::Known(_) => Error::NoMedia(waited),
        }
    }
}
