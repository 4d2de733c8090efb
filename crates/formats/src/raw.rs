//! The source's own container, byte for byte.

use std::sync::Arc;

use bytes::Bytes;
use fanout::{Entry, Packager, Preamble, Sink};
use media::{Container, Item, Timestamp};

/// Passes every sample on as one unit.
///
/// The container header in force is every joiner's preamble. A header that arrives in mid-stream (the next
/// link of an Ogg chain, the next publisher) also goes into the log, for present listeners; the first one
/// does not, because no listener can have started before it.
#[derive(Debug)]
pub struct Raw {
    preamble: Arc<Preamble>,
    /// A listener that skips ahead may leave only where another may start.
    leaves_at_joins: bool,
    /// When the last unit began; `None` before the first.
    at: Option<Timestamp>,
}

impl Raw {
    /// For a source that sends `container`.
    pub fn new(container: Container) -> Self {
        Self {
            preamble: Arc::default(),
            // A cluster of known length that is left in the middle swallows what follows it.
            leaves_at_joins: container == Container::WebM,
            at: None,
        }
    }

    fn header(&mut self, header: &Bytes, sink: &mut Sink<'_>) {
        self.preamble = Arc::new(Preamble {
            bytes: header.clone(),
            resume_from: 0,
            generation: self.preamble.generation.wrapping_add(1),
            lead: None,
        });
        if let Some(at) = self.at {
            sink.put(header);
            sink.end_unit(at, Entry::None);
        }
    }
}

impl Packager for Raw {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Header(header) => self.header(header, sink),
            Item::Sample(sample) => {
                let entry = match (sample.keyframe, self.leaves_at_joins) {
                    (true, _) => Entry::Join(Arc::clone(&self.preamble)),
                    (false, true) => Entry::Sealed,
                    (false, false) => Entry::None,
                };
                self.at = Some(sample.dts);
                sink.put(&sample.data);
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
