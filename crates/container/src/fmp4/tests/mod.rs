//! The muxer's guarantees: every sample comes out once, at its time, in a fragment that an independent reader
//! understands.

mod broken;
mod clips;
mod codecs;
mod collected;
mod cutting;
mod joining;
mod made_up;
mod pausing;
mod reader;
mod timing;

use std::sync::Arc;

use media::{Item, Sample, Span, Timestamp};

use self::made_up::*;
use self::reader::{File, Row};
use super::{Content, FRAGMENT_SPAN, FragmentSink, Init, Muxer, Unit};

/// One unit as a lane would have it.
#[derive(Debug)]
struct Written {
    unit: Unit,
    join: Option<Arc<Init>>,
    bytes: Vec<u8>,
}

/// A lane's log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    open: Vec<u8>,
    units: Vec<Written>,
    preambles: usize,
    room: Option<Span>,
    /// Before which units media began anew.
    breaks: Vec<usize>,
}

impl FragmentSink for Log {
    type Preamble = Arc<Init>;

    fn put(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    fn preamble(&mut self, init: &Init) -> Arc<Init> {
        self.preambles += 1;
        Arc::new(init.clone())
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Init>>) {
        let bytes = std::mem::take(&mut self.open);
        assert!(!bytes.is_empty(), "no unit is empty");
        let before = self.units.last().map(|last| last.unit.at);
        assert!(before.is_none_or(|before| before <= unit.at));
        assert!(unit.duration >= Span::ZERO);
        self.units.push(Written { unit, join, bytes });
    }

    fn room(&self, _at: Timestamp) -> Option<Span> {
        self.room
    }

    fn break_off(&mut self) {
        self.breaks.push(self.units.len());
    }
}

impl Log {
    fn of(items: &[Item]) -> Self {
        Self::cut(items, FRAGMENT_SPAN)
    }

    pub(crate) fn cut(items: &[Item], fragmentation: Span) -> Self {
        let mut log = Self::default();
        log.fill(items, fragmentation);
        log
    }

    fn fill(&mut self, items: &[Item], fragmentation: Span) {
        self.fill_by(Muxer::new(fragmentation), items);
    }

    fn fill_by(&mut self, mut muxer: Muxer<Arc<Init>>, items: &[Item]) {
        items.iter().for_each(|item| muxer.push(item, self));
        muxer.finish(self);
        assert!(self.open.is_empty(), "every unit ends");
    }

    /// Returns the bytes received by a listener that joined at the `nth` join point and stayed.
    fn joined(&self, nth: usize) -> Vec<u8> {
        let joins = self.units.iter().enumerate();
        let mut joins = joins.filter_map(|(at, unit)| Some((at, unit.join.as_ref()?)));
        let (at, preamble) = joins.nth(nth).expect("so many join points");
        let mut bytes = preamble.bytes.to_vec();
        let units = self.units[at..].iter();
        units.for_each(|unit| bytes.extend_from_slice(&unit.bytes));
        bytes
    }

    /// The first initialization segment, and the bytes of each unit.
    pub(crate) fn into_parts(self) -> (Arc<Init>, Vec<Vec<u8>>) {
        let init = self.units.iter().find_map(|unit| unit.join.clone());
        let units = self.units.into_iter().map(|unit| unit.bytes);
        (init.expect("a join point"), units.collect())
    }

    /// Parses the output for the first joiner.
    fn file(&self) -> File {
        File::parse(&self.joined(0))
    }

    fn fragments(&self) -> impl Iterator<Item = &Written> {
        let units = self.units.iter();
        units.filter(|unit| unit.unit.content == Content::Fragment)
    }

    /// Initialization segments between fragments.
    fn inits(&self) -> usize {
        let units = self.units.iter();
        units.filter(|it| it.unit.content == Content::Init).count()
    }

    /// The duration of the longest fragment.
    fn longest(&self) -> Option<Span> {
        self.fragments().map(|unit| unit.unit.duration).max()
    }

    /// Returns the beginning and duration of each fragment, in milliseconds, and whether one may join.
    fn shape(&self) -> Vec<(i64, i64, bool)> {
        let shape = |unit: &Written| {
            let rounding = Span::from_ticks(media::TICKS_PER_SECOND / 2_000);
            let duration = (unit.unit.duration + rounding).millis();
            let at = (unit.unit.at + rounding).millis();
            (at, duration, unit.join.is_some())
        };
        self.fragments().map(shape).collect()
    }
}

/// Demands that each row begins where the one before it ended.
fn seamless<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<&'a Row> {
    let rows: Vec<_> = rows.into_iter().collect();
    for pair in rows.windows(2) {
        assert_eq!(pair[1].at, pair[0].at + u64::from(pair[0].duration));
    }
    rows
}

/// Data of the samples among `items`.
fn data_of(items: &[Item], wanted: impl Fn(&Sample) -> bool) -> Vec<Vec<u8>> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) if wanted(sample) => Some(sample.data.to_vec()),
        _ => None,
    });
    samples.collect()
}
