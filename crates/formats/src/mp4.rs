//! Fragmented MP4.
//!
//! ```text
//! preamble: ftyp │ moov        log: fragment │ fragment │ fragment …
//!                                   └ join: a keyframe
//! ```
//!
//! Which fragments there are and where one may join, [`fmp4::Muxer`] decides.

use std::sync::Arc;

use container::fmp4::{self, Content, Fragmentation, Init, Muxer, Unit};
use fanout::{Entry, Packager, Preamble, Sink};
use media::Item;

/// Writes fragments.
#[derive(Debug)]
pub struct Mp4(Muxer<Arc<Preamble>>);

impl Default for Mp4 {
    fn default() -> Self {
        Self(Muxer::new(Fragmentation::default()))
    }
}

impl Packager for Mp4 {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        self.0.push(item, &mut Fragments(sink));
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.0.finish(&mut Fragments(sink));
    }
}

/// Puts fragments into the lane's log.
struct Fragments<'a, 'b>(&'a mut Sink<'b>);

impl fmp4::Sink for Fragments<'_, '_> {
    type Preamble = Arc<Preamble>;

    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    fn preamble(&mut self, init: &Init) -> Arc<Preamble> {
        Arc::new(Preamble {
            bytes: init.bytes.clone(),
            resume_from: 0,
            generation: init.generation,
            lead: None,
        })
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Preamble>>) {
        let entry = match (unit.content, join) {
            (Content::Fragment, Some(preamble)) => Entry::Join(preamble),
            (Content::Init | Content::Fragment, _) => Entry::None,
        };
        self.0.end_unit(unit.at, entry);
    }
}
