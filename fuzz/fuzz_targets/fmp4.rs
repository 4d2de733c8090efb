//! Fragmented MP4 for listeners: whatever a stream contains, an independent reader can read the output, from every join; no
//! track's time steps back, and no fragment is longer than permitted.

#![no_main]

#[allow(dead_code, reason = "the muxer's own tests ask it for more")]
#[path = "../../crates/container/src/fmp4/tests/reader.rs"]
mod reader;
#[path = "../shared/script.rs"]
mod script;

use std::collections::HashMap;
use std::sync::Arc;

use container::fmp4::{Content, FragmentSink, Init, Muxer, Unit};
use libfuzzer_sys::fuzz_target;
use media::{Span, Timestamp};
use reader::File;

/// Maximum number of samples in a fragment, including the one that ends it.
const FRAGMENT_SAMPLES_MAX: usize = 4_097;

/// Cost of an item in addition to its bytes: the boxes of a fragment, or a segment; and parameter sets. A keyframe may replace
/// missing frames, and a sample of long duration is split into fragments of at least two milliseconds.
const ITEM_BYTES: usize = 4 * 1024;
const LASTING_BYTES: usize = 256 * 1024;

/// Number of joins that are read from, of many.
const JOINS: usize = 8;

#[derive(Default)]
struct Log {
    open: Vec<u8>,
    units: Vec<(Unit, Option<Arc<Init>>, Vec<u8>)>,
    room: Option<Span>,
}

impl FragmentSink for Log {
    type Preamble = Arc<Init>;

    fn put(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    fn preamble(&mut self, init: &Init) -> Arc<Init> {
        Arc::new(init.clone())
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Init>>) {
        let bytes = std::mem::take(&mut self.open);
        assert!(!bytes.is_empty() && unit.duration >= Span::ZERO);
        let last = self.units.last().map(|(last, ..)| last.at);
        assert!(last.is_none_or(|last| last <= unit.at), "units go forward");
        assert!(join.is_none() || unit.content == Content::Fragment);
        assert!(last.is_some() || join.is_some(), "the first is a join");
        self.units.push((unit, join, bytes));
    }

    fn room(&self, _at: Timestamp) -> Option<Span> {
        self.room
    }
}

impl Log {
    /// Returns the data that a listener starting at a unit reads.
    fn from(&self, unit: usize, init: &Init) -> File {
        let units = self.units[unit..].iter().flat_map(|(.., bytes)| bytes);
        let bytes: Vec<u8> = init.bytes.iter().chain(units).copied().collect();
        File::parse(&bytes)
    }
}

/// Checks the properties of everything that was written.
fn check(file: &File) {
    let mut ends: HashMap<(u32, [u8; 4]), Span> = HashMap::new();
    for fragment in &file.fragments {
        let tracks = &file.moovs[fragment.moov - 1].tracks;
        let samples: usize = fragment.trafs.iter().map(|traf| traf.rows.len()).sum();
        assert!(samples <= FRAGMENT_SAMPLES_MAX, "{samples} samples");
        for traf in &fragment.trafs {
            let track = tracks.iter().find(|track| track.id == traf.track);
            let track = track.expect("every fragment is described");
            let begin = Span::from_samples(traf.at, track.timescale);
            let end = Span::from_samples(traf.end(), track.timescale);
            // Another clock's unit may be longer than the first one's rounding; such tracks count separately.
            let last = ends.insert((traf.track, track.handler), end);
            assert!(last.is_none_or(|last| begin >= last), "time steps back");
            assert!(traf.rows.iter().all(|row| !row.data.is_empty()));
        }
    }
}

// The first two bytes choose how long fragments may be.
fuzz_target!(|data: &[u8]| {
    let Some(([span, room], script)) = data.split_first_chunk::<2>() else {
        return;
    };
    let millis = |byte: u8| Span::from_millis(2 * i64::from(byte));
    let mut log = Log {
        room: (*room > 0).then(|| millis(*room)),
        ..Log::default()
    };
    let mut muxer = Muxer::new(millis(*span));
    let mut allowed = ITEM_BYTES;
    let mut largest = 0;
    for item in script::items(script) {
        largest = largest.max(script::bytes_of(&item));
        allowed += 2 * largest + ITEM_BYTES + LASTING_BYTES;
        muxer.push(&item, &mut log);
    }
    muxer.finish(&mut log);
    assert!(log.open.is_empty(), "every unit ends");
    let written: usize = log.units.iter().map(|(.., bytes)| bytes.len()).sum();
    assert!(written <= allowed, "{written} bytes");
    let joins = log.units.iter().enumerate();
    let joins: Vec<_> = joins
        .filter_map(|(at, (_, join, _))| Some((at, join.as_ref()?)))
        .collect();
    let step = joins.len().div_ceil(JOINS).max(1);
    for (index, (at, init)) in joins.iter().step_by(step).enumerate() {
        let file = log.from(*at, init);
        if index == 0 {
            check(&file);
        }
    }
});
