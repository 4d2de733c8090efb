//! `Range` header (RFC 9110 §14).
//!
//! An answer has one range or the whole file, never several parts: players request one range, and a client that
//! requests several must accept the whole. Ranges that touch, or nearly touch, are joined.

use std::ops::Range;

/// Most ranges of a request. Programs that request more are out to waste the server's time.
const RANGES_MAX: usize = 4;

/// Most bytes between two ranges that are sent along: about the size of the head of a second part.
const GAP_MAX: u64 = 128;

/// Position that stands for data to come: the largest integer that all programs represent exactly.
const INDEFINITE: u64 = (1 << 53) - 1;

/// Part of a file that a request wants.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Requested {
    /// The whole file. A header that is malformed, of another unit, or with several parts is ignored, as RFC 9110 §14.2
    /// permits.
    Whole,
    /// Range of at least one byte.
    Part(Range<u64>),
    /// Range beyond the end of the file.
    Beyond,
}

/// Interprets the value of a `Range` header for a file of this length.
pub(crate) fn requested(value: &str, length: u64) -> Requested {
    let Some((unit, set)) = value.split_once('=') else {
        return Requested::Whole;
    };
    if !unit.eq_ignore_ascii_case("bytes") {
        return Requested::Whole;
    }
    let specs = set.split(',').map(|spec| spec.trim_matches([' ', '\t']));
    let specs: Vec<_> = specs.filter(|spec| !spec.is_empty()).collect();
    if specs.is_empty() || specs.len() > RANGES_MAX {
        return Requested::Whole;
    }
    let mut ranges = Vec::new();
    for spec in specs {
        match range(spec, length) {
            None => return Requested::Whole,
            Some(range) if range.is_empty() => {}
            Some(range) => ranges.push(range),
        }
    }
    ranges.sort_by_key(|range| range.start);
    let Some(first) = ranges.first().cloned() else {
        return Requested::Beyond;
    };
    let mut whole = first;
    for next in &ranges[1..] {
        // Overlapping ranges are a way to have a file sent many times over.
        let is_near = (whole.end..=whole.end + GAP_MAX).contains(&next.start);
        if !is_near {
            return Requested::Whole;
        }
        whole.end = next.end;
    }
    Requested::Part(whole)
}

/// Returns whether a `Range` header requests both the existing data and the data to come, by naming the largest
/// possible position (RFC 8673 §2.2, §4).
pub(crate) fn is_indefinite(value: &str) -> bool {
    let last = value.rsplit('-').next().unwrap_or_default();
    number(last).is_some_and(|last| last >= INDEFINITE)
}

/// Returns the bytes of one range, empty if the file has none of it; `None` if it is malformed.
fn range(spec: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return None,
    };
    Some(range)
}

/// Parses digits only. A number that is too large becomes the largest.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::Requested::{Beyond, Part, Whole};
    use super::*;

    #[test]
    fn a_range_is_what_the_table_says() {
        for (value, expected) in [
            // One range.
            ("bytes=0-1", Part(0..2)),
            ("bytes=0-0", Part(0..1)),
            ("bytes=0-", Part(0..1000)),
            ("bytes=500-599", Part(500..600)),
            ("bytes=999-", Part(999..1000)),
            ("bytes=900-5000", Part(900..1000)),
            ("bytes=0-99999999999999999999999", Part(0..1000)),
            ("bytes=-10", Part(990..1000)),
            ("bytes=-1000", Part(0..1000)),
            ("bytes=-5000", Part(0..1000)),
            ("Bytes=0-1", Part(0..2)),
            ("bytes=\t0-1 ", Part(0..2)),
            ("bytes=,0-1,", Part(0..2)),
            // None of it is there.
            ("bytes=1000-", Beyond),
            ("bytes=1000-2000", Beyond),
            ("bytes=99999999999999999999999-", Beyond),
            ("bytes=-0", Beyond),
            ("bytes=1000-,2000-3000", Beyond),
            // Not understood.
            ("bytes=", Whole),
            ("bytes=,", Whole),
            ("bytes", Whole),
            ("bytes=5-4", Whole),
            ("bytes=-", Whole),
            ("bytes=x-", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=0 - 1", Whole),
            ("bytes = 0-1", Whole),
            ("bytes =0-1", Whole),
            (" bytes=0-1", Whole),
            ("bytes=0-1-2", Whole),
            ("bytes=0-1,x", Whole),
            ("lines=0-1", Whole),
            ("", Whole),
            // Several.
            ("bytes=0-99,100-199", Part(0..200)),
            ("bytes=100-199,0-99", Part(0..200)),
            ("bytes=0-99,200-299", Part(0..300)),
            ("bytes=0-99,2000-", Part(0..100)),
            ("bytes=0-0,-1", Whole),
            ("bytes=0-99,50-149", Whole),
            ("bytes=0-9,0-9", Whole),
            ("bytes=0-0,1-1,2-2,3-3", Part(0..4)),
            ("bytes=0-0,1-1,2-2,3-3,4-4", Whole),
        ] {
            assert_eq!(requested(value, 1000), expected, "{value:?}");
        }
    }

    #[test]
    fn an_empty_file_has_no_range() {
        for value in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
            assert_eq!(requested(value, 0), Beyond, "{value}");
        }
        assert_eq!(requested("bytes=0-", u64::MAX), Part(0..u64::MAX));
    }
}
