//! Files that are cut, damaged or made up: a scan of any of them ends, its findings lie within the file, and the part that it
//! calls whole can be finalised, once, whatever comes after it. Its fragments have the same times before and after.

#![no_main]

use container::mp4_file::{
    Finaliser, Found, Fragment, Init, Outcome, PLACEHOLDER_BYTES, Point, Scan, Timeline,
};
use libfuzzer_sys::fuzz_target;

/// Maximum number of steps per byte: a scan steps over a box, or requests more of it once.
const STEPS_PER_BYTE: usize = 2;

fn scan(file: &[u8]) -> (Option<Init>, Vec<Fragment>, Outcome) {
    let mut scan = Scan::new(file.len() as u64);
    let (mut init, mut fragments) = (None, Vec::new());
    for _ in 0..=STEPS_PER_BYTE * file.len() {
        let Some(wanted) = scan.wants() else {
            return (init, fragments, scan.outcome());
        };
        assert!(wanted.start < wanted.end && wanted.end <= file.len() as u64);
        match scan.take(&file[wanted.start as usize..wanted.end as usize]) {
            Some(Found::Init(found)) => assert!(init.replace(found).is_none(), "one init"),
            Some(Found::Fragment(found)) => fragments.push(found),
            None => {}
        }
    }
    panic!("a scan ends");
}

fn points(file: &[u8]) -> Vec<Point> {
    let mut timeline = Timeline::new(file.len() as u64);
    for _ in 0..=STEPS_PER_BYTE * file.len() {
        let Some(wanted) = timeline.wants() else {
            let segments = timeline.segments(0, true);
            assert_eq!(segments.first().map_or(0, |first| first.start), 0);
            let end = segments.last().map_or(0, |last| last.end);
            assert_eq!(end, timeline.points().len());
            return timeline.points().to_vec();
        };
        assert!(wanted.start < wanted.end && wanted.end <= file.len() as u64);
        timeline.take(&file[wanted.start as usize..wanted.end as usize]);
    }
    panic!("a timeline ends");
}

fuzz_target!(|file: &[u8]| {
    let before = points(file);
    let (init, fragments, outcome) = scan(file);
    let Outcome::Fragmented { whole } = outcome else {
        assert!(fragments.is_empty());
        return;
    };
    let init = init.expect("a file of fragments has tracks");
    let mut reached = 0;
    for fragment in &fragments {
        assert!(fragment.range.start >= reached && fragment.range.end <= whole);
        reached = fragment.range.end;
        for run in &fragment.runs {
            let bytes: u64 = run.rows.iter().map(|row| u64::from(row.size)).sum();
            assert!(run.data > fragment.range.start && run.data + bytes <= reached);
        }
    }
    let (again, same, cut) = scan(&file[..whole as usize]);
    assert_eq!(cut, outcome);
    assert!(again.as_ref() == Some(&init) && same == fragments);
    let mut finaliser = Finaliser::new(init);
    fragments
        .iter()
        .for_each(|fragment| finaliser.add(fragment));
    let Ok(finished) = finaliser.finish(whole) else {
        return;
    };
    let appended = [&file[..whole as usize], &finished.moov].concat();
    assert_eq!(scan(&appended).2, outcome, "an index alone changes nothing");
    let mut plain = appended;
    let at = finished.header_at as usize;
    plain[at..at + PLACEHOLDER_BYTES].copy_from_slice(&finished.header);
    assert_eq!(scan(&plain).2, Outcome::Finalised { moov: whole });
    assert_eq!(points(&plain), before);
});
