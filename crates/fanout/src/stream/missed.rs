//! What a reader of items has missed that was too slow: the samples are counted, and what was announced among them is
//! told again.

use media::{Item, Timestamp};

use super::announced::Announced;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Missed {
    pub(super) samples: u64,
    /// The first of them.
    pub(super) from: Option<Timestamp>,
    /// Another epoch began.
    epoch: bool,
    announced: Announced,
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
            Item::Sample(sample) => {
                self.samples += 1;
                self.from.get_or_insert(sample.dts);
            }
            // At most as many tracks as there are numbers.
            other => self.announced.note(other, usize::MAX),
        }
    }

    /// What is to be repeated, in reverse order.
    pub(super) fn into_items_last_first(self) -> impl Iterator<Item = Item> {
        let announced = self.announced.into_items().rev();
        announced.chain(self.epoch.then_some(Item::Epoch))
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
