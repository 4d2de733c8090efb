//! One stream's sound, from what its publisher sent to what has changed. It waits for nothing, and is run on a thread that may
//! be busy for some milliseconds.

use bytes::Bytes;
use container::ogg::OpusPackets;
use fanout::Tapped;
use media::{Codec, Container, Item, Kind, Sample, Track, TrackId};
use transcode::{Meter, Unsupported};

use crate::detector::Detector;
use crate::{Condition, Rule};

/// See the module's description.
pub(crate) struct Gauge {
    detector: Detector,
    /// The track that is measured: the epoch's first with sound.
    sound: Option<TrackId>,
    meter: Option<Meter>,
    /// Opus of Ogg is in pages.
    pages: Option<OpusPackets>,
    header: Option<Bytes>,
    /// Kept for its allocation.
    packets: Vec<Sample>,
}

/// What came of some items.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Each condition that has begun to hold, or has ceased to.
    pub(crate) changes: Vec<(Condition, bool)>,
    /// The sound cannot be measured.
    pub(crate) refused: Option<Unsupported>,
}

impl Gauge {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            detector: Detector::new(rule),
            sound: None,
            meter: None,
            pages: None,
            header: None,
            packets: Vec::new(),
        }
    }

    /// Takes what a tap gave. `container` is what the publisher sends now.
    pub(crate) fn take(&mut self, tapped: Vec<Tapped>, container: Container) -> Found {
        let mut found = Found::default();
        for tapped in tapped {
            let Tapped::Item(item) = tapped else {
                // What is missing was not heard here, and is no silence.
                continue;
            };
            match item {
                Item::Epoch => (self.sound, self.meter, self.header) = (None, None, None),
                Item::Header(header) => {
                    self.header = Some(header);
                    self.pages = self.pages.take().map(|_| OpusPackets::default());
                }
                Item::Track(track) if self.is_measured(&track) => {
                    self.sound = Some(track.id);
                    self.tune(&track, container, &mut found);
                }
                Item::Sample(sample) if self.sound == Some(sample.track) => {
                    self.measure(sample, &mut found);
                }
                _ => {}
            }
        }
        found
    }

    fn is_measured(&self, track: &Track) -> bool {
        track.kind == Kind::Audio && self.sound.is_none_or(|sound| sound == track.id)
    }

    fn tune(&mut self, track: &Track, container: Container, found: &mut Found) {
        let is_paged = container == Container::Ogg && track.codec == Codec::Opus;
        self.pages = is_paged.then(OpusPackets::default);
        match Meter::open(track) {
            Ok(meter) => self.meter = Some(meter),
            Err(reason) => self.refuse(reason, found),
        }
    }

    fn measure(&mut self, sample: Sample, found: &mut Found) {
        let Some(meter) = &mut self.meter else {
            return;
        };
        match &mut self.pages {
            Some(pages) => pages.push(&sample, &mut self.packets),
            None => self.packets.push(sample),
        }
        let mut refused = None;
        for packet in self.packets.drain(..) {
            match meter.push(&packet) {
                Ok(sound) => self.detector.push(sound, &mut found.changes),
                Err(reason) => refused = Some(reason),
            }
        }
        if let Some(reason) = refused {
            self.refuse(reason, found);
        }
    }

    fn refuse(&mut self, reason: Unsupported, found: &mut Found) {
        self.meter = None;
        found.refused = Some(reason);
    }
}
