//! One fragment: the samples it collects, and how it is written (ISO/IEC 14496-12 §8.8).
//!
//! ```text
//! moof [ mfhd │ traf [ tfhd tfdt trun ] of pictures │ traf of sound ]  mdat [ pictures │ sound ]
//! ```
//!
//! Samples are kept by reference and copied once, into the log; what goes to a file is not copied at all.

use bytes::Bytes;

use super::boxes::{Boxes, HEADER_BYTES};
use super::parts::{PICTURE_COLUMNS, SOUND_COLUMNS, put_picture, put_run, put_track};
use super::{PICTURE_ID, SOUND_ID};

/// Bytes after which a fragment ends. A tenth of a second of the heaviest live media has one MiB; one sample
/// more, of 16 MiB at the most, still fits the size of a box.
const FRAGMENT_BYTES_MAX: usize = 8 << 20;

/// Samples that a fragment collects before it ends: ten seconds of sound and pictures have 1,100.
const FRAGMENT_SAMPLES_MAX: usize = 4_096;

const MFHD_BYTES: usize = 16;
/// A `traf` without the rows of its table: its header, `tfhd`, `tfdt` and `trun`.
const TRAF_BYTES: usize = HEADER_BYTES + 16 + 20 + 20;
/// A `traf` without samples: its header, `tfhd` and `tfdt`.
const EMPTY_TRAF_BYTES: usize = HEADER_BYTES + 16 + 20;
const PICTURE_ROW_BYTES: usize = 16;
const SOUND_ROW_BYTES: usize = 8;

/// One sample on its track's clock.
#[derive(Debug)]
pub(super) struct Piece {
    /// When it is to be decoded.
    pub(super) at: u64,
    /// How long it lasts.
    pub(super) duration: u32,
    /// When it is to be presented, after `at`; negative if its decoding time had to be moved.
    pub(super) composition: i32,
    /// It depends on no other.
    pub(super) is_sync: bool,
    pub(super) data: Bytes,
}

impl Piece {
    pub(super) fn end(&self) -> u64 {
        self.at + u64::from(self.duration)
    }
}

/// The samples collected. Those of a track follow one another without a hole.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pictures: Vec<Piece>,
    sounds: Vec<Piece>,
    bytes: usize,
    /// Where it begins, and until when a picture of the fragment before lasts on in it.
    lasting: Option<(u64, u64)>,
    /// Kept for its allocation.
    head: Boxes,
}

impl Fragment {
    pub(super) fn push_picture(&mut self, picture: Piece) {
        self.bytes += picture.data.len();
        self.pictures.push(picture);
    }

    pub(super) fn push_sound(&mut self, sound: Piece) {
        self.bytes += sound.data.len();
        self.sounds.push(sound);
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= FRAGMENT_BYTES_MAX
            || self.pictures.len() + self.sounds.len() >= FRAGMENT_SAMPLES_MAX
    }

    /// Where the pictures begin and end, one that lasts on included.
    pub(super) fn pictures(&self) -> Option<(u64, u64)> {
        let own = range(&self.pictures);
        match (self.lasting, own) {
            (Some((begin, _)), Some((_, end))) => Some((begin, end)),
            (lasting, own) => own.or(lasting),
        }
    }

    /// Where the sound begins and ends.
    pub(super) fn sound(&self) -> Option<(u64, u64)> {
        range(&self.sounds)
    }

    /// Makes the last sound last until `end`, if it ends before.
    pub(super) fn stretch_sound(&mut self, end: u64) {
        if let Some(last) = self.sounds.last_mut() {
            let duration = u32::try_from(end.saturating_sub(last.at)).unwrap_or(u32::MAX);
            last.duration = last.duration.max(duration);
        }
    }

    /// Takes the sound that begins at `from` or later out of it.
    pub(super) fn split_sound(&mut self, from: u64) -> Vec<Piece> {
        let first = self.sounds.partition_point(|sound| sound.at < from);
        let later = self.sounds.split_off(first);
        self.bytes -= later.iter().map(|sound| sound.data.len()).sum::<usize>();
        later
    }

    /// Has nothing but that sound, and the picture that lasts on until the end of `lasting`.
    pub(super) fn begin_within(&mut self, lasting: (u64, u64), sounds: Vec<Piece>) {
        self.clear();
        self.lasting = Some(lasting);
        sounds.into_iter().for_each(|sound| self.push_sound(sound));
    }

    /// Whether it has no sample.
    pub(super) fn is_empty(&self) -> bool {
        self.pictures.is_empty() && self.sounds.is_empty()
    }

    /// Whether it begins with a keyframe.
    pub(super) fn begins_with_keyframe(&self) -> bool {
        self.lasting.is_none() && self.pictures.first().is_some_and(|first| first.is_sync)
    }

    /// Whether it has a keyframe.
    pub(super) fn has_keyframe(&self) -> bool {
        self.pictures.iter().any(|picture| picture.is_sync)
    }

    /// The pictures and the sound.
    pub(super) fn pieces(&self) -> (&[Piece], &[Piece]) {
        (&self.pictures, &self.sounds)
    }

    /// Writes the fragment with its number.
    pub(super) fn write(&mut self, number: u32, put: &mut impl FnMut(&[u8])) {
        self.make_head(number);
        put(self.head.as_slice());
        for piece in self.pictures.iter().chain(&self.sounds) {
            put(&piece.data);
        }
    }

    /// The same in pieces: the headers, and then each sample as it is. The samples are no longer in it.
    pub(super) fn take_pieces(&mut self, number: u32) -> Vec<Bytes> {
        self.make_head(number);
        let head = Bytes::copy_from_slice(self.head.as_slice());
        let samples = self.pictures.drain(..).chain(self.sounds.drain(..));
        std::iter::once(head)
            .chain(samples.map(|piece| piece.data))
            .collect()
    }

    /// Writes what precedes the samples.
    fn make_head(&mut self, number: u32) {
        let tables = [
            (self.pictures.len(), PICTURE_ROW_BYTES),
            (self.sounds.len(), SOUND_ROW_BYTES),
        ];
        let tables = tables.iter().filter(|(rows, _)| *rows > 0);
        let trafs: usize = tables.map(|(rows, row)| TRAF_BYTES + rows * row).sum();
        let nothing = self.lasting.filter(|_| self.is_empty());
        let trafs = nothing.map_or(trafs, |_| EMPTY_TRAF_BYTES);
        let moof_bytes = HEADER_BYTES + MFHD_BYTES + trafs;
        let pictures_at = moof_bytes + HEADER_BYTES;
        let picture_bytes: usize = self.pictures.iter().map(|piece| piece.data.len()).sum();
        self.head.clear();
        self.head.put_box(b"moof", |moof| {
            moof.put_full_box(b"mfhd", 0, 0, |mfhd| mfhd.put_u32(number));
            put_pictures(moof, &self.pictures, pictures_at as u32);
            put_sounds(moof, &self.sounds, (pictures_at + picture_bytes) as u32);
            if let Some((_, end)) = nothing {
                // Of a time in which a picture lasts on there is a fragment, too; parsers want a track in it. The next
                // picture is at the end.
                put_track(moof, PICTURE_ID, end, |_| {});
            }
        });
        debug_assert_eq!(self.head.as_slice().len(), moof_bytes);
        self.head.put_u32((HEADER_BYTES + self.bytes) as u32);
        self.head.put(b"mdat");
    }

    /// Forgets the samples.
    pub(super) fn clear(&mut self) {
        self.pictures.clear();
        self.sounds.clear();
        self.lasting = None;
        self.bytes = 0;
    }
}

fn range(pieces: &[Piece]) -> Option<(u64, u64)> {
    Some((pieces.first()?.at, pieces.last()?.end()))
}

fn put_pictures(moof: &mut Boxes, pictures: &[Piece], data_at: u32) {
    put_pieces(
        moof,
        (PICTURE_ID, PICTURE_COLUMNS),
        pictures,
        data_at,
        |row, it| {
            let lasts_and_size = (it.duration, it.data.len() as u32);
            put_picture(row, lasts_and_size, it.composition, it.is_sync);
        },
    );
}

fn put_sounds(moof: &mut Boxes, sounds: &[Piece], data_at: u32) {
    put_pieces(
        moof,
        (SOUND_ID, SOUND_COLUMNS),
        sounds,
        data_at,
        |row, it| {
            row.put_u32(it.duration);
            row.put_u32(it.data.len() as u32);
        },
    );
}

fn put_pieces(
    moof: &mut Boxes,
    (id, columns): (u32, u32),
    pieces: &[Piece],
    data_at: u32,
    put_row: impl Fn(&mut Boxes, &Piece),
) {
    let Some(first) = pieces.first() else {
        return;
    };
    put_track(moof, id, first.at, |traf| {
        put_run(traf, columns, (pieces.len(), data_at), |trun| {
            pieces.iter().for_each(|piece| put_row(trun, piece));
        });
    });
}
