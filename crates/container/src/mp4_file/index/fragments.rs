//! Segments of a fragmented file: groups of its fragments that begin with a keyframe.

use std::ops::Range;
use std::time::Duration;

use super::super::moof::{Defaults, Part, parts};
use super::init::BRANDS;
use super::moov::TrackHead;
use super::{Error, SEGMENTS_MAX, Segment, time};
use crate::fmp4::boxes::Boxes;
use crate::fmp4::parts::put_brands;

/// Fragment of the file.
#[derive(Clone, Copy, Debug, Default)]
struct Fragment {
    begin: u64,
    /// End of its `mdat`; zero until it is known.
    end: u64,
    /// Beginning, if known, and duration, on the first track's clock.
    at: Option<u64>,
    duration: u64,
    /// The fragment begins with a keyframe.
    is_independent: bool,
}

/// Fragments of a file, collected in order.
#[derive(Debug)]
pub(super) struct Fragments {
    init: Vec<u8>,
    /// Track at whose keyframes the file is cut.
    id: u32,
    timescale: u32,
    defaults: Defaults,
    fragments: Vec<Fragment>,
}

impl Fragments {
    /// Creates the collector for a file with this `moov`.
    pub(super) fn new(heads: &[TrackHead], body: &[u8]) -> Self {
        let head = heads.first().cloned().unwrap_or_default();
        let mut init = Boxes::default();
        put_brands(&mut init, &BRANDS);
        init.put_box(b"moov", |moov| moov.put(body));
        Self {
            init: init.into_bytes(),
            id: head.id,
            timescale: head.timescale,
            defaults: Defaults::of(body, head.id),
            fragments: Vec::new(),
        }
    }

    /// Takes a `moof` that begins at `begin`.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        let mut fragment = Fragment {
            begin,
            ..Fragment::default()
        };
        let mut is_first = true;
        let of_track = |id| (id == self.id).then_some(self.defaults);
        for part in parts(moof).filter_map(|traf| Part::read(traf, of_track)) {
            fragment.at = fragment.at.or(part.at);
            for (duration, is_sync) in part.runs().filter_map(|run| run?.sum()) {
                fragment.duration = fragment.duration.saturating_add(duration);
                if std::mem::take(&mut is_first) {
                    fragment.is_independent = is_sync;
                }
            }
        }
        self.fragments.push(fragment);
    }

    /// Takes the end of an `mdat`.
    pub(super) fn end_at(&mut self, end: u64) {
        if let Some(last) = self.fragments.last_mut() {
            last.end = end;
        }
    }

    /// Groups the whole fragments into segments, and returns them with the initialization segment.
    pub(super) fn finish(mut self, segment: Duration) -> Result<(Vec<u8>, Vec<Segment>), Error> {
        self.fragments.retain(|fragment| fragment.end > 0);
        let mut segments = Vec::new();
        let Some(first) = self.fragments.first() else {
            return Err(Error::NoTrack);
        };
        let mut at = first.at.unwrap_or(0);
        let mut open: Option<(u64, Range<u64>)> = None;
        let mut end = at;
        for fragment in &self.fragments {
            at = fragment.at.unwrap_or(end).max(end);
            let lasted = |(begin, _): &(u64, _)| time(at - begin, self.timescale) >= segment;
            if fragment.is_independent && open.as_ref().is_some_and(lasted) {
                close(&mut open, at, self.timescale, &mut segments);
            }
            end = at.saturating_add(fragment.duration);
            let (_, range) = open.get_or_insert((at, fragment.begin..fragment.end));
            range.end = fragment.end;
        }
        close(&mut open, end, self.timescale, &mut segments);
        match segments.len() <= SEGMENTS_MAX {
            true => Ok((self.init, segments)),
            false => Err(Error::TooLarge),
        }
    }
}

fn close(
    open: &mut Option<(u64, Range<u64>)>,
    end: u64,
    timescale: u32,
    segments: &mut Vec<Segment>,
) {
    if let Some((begin, range)) = open.take() {
        segments.push(Segment {
            duration: time(end.saturating_sub(begin), timescale),
            range: Some(range),
            is_independent: true,
        });
    }
}
