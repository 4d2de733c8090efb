//! Conversion of a fallback's items to items of the stream that is fed with them.
//!
//! A tap first returns the recent past. A feed takes as much of it as the stream's listeners have missed, from a join
//! point on, so that they stay as far behind the present as they were. After a gap it continues at the next join point.
//! The first frames of MP3 may refer to audio in frames that were omitted; these frames are made silent
//! ([`Reservoir`]).

use container::mp3_file::Reservoir;
use fanout::Tapped;
use media::{Container, Item, Kind, Sample, Span, Timestamp, TrackId};

/// Converter of one feed's items; [`push`](Self::push) everything that the tap returns.
#[derive(Debug)]
pub(crate) struct Splice {
    /// Duration of the past that is taken.
    missed: Span,
    /// Whether a listener could continue after the items taken so far.
    is_joined: bool,
    /// Whether the past has been taken.
    has_begun: bool,
    video: Option<TrackId>,
    /// Mending of first frames, for MP3.
    reservoir: Option<Reservoir>,
}

/// Effect of a fallback's items on the feed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Goes {
    /// The feed continues.
    On,
    /// The fallback has another publisher, whose items are another feed.
    Another,
}

impl Splice {
    pub(crate) fn new(container: Container, missed: Span) -> Self {
        Self {
            missed,
            is_joined: false,
            has_begun: false,
            video: None,
            reservoir: (container == Container::Mp3).then(Reservoir::default),
        }
    }

    /// Takes everything that a tap has returned at once, leaving `tapped` empty, and appends the stream's items to
    /// `out`.
    pub(crate) fn push(&mut self, tapped: &mut Vec<Tapped>, out: &mut Vec<Item>) -> Goes {
        self.find_pictures(tapped);
        let from = match self.has_begun {
            true => 0,
            false => self.beginning(of_one_epoch(tapped)),
        };
        for (at, tapped) in tapped.drain(..).enumerate() {
            match tapped {
                Tapped::Lost(_) => {
                    self.is_joined = false;
                    self.reservoir = self.reservoir.map(|_| Reservoir::default());
                }
                Tapped::Item(Item::Epoch) => return Goes::Another,
                Tapped::Item(Item::Sample(sample)) => {
                    if at >= from {
                        out.extend(self.take(sample).map(Item::Sample));
                    }
                }
                // Events lie on the fallback's own timeline, and concern the fallback.
                Tapped::Item(Item::Event(_) | Item::Script(_)) => {}
                Tapped::Item(Item::Header(header)) => {
                    self.is_joined = false;
                    out.push(Item::Header(header));
                }
                Tapped::Item(announcement) => out.push(announcement),
            }
        }
        Goes::On
    }

    /// Returns whether anything was taken.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    fn find_pictures(&mut self, tapped: &[Tapped]) {
        let mut tracks = tapped.iter().filter_map(|tapped| match tapped {
            Tapped::Item(Item::Track(track)) => Some(track),
            _ => None,
        });
        let video = tracks.find(|track| track.kind == Kind::Video);
        self.video = self.video.or_else(|| video.map(|track| track.id));
    }

    fn is_join(&self, sample: &Sample) -> bool {
        sample.keyframe && self.video.is_none_or(|video| video == sample.track)
    }

    /// Returns the index at which the feed begins: the last join point before the missed time, else the first join
    /// point.
    fn beginning(&self, tapped: &[Tapped]) -> usize {
        let samples = || {
            tapped
                .iter()
                .enumerate()
                .filter_map(|(at, tapped)| match tapped {
                    Tapped::Item(Item::Sample(sample)) => Some((at, sample)),
                    _ => None,
                })
        };
        let ends = samples().map(|(_, sample)| sample.dts + sample.duration);
        let end = ends.max().unwrap_or(Timestamp::ZERO);
        let mut joins = samples().filter(|(_, sample)| self.is_join(sample));
        let first = joins.next();
        let enough = joins.take_while(|(_, sample)| end - sample.dts >= self.missed);
        enough.last().or(first).map_or(0, |(at, _)| at)
    }

    fn take(&mut self, mut sample: Sample) -> Option<Sample> {
        if !self.is_joined && !self.is_join(&sample) {
            return None;
        }
        self.is_joined = true;
        self.has_begun = true;
        if let Some(reservoir) = &mut self.reservoir {
            sample.data = reservoir.mended(sample.data);
        }
        Some(sample)
    }
}

/// Returns the items before those of another publisher.
fn of_one_epoch(tapped: &[Tapped]) -> &[Tapped] {
    let next = |tapped: &Tapped| matches!(tapped, Tapped::Item(Item::Epoch));
    let end = tapped.iter().position(next).unwrap_or(tapped.len());
    &tapped[..end]
}
