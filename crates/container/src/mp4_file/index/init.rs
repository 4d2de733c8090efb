//! Initialization segment of a plain file: its tracks, with empty tables.

use super::moov::TrackHead;
use crate::fmp4::boxes::Boxes;
use crate::fmp4::parts::{put_brands, put_extends, put_movie_header, put_without_samples};

/// Brands of files whose samples are in fragments.
pub(super) const BRANDS: [&[u8; 4]; 3] = [b"iso5", b"iso6", b"mp41"];

/// Units of the presentation's own clock per second; nothing is counted in them.
const MOVIE_TIMESCALE: u32 = 1_000;

/// Writes the segment.
pub(super) fn write(heads: &[TrackHead]) -> Vec<u8> {
    let mut boxes = Boxes::default();
    put_brands(&mut boxes, &BRANDS);
    boxes.put_box(b"moov", |moov| {
        // The duration is in the fragments, and readers must search for the next track number.
        put_movie_header(moov, MOVIE_TIMESCALE, 0, u32::MAX);
        for head in heads {
            moov.put_box(b"trak", |trak| put_track(trak, head));
        }
        // Each sample has flags of its own.
        put_extends(moov, heads.iter().map(|head| (head.id, 0)));
    });
    boxes.into_bytes()
}

fn put_track(trak: &mut Boxes, head: &TrackHead) {
    let [tkhd, mdhd, hdlr, media_header, stsd] = &head.boxes;
    put_timeless(trak, tkhd, [28, 36]);
    trak.put_box(b"mdia", |mdia| {
        put_timeless(mdia, mdhd, [24, 32]);
        mdia.put(hdlr);
        mdia.put_box(b"minf", |minf| {
            minf.put(media_header);
            put_without_samples(minf, stsd);
        });
    });
}

/// Copies a header with its duration set to zero; the duration's offset depends on the version.
fn put_timeless(boxes: &mut Boxes, header: &[u8], duration_at: [usize; 2]) {
    let is_long = header.get(8).is_some_and(|version| *version > 0);
    let (at, bytes) = match is_long {
        false => (duration_at[0], 4),
        true => (duration_at[1], 8),
    };
    match header.get(at + bytes..) {
        Some(behind) => {
            boxes.put(&header[..at]);
            boxes.put_zeros(bytes);
            boxes.put(behind);
        }
        None => boxes.put(header),
    }
}
