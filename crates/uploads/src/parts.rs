//! How a file is cut, and what the storage calls what was put together.

use std::ops::Range;

use md5::{Digest, Md5};

/// The smallest part but the last, and the largest file that is sent at once.
const PART_BYTES_MIN: u64 = 8 << 20;

/// Parts of one object at most: what S3 takes.
const PARTS_MAX: u64 = 10_000;

/// The cuts of a file: equal parts, and what is left. Some storages want them equal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Parts {
    bytes: u64,
    each: u64,
}

impl Parts {
    /// Those of a file with so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let mebibytes = bytes.div_ceil(PARTS_MAX).div_ceil(1 << 20);
        Self {
            bytes,
            each: PART_BYTES_MIN.max(mebibytes << 20),
        }
    }

    /// Those of a file of which so many bytes are whole, and more will come: the parts that are full, if it stays short
    /// enough for parts of that size.
    pub(crate) fn full(bytes: u64) -> Self {
        let count = (bytes / PART_BYTES_MIN).min(PARTS_MAX);
        Self {
            bytes: count * PART_BYTES_MIN,
            each: PART_BYTES_MIN,
        }
    }

    /// Whether they begin with the cuts that the file had while it was written.
    pub(crate) fn go_on(self) -> bool {
        self.each == PART_BYTES_MIN && self.count() > 1
    }

    /// How many there are.
    pub(crate) fn count(self) -> u32 {
        let count = self.bytes.div_ceil(self.each).max(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Which bytes are those of a part, from 0 on.
    pub(crate) fn range(self, number: u32) -> Range<u64> {
        let from = u64::from(number) * self.each;
        from..(from + self.each).min(self.bytes)
    }
}

/// By what it is known that a part has changed.
pub(crate) fn digest(part: &[u8]) -> [u8; 16] {
    Md5::digest(part).into()
}

/// The tag of an object that was put together of parts with these tags, if the storage makes it as S3 does.
pub(crate) fn composite_tag<'a>(tags: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut digest = Md5::new();
    let mut count = 0;
    for tag in tags {
        digest.update(from_hex(bare(tag))?);
        count += 1;
    }
    Some(format!("{}-{count}", hex(&digest.finalize())))
}

/// A digest, as tags have it.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A tag without its quotes.
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
        for bytes in [
            0,
            1,
            8 * mib,
            8 * mib + 1,
            100 * mib - 1,
            80_000 * mib,
            80_000 * mib + 1,
            5 << 40,
        ] {
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
        let full = |bytes| Parts::full(bytes).count();
        assert_eq!(
            [full(16 * mib - 1), full(16 * mib), full(100 * mib)],
            [1, 2, 12]
        );
        assert_eq!(
            Parts::full(100 * mib).range(11),
            Parts::of(100 * mib).range(11)
        );
        assert!(Parts::of(100 * mib).go_on());
        assert!(!Parts::of(8 * mib).go_on() && !Parts::of(80_001 * mib).go_on());
        assert_eq!(Parts::of(8 * mib).count(), 1);
        assert_eq!(Parts::of(8 * mib + 1).count(), 2);
        assert_eq!(Parts::of(80_000 * mib + 1).each, 9 * mib);
    }

    #[test]
    fn a_composite_tag_is_the_digest_of_digests() {
        // Of two parts, `a` and `b`, as moto and S3 have it.
        let parts = [
            "\"0cc175b9c0f1b6a831c399e269772661\"",
            "92eb5ffee6ae2fec3ad71c777531578f",
        ];
        assert_eq!(
            composite_tag(parts.into_iter()).as_deref(),
            Some("96e024ba2074fe77e8e965ba43a704be-2")
        );
        assert_eq!(composite_tag(["opaque"].into_iter()), None);
    }
}
