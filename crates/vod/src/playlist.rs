//! The playlist of a file (RFC 8216bis §4): all segments, from the beginning to the end.

use std::fmt::Write;

use container::mp4_file::index::Segment;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::address::{INIT, SEGMENT};

pub(crate) const MEDIA_TYPE: &str = "application/vnd.apple.mpegurl";

/// What a segment of a path may not hold.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Writes the playlist of a file by its name and its segments. A query, in which a key may be, is that of all addresses
/// in it.
pub(crate) fn write(name: &str, segments: &[Segment], query: &str) -> String {
    let query = match query {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let file = name.rsplit('/').next().unwrap_or(name);
    let file = utf8_percent_encode(file, ESCAPED);
    let longest = segments
        .iter()
        .map(|segment| segment.duration.as_secs_f64());
    let target = longest.fold(1.0, f64::max).round();
    let mut out = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:0\n\
         #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"{INIT}{query}\"\n"
    );
    for (number, segment) in segments.iter().enumerate() {
        let seconds = segment.duration.as_secs_f64();
        let address = match &segment.range {
            None => format!("{number}{SEGMENT}{query}"),
            Some(range) => {
                let length = range.end - range.start;
                let start = range.start;
                format!("#EXT-X-BYTERANGE:{length}@{start}\n../{file}{query}")
            }
        };
        // A String takes all text.
        let _written = writeln!(out, "#EXTINF:{seconds:.6},\n{address}");
    }
    out.push_str("#EXT-X-ENDLIST\n");
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn segment(millis: u64, range: Option<std::ops::Range<u64>>) -> Segment {
        Segment {
            duration: Duration::from_millis(millis),
            range,
        }
    }

    #[test]
    fn a_playlist_has_all_segments_and_the_query() {
        let segments = [segment(6_000, None), segment(2_480, None)];
        assert_eq!(
            write("a.mp4", &segments, "key=k"),
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n\
             #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"init.mp4?key=k\"\n\
             #EXTINF:6.000000,\n0.m4s?key=k\n#EXTINF:2.480000,\n1.m4s?key=k\n#EXT-X-ENDLIST\n"
        );
    }

    #[test]
    fn ranges_are_of_the_file_itself() {
        let segments = [segment(10_400, Some(700..1_000))];
        let text = write("old/ä b.mp4", &segments, "");
        let expected = "#EXTINF:10.400000,\n#EXT-X-BYTERANGE:300@700\n../%C3%A4%20b.mp4\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("TARGETDURATION:10\n"), "{text}");
    }
}
