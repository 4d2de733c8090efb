//! The sound of an RTMP stream alone: ADTS from AAC, or MP3.

use std::sync::Arc;

use container::adts;
use fanout::{Entry, Packager, Preamble, Sink};
use media::{Codec, Framing, Item, Kind, Track, TrackId};

/// Passes the frames of one track on, each a unit and a join point.
#[derive(Debug)]
pub(crate) struct Elementary {
    codec: Codec,
    source: Option<Source>,
    join: Arc<Preamble>,
}

/// The track that is heard.
#[derive(Debug)]
struct Source {
    track: TrackId,
    framing: Frames,
}

/// What turns its samples into frames that stand alone.
#[derive(Debug)]
enum Frames {
    /// They do already.
    Mp3,
    /// A header before each.
    Aac(adts::Writer),
}

impl Elementary {
    /// For the first audio track that is coded as `codec`.
    pub(crate) fn new(codec: Codec) -> Self {
        Self {
            codec,
            source: None,
            join: Arc::default(),
        }
    }

    /// Whether `track` can be sent like this, as `codec`.
    pub(crate) fn carries(track: &Track, codec: Codec) -> bool {
        track.codec == codec && Frames::of(track).is_some()
    }

    fn track(&mut self, track: &Track) {
        let current = self.source.as_ref().map(|source| source.track);
        if current.is_some_and(|current| current != track.id) {
            return;
        }
        // A track that turns into something else falls silent until it turns back.
        self.source = Frames::of(track)
            .filter(|_| track.codec == self.codec)
            .map(|framing| Source {
                track: track.id,
                framing,
            });
    }
}

impl Frames {
    fn of(track: &Track) -> Option<Self> {
        match (track.kind, track.framing, track.codec) {
            (Kind::Audio, Framing::Bare, Codec::Mp3) => Some(Self::Mp3),
            (Kind::Audio, Framing::Bare, Codec::Aac) => {
                adts::Writer::new(&track.config).map(Self::Aac)
            }
            _ => None,
        }
    }
}

impl Packager for Elementary {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Track(track) => self.track(track),
            Item::Sample(sample) => {
                let Some(source) = &self.source else { return };
                if source.track != sample.track {
                    return;
                }
                if let Frames::Aac(writer) = &source.framing {
                    // No audible unit is too long for ADTS.
                    let Some(header) = writer.header(sample.data.len()) else {
                        return;
                    };
                    sink.put(&header);
                }
                sink.put(&sample.data);
                sink.end_unit(sample.dts, Entry::Join(Arc::clone(&self.join)));
            }
            Item::Epoch
            | Item::Header(_)
            | Item::Metadata(_)
            | Item::Script(_)
            | Item::Title(_) => {}
        }
    }
}
