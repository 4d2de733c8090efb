//! The initialization segment of a plain file: its tracks, with empty tables.

use super::moov::TrackHead;
use crate::fmp4::boxes::Boxes;

/// Fragments with 64-bit times and signed composition offsets.
const MAJOR_BRAND: &[u8; 4] = b"iso6";
const BRANDS: [&[u8; 4]; 3] = [b"iso5", b"iso6", b"mp41"];

/// Units of the presentation's own clock in one second; nothing is counted in them.
const MOVIE_TIMESCALE: u32 = 1_000;

/// The unit matrix: tracks have their own.
const MATRIX: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// Writes `ftyp` for what has a `moov` of its own.
pub(super) fn brand(boxes: &mut Boxes) {
    boxes.put_box(b"ftyp", |ftyp| {
        ftyp.put(MAJOR_BRAND);
        ftyp.put_u32(0);
        BRANDS.iter().for_each(|brand| ftyp.put(*brand));
    });
}

/// Writes the segment.
pub(super) fn write(heads: &[TrackHead]) -> Vec<u8> {
    let mut boxes = Boxes::default();
    brand(&mut boxes);
    boxes.put_box(b"moov", |moov| {
        moov.put_full_box(b"mvhd", 0, 0, |mvhd| {
            mvhd.put_zeros(8);
            mvhd.put_u32(MOVIE_TIMESCALE);
            mvhd.put_u32(0); // duration: in the fragments
            mvhd.put_u32(0x0001_0000); // rate 1
            mvhd.put_u16(0x0100); // volume 1
            mvhd.put_zeros(10);
            MATRIX.iter().for_each(|value| mvhd.put_u32(*value));
            mvhd.put_zeros(24);
            mvhd.put_u32(u32::MAX); // the next track's number is to be looked for
        });
        for head in heads {
            moov.put_box(b"trak", |trak| put_track(trak, head));
        }
        moov.put_box(b"mvex", |mvex| {
            for head in heads {
                mvex.put_full_box(b"trex", 0, 0, |trex| {
                    trex.put_u32(head.id);
                    trex.put_u32(1); // sample description
                    trex.put_zeros(12); // duration, size and flags, which each sample has
                });
            }
        });
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
            minf.put_box(b"dinf", |dinf| {
                dinf.put_full_box(b"dref", 0, 0, |dref| {
                    dref.put_u32(1);
                    dref.put_full_box(b"url ", 0, 1, |_| {}); // in this file
                });
            });
            minf.put_box(b"stbl", |stbl| {
                stbl.put(stsd);
                for (table, empty) in [(b"stts", 4), (b"stsc", 4), (b"stsz", 8), (b"stco", 4)] {
                    stbl.put_full_box(table, 0, 0, |table| table.put_zeros(empty));
                }
            });
        });
    });
}

/// A header with a duration of zero, whose place depends on the version.
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
