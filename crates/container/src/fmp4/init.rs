//! The initialization segment: `ftyp` and `moov` (ISO/IEC 14496-12 §8; ISO/IEC 23000-19 §7.3).
//!
//! Times are those of the stream, so there is no edit list, and all media is in fragments, so its
//! tables are empty.

use media::Kind;

use super::boxes::Boxes;
use super::carried::Description;
use super::fragment::{DEPENDENT, SYNC};
use super::{PICTURE_ID, SOUND_ID};

/// Fragments with 64-bit times and signed composition offsets, counted from their own start.
const MAJOR_BRAND: &[u8; 4] = b"iso6";
const BRANDS: [&[u8; 4]; 4] = [b"iso5", b"iso6", b"cmfc", b"mp41"];

/// Units of the presentation's own clock in one second; nothing is counted in them.
const MOVIE_TIMESCALE: u32 = 1_000;

/// The unit matrix: pictures are shown as they are.
const MATRIX: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// The track is enabled, in the presentation and in its preview.
const TRACK_FLAGS: u32 = 7;

/// The data is in this file.
const SELF_CONTAINED: u32 = 1;

/// `und`, three letters of five bits.
const LANGUAGE: u16 = 0x55C4;

/// Writes the segment for the tracks there are.
pub(super) fn write(picture: Option<&Description>, sound: Option<&Description>) -> Vec<u8> {
    let tracks = [
        (PICTURE_ID, Kind::Video, picture),
        (SOUND_ID, Kind::Audio, sound),
    ];
    let tracks = tracks.map(|(id, kind, description)| description.map(|it| (id, kind, it)));
    let tracks = || tracks.into_iter().flatten();
    let mut boxes = Boxes::default();
    boxes.put_box(b"ftyp", |ftyp| {
        ftyp.put(MAJOR_BRAND);
        ftyp.put_u32(0);
        BRANDS.iter().for_each(|brand| ftyp.put(*brand));
    });
    boxes.put_box(b"moov", |moov| {
        moov.put_full_box(b"mvhd", 0, 0, |mvhd| {
            mvhd.put_zeros(8);
            mvhd.put_u32(MOVIE_TIMESCALE);
            mvhd.put_u32(0); // duration: unknown
            mvhd.put_u32(0x0001_0000); // rate 1
            mvhd.put_u16(0x0100); // volume 1
            mvhd.put_zeros(10);
            put_matrix(mvhd);
            mvhd.put_zeros(24);
            mvhd.put_u32(SOUND_ID + 1); // the next track, if there ever were one
        });
        for (id, kind, description) in tracks() {
            moov.put_box(b"trak", |trak| put_track(trak, id, kind, description));
        }
        moov.put_box(b"mvex", |mvex| {
            for (id, kind, _) in tracks() {
                mvex.put_full_box(b"trex", 0, 0, |trex| {
                    trex.put_u32(id);
                    trex.put_u32(1); // sample description
                    trex.put_zeros(8); // duration and size, which each sample has
                    trex.put_u32(match kind {
                        Kind::Video => DEPENDENT,
                        Kind::Audio => SYNC,
                    });
                });
            }
        });
    });
    boxes.into_bytes()
}

fn put_track(trak: &mut Boxes, id: u32, kind: Kind, description: &Description) {
    let (width, height) = description.size;
    trak.put_full_box(b"tkhd", 0, TRACK_FLAGS, |tkhd| {
        tkhd.put_zeros(8);
        tkhd.put_u32(id);
        tkhd.put_zeros(4 + 4 + 8 + 4);
        tkhd.put_u16(match kind {
            Kind::Video => 0,
            Kind::Audio => 0x0100,
        });
        tkhd.put_u16(0);
        put_matrix(tkhd);
        tkhd.put_u32(u32::from(width) << 16);
        tkhd.put_u32(u32::from(height) << 16);
    });
    trak.put_box(b"mdia", |mdia| {
        mdia.put_full_box(b"mdhd", 0, 0, |mdhd| {
            mdhd.put_zeros(8);
            mdhd.put_u32(description.timescale);
            mdhd.put_u32(0);
            mdhd.put_u16(LANGUAGE);
            mdhd.put_u16(0);
        });
        mdia.put_full_box(b"hdlr", 0, 0, |hdlr| {
            hdlr.put_zeros(4);
            hdlr.put(match kind {
                Kind::Video => b"vide",
                Kind::Audio => b"soun",
            });
            hdlr.put_zeros(12 + 1); // reserved, and an empty name
        });
        mdia.put_box(b"minf", |minf| put_media(minf, kind, &description.entry));
    });
}

fn put_media(minf: &mut Boxes, kind: Kind, entry: &[u8]) {
    match kind {
        Kind::Video => minf.put_full_box(b"vmhd", 0, 1, |vmhd| vmhd.put_zeros(8)),
        Kind::Audio => minf.put_full_box(b"smhd", 0, 0, |smhd| smhd.put_zeros(4)),
    }
    minf.put_box(b"dinf", |dinf| {
        dinf.put_full_box(b"dref", 0, 0, |dref| {
            dref.put_u32(1);
            dref.put_full_box(b"url ", 0, SELF_CONTAINED, |_| {});
        });
    });
    minf.put_box(b"stbl", |stbl| {
        stbl.put_full_box(b"stsd", 0, 0, |stsd| {
            stsd.put_u32(1);
            stsd.put(entry);
        });
        for (table, empty_bytes) in [(b"stts", 4), (b"stsc", 4), (b"stsz", 8), (b"stco", 4)] {
            stbl.put_full_box(table, 0, 0, |empty| empty.put_zeros(empty_bytes));
        }
    });
}

fn put_matrix(boxes: &mut Boxes) {
    MATRIX.iter().for_each(|value| boxes.put_u32(*value));
}
