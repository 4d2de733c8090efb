//! Opus in Ogg: the publisher's own if it is bare Opus, else derived from its audio.
//!
//! ```text
//! preamble: OpusHead │ OpusTags        log: page │ page │ … │ last page, header │ page …
//!                                           └ join: every page       └ other Opus from here on
//! ```

use std::sync::Arc;

use container::ogg::OpusMuxer;
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::codec::opus::plain_head_channels;
use media::{Codec, Framing, Item, Kind, Title, Track, TrackId};

/// Packager of Opus in Ogg.
///
/// A link of the chain continues for as long as packets are coded alike, across publishers. A new title appears in the
/// preamble, for new listeners; a new link for it would make every listener's decoder restart.
#[derive(Debug, Default)]
pub struct Opus {
    /// Track that is carried; `None` before it is announced.
    track: Option<TrackId>,
    link: Option<Link>,
    title: Option<Arc<Title>>,
    /// Whether something was written, so that listeners need the next link's header.
    has_begun: bool,
}

#[derive(Debug)]
struct Link {
    muxer: OpusMuxer,
    number: u32,
    preamble: Arc<Preamble>,
}

impl Opus {
    /// Whether `track` can be sent as Opus in Ogg.
    pub fn carries(track: &Track) -> bool {
        (track.kind, track.codec, track.framing) == (Kind::Audio, Codec::Opus, Framing::Bare)
            && plain_head_channels(&track.config).is_some()
    }

    fn announce(&mut self, track: &Track, sink: &mut LaneSink<'_>) {
        let is_heard = self.track == Some(track.id);
        if !Self::carries(track) {
            // The track has changed its codec, and is not carried until it changes back.
            self.track = self.track.filter(|_| !is_heard);
            return;
        }
        let is_free = self.track.is_none_or(|heard| heard == TrackId::DERIVED);
        if !is_heard && !is_free {
            return;
        }
        self.track = Some(track.id);
        let head = OpusMuxer::head_of(track);
        let known = self.link.as_ref();
        if known.is_some_and(|link| link.muxer.head() == head) {
            return;
        }
        let number = known.map_or(1, |link| link.number.wrapping_add(1));
        let muxer = OpusMuxer::new(track, number);
        let preamble = preamble(&muxer, number, self.title.as_deref());
        if let Some(last) = self.link.as_mut().filter(|_| self.has_begun) {
            last.muxer.end(|began, page| {
                sink.put(page);
                sink.put(&preamble.bytes);
                sink.end_unit(began, Entry::None);
            });
        }
        self.link = Some(Link {
            muxer,
            number,
            preamble,
        });
    }

    /// Sets the title for listeners that join from now on.
    fn name(&mut self, title: Option<Arc<Title>>) {
        self.title = title;
        if let Some(link) = &mut self.link {
            link.preamble = preamble(&link.muxer, link.number, self.title.as_deref());
        }
    }
}

/// Creates the preamble of a link. The link is the generation: a listener that was in it needs nothing.
fn preamble(muxer: &OpusMuxer, number: u32, title: Option<&Title>) -> Arc<Preamble> {
    Arc::new(Preamble {
        bytes: muxer.header(title.map(|title| &title.text[..])).into(),
        generation: number,
        ..Preamble::default()
    })
}

impl Packager for Opus {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            // The first track announced is carried; the link continues if it is coded alike.
            Item::Epoch => {
                self.track = None;
                self.name(None);
            }
            Item::Track(track) => self.announce(track, sink),
            Item::Title(title) => self.name(Some(Arc::clone(title))),
            Item::Sample(sample) if self.track == Some(sample.track) => {
                let Some(link) = &mut self.link else { return };
                link.muxer.push(sample, |began, page| {
                    self.has_begun = true;
                    sink.put(page);
                    sink.end_unit(began, Entry::Join(Arc::clone(&link.preamble)));
                });
            }
            Item::Sample(_)
            | Item::Header(_)
            | Item::Metadata(_)
            | Item::Script(_)
            | Item::Event(_) => {}
        }
    }

    fn takes_derived(&self) -> bool {
        true
    }
}
