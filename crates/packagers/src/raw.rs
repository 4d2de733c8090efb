//! Container of the source, byte for byte.

use std::sync::Arc;

use bytes::Bytes;
use container::ogg::Unchainer;
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::{Container, Item, Timestamp};

/// Packager that passes every sample on as one unit.
///
/// The container header in force is every joiner's preamble. A header that arrives in mid-stream (the next link of an Ogg
/// chain, the next publisher) also goes into the log, for present listeners; the first one does not, because no listener can
/// have started before it.
///
/// The links of a chain can be [joined](Self::unchained) into one logical stream, for browsers. In that case a header that is
/// not needed to continue is not in the log and begins no generation, so listeners that skip ahead are not sent it either.
#[derive(Debug)]
pub struct Raw {
    unchainer: Option<Unchainer>,
    preamble: Arc<Preamble>,
    /// Whether a listener that skips ahead may leave only where another may start.
    leaves_at_joins: bool,
    /// Time at which the last unit began; `None` before the first.
    at: Option<Timestamp>,
}

impl Raw {
    /// Creates a packager for a source that sends `container`.
    pub fn new(container: Container) -> Self {
        Self {
            unchainer: None,
            preamble: Arc::default(),
            // If a cluster of known length is left in the middle, it swallows everything that follows it.
            leaves_at_joins: container == Container::WebM,
            at: None,
        }
    }

    /// Creates a packager for a source of Ogg that puts each page where it belongs in one stream.
    pub fn unchained() -> Self {
        Self {
            unchainer: Some(Unchainer::default()),
            ..Self::new(Container::Ogg)
        }
    }

    fn header(&mut self, header: &Bytes, sink: &mut LaneSink<'_>) {
        let (news, bytes) = match &mut self.unchainer {
            Some(unchainer) => unchainer.header(header),
            None => (Some(header.clone()), header.clone()),
        };
        let before = self.preamble.generation;
        self.preamble = Arc::new(Preamble {
            bytes,
            generation: before.wrapping_add(u32::from(news.is_some())),
            ..Preamble::default()
        });
        if let (Some(news), Some(at)) = (news, self.at) {
            sink.put(&news);
            sink.end_unit(at, Entry::None);
        }
    }
}

impl Packager for Raw {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Header(header) => self.header(header, sink),
            Item::Sample(sample) => {
                let page = match &mut self.unchainer {
                    Some(unchainer) => match unchainer.page(&sample.data) {
                        None => return,
                        page => page,
                    },
                    None => None,
                };
                let entry = match (sample.keyframe, self.leaves_at_joins) {
                    (true, _) => Entry::Join(Arc::clone(&self.preamble)),
                    (false, true) => Entry::Sealed,
                    (false, false) => Entry::None,
                };
                self.at = Some(sample.dts);
                sink.put(page.as_ref().unwrap_or(&sample.data));
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
