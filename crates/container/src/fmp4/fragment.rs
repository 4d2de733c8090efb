//! Fragment: the samples it collects, and its encoding (ISO/IEC 14496-12 §8.8).
//!
//! ```text
//! moof [ mfhd │ traf [ tfhd tfdt trun ] of video │ traf of audio ]  mdat [ video │ audio ]
//! ```
//!
//! Samples are kept by reference and copied once, into the log; data for a file is not copied at all.

use bytes::Bytes;

use super::boxes::{Boxes, HEADER_BYTES};
use super::parts::{AUDIO_COLUMNS, PICTURE_COLUMNS, put_picture, put_run, put_track};
use super::{AUDIO_ID, PICTURE_ID};

/// Size in bytes at which a fragment ends. A tenth of a second of the heaviest live media has one MiB; one sample more,
/// of 16 MiB at most, still fits the size of a box.
const FRAGMENT_BYTES_MAX: usize = 8 << 20;

/// Upper bound on the samples that a fragment collects before it ends: ten seconds of audio and video have 1,100.
const FRAGMENT_SAMPLES_MAX: usize = 4_096;

const MFHD_BYTES: usize = 16;
/// Bytes of a `traf` without the rows of its table: its header, `tfhd`, `tfdt` and `trun`.
const TRAF_BYTES: usize = HEADER_BYTES + 16 + 20 + 20;
/// Bytes of a `traf` without samples: its header, `tfhd` and `tfdt`.
const EMPTY_TRAF_BYTES: usize = HEADER_BYTES + 16 + 20;
const PICTURE_ROW_BYTES: usize = 16;
const AUDIO_ROW_BYTES: usize = 8;

/// Sample on its track's clock.
#[derive(Debug)]
pub(super) struct Piece {
    /// Decoding time.
    pub(super) at: u64,
    /// Duration.
    pub(super) duration: u32,
    /// Presentation time minus `at`; negative if the decoding time had to be moved.
    pub(super) composition: i32,
    /// The sample depends on no other.
    pub(super) is_sync: bool,
    pub(super) data: Bytes,
}

impl Piece {
    pub(super) fn end(&self) -> u64 {
        self.at + u64::from(self.duration)
    }
}

/// Collected samples. Those of a track follow one another without a gap.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pictures: Vec<Piece>,
    audio_frames: Vec<Piece>,
    bytes: usize,
    /// Beginning of this fragment, and end of a frame of an earlier fragment that lasts into it.
    lasting: Option<(u64, u64)>,
    /// Kept for its allocation.
    head: Boxes,
}

impl Fragment {
    pub(super) fn push_picture(&mut self, picture: Piece) {
        self.bytes += picture.data.len();
        self.pictures.push(picture);
    }

    pub(super) fn push_audio(&mut self, audio: Piece) {
        self.bytes += audio.data.len();
        self.audio_frames.push(audio);
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= FRAGMENT_BYTES_MAX
            || self.pictures.len() + self.audio_frames.len() >= FRAGMENT_SAMPLES_MAX
    }

    /// Returns the beginning and end of the video, including an earlier frame that lasts into the fragment.
    pub(super) fn pictures(&self) -> Option<(u64, u64)> {
        let own = range(&self.pictures);
        match (self.lasting, own) {
            (Some((begin, _)), Some((_, end))) => Some((begin, end)),
            (lasting, own) => own.or(lasting),
        }
    }

    /// Returns the beginning and end of the audio.
    pub(super) fn audio(&self) -> Option<(u64, u64)> {
        range(&self.audio_frames)
    }

    /// Extends the last audio frame until `end`, if it ends before.
    pub(super) fn stretch_audio(&mut self, end: u64) {
        if let Some(last) = self.audio_frames.last_mut() {
            let duration = u32::try_from(end.saturating_sub(last.at)).unwrap_or(u32::MAX);
            last.duration = last.duration.max(duration);
        }
    }

    /// Removes and returns the audio that begins at `from` or later.
    pub(super) fn split_audio(&mut self, from: u64) -> Vec<Piece> {
        let first = self.audio_frames.partition_point(|audio| audio.at < from);
        let later = self.audio_frames.split_off(first);
        self.bytes -= later.iter().map(|audio| audio.data.len()).sum::<usize>();
        later
    }

    /// Reduces the fragment to `audio_frames`, and to the frame that lasts until the end of `lasting`.
    pub(super) fn begin_within(&mut self, lasting: (u64, u64), audio_frames: Vec<Piece>) {
        self.clear();
        self.lasting = Some(lasting);
        audio_frames
            .into_iter()
            .for_each(|audio| self.push_audio(audio));
    }

    /// Returns whether the fragment has no sample.
    pub(super) fn is_empty(&self) -> bool {
        self.pictures.is_empty() && self.audio_frames.is_empty()
    }

    /// Returns whether the fragment begins with a keyframe.
    pub(super) fn begins_with_keyframe(&self) -> bool {
        self.lasting.is_none() && self.pictures.first().is_some_and(|first| first.is_sync)
    }

    /// Returns whether the fragment has a keyframe.
    pub(super) fn has_keyframe(&self) -> bool {
        self.pictures.iter().any(|picture| picture.is_sync)
    }

    /// Returns the video and the audio samples.
    pub(super) fn pieces(&self) -> (&[Piece], &[Piece]) {
        (&self.pictures, &self.audio_frames)
    }

    /// Writes the fragment with its number.
    pub(super) fn write(&mut self, number: u32, put: &mut impl FnMut(&[u8])) {
        self.make_head(number);
        put(self.head.as_slice());
        for piece in self.pictures.iter().chain(&self.audio_frames) {
            put(&piece.data);
        }
    }

    /// Returns the encoded fragment in pieces: the headers, then each sample uncopied. The samples are removed from the
    /// fragment.
    pub(super) fn take_pieces(&mut self, number: u32) -> Vec<Bytes> {
        self.make_head(number);
        let head = Bytes::copy_from_slice(self.head.as_slice());
        let samples = self.pictures.drain(..).chain(self.audio_frames.drain(..));
        std::iter::once(head)
            .chain(samples.map(|piece| piece.data))
            .collect()
    }

    /// Writes the headers before the samples.
    fn make_head(&mut self, number: u32) {
        let tables = [
            (self.pictures.len(), PICTURE_ROW_BYTES),
            (self.audio_frames.len(), AUDIO_ROW_BYTES),
        ];
        let tables = tables.iter().filter(|(rows, _)| *rows > 0);
        let trafs: usize = tables.map(|(rows, row)| TRAF_BYTES + rows * row).sum();
        let nothing = self.lasting.filter(|_| self.is_empty());
        let trafs = nothing.map_or(trafs, |_| EMPTY_TRAF_BYTES);
        let moof_bytes = HEADER_BYTES + MFHD_BYTES + trafs;
        let pictures_at = moof_bytes + HEADER_BYTES;
        let picture_bytes: usize = self.pictures.iter().map(|piece| piece.data.len()).sum();
        let audio_at = pictures_at + picture_bytes;
        self.head.clear();
        self.head.put_box(b"moof", |moof| {
            moof.put_full_box(b"mfhd", 0, 0, |mfhd| mfhd.put_u32(number));
            put_pieces(moof, PICTURE_ID, &self.pictures, pictures_at);
            put_pieces(moof, AUDIO_ID, &self.audio_frames, audio_at);
            if let Some((_, end)) = nothing {
                // A period during which an earlier frame lasts has a fragment, too, and parsers require a track in it.
                // The next video frame is at the end.
                put_track(moof, PICTURE_ID, end, |_| {});
            }
        });
        debug_assert_eq!(self.head.as_slice().len(), moof_bytes);
        self.head.put_u32((HEADER_BYTES + self.bytes) as u32);
        self.head.put(b"mdat");
    }

    /// Drops the samples.
    pub(super) fn clear(&mut self) {
        self.pictures.clear();
        self.audio_frames.clear();
        self.lasting = None;
        self.bytes = 0;
    }
}

fn range(pieces: &[Piece]) -> Option<(u64, u64)> {
    Some((pieces.first()?.at, pieces.last()?.end()))
}

/// Writes the samples of a track, whose data begins at `data_at`.
fn put_pieces(moof: &mut Boxes, id: u32, pieces: &[Piece], data_at: usize) {
    let Some(first) = pieces.first() else {
        return;
    };
    let columns = match id {
        PICTURE_ID => PICTURE_COLUMNS,
        _ => AUDIO_COLUMNS,
    };
    put_track(moof, id, first.at, |traf| {
        put_run(traf, columns, (pieces.len(), data_at as u32), |trun| {
            for it in pieces {
                let (lasts, size) = (it.duration, it.data.len() as u32);
                if id == PICTURE_ID {
                    put_picture(trun, (lasts, size), it.composition, it.is_sync);
                } else {
                    trun.put_u32(lasts);
                    trun.put_u32(size);
                }
            }
        });
    });
}
