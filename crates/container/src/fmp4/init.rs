//! Initialization segment: `ftyp` and `moov` (ISO/IEC 14496-12 §8; ISO/IEC 23000-19 §7.3).
//!
//! Times are those of the stream, so there is no edit list. All media is in fragments, so the tables are empty.

use media::Kind;

use super::boxes::Boxes;
use super::carried::Description;
use super::parts::{
    DEPENDENT, SYNC, put_brands, put_extends, put_matrix, put_movie_header, put_without_samples,
};
use super::{AUDIO_ID, PICTURE_ID};

const BRANDS: [&[u8; 4]; 4] = [b"iso5", b"iso6", b"cmfc", b"mp41"];

/// Units of the presentation's own clock per second; nothing is counted in them.
const MOVIE_TIMESCALE: u32 = 1_000;

/// Flags of a track that is enabled, in the presentation and in its preview.
const TRACK_FLAGS: u32 = 7;

/// Language `und`, as three letters of five bits.
const LANGUAGE: u16 = 0x55C4;

/// Writes the segment for the tracks given.
pub(super) fn write(picture: Option<&Description>, audio: Option<&Description>) -> Vec<u8> {
    let tracks = [
        (PICTURE_ID, Kind::Video, picture),
        (AUDIO_ID, Kind::Audio, audio),
    ];
    let tracks = tracks.map(|(id, kind, description)| description.map(|it| (id, kind, it)));
    let tracks = || tracks.into_iter().flatten();
    let mut boxes = Boxes::default();
    put_brands(&mut boxes, &BRANDS);
    boxes.put_box(b"moov", |moov| {
        put_movie_header(moov, MOVIE_TIMESCALE, 0, AUDIO_ID + 1);
        for (id, kind, description) in tracks() {
            moov.put_box(b"trak", |trak| put_track(trak, id, kind, description));
        }
        let extended = tracks().map(|(id, kind, _)| match kind {
            Kind::Video => (id, DEPENDENT),
            Kind::Audio => (id, SYNC),
        });
        put_extends(moov, extended);
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
    let mut stsd = Boxes::default();
    stsd.put_full_box(b"stsd", 0, 0, |stsd| {
        stsd.put_u32(1);
        stsd.put(entry);
    });
    put_without_samples(minf, stsd.as_slice());
}
