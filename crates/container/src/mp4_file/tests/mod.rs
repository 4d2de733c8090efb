//! Files that a muxer's fragments become: read by ffmpeg, cut, finalised, and found as they are.

mod cut;
mod times;
mod whole;

use std::ops::Range;

use media::{Item, Span};
use testkit::Clip;

use super::*;
use crate::fmp4::{self, Fragmentation, Muxer, Unit};
use crate::testing::{of_flv, temporary};

/// Fragments of a lane, and their initialization segment.
#[derive(Default)]
pub(super) struct Lane {
    open: Vec<u8>,
    segment: Vec<u8>,
    units: Vec<Vec<u8>>,
}

impl fmp4::FragmentSink for Lane {
    type Preamble = ();

    fn put(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    fn preamble(&mut self, init: &fmp4::Init) {
        self.segment = init.bytes.to_vec();
    }

    fn end_unit(&mut self, _unit: Unit, _join: Option<()>) {
        self.units.push(std::mem::take(&mut self.open));
    }
}

impl Lane {
    /// Creates the lane of items that are this much later than they say.
    pub(super) fn of(items: Vec<Item>, later: Span) -> Self {
        let mut lane = Self::default();
        let mut muxer = Muxer::new(Fragmentation {
            span: Span::from_millis(1_000),
        });
        for mut item in items {
            if let Item::Sample(sample) = &mut item {
                (sample.dts, sample.pts) = (sample.dts + later, sample.pts + later);
            }
            muxer.push(&item, &mut lane);
        }
        muxer.finish(&mut lane);
        lane
    }

    /// The file that four seconds of a clip are recorded in.
    pub(super) fn recorded(clip: Clip) -> Vec<u8> {
        Self::of(of_flv(clip, 4), Span::ZERO).file()
    }

    /// The file that they are recorded in.
    pub(super) fn file(&self) -> Vec<u8> {
        let init = Init::of_segment(&self.segment).expect("a segment");
        let mut file = opening(&self.segment).expect("a segment");
        let mut base = None;
        for (number, unit) in (1..).zip(&self.units) {
            let mut unit = unit.clone();
            let fragment = Fragment::of_unit(&init, &unit, 0, unit.len() as u64);
            let fragment = fragment.expect("a fragment");
            let base = *base.get_or_insert_with(|| Base::of(&fragment, &init).expect("a time"));
            assert!(rebase(&mut unit, number, base, &init));
            file.extend_from_slice(&unit);
        }
        file
    }
}

/// Result of a scan of a file.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) init: Option<Init>,
    pub(super) fragments: Vec<Fragment>,
    pub(super) outcome: Outcome,
}

pub(super) fn scan(file: &[u8]) -> Scanned {
    let mut scan = Scan::new(file.len() as u64);
    let (mut init, mut fragments) = (None, Vec::new());
    while let Some(Range { start, end }) = scan.wants() {
        assert!(end - start <= (1 << 20) + 16);
        match scan.take(&file[start as usize..end as usize]) {
            Some(Found::Init(found)) => assert!(init.replace(found).is_none()),
            Some(Found::Fragment(found)) => fragments.push(found),
            None => {}
        }
    }
    Scanned {
        init,
        fragments,
        outcome: scan.outcome(),
    }
}

/// Does what recovery does.
pub(super) fn finalised(file: &[u8]) -> (Vec<u8>, Finished) {
    let scanned = scan(file);
    let Outcome::Fragmented { whole } = scanned.outcome else {
        panic!("{:?}", scanned.outcome);
    };
    let mut finaliser = Finaliser::new(scanned.init.expect("an init"));
    scanned.fragments.iter().for_each(|it| finaliser.add(it));
    let finished = finaliser.finish(whole).expect("an index");
    let mut file = file[..whole as usize].to_vec();
    file.extend_from_slice(&finished.moov);
    let at = finished.header_at as usize;
    file[at..at + PLACEHOLDER_BYTES].copy_from_slice(&finished.header);
    (file, finished)
}
