//! Single video frame as a file, which players show without a decoder on the server.

use std::sync::Arc;

use bytes::Bytes;
use media::{Item, Sample, Timestamp, Track};

use super::{FRAGMENT_SPAN, FragmentSink, Init, Muxer, Unit};

/// Creates an MP4 of one keyframe, which begins at zero. `None` if MP4 cannot carry it.
pub fn still(track: &Arc<Track>, picture: &Sample) -> Option<Bytes> {
    let first = Sample {
        dts: Timestamp::ZERO,
        pts: Timestamp::ZERO,
        ..picture.clone()
    };
    let mut file = File::default();
    let mut muxer = Muxer::new(FRAGMENT_SPAN);
    muxer.push(&Item::Track(Arc::clone(track)), &mut file);
    muxer.push(&Item::Sample(first), &mut file);
    muxer.finish(&mut file);
    file.has_picture.then(|| file.bytes.into())
}

/// FragmentSink that collects an initialization segment and the fragments that follow it.
#[derive(Debug, Default)]
struct File {
    bytes: Vec<u8>,
    has_picture: bool,
}

impl FragmentSink for File {
    type Preamble = ();

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn preamble(&mut self, _init: &Init) {}

    fn end_unit(&mut self, unit: Unit, _join: Option<()>) {
        self.has_picture |= unit.is_independent;
    }

    fn init(&mut self, init: &Init) {
        self.put(&init.bytes);
    }
}
