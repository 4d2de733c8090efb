//! Parser of the tags of a finished file.

use std::time::Duration;

use super::metadata::{self, Facts, KEYFRAMES_MAX};
use crate::flv::{
    FILE_HEADER_BYTES, PACKET_CODED, TAG_AUDIO, TAG_BODY_BYTES_MAX, TAG_HEADER_BYTES, TAG_SCRIPT,
    TAG_TRAILER_BYTES, TAG_VIDEO, TagHead, VIDEO_AVC,
};
use crate::walk::{Closed, Piece, Pieces, halve};

/// Bytes of a tag that identify its content.
const PEEKED_BYTES: usize = TAG_HEADER_BYTES + 2;

/// Upper bound on the assumed duration of the last sample, in milliseconds.
const SAMPLE_MILLIS_MAX: u32 = 1_000;

/// Tags of a file, and the facts for its metadata.
#[derive(Debug, Default)]
pub struct Tags {
    /// Offset of the server's own part of the metadata, if the file begins with it.
    metadata: Option<u64>,
    /// Last times of audio and video, and the assumed duration of each last sample.
    audio: Track,
    pictures: Track,
    facts: Facts,
    /// Keyframes so far, of which one in `every` is listed.
    keyframes: u32,
    every: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Track {
    at: Option<u32>,
    lasts: u32,
}

impl Track {
    fn take(&mut self, at: u32) {
        let before = self.at.replace(at);
        let lasts = before.map_or(0, |before| at.saturating_sub(before));
        self.lasts = match lasts {
            0 => self.lasts,
            lasts => lasts.min(SAMPLE_MILLIS_MAX),
        };
    }

    fn ends(&self) -> u32 {
        self.at.map_or(0, |at| at.saturating_add(self.lasts))
    }
}

impl Tags {
    fn picture(&mut self, body: &[u8], at: u64, millis: u32) {
        let [first, packet] = *body else {
            return;
        };
        let is_extended = first & 0x80 != 0;
        let is_coded = match (is_extended, first & 15) {
            // With or without a composition time.
            (true, packet) => packet == 1 || packet == 3,
            (false, VIDEO_AVC) => packet == PACKET_CODED,
            (false, _) => true,
        };
        if !is_coded {
            return;
        }
        self.pictures.take(millis);
        if first >> 4 & 7 == 1 {
            self.keyframe(at, f64::from(millis) / 1_000.0);
        }
    }

    fn keyframe(&mut self, at: u64, seconds: f64) {
        let listed = &mut self.facts.keyframes;
        if listed.len() == KEYFRAMES_MAX {
            halve(listed);
            self.every = self.every.max(1).saturating_mul(2);
        }
        if self.keyframes.is_multiple_of(self.every.max(1)) {
            listed.push((at, seconds));
        }
        self.keyframes = self.keyframes.saturating_add(1);
    }
}

impl Pieces for Tags {
    fn piece(&mut self, front: &[u8], at: u64, left: u64) -> Piece {
        use Piece::{Foreign, Short, Whole};
        if at == 0 {
            return match front.len() >= FILE_HEADER_BYTES {
                false => Short(FILE_HEADER_BYTES),
                true if front.starts_with(b"FLV\x01") && front[5..9] == [0, 0, 0, 9] => {
                    Whole(FILE_HEADER_BYTES as u64)
                }
                true => Foreign,
            };
        }
        let head = front.first_chunk().map(TagHead::read);
        let begin = front.get(TAG_HEADER_BYTES..PEEKED_BYTES);
        let (Some(head), Some(begin)) = (head, begin) else {
            return Short(PEEKED_BYTES);
        };
        let body = head.body_bytes as usize;
        let bytes = head.bytes();
        if body > TAG_BODY_BYTES_MAX || bytes > left {
            return Foreign;
        }
        let (length, trailer) = (bytes as usize, bytes as usize - TAG_TRAILER_BYTES);
        let Some(size) = front.get(trailer..length) else {
            return Short(length);
        };
        // A tag that was not written completely has zeros in place of its trailer.
        if size != (trailer as u32).to_be_bytes() {
            return Foreign;
        }
        match head.kind {
            TAG_SCRIPT if at == FILE_HEADER_BYTES as u64 => {
                if metadata::is_own(&front[TAG_HEADER_BYTES..trailer]) {
                    self.metadata = Some(at + TAG_HEADER_BYTES as u64);
                }
            }
            TAG_SCRIPT => {}
            TAG_AUDIO => self.audio.take(head.millis),
            TAG_VIDEO if body >= 2 => self.picture(begin, at, head.millis),
            TAG_VIDEO => {}
            _ => return Foreign,
        }
        Whole(bytes)
    }

    fn close(&mut self, bytes: u64) -> Closed {
        let millis = self.audio.ends().max(self.pictures.ends());
        let lasts = Duration::from_millis(millis.into());
        self.facts.seconds = lasts.as_secs_f64();
        self.facts.bytes = bytes;
        let has_media = self.audio.at.is_some() || self.pictures.at.is_some();
        let patch = self.metadata.map(|at| (at, metadata::head(&self.facts)));
        Closed {
            bytes: if has_media { bytes } else { 0 },
            duration: Some(lasts),
            patches: patch.into_iter().filter(|_| has_media).collect(),
        }
    }
}
