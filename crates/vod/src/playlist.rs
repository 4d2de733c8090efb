//! Playlist of a file (RFC 8216bis §4): all segments, from the beginning to the end.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use container::mp4_file::index::Segment;
use http1::OWN_QUERY_BYTES_MAX;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::address::{INIT, SEGMENT};
use crate::text::Entries;

pub(crate) const MEDIA_TYPE: &str = "application/vnd.apple.mpegurl";

/// Characters that are escaped in a segment of a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Duration of a segment in microseconds, as a playlist states it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Lasts(u128);

impl From<Duration> for Lasts {
    fn from(duration: Duration) -> Self {
        Self((duration.as_nanos() + 500) / 1_000)
    }
}

impl fmt::Display for Lasts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl Lasts {
    /// Returns the target duration, in seconds, of a playlist whose longest segment this is.
    pub(crate) fn target(self) -> u128 {
        ((self.0 + 500_000) / 1_000_000).max(1)
    }
}

/// Suffix of all addresses in a playlist.
#[derive(Clone, Debug)]
pub(crate) struct Suffix(Arc<str>);

impl Suffix {
    /// Makes the suffix for a request with this query, which may contain a key: without the parameters for the playlist
    /// itself. `None` if it is too long to be repeated.
    pub(crate) fn of(query: &str, own: &[&str]) -> Option<Self> {
        let is_repeated = |pair: &&str| {
            let name = pair.split('=').next().unwrap_or_default();
            !pair.is_empty() && !own.contains(&name)
        };
        let rest: Vec<_> = query.split('&').filter(is_repeated).collect();
        // A query that was sent contains no line end and no quotation mark; an address could not contain them.
        let rest = rest.join("&").replace(['"', '\r', '\n'], "");
        match rest.len() {
            0 => Some(Self("".into())),
            1..=OWN_QUERY_BYTES_MAX => Some(Self(format!("?{rest}").into())),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Playlist of a file, made from its name and its segments.
#[derive(Clone, Debug)]
pub(crate) struct Playlist {
    segments: Arc<[Segment]>,
    /// Address of the file, relative to the playlist's folder.
    file: Arc<str>,
    suffix: Suffix,
    /// Number of entries written.
    written: usize,
}

impl Playlist {
    pub(crate) fn new(name: &str, segments: Arc<[Segment]>, suffix: Suffix) -> Self {
        let file = name.rsplit('/').next().unwrap_or(name);
        let file = utf8_percent_encode(file, ESCAPED).to_string();
        Self {
            segments,
            file: file.into(),
            suffix,
            written: 0,
        }
    }

    fn head(&self, out: &mut String) {
        let longest = self.segments.iter().map(|segment| segment.duration);
        let target = Lasts::from(longest.max().unwrap_or_default()).target();
        // A String takes all text.
        let _written = write!(
            out,
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:0\n\
             #EXT-X-PLAYLIST-TYPE:VOD\n"
        );
        if self.segments.iter().all(|segment| segment.is_independent) {
            out.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
        }
        let suffix = self.suffix.as_str();
        let _written = writeln!(out, "#EXT-X-MAP:URI=\"{INIT}{suffix}\"");
    }

    fn segment(&self, number: usize, segment: &Segment, out: &mut String) {
        let suffix = self.suffix.as_str();
        let _written = writeln!(out, "#EXTINF:{},", Lasts::from(segment.duration));
        let _written = match &segment.range {
            None => writeln!(out, "{number}{SEGMENT}{suffix}"),
            Some(range) => {
                let (length, start, file) = (range.end - range.start, range.start, &self.file);
                writeln!(out, "#EXT-X-BYTERANGE:{length}@{start}\n../{file}{suffix}")
            }
        };
    }
}

impl Entries for Playlist {
    fn next(&mut self, out: &mut String) -> bool {
        let number = self.written;
        self.written += 1;
        match number.checked_sub(1) {
            None => self.head(out),
            Some(number) => match self.segments.get(number) {
                Some(segment) => self.segment(number, segment, out),
                None if number == self.segments.len() => out.push_str("#EXT-X-ENDLIST\n"),
                None => return false,
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::whole;

    fn segment(millis: u64, range: Option<std::ops::Range<u64>>) -> Segment {
        Segment {
            duration: Duration::from_millis(millis),
            range,
            is_independent: true,
        }
    }

    fn write(name: &str, segments: &[Segment], query: &str) -> String {
        let suffix = Suffix::of(query, &[]).expect("a short query");
        whole(Playlist::new(name, segments.into(), suffix))
    }

    #[test]
    fn a_playlist_has_all_segments_and_the_query() {
        let mut segments = [segment(6_000, None), segment(2_480, None)];
        let text = write("a.mp4", &segments, "key=k");
        assert_eq!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n\
             #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"init.mp4?key=k\"\n\
             #EXTINF:6.000000,\n0.m4s?key=k\n#EXTINF:2.480000,\n1.m4s?key=k\n#EXT-X-ENDLIST\n"
        );
        segments[1].is_independent = false;
        let promise = "#EXT-X-INDEPENDENT-SEGMENTS\n";
        let without = text.replace(promise, "");
        assert_eq!(write("a.mp4", &segments, "key=k"), without);
    }

    #[test]
    fn ranges_are_of_the_file_itself() {
        let segments = [segment(10_400, Some(700..1_000))];
        let text = write("old/ä b.mp4", &segments, "");
        let expected = "#EXTINF:10.400000,\n#EXT-X-BYTERANGE:300@700\n../%C3%A4%20b.mp4\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("TARGETDURATION:10\n"), "{text}");
    }

    #[test]
    fn no_segment_is_longer_than_the_target_as_it_is_reported() {
        for (nanos, reported, target) in [
            (0, "0.000000", 1),
            (6_499_999_499, "6.499999", 6),
            (6_499_999_500, "6.500000", 7),
            (u64::MAX, "18446744073.709552", 18_446_744_074),
        ] {
            let lasts = Lasts::from(Duration::from_nanos(nanos));
            assert_eq!(lasts.to_string(), reported);
            assert_eq!(lasts.target(), target, "{reported}");
        }
    }

    #[test]
    fn the_query_that_is_repeated_is_bounded() {
        let of = |query: &str| Suffix::of(query, &["at"]).map(|it| it.as_str().to_owned());
        assert_eq!(of("at=-5&&key=\"k").as_deref(), Some("?key=k"));
        assert_eq!(of("at=start").as_deref(), Some(""));
        let longest = "a".repeat(OWN_QUERY_BYTES_MAX);
        assert_eq!(of(&longest), Some(format!("?{longest}")));
        assert_eq!(of(&format!("{longest}a")), None);
        // Parameters that are not repeated do not count.
        assert_eq!(of(&format!("at={longest}")).as_deref(), Some(""));
    }
}
