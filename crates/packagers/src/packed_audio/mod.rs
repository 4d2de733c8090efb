//! Packed audio: audio alone as segments of plain frames, ADTS or MP3 (RFC 8216bis §3.1.4).
//!
//! ```text
//! log: ID3 frame frame … │ frame frame … │ ID3 frame frame … │ frame … │ ID3 frame …
//!      │ segment           └ part          │ part                        └ segment
//!      └ timestamp, title                  └ timestamp, title: it has changed
//! ```
//!
//! The tag at the beginning of a segment contains the presentation time of its first frame, and the current title. A changed
//! title is sent with the next part of AAC, and with the next segment of MP3. An event that has a tag is sent before the frame
//! of its time, and with the next segment. Frames are those of the source, byte for byte; bare AAC gets its header. A frame is
//! left out if the audio before it lasts too far beyond its time, because frames have no times of their own.

use std::sync::Arc;

use container::fmp4::{self, Collected, Turn};
use container::id3::{self, Tag};
use fanout::{Format, LaneSink, Packager, Segmentation};
use media::{Codec, Framing, Item, Kind, Sample, Track, TrackId};

use crate::elementary::Framer;
use crate::events::Events;
use crate::segmenter;
use crate::segments::{PartWriter, Segments};
use crate::titles::{self, Titles};

/// Bytes per second at 2 Mb/s. Most audio has a tenth of that, and space that is not needed is not taken.
const BYTES_PER_SECOND: i64 = 250_000;

/// Packager of segments with the first track of AAC or MP3.
#[derive(Debug)]
pub struct PackedAudio {
    segments: Segments<FrameWriter>,
    /// Track that is carried, with its framer.
    heard: Option<(TrackId, Framer)>,
}

impl PackedAudio {
    /// Returns the format of the lane of [`segmented`](Self::segmented).
    pub const fn segments(bounds: &Segmentation) -> Format {
        segmenter::format("packed-audio", bounds, BYTES_PER_SECOND)
    }

    /// Creates a packager whose segments have the numbers, beginnings and parts that those of
    /// [`Mp4::segmented`](crate::Mp4::segmented) have if there is nothing but this audio.
    pub fn segmented(bounds: Segmentation) -> Self {
        Self {
            segments: Segments::new(bounds, FrameWriter::default()),
            heard: None,
        }
    }

    /// Whether segments can carry `track`.
    pub fn carries(track: &Track) -> bool {
        framer(track).is_some()
    }

    /// Handles a new or changed track. A track that changes into one that cannot be carried falls silent, and another may be
    /// carried from its next announcement on.
    fn hear(&mut self, track: &Track, sink: &mut LaneSink<'_>) {
        if self.heard.as_ref().is_some_and(|(id, _)| *id != track.id) {
            return;
        }
        let framer = framer(track);
        match framer {
            Some(_) => {
                let track = Track {
                    // Its samples are collected with their headers.
                    framing: Framing::Bare,
                    ..track.clone()
                };
                self.segments.push(&Item::Track(Arc::new(track)), sink);
            }
            None => self.segments.refuse(track, sink),
        }
        self.heard = framer.map(|framer| (track.id, framer));
    }

    fn frame(&self, sample: &Sample) -> Option<Sample> {
        let heard = self.heard.as_ref().filter(|_| !sample.data.is_empty());
        let (_, framer) = heard.filter(|(id, _)| *id == sample.track)?;
        let data = match framer.frame(sample)?.header() {
            [] => sample.data.clone(),
            header => [header, &sample.data].concat().into(),
        };
        Some(Sample {
            data,
            flv: None,
            ..sample.clone()
        })
    }
}

impl Packager for PackedAudio {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Epoch => {
                self.segments.push(item, sink);
                self.heard = None;
            }
            Item::Track(track) => self.hear(track, sink),
            Item::Sample(sample) => {
                if let Some(frame) = self.frame(sample) {
                    self.segments.push(&Item::Sample(frame), sink);
                }
            }
            // Audio waits for no video that metadata announces.
            Item::Header(_)
            | Item::Metadata(_)
            | Item::Script(_)
            | Item::Title(_)
            | Item::Event(_) => {}
        }
        let writer = &mut self.segments.state.writer;
        writer.titles.hear(item);
        writer.events.hear(item);
    }

    fn end(&mut self, sink: &mut LaneSink<'_>) {
        self.segments.end(sink);
    }

    fn segmentation(&self) -> Option<Segmentation> {
        Some(self.segments.bounds())
    }
}

/// Returns the framer of a track, if segments can carry it.
fn framer(track: &Track) -> Option<Framer> {
    Framer::of(track).filter(|_| fmp4::can_mux(track))
}

/// Writer of the frames of parts, and of the tags before them.
#[derive(Debug, Default)]
struct FrameWriter {
    titles: Titles,
    events: Events,
}

impl PartWriter for FrameWriter {
    fn write(&mut self, part: &Collected<'_>, is_start: bool, put: &mut dyn FnMut(&[u8])) {
        let codec = part.track(Kind::Audio).map(|track| track.codec);
        // ffmpeg loses a frame of MP3 at a tag that is not at a segment's beginning.
        let may_tell = is_start || codec == Some(Codec::Aac);
        // Leftovers of the last epoch do not belong to the next epoch's titles.
        let is_late = part.unit().turn == Turn::Late;
        let may_tell_title = may_tell && !is_late;
        let news = may_tell_title.then(|| self.titles.take_news()).flatten();
        let has_tag = is_start || news.is_some();
        let title = news.or_else(|| self.titles.now());
        let end = part.unit().at + part.unit().duration;
        let mut due = Vec::new();
        if may_tell {
            due.extend(std::iter::from_fn(|| self.events.take_before(end)));
        }
        for (number, sample) in part.samples().enumerate() {
            if has_tag && number == 0 {
                let tag = Tag::default().transport_timestamp(sample.pts);
                let tag = match &title {
                    Some(title) => titles::tell(title, tag),
                    None => tag,
                };
                put(&tag.into_bytes());
            }
            due.retain(|event| {
                // The tag follows the one that begins a segment of MP3, or precedes the frame of its time.
                let is_later = event.at > sample.pts && codec == Some(Codec::Aac);
                if !is_later {
                    put(&id3::of_event(&event.content));
                }
                is_later
            });
            put(&sample.data);
        }
        for event in due {
            put(&id3::of_event(&event.content));
        }
    }
}

#[cfg(test)]
mod tests;
