//! Gauge of one stream: from its publisher's audio to changes of conditions. It waits for nothing, and runs on a thread that
//! may be busy for some milliseconds.

use crate::transcode::{Meter, Unsupported};
use bytes::Bytes;
use container::ogg::OpusPackets;
use fanout::Tapped;
use media::{Codec, Container, Item, Kind, Sample, Track, TrackId};

use crate::levels::detector::Detector;
use crate::levels::{Condition, Rule};

/// Gauge of one stream; pass everything that a tap yields to [`take`](Self::take).
pub(crate) struct Gauge {
    detector: Detector,
    /// Track that is measured: the epoch's first with audio.
    audio: Option<TrackId>,
    meter: Option<Meter>,
    /// Unpacker of Opus in Ogg, which is in pages.
    pages: Option<OpusPackets>,
    header: Option<Bytes>,
    /// Kept for its allocation.
    packets: Vec<Sample>,
}

/// Findings from some items.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Each condition that has begun to hold, or has ceased to.
    pub(crate) changes: Vec<(Condition, bool)>,
    /// Reason why the audio cannot be measured.
    pub(crate) refused: Option<Unsupported>,
}

impl Gauge {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            detector: Detector::new(rule),
            audio: None,
            meter: None,
            pages: None,
            header: None,
            packets: Vec::new(),
        }
    }

    /// Takes the output of a tap. `container` is the publisher's present container.
    pub(crate) fn take(&mut self, tapped: Vec<Tapped>, container: Container) -> Found {
        let mut found = Found::default();
        for tapped in tapped {
            let Tapped::Item(item) = tapped else {
                // Missing audio was not measured here, and is not silence.
                continue;
            };
            match item {
                Item::Epoch => (self.audio, self.meter, self.header) = (None, None, None),
                Item::Header(header) => {
                    self.header = Some(header);
                    self.pages = self.pages.take().map(|_| OpusPackets::default());
                }
                Item::Track(track) if self.is_measured(&track) => {
                    self.audio = Some(track.id);
                    self.tune(&track, container, &mut found);
                }
                Item::Sample(sample) if self.audio == Some(sample.track) => {
                    self.measure(sample, &mut found);
                }
                _ => {}
            }
        }
        found
    }

    fn is_measured(&self, track: &Track) -> bool {
        track.kind == Kind::Audio && self.audio.is_none_or(|audio| audio == track.id)
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
                Ok(audio) => self.detector.push(audio, &mut found.changes),
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
