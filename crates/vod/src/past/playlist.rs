//! The playlists of recordings (RFC 8216bis §4): one alone, and several one after another.

use std::fmt::Write;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use container::mp4_file::Timeline;
use recordings::RecordingId;

use super::address::{AT, CLIP_FROM, CLIP_TO, FOLDER, FROM, SUFFIX};
use super::when::stamp;
use crate::address::{INIT, SEGMENT};

/// What a playlist lists of one recording.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) id: RecordingId,
    pub(super) segments: Vec<Listed>,
}

/// A segment.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    fragments: Range<usize>,
    lasts: Duration,
    begins: SystemTime,
    is_sync: bool,
}

impl Section {
    /// The segments of a recording from one of its fragments on.
    pub(super) fn of(
        (id, started): (RecordingId, SystemTime),
        timeline: &Timeline,
        (first, is_whole): (usize, bool),
    ) -> Self {
        let listed = |fragments: Range<usize>| {
            let point = timeline.points().get(fragments.start)?;
            Some(Listed {
                lasts: timeline.lasts(&fragments),
                begins: started + point.at(),
                is_sync: point.is_sync(),
                fragments,
            })
        };
        let segments = timeline.segments(first, is_whole).into_iter();
        Self {
            id,
            segments: segments.filter_map(listed).collect(),
        }
    }
}

/// Writes a playlist of sections, that are complete or will grow. The addresses in it are relative to the folder of one
/// recording.
pub(super) fn write(sections: &[Section], is_complete: bool, query: &str) -> String {
    let all = || sections.iter().flat_map(|section| &section.segments);
    let longest = all().map(|segment| segment.lasts).max().unwrap_or_default();
    // What is to come must fit as well.
    let longest = match is_complete {
        true => longest,
        false => longest.max(Timeline::SEGMENT_MAX),
    };
    let target = longest.as_secs_f64().round().max(1.0);
    let mut out = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:0\n"
    );
    out.push_str(match is_complete {
        true => "#EXT-X-PLAYLIST-TYPE:VOD\n",
        // Players would begin where it ends now.
        false => "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n",
    });
    if is_complete && all().all(|segment| segment.is_sync) {
        out.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
    }
    let suffix = suffix(query);
    let with_segments = sections.iter().filter(|it| !it.segments.is_empty());
    for (number, Section { id, segments }) in with_segments.enumerate() {
        if number > 0 {
            out.push_str("#EXT-X-DISCONTINUITY\n");
        }
        // A String takes all text.
        let _written = writeln!(out, "#EXT-X-MAP:URI=\"../{id}/{INIT}{suffix}\"");
        for segment in segments {
            let Range { start, end } = segment.fragments;
            let _written = writeln!(
                out,
                "#EXT-X-PROGRAM-DATE-TIME:{}\n#EXTINF:{:.6},\n../{id}/{start}-{end}{SEGMENT}{suffix}",
                stamp(segment.begins),
                segment.lasts.as_secs_f64(),
            );
        }
    }
    if is_complete {
        out.push_str("#EXT-X-ENDLIST\n");
    }
    out
}

/// Writes the multivariant playlist that leads to a playlist from a fragment on, with segments of so many bits in a
/// second. Its address is fixed where that of a time before now is not.
pub(super) fn leading_to((id, first): (RecordingId, usize), bandwidth: u64, query: &str) -> String {
    let suffix = suffix(query);
    format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-STREAM-INF:BANDWIDTH={bandwidth}\n\
         {FOLDER}/{id}/{FROM}{first}{SUFFIX}{suffix}\n"
    )
}

/// The query of all addresses in a playlist: the playlist's, in which a key may be, without what is for itself.
fn suffix(query: &str) -> String {
    let is_own = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        [AT, CLIP_FROM, CLIP_TO].contains(&name)
    };
    let rest = query.split('&').filter(|pair| !pair.is_empty());
    let rest: Vec<_> = rest.filter(|pair| !is_own(pair)).collect();
    match rest.is_empty() {
        true => String::new(),
        // A line's end or a quotation mark cannot be in a query that was sent; they would be no part of an address.
        false => format!("?{}", rest.join("&").replace(['"', '\r', '\n'], "")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn section(id: &str, begins: u64, segments: &[(usize, usize)]) -> Section {
        let listed = |(start, end): &(usize, usize)| Listed {
            fragments: *start..*end,
            lasts: Duration::from_secs((*end - *start) as u64),
            begins: UNIX_EPOCH + Duration::from_secs(begins + *start as u64),
            is_sync: true,
        };
        Section {
            id: id.parse().expect("an identifier"),
            segments: segments.iter().map(listed).collect(),
        }
    }

    #[test]
    fn one_that_ended_lists_everything() {
        let one = section("006b0a5f2000010203040506", 0, &[(0, 6), (6, 8)]);
        assert_eq!(
            write(&[one], true, "key=k&at=-5"),
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n\
             #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n\
             #EXT-X-MAP:URI=\"../006b0a5f2000010203040506/init.mp4?key=k\"\n\
             #EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:00.000Z\n#EXTINF:6.000000,\n\
             ../006b0a5f2000010203040506/0-6.m4s?key=k\n\
             #EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:06.000Z\n#EXTINF:2.000000,\n\
             ../006b0a5f2000010203040506/6-8.m4s?key=k\n#EXT-X-ENDLIST\n"
        );
    }

    #[test]
    fn one_that_grows_keeps_what_it_has_promised() {
        let first = section("006b0a5f2000010203040506", 0, &[(0, 6)]);
        let empty = section("006b0a5f2000010203040507", 7, &[]);
        let second = section("006b0a5f2000010203040508", 9, &[(0, 7)]);
        let text = write(&[first, empty, second], false, "");
        assert!(text.contains("#EXT-X-TARGETDURATION:12\n"), "{text}");
        assert!(text.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n"), "{text}");
        assert!(!text.contains("ENDLIST"), "{text}");
        assert_eq!(text.matches("#EXT-X-DISCONTINUITY\n").count(), 1);
        assert_eq!(text.matches("#EXT-X-MAP").count(), 2);
    }

    #[test]
    fn a_time_is_answered_with_a_fixed_address() {
        let id = "006b0a5f2000010203040506".parse().expect("an identifier");
        let text = leading_to((id, 7), 800_000, "at=-600s&key=k");
        let line = "\nrecordings/006b0a5f2000010203040506/from-7.m3u8?key=k\n";
        assert!(text.ends_with(line), "{text}");
    }
}
