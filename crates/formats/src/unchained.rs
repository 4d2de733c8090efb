//! The Ogg of a source with the links of its chain joined into one logical stream, for browsers.

use std::sync::Arc;

use container::ogg::{Change, Unchainer};
use fanout::{Entry, Packager, Preamble, Sink};
use media::{Item, Timestamp};

/// Passes each page on as one unit, in the place that it has in the one stream.
///
/// The header in force is every joiner's preamble. A header that is not needed to go on begins no generation, so listeners
/// that skip ahead are not sent it either.
#[derive(Debug, Default)]
pub struct Unchained {
    stream: Unchainer,
    preamble: Arc<Preamble>,
    /// When the last unit began; `None` before the first.
    at: Option<Timestamp>,
}

impl Packager for Unchained {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Header(header) => {
                let (change, bytes) = self.stream.header(header);
                let before = self.preamble.generation;
                self.preamble = Arc::new(Preamble {
                    bytes,
                    resume_from: 0,
                    generation: match change {
                        Change::Same => before,
                        Change::New(_) => before.wrapping_add(1),
                    },
                    lead: None,
                });
                if let (Change::New(new), Some(at)) = (change, self.at) {
                    sink.put(&new);
                    sink.end_unit(at, Entry::None);
                }
            }
            Item::Sample(sample) => {
                let Some(page) = self.stream.page(&sample.data) else {
                    return;
                };
                let entry = match sample.keyframe {
                    true => Entry::Join(Arc::clone(&self.preamble)),
                    false => Entry::None,
                };
                self.at = Some(sample.dts);
                sink.put(&page);
                sink.end_unit(sample.dts, entry);
            }
            Item::Epoch
            | Item::Track(_)
            | Item::Metadata(_)
            | Item::Script(_)
            | Item::Title(_)
            | Item::Event(_) => {}
        }
    }
}
