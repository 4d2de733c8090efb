//! FLV files: the beginning of a file, and the search for its tags.
//!
//! Nothing here reads a file: a [`FileHead`] is made from the first bytes, and a [`Search`] requests the bytes it needs
//! next. Any input produces a finding or an end.

use std::ops::Range;

use media::Kind;

use super::body::{Body, Packet};
use super::read::ON_METADATA;
use super::tag::FILE_HEADER_BYTES;
use super::{ReadError, TAG_AUDIO, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_TRAILER_BYTES, TAG_VIDEO};

/// Bytes at the beginning of a file that are searched for metadata and codec headers: the keyframes of four hours are
/// listed in 130 KB, and media begins right after.
pub const FILE_HEAD_BYTES: usize = 1 << 20;

/// Bytes of a body that identify its content.
const BODY_LOOK_BYTES: usize = 64;

/// Bytes that a search reads at once: some audio frames; video is skipped.
const LOOK_BYTES: u64 = 4 << 10;

/// Upper bound on the tags that one search skips: a day of video and audio.
const TAGS_MAX: usize = 8_000_000;

/// Bytes of a list entry: a marker and the number.
const NUMBER_BYTES: usize = 9;

/// Header of a tag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TagHead {
    pub(super) kind: u8,
    pub(super) body_bytes: u32,
    /// Timestamp in milliseconds.
    pub millis: u32,
}

impl TagHead {
    /// Parses a tag header. `None` if these bytes begin no tag of a file.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; TAG_HEADER_BYTES] = bytes.first_chunk()?;
        let is_tag = matches!(head[0], TAG_AUDIO | TAG_VIDEO | TAG_SCRIPT) && head[8..] == [0; 3];
        is_tag.then(|| Self::read(head))
    }

    /// Reads a header of any kind, without validation.
    pub(super) fn read(head: &[u8; TAG_HEADER_BYTES]) -> Self {
        let [kind, s0, s1, s2, t0, t1, t2, extended, ..] = *head;
        Self {
            kind,
            body_bytes: u32::from_be_bytes([0, s0, s1, s2]),
            millis: u32::from_be_bytes([extended, t0, t1, t2]),
        }
    }

    /// Returns the bytes of the tag, including its trailing size.
    pub fn bytes(self) -> u64 {
        u64::from(self.body_bytes) + (TAG_HEADER_BYTES + TAG_TRAILER_BYTES) as u64
    }

    /// Returns whether the four bytes after a tag are its size.
    pub fn is_closed_by(self, trailer: [u8; TAG_TRAILER_BYTES]) -> bool {
        u64::from(u32::from_be_bytes(trailer)) + TAG_TRAILER_BYTES as u64 == self.bytes()
    }

    /// Parses the first bytes of the tag's body. `None` if it has no media.
    fn media(self, body: &[u8]) -> Option<Body> {
        match self.kind {
            TAG_AUDIO => Body::of(Kind::Audio, body),
            TAG_VIDEO => Body::of(Kind::Video, body),
            _ => None,
        }
    }
}

/// Beginning of a file, as needed by a player that begins in the middle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileHead {
    /// File header, metadata, and the first codec header of each kind: tags, as they are in the file.
    pub bytes: Vec<u8>,
    /// Offset in the file at which media begins.
    pub end: u64,
    /// The file has video.
    pub has_pictures: bool,
    /// Duration in seconds, if the metadata states it.
    pub duration: Option<f64>,
    /// Offsets and times in milliseconds of keyframes, if the metadata lists them.
    keyframes: Vec<(u64, u32)>,
}

impl FileHead {
    /// Parses the first bytes of a file, [`FILE_HEAD_BYTES`] if it has as many.
    ///
    /// # Errors
    /// If the file is not an FLV file.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let signature = bytes.get(..3) == Some(b"FLV");
        let announced: Option<&[u8; 4]> = bytes.get(5..9).and_then(|length| length.first_chunk());
        let (true, Some(announced)) = (signature, announced) else {
            return Err(ReadError::NotFlv);
        };
        let announced = u32::from_be_bytes(*announced);
        let mut at = announced as usize + TAG_TRAILER_BYTES;
        let (true, Some(flags)) = (at >= FILE_HEADER_BYTES, bytes.get(4)) else {
            return Err(ReadError::HeaderLength(announced));
        };
        let mut head = Self {
            bytes: super::file_header(flags & 4 != 0, flags & 1 != 0).to_vec(),
            end: at as u64,
            ..Self::default()
        };
        let mut has = [false; 3];
        let mut begin = None;
        while let Some(found) = bytes.get(at..).and_then(TagHead::parse) {
            let end = at + found.bytes() as usize;
            let Some(tag) = bytes.get(at..end) else {
                break;
            };
            let body = &tag[TAG_HEADER_BYTES..tag.len() - TAG_TRAILER_BYTES];
            let media = found.media(body);
            let is_header = media.is_some_and(|body| body.packet == Packet::SequenceHeader);
            head.has_pictures |= found.kind == TAG_VIDEO && media.is_some();
            if media.is_some_and(|body| body.packet == Packet::Coded) {
                begin.get_or_insert(at as u64);
            }
            let place = match found.kind {
                TAG_SCRIPT if body.starts_with(ON_METADATA) => Some(0),
                TAG_AUDIO if is_header => Some(1),
                TAG_VIDEO if is_header => Some(2),
                _ => None,
            };
            if let Some(place) = place
                && !std::mem::replace(&mut has[place], true)
            {
                if place == 0 {
                    head.metadata(body);
                }
                head.bytes.extend_from_slice(tag);
                head.end = end as u64;
            }
            at = end;
        }
        // A header may come after the first media.
        head.end = begin.map_or(head.end, |begin| begin.min(head.end));
        Ok(head)
    }

    /// Reads duration and keyframes from the metadata. Only these values are searched for, at any position: lists of
    /// keyframes are longer than any other value may be.
    fn metadata(&mut self, body: &[u8]) {
        let number = |bytes: &[u8]| -> Option<f64> {
            let (marker, number) = bytes.split_first()?;
            let number = f64::from_be_bytes(*number.first_chunk()?);
            (*marker == 0 && number.is_finite()).then_some(number)
        };
        let duration = behind(body, b"\0\x08duration").and_then(number);
        self.duration = duration.filter(|seconds| *seconds > 0.0);
        let list = |key: &[u8]| -> Option<Vec<f64>> {
            let (count, rest) = behind(body, key)?.split_first_chunk::<4>()?;
            let count = u32::from_be_bytes(*count) as usize;
            let numbers = rest.chunks_exact(NUMBER_BYTES).take(count);
            numbers.map(number).collect()
        };
        let positions = list(b"\0\x0dfilepositions\x0a");
        let (Some(positions), Some(times)) = (positions, list(b"\0\x05times\x0a")) else {
            return;
        };
        let both = positions.into_iter().zip(times);
        // Negative numbers become zero, and numbers that are too large point beyond the file.
        let keyframes = both.map(|(position, time)| (position as u64, (time * 1_000.0) as u32));
        self.keyframes = keyframes.collect();
    }

    /// Creates a search for the last keyframe at or before a time, in milliseconds, in a file of `length` bytes.
    pub fn search(&self, millis: u32, length: u64) -> Search {
        let listed = self.keyframes.iter();
        let listed = listed.filter(|(position, at)| *at <= millis && *position >= self.end);
        let start = listed.max_by_key(|(_, at)| *at);
        Search {
            at: start.map_or(self.end, |(position, _)| *position),
            is_listed: start.is_some(),
            end: length,
            millis,
            has_pictures: self.has_pictures,
            found: self.end,
            tags: 0,
        }
    }
}

/// Returns the bytes after the first occurrence of a key.
fn behind<'a>(body: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = body.windows(key.len()).position(|window| window == key)?;
    body.get(at + key.len()..)
}

/// Search for a position to begin at.
#[derive(Debug)]
pub struct Search {
    at: u64,
    /// The search starts at an offset from the metadata that has not been verified yet.
    is_listed: bool,
    /// End of the file.
    end: u64,
    millis: u32,
    has_pictures: bool,
    /// Offset of the last keyframe so far.
    found: u64,
    tags: usize,
}

impl Search {
    /// Returns the range of the file to read next; empty when the search is over.
    pub fn wants(&self) -> Range<u64> {
        let from = self.at.min(self.end);
        from..self.end.min(from.saturating_add(LOOK_BYTES))
    }

    /// Takes the wanted bytes. Returns the position when the search is over.
    pub fn take(&mut self, bytes: &[u8]) -> Option<u64> {
        let mut rest = bytes;
        loop {
            let Some(head) = TagHead::parse(rest) else {
                return self.end_of_tags(rest.len() < bytes.len() && rest.len() < TAG_HEADER_BYTES);
            };
            let body = &rest[TAG_HEADER_BYTES..];
            let is_cut =
                (body.len() as u64) < u64::from(head.body_bytes).min(BODY_LOOK_BYTES as u64);
            if is_cut && rest.len() < bytes.len() {
                return None;
            }
            let body = &body[..body.len().min(head.body_bytes as usize)];
            let is_start = head.media(body).is_some_and(|body| {
                let is_kind = (head.kind == TAG_VIDEO) == self.has_pictures;
                is_kind && body.keyframe && body.packet == Packet::Coded
            });
            if std::mem::take(&mut self.is_listed) && !is_start {
                self.at = self.found;
                return None;
            }
            let end = self.at.saturating_add(head.bytes());
            if is_start {
                if head.millis > self.millis || end > self.end {
                    return Some(self.found);
                }
                self.found = self.at;
            }
            self.tags += 1;
            self.at = end;
            if self.at >= self.end || self.tags >= TAGS_MAX {
                return Some(self.found);
            }
            match usize::try_from(head.bytes())
                .ok()
                .and_then(|length| rest.get(length..))
            {
                Some(behind) if !behind.is_empty() => rest = behind,
                _ => return None,
            }
        }
    }

    /// Handles the end of tags: no tag begins here. `is_cut` when more of the tag may follow in the file.
    fn end_of_tags(&mut self, is_cut: bool) -> Option<u64> {
        if is_cut {
            return None;
        }
        match std::mem::take(&mut self.is_listed) {
            true => {
                self.at = self.found;
                None
            }
            false => Some(self.found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flv_tag as tag;

    const VIDEO_HEADER: &[u8] = b"\x17\0\0\0\0record";
    const AUDIO_HEADER: &[u8] = b"\xaf\0\x12\x10";

    fn number(value: f64) -> Vec<u8> {
        [&[0][..], &value.to_be_bytes()].concat()
    }

    fn list(key: &str, values: &[f64]) -> Vec<u8> {
        let count = (values.len() as u32).to_be_bytes();
        let values: Vec<u8> = values.iter().flat_map(|value| number(*value)).collect();
        let length = (key.len() as u16).to_be_bytes();
        [&length[..], key.as_bytes(), &[10], &count, &values].concat()
    }

    fn metadata(keyframes: &[(f64, f64)]) -> Vec<u8> {
        let (positions, times): (Vec<_>, Vec<_>) = keyframes.iter().copied().unzip();
        let duration = [&b"\0\x08duration"[..], &number(12.5)].concat();
        let body = [ON_METADATA, &[8, 0, 0, 0, 0], &duration].concat();
        let lists = [list("filepositions", &positions), list("times", &times)].concat();
        tag(TAG_SCRIPT, 0, &[body, lists].concat())
    }

    /// A file with a keyframe each second, of nine, and where these are.
    fn film(metadata: &[u8]) -> (Vec<u8>, Vec<u64>) {
        let mut file = super::super::file_header(true, true).to_vec();
        file.extend_from_slice(metadata);
        file.extend(tag(TAG_VIDEO, 0, VIDEO_HEADER));
        file.extend(tag(TAG_AUDIO, 0, AUDIO_HEADER));
        let mut keyframes = Vec::new();
        for millis in (0..9_000).step_by(40) {
            let is_key = millis % 1_000 == 0;
            if is_key {
                keyframes.push(file.len() as u64);
            }
            let mut body = vec![7; if is_key { 9_000 } else { 300 }];
            body[..5].copy_from_slice(&[if is_key { 0x17 } else { 0x27 }, 1, 0, 0, 0]);
            file.extend(tag(TAG_VIDEO, millis, &body));
            file.extend(tag(TAG_AUDIO, millis + 7, b"\xaf\x01sound"));
        }
        (file, keyframes)
    }

    fn find(head: &FileHead, file: &[u8], millis: u32) -> (u64, usize) {
        let mut search = head.search(millis, file.len() as u64);
        for reads in 1..100_000 {
            let wants = search.wants();
            let bytes = &file[wants.start as usize..wants.end as usize];
            if let Some(found) = search.take(bytes) {
                return (found, reads);
            }
        }
        panic!("it does not end");
    }

    #[test]
    fn a_head_has_what_comes_before_the_media() {
        let metadata = metadata(&[(500.0, 1.0)]);
        let (file, keyframes) = film(&metadata);
        let head = FileHead::read(&file).expect("a file");
        assert_eq!(head.bytes, file[..keyframes[0] as usize]);
        assert_eq!((head.end, head.has_pictures), (keyframes[0], true));
        assert_eq!(head.duration, Some(12.5));
        assert_eq!(head.keyframes, [(500, 1_000)]);
        assert_eq!(FileHead::read(b"FLV"), Err(ReadError::NotFlv));
        assert_eq!(FileHead::read(b"ID3 something"), Err(ReadError::NotFlv));
        let short = b"FLV\x01\x05\0\0\0\x03\0\0\0\0";
        assert_eq!(FileHead::read(short), Err(ReadError::HeaderLength(3)));
    }

    #[test]
    fn a_search_finds_the_keyframe_before() {
        let (file, keyframes) = film(&metadata(&[]));
        let head = FileHead::read(&file).expect("a file");
        for (millis, place) in [(0, 0), (999, 0), (1_000, 1), (4_321, 4), (u32::MAX, 8)] {
            assert_eq!(find(&head, &file, millis).0, keyframes[place], "{millis}");
        }
        // Wherever the file is cut.
        for cut in (keyframes[0] as usize..file.len()).step_by(97) {
            find(&head, &file[..cut], u32::MAX);
        }
    }

    #[test]
    fn a_list_of_keyframes_saves_the_way_to_them() {
        let (probe, _) = film(&metadata(&[(0.0, 0.0); 9]));
        let head = FileHead::read(&probe).expect("a file");
        let (_, keyframes) = film(&metadata(&[(0.0, 0.0); 9]));
        let listed: Vec<_> = (0..9).map(|at| (keyframes[at] as f64, at as f64)).collect();
        let (file, _) = film(&metadata(&listed));
        let known = FileHead::read(&file).expect("a file");
        let (slow, fast) = (find(&head, &file, 7_500), find(&known, &file, 7_500));
        assert_eq!((fast.0, slow.0), (keyframes[7], keyframes[7]));
        assert!(fast.1 < slow.1 / 3, "{fast:?} {slow:?}");
        // A list that is wrong is not followed.
        let wrong: Vec<_> = listed.iter().map(|(at, time)| (at + 3.0, *time)).collect();
        let (file, _) = film(&metadata(&wrong));
        let misled = FileHead::read(&file).expect("a file");
        assert_eq!(find(&misled, &file, 7_500).0, keyframes[7]);
    }

    #[test]
    fn a_tag_is_closed_by_its_size() {
        let bytes = tag(TAG_AUDIO, 0x0123_4567, b"12345");
        let head = TagHead::parse(&bytes).expect("a tag");
        assert_eq!((head.millis, head.bytes()), (0x0123_4567, 20));
        assert!(head.is_closed_by([0, 0, 0, 16]) && !head.is_closed_by([0, 0, 0, 17]));
        assert_eq!(TagHead::parse(&bytes[1..]), None);
    }
}
