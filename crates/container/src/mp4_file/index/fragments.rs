//! Segments of a fragmented file: groups of its fragments that begin with a keyframe.

use std::ops::Range;
use std::time::Duration;

use super::super::walk::{children, find};
use super::init::brand;
use super::moov::TrackHead;
use super::numbers::Numbers;
use super::{Error, Segment, time};
use crate::fmp4::boxes::Boxes;

/// `tfhd`: which defaults it has, in their order: position, description, duration, size, flags.
pub(super) const HAS_POSITION: u32 = 0x01;
pub(super) const HAS_DESCRIPTION: u32 = 0x02;
pub(super) const HAS_DURATION: u32 = 0x08;
pub(super) const HAS_SIZE: u32 = 0x10;
pub(super) const HAS_FLAGS: u32 = 0x20;

/// `trun`: likewise, of all samples and of each.
pub(super) const DATA_OFFSET: u32 = 0x001;
pub(super) const FIRST_FLAGS: u32 = 0x004;
pub(super) const DURATION: u32 = 0x100;
pub(super) const SIZE: u32 = 0x200;
pub(super) const FLAGS: u32 = 0x400;
pub(super) const COMPOSITION: u32 = 0x800;

/// `sample_flags`: it depends on others.
pub(super) const NO_SYNC: u32 = 0x0001_0000;

/// What samples have that say nothing else.
#[derive(Clone, Copy, Debug, Default)]
struct Defaults {
    duration: u32,
    flags: u32,
}

/// One fragment.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    begin: u64,
    /// Its `mdat`'s end; zero while there is none.
    end: u64,
    /// When it begins, and how long it lasts, if that is known; on the first track's clock.
    at: Option<u64>,
    duration: u64,
    /// It begins with a keyframe.
    is_independent: bool,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Fragments {
    init: Vec<u8>,
    /// The track that is cut by.
    id: u32,
    timescale: u32,
    defaults: Defaults,
    fragments: Vec<Fragment>,
    segments: Vec<Segment>,
}

impl Fragments {
    /// Of a file with this `moov`.
    pub(super) fn new(heads: &[TrackHead], body: &[u8]) -> Self {
        let head = heads.first().cloned().unwrap_or_default();
        let mut init = Boxes::default();
        brand(&mut init);
        init.put_box(b"moov", |moov| moov.put(body));
        Self {
            init: init.into_bytes(),
            id: head.id,
            timescale: head.timescale,
            defaults: defaults(body, head.id).unwrap_or_default(),
            fragments: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// A `moof` that begins there.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        let mut fragment = Fragment {
            begin,
            end: 0,
            at: None,
            duration: 0,
            is_independent: false,
        };
        let mut is_first = true;
        for traf in children(moof).filter(|child| &child.kind == b"traf") {
            let Some((id, defaults)) = find(traf.content, b"tfhd")
                .and_then(|tfhd| header(tfhd, self.defaults))
                .filter(|(id, _)| *id == self.id)
            else {
                continue;
            };
            debug_assert_eq!(id, self.id);
            if fragment.at.is_none() {
                fragment.at = find(traf.content, b"tfdt").and_then(decode_time);
            }
            for trun in children(traf.content).filter(|child| &child.kind == b"trun") {
                let Some((duration, flags)) = run(trun.content, defaults) else {
                    continue;
                };
                fragment.duration = fragment.duration.saturating_add(duration);
                if std::mem::take(&mut is_first) {
                    fragment.is_independent = flags & NO_SYNC == 0;
                }
            }
        }
        self.fragments.push(fragment);
    }

    /// An `mdat` ends there.
    pub(super) fn end_at(&mut self, end: u64) {
        if let Some(last) = self.fragments.last_mut() {
            last.end = end;
        }
    }

    /// Groups the fragments that are whole.
    pub(super) fn finish(&mut self, segment: Duration) -> Result<(), Error> {
        self.fragments.retain(|fragment| fragment.end > 0);
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
                close(&mut open, at, self.timescale, &mut self.segments);
            }
            end = at.saturating_add(fragment.duration);
            let (_, range) = open.get_or_insert((at, fragment.begin..fragment.end));
            range.end = fragment.end;
        }
        close(&mut open, end, self.timescale, &mut self.segments);
        self.fragments = Vec::new();
        Ok(())
    }

    pub(super) fn take_init(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.init)
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        self.segments.clone()
    }

    pub(super) fn memory(&self) -> usize {
        self.segments.len() * size_of::<Segment>()
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
        });
    }
}

/// What `trex` says of a track.
fn defaults(moov: &[u8], id: u32) -> Option<Defaults> {
    let mvex = find(moov, b"mvex")?;
    let mut all = children(mvex).filter(|child| &child.kind == b"trex");
    all.find_map(|trex| {
        let mut numbers = Numbers(trex.content);
        numbers.full()?;
        if numbers.u32()? != id {
            return None;
        }
        numbers.skip(4)?;
        let duration = numbers.u32()?;
        numbers.skip(4)?;
        let flags = numbers.u32()?;
        Some(Defaults { duration, flags })
    })
}

/// The track of a `tfhd`, and what its samples have.
fn header(tfhd: &[u8], mut defaults: Defaults) -> Option<(u32, Defaults)> {
    let mut numbers = Numbers(tfhd);
    let (_, flags) = numbers.full()?;
    let id = numbers.u32()?;
    if flags & HAS_POSITION != 0 {
        numbers.skip(8)?;
    }
    if flags & HAS_DESCRIPTION != 0 {
        numbers.skip(4)?;
    }
    if flags & HAS_DURATION != 0 {
        defaults.duration = numbers.u32()?;
    }
    if flags & HAS_SIZE != 0 {
        numbers.skip(4)?;
    }
    if flags & HAS_FLAGS != 0 {
        defaults.flags = numbers.u32()?;
    }
    Some((id, defaults))
}

pub(super) fn decode_time(tfdt: &[u8]) -> Option<u64> {
    let mut numbers = Numbers(tfdt);
    let (version, _) = numbers.full()?;
    numbers.by_version(version)
}

/// How long the samples of a `trun` last, and the flags of the first.
fn run(trun: &[u8], defaults: Defaults) -> Option<(u64, u32)> {
    let mut numbers = Numbers(trun);
    let (_, has) = numbers.full()?;
    let count = numbers.u32()?;
    if has & DATA_OFFSET != 0 {
        numbers.skip(4)?;
    }
    let mut first = (has & FIRST_FLAGS != 0).then(|| numbers.u32()).flatten();
    let columns = [DURATION, SIZE, FLAGS, COMPOSITION];
    if columns.iter().all(|column| has & column == 0) {
        let total = u64::from(count) * u64::from(defaults.duration);
        return Some((total, first.unwrap_or(defaults.flags)));
    }
    let mut total = 0;
    for _ in 0..count {
        let mut duration = defaults.duration;
        let mut flags = defaults.flags;
        for column in columns.iter().filter(|column| has & **column != 0) {
            let value = numbers.u32()?;
            match *column {
                DURATION => duration = value,
                FLAGS => flags = value,
                _ => {}
            }
        }
        first.get_or_insert(flags);
        total += u64::from(duration);
    }
    Some((total, first.unwrap_or(defaults.flags)))
}
