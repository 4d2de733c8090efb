//! Division of a file into parts, and the tags of parts and objects.

use std::ops::Range;

use md5::{Digest, Md5};

/// Smallest part size (except the last part), and largest file sent in one request.
const PART_BYTES_MIN: u64 = 8 << 20;

/// Most parts of one object: the limit of S3.
const PARTS_MAX: u64 = 10_000;

/// Division of a file into equal parts and a remainder. Some storages require equal parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Parts {
    bytes: u64,
    each: u64,
}

impl Parts {
    /// Divides a file of `bytes` bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let mebibytes = bytes.div_ceil(PARTS_MAX).div_ceil(1 << 20);
        Self {
            bytes,
            each: PART_BYTES_MIN.max(mebibytes << 20),
        }
    }

    /// Divides the first `bytes` complete bytes of a growing file: returns only the full parts, for a file that stays short
    /// enough for parts of that size.
    pub(crate) fn full(bytes: u64) -> Self {
        let count = (bytes / PART_BYTES_MIN).min(PARTS_MAX);
        Self {
            bytes: count * PART_BYTES_MIN,
            each: PART_BYTES_MIN,
        }
    }

    /// Returns whether these parts continue the division that the file had while it was written.
    pub(crate) fn proceed(self) -> bool {
        self.each == PART_BYTES_MIN && self.count() > 1
    }

    /// Returns the number of parts.
    pub(crate) fn count(self) -> u32 {
        let count = self.bytes.div_ceil(self.each).max(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns the byte range of a part; numbers begin at 0.
    pub(crate) fn range(self, number: u32) -> Range<u64> {
        let from = u64::from(number) * self.each;
        from..(from + self.each).min(self.bytes)
    }
}

/// Returns the digest by which a changed part is detected.
pub(crate) fn digest(part: &[u8]) -> [u8; 16] {
    Md5::digest(part).into()
}

/// Returns the tag of an object assembled from parts with these tags, if the storage computes it as S3 does.
pub(crate) fn composite_tag<'a>(tags: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut digest = Md5::new();
    let mut count = 0;
    for tag in tags {
        digest.update(from_hex(bare(tag))?);
        count += 1;
    }
    Some(format!("{}-{count}", hex(&digest.finalize())))
}

/// Formats a digest as in tags.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a tag without its quotes.
pub(crate) fn bare(tag: &str) -> &str {
    tag.trim_matches('"')
}

fn from_hex(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_and_cover_the_file() {
        let mib = 1_u64 << 20;
        let full = 80_000 * mib;
        let small = [0, 1, 8 * mib, 8 * mib + 1, 100 * mib - 1];
        for bytes in small.into_iter().chain([full, full + 1, 5 << 40]) {
            let parts = Parts::of(bytes);
            assert!(u64::from(parts.count()) <= PARTS_MAX, "{bytes}");
            let ranges: Vec<_> = (0..parts.count()).map(|n| parts.range(n)).collect();
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, bytes);
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].end, pair[1].start);
                assert_eq!(pair[0].end - pair[0].start, parts.each);
            }
        }
        let full = [16 * mib - 1, 16 * mib, 100 * mib].map(|bytes| Parts::full(bytes).count());
        assert_eq!(full, [1, 2, 12]);
        let last = Parts::of(100 * mib).range(11);
        assert_eq!(Parts::full(100 * mib).range(11), last);
        assert!(Parts::of(100 * mib).proceed());
        assert!(!Parts::of(8 * mib).proceed() && !Parts::of(80_001 * mib).proceed());
        assert_eq!(Parts::of(8 * mib).count(), 1);
        assert_eq!(Parts::of(8 * mib + 1).count(), 2);
        assert_eq!(Parts::of(80_000 * mib + 1).each, 9 * mib);
    }

    #[test]
    fn a_composite_tag_is_the_digest_of_digests() {
        // Of two parts, `a` and `b`, as moto and S3 have it.
        let a = "\"0cc175b9c0f1b6a831c399e269772661\"";
        let b = "92eb5ffee6ae2fec3ad71c777531578f";
        let tag = composite_tag([a, b].into_iter());
        assert_eq!(tag.as_deref(), Some("96e024ba2074fe77e8e965ba43a704be-2"));
        assert_eq!(composite_tag(["opaque"].into_iter()), None);
    }
}
