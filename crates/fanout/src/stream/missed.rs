//! Items that a slow reader has missed: samples are counted, and announcements among them are repeated.

use media::{Item, Timestamp};

use super::announced::Announced;

/// Count of dropped samples, and the announcements dropped with them.
#[derive(Debug, Default)]
pub(super) struct Missed {
    pub(super) samples: u64,
    /// Time of the first dropped sample.
    pub(super) from: Option<Timestamp>,
    /// Whether another epoch began.
    epoch: bool,
    announced: Announced,
}

impl Missed {
    /// Adds a dropped item.
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
            Item::Sample(sample) => {
                self.samples += 1;
                self.from.get_or_insert(sample.dts);
            }
            // The number of tracks is bounded by that of their ids.
            other => self.announced.note(other, usize::MAX),
        }
    }

    /// Returns the items to repeat, in reverse order.
    pub(super) fn into_items_last_first(self) -> impl Iterator<Item = Item> {
        let announced = self.announced.into_items().rev();
        announced.chain(self.epoch.then_some(Item::Epoch))
    }
}

/// Returns the bytes that an item keeps in memory, beyond itself.
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
