//! What a reader of items has missed that was too slow: the samples are counted, and what was announced among them is
//! told again.

use std::sync::Arc;

use bytes::Bytes;
use media::{Item, Script, Timestamp, Title, Track};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Missed {
    pub(super) samples: u64,
    /// The first of them.
    pub(super) from: Option<Timestamp>,
    /// Another epoch began.
    epoch: bool,
    tracks: Vec<Arc<Track>>,
    header: Option<Bytes>,
    metadata: Option<Script>,
    title: Option<Arc<Title>>,
}

impl Missed {
    /// Adds what is dropped.
    pub(super) fn note(&mut self, item: Item) {
        match item {
            Item::Epoch => {
                *self = Self {
                    samples: self.samples,
                    from: self.from,
                    epoch: true,
                    ..Self::default()
                }
            }
            Item::Track(track) => {
                // In the order of their announcements; at most as many as there are numbers.
                match self.tracks.iter_mut().find(|known| known.id == track.id) {
                    Some(known) => *known = track,
                    None => self.tracks.push(track),
                }
            }
            Item::Header(header) => self.header = Some(header),
            Item::Metadata(script) => self.metadata = Some(script),
            Item::Title(title) => self.title = Some(title),
            // Skipped over, and read.
            Item::Script(_) | Item::Event(_) => {}
            Item::Sample(sample) => {
                self.samples += 1;
                self.from.get_or_insert(sample.dts);
            }
        }
    }

    /// What is to be repeated, in reverse order.
    pub(super) fn into_items_last_first(self) -> impl Iterator<Item = Item> {
        let tracks = self.tracks.into_iter().rev().map(Item::Track);
        self.title
            .map(Item::Title)
            .into_iter()
            .chain(self.metadata.map(Item::Metadata))
            .chain(self.header.map(Item::Header))
            .chain(tracks)
            .chain(self.epoch.then_some(Item::Epoch))
    }
}

/// Bytes that an item keeps in memory, beyond itself.
pub(super) fn weight(item: &Item) -> usize {
    match item {
        Item::Sample(sample) => sample.bytes(),
        Item::Header(header) => header.len(),
        Item::Metadata(script) | Item::Script(script) => script.body.len(),
        Item::Track(track) => track.config.len(),
        Item::Title(title) => title.text.len() + title.url.len(),
        Item::Event(event) => event.bytes(),
        Item::Epoch => 0,
    }
}
