//! Files that a muxer's fragments become: read by ffmpeg, cut, finalised, and found as they are.

mod cut;
mod times;
mod whole;

use std::ops::Range;

use media::{Item, Span};
use testkit::Clip;

use super::*;
use crate::fmp4::tests::Log;
use crate::testing::{of_flv, temporary};

/// The file that items are recorded in, this much later than they say.
pub(super) fn recording(mut items: Vec<Item>, later: Span) -> Vec<u8> {
    for item in &mut items {
        if let Item::Sample(sample) = item {
            (sample.dts, sample.pts) = (sample.dts + later, sample.pts + later);
        }
    }
    let (segment, units) = Log::cut(&items, Span::from_millis(1_000)).into_parts();
    let init = Init::of_segment(&segment.bytes).expect("a segment");
    let mut file = opening(&segment.bytes).expect("a segment");
    let mut base = None;
    for (number, mut unit) in (1..).zip(units) {
        let fragment = Fragment::of_unit(&init, &unit, 0, unit.len() as u64);
        let fragment = fragment.expect("a fragment");
        let base = *base.get_or_insert_with(|| Base::of(&fragment, &init).expect("a time"));
        assert!(rebase(&mut unit, number, base, &init));
        file.extend_from_slice(&unit);
    }
    file
}

/// The file that four seconds of a clip are recorded in.
pub(super) fn recording_of(clip: Clip) -> Vec<u8> {
    recording(of_flv(clip, 4), Span::ZERO)
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
