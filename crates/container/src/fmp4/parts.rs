//! Boxes that are the same wherever MP4 is written.

use super::boxes::Boxes;

/// `sample_flags` (ISO/IEC 14496-12 §8.8.3.1): the sample depends on no other.
pub(crate) const SYNC: u32 = 0x0200_0000;
/// `sample_flags`: the sample depends on others; decoders cannot start at it.
pub(crate) const DEPENDENT: u32 = 0x0101_0000;

/// `tf_flags`: positions are counted from the start of the `moof`.
const DEFAULT_BASE_IS_MOOF: u32 = 0x02_0000;

/// `tr_flags`: the columns of a sample table.
pub(crate) const DATA_OFFSET: u32 = 0x001;
pub(crate) const DURATION: u32 = 0x100;
pub(crate) const SIZE: u32 = 0x200;
pub(crate) const FLAGS: u32 = 0x400;
pub(crate) const COMPOSITION: u32 = 0x800;

/// Columns of video, and of audio.
pub(crate) const PICTURE_COLUMNS: u32 = DATA_OFFSET | DURATION | SIZE | FLAGS | COMPOSITION;
pub(crate) const AUDIO_COLUMNS: u32 = DATA_OFFSET | DURATION | SIZE;

/// Unit matrix: video is shown untransformed.
const MATRIX: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// Flag of a data reference: the data is in this file.
const SELF_CONTAINED: u32 = 1;

/// Writes `ftyp`. All files written here have fragments with 64-bit times and signed composition offsets, or are made
/// from such.
pub(crate) fn put_brands(boxes: &mut Boxes, brands: &[&[u8; 4]]) {
    boxes.put_box(b"ftyp", |ftyp| {
        ftyp.put(b"iso6");
        ftyp.put_u32(0);
        brands.iter().for_each(|brand| ftyp.put(*brand));
    });
}

/// Writes `mvhd`: `timescale` is the presentation clock's units per second, `duration` the duration in these units
/// (0 if it is not known), and `next` the number of the next track, if one were added.
pub(crate) fn put_movie_header(moov: &mut Boxes, timescale: u32, duration: u32, next: u32) {
    moov.put_full_box(b"mvhd", 0, 0, |mvhd| {
        mvhd.put_zeros(8);
        mvhd.put_u32(timescale);
        mvhd.put_u32(duration);
        mvhd.put_u32(0x0001_0000); // rate 1
        mvhd.put_u16(0x0100); // volume 1
        mvhd.put_zeros(10);
        put_matrix(mvhd);
        mvhd.put_zeros(24);
        mvhd.put_u32(next);
    });
}

/// Writes `mvex`, which announces the fragments of tracks with these numbers and usual `sample_flags`.
pub(crate) fn put_extends(moov: &mut Boxes, tracks: impl Iterator<Item = (u32, u32)>) {
    moov.put_box(b"mvex", |mvex| {
        for (id, flags) in tracks {
            mvex.put_full_box(b"trex", 0, 0, |trex| {
                trex.put_u32(id);
                trex.put_u32(1); // sample description
                trex.put_zeros(8); // duration and size, which each sample has
                trex.put_u32(flags);
            });
        }
    });
}

pub(crate) fn put_matrix(boxes: &mut Boxes) {
    MATRIX.iter().for_each(|value| boxes.put_u32(*value));
}

/// Writes the boxes after the media header of a track whose samples are in fragments, including `stsd`, a whole box.
pub(crate) fn put_without_samples(minf: &mut Boxes, stsd: &[u8]) {
    minf.put_box(b"dinf", |dinf| {
        dinf.put_full_box(b"dref", 0, 0, |dref| {
            dref.put_u32(1);
            dref.put_full_box(b"url ", 0, SELF_CONTAINED, |_| {});
        });
    });
    minf.put_box(b"stbl", |stbl| {
        stbl.put(stsd);
        for (table, empty_bytes) in [(b"stts", 4), (b"stsc", 4), (b"stsz", 8), (b"stco", 4)] {
            stbl.put_full_box(table, 0, 0, |empty| empty.put_zeros(empty_bytes));
        }
    });
}

/// Writes a track's part of a fragment, whose first sample is decoded at `at`.
pub(crate) fn put_track(moof: &mut Boxes, id: u32, at: u64, put_run: impl FnOnce(&mut Boxes)) {
    moof.put_box(b"traf", |traf| {
        traf.put_full_box(b"tfhd", 0, DEFAULT_BASE_IS_MOOF, |tfhd| tfhd.put_u32(id));
        traf.put_full_box(b"tfdt", 1, 0, |tfdt| tfdt.put_u64(at));
        put_run(traf);
    });
}

/// Writes the table of a number of samples, whose bytes begin at `data_at` from the start of the `moof`.
pub(crate) fn put_run(
    traf: &mut Boxes,
    columns: u32,
    (count, data_at): (usize, u32),
    put_rows: impl FnOnce(&mut Boxes),
) {
    // Version 1: composition times are signed.
    traf.put_full_box(b"trun", 1, columns, |trun| {
        trun.put_u32(count as u32);
        trun.put_u32(data_at);
        put_rows(trun);
    });
}

/// Writes a row of [`PICTURE_COLUMNS`].
pub(crate) fn put_picture(
    trun: &mut Boxes,
    (duration, size): (u32, u32),
    composition: i32,
    is_sync: bool,
) {
    trun.put_u32(duration);
    trun.put_u32(size);
    trun.put_u32(if is_sync { SYNC } else { DEPENDENT });
    trun.put(&composition.to_be_bytes());
}
