//! Audio alone, frame by frame: ADTS from AAC, or MP3.

use std::sync::Arc;

use container::adts;
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::codec::aac::AdtsHeader;
use media::{Codec, Framing, Item, Kind, Sample, Track, TrackId};

/// Packager that passes on the frames of one track, each as a unit and a join point.
#[derive(Debug)]
pub struct Elementary {
    frames: Frames,
    join: Arc<Preamble>,
}

impl Elementary {
    /// Creates a packager of the first audio track that is coded as `codec`.
    pub fn new(codec: Codec) -> Self {
        Self {
            frames: Frames::of_track(codec),
            join: Arc::default(),
        }
    }

    /// Whether `track` can be sent as plain frames of `codec`.
    pub fn carries(track: &Track, codec: Codec) -> bool {
        Framer::of_bare(track, codec).is_some()
    }
}

impl Packager for Elementary {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        if let Some(frame) = self.frames.take(item) {
            sink.put(frame.header());
            sink.put(&frame.sample.data);
            sink.end_unit(frame.sample.dts, Entry::Join(Arc::clone(&self.join)));
        }
    }
}

/// Source of independent audio frames.
#[derive(Debug)]
pub(crate) enum Frames {
    /// Every sample, as the source framed it.
    Source,
    /// Samples of one track.
    Track {
        codec: Codec,
        /// Track that is carried, with its framer.
        heard: Option<(TrackId, Framer)>,
    },
}

/// Conversion of a track's samples into frames.
#[derive(Debug)]
pub(crate) enum Framer {
    /// The samples are already frames.
    Framed,
    /// Bare AAC, with a header before each sample.
    Aac(adts::Writer),
}

/// One audio frame.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    header: Option<[u8; AdtsHeader::BYTES]>,
    pub(crate) sample: &'a Sample,
}

impl Frame<'_> {
    /// Returns the bytes that precede the sample's.
    pub(crate) fn header(&self) -> &[u8] {
        self.header.as_ref().map_or(&[], |header| header)
    }
}

impl Frames {
    /// Creates a source for the first audio track that is coded as `codec`.
    pub(crate) const fn of_track(codec: Codec) -> Self {
        Self::Track { codec, heard: None }
    }

    /// Returns the frame in `item`. A sample without bytes is not a frame: FLV keeps bodies that contain no codec data, such as
    /// the end of a sequence.
    pub(crate) fn take<'a>(&mut self, item: &'a Item) -> Option<Frame<'a>> {
        match (self, item) {
            (_, Item::Sample(sample)) if sample.data.is_empty() => None,
            (Self::Track { codec, heard }, Item::Track(track)) => {
                hear(*codec, heard, track);
                None
            }
            (Self::Source, Item::Sample(sample)) => Some(Frame {
                header: None,
                sample,
            }),
            (Self::Track { heard, .. }, Item::Sample(sample)) => {
                let (_, framer) = heard.as_ref().filter(|(id, _)| *id == sample.track)?;
                framer.frame(sample)
            }
            _ => None,
        }
    }
}

/// Handles a new or changed track. A track that changes its codec is not carried until it changes back.
fn hear(codec: Codec, heard: &mut Option<(TrackId, Framer)>, track: &Track) {
    if heard.as_ref().is_some_and(|(id, _)| *id != track.id) {
        return;
    }
    *heard = Framer::of_bare(track, codec).map(|framer| (track.id, framer));
}

impl Framer {
    /// Creates the framer of an AAC or MP3 track.
    pub(crate) fn of(track: &Track) -> Option<Self> {
        match (track.kind, track.codec, track.framing) {
            (Kind::Audio, Codec::Mp3, _) => Some(Self::Framed),
            (Kind::Audio, Codec::Aac, Framing::SelfFramed) => Some(Self::Framed),
            (Kind::Audio, Codec::Aac, Framing::Bare) => {
                adts::Writer::new(&track.config).map(Self::Aac)
            }
            _ => None,
        }
    }

    fn of_bare(track: &Track, codec: Codec) -> Option<Self> {
        let is_one = track.codec == codec && track.framing == Framing::Bare;
        Self::of(track).filter(|_| is_one)
    }

    /// Returns the frame of a sample. No audible unit is too long for ADTS.
    pub(crate) fn frame<'a>(&self, sample: &'a Sample) -> Option<Frame<'a>> {
        let header = match self {
            Self::Framed => None,
            Self::Aac(writer) => Some(writer.header(sample.data.len())?),
        };
        Some(Frame { header, sample })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Span, Timestamp};

    use super::*;

    const DATA: &[u8] = b"an access unit";

    /// Returns the frames that a player of `codec` is sent for a track with this configuration.
    fn written(codec: Codec, config: &'static [u8], samples: &[&'static [u8]]) -> Vec<Vec<u8>> {
        let mut frames = Frames::of_track(codec);
        let track = Track {
            config: config.into(),
            sample_rate: 48_000,
            channels: 2,
            ..Track::new(TrackId::AUDIO, Kind::Audio, codec, Framing::Bare)
        };
        assert!(frames.take(&Item::Track(Arc::new(track))).is_none());
        let (id, at) = (TrackId::AUDIO, Timestamp::ZERO);
        let samples = samples.iter().map(|data| Bytes::from_static(data));
        let items = samples.map(|data| Item::Sample(Sample::frame(id, at, Span::ZERO, data)));
        let items: Vec<_> = items.collect();
        let frames = items.iter().filter_map(|item| frames.take(item));
        let bytes = frames.map(|frame| [frame.header(), &frame.sample.data].concat());
        bytes.collect()
    }

    #[test]
    fn a_sample_without_bytes_is_no_frame() {
        for (codec, config, header_bytes) in [
            (Codec::Aac, &[0x11, 0x90][..], AdtsHeader::BYTES),
            (Codec::Mp3, &[], 0),
        ] {
            let frames = written(codec, config, &[b"", DATA, b""]);
            let lengths: Vec<_> = frames.iter().map(Vec::len).collect();
            assert_eq!(lengths, [header_bytes + DATA.len()], "{codec:?}");
            assert!(frames[0].ends_with(DATA), "{codec:?}");
        }
    }
}
