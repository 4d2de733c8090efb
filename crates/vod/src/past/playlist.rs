//! Text of playlists of recordings (RFC 8216bis §4): of one alone, and of several one after another.

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use container::mp4_file::Timeline;
use recordings::RecordingId;

use super::address::{FOLDER, FROM, SUFFIX};
use crate::address::{INIT, SEGMENT};
use crate::playlist::{Lasts, Suffix};
use crate::text::Entries;

/// Listed part of one recording.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) id: RecordingId,
    pub(super) segments: Vec<Listed>,
}

/// Segment in a list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    fragments: Range<usize>,
    lasts: Duration,
    begins: SystemTime,
    is_sync: bool,
}

impl Section {
    /// Makes the list of a recording's segments from one of its fragments on.
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

    /// Returns its size in memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.segments.len() * size_of::<Listed>()
    }
}

/// Playlist of sections, which is complete or will grow. Its addresses are relative to the folder of one recording.
#[derive(Clone, Debug)]
pub(super) struct Playlist {
    /// List of sections; none is empty.
    sections: Arc<[Section]>,
    is_complete: bool,
    suffix: Suffix,
    next: Entry,
}

/// Next entry to write.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Head,
    /// Segment, by the index of its section and its index there.
    Segment(usize, usize),
    None,
}

impl Playlist {
    pub(super) fn new(mut sections: Vec<Section>, is_complete: bool, suffix: Suffix) -> Self {
        sections.retain(|section| !section.segments.is_empty());
        Self {
            sections: sections.into(),
            is_complete,
            suffix,
            next: Entry::Head,
        }
    }

    fn head(&self, out: &mut String) {
        let all = || self.sections.iter().flat_map(|section| &section.segments);
        let longest = all().map(|segment| segment.lasts).max().unwrap_or_default();
        // Later segments must fit as well.
        let longest = match self.is_complete {
            true => longest,
            false => longest.max(Timeline::SEGMENT_MAX),
        };
        let target = Lasts::from(longest).target();
        // A String takes all text.
        let _written = write!(
            out,
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:0\n"
        );
        out.push_str(match self.is_complete {
            true => "#EXT-X-PLAYLIST-TYPE:VOD\n",
            // Otherwise players would begin at the current end.
            false => "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n",
        });
        if self.is_complete && all().all(|segment| segment.is_sync) {
            out.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
        }
    }

    fn segment(&self, (section, number): (usize, usize), out: &mut String) -> Option<()> {
        let Section { id, segments } = self.sections.get(section)?;
        let segment = segments.get(number)?;
        let suffix = self.suffix.as_str();
        if number == 0 {
            if section > 0 {
                out.push_str("#EXT-X-DISCONTINUITY\n");
            }
            let _written = writeln!(out, "#EXT-X-MAP:URI=\"../{id}/{INIT}{suffix}\"");
        }
        let Range { start, end } = segment.fragments;
        let _written = writeln!(
            out,
            "#EXT-X-PROGRAM-DATE-TIME:{}\n#EXTINF:{},\n../{id}/{start}-{end}{SEGMENT}{suffix}",
            base::date::rfc3339_millis(segment.begins),
            Lasts::from(segment.lasts),
        );
        Some(())
    }
}

impl Entries for Playlist {
    fn next(&mut self, out: &mut String) -> bool {
        self.next = match self.next {
            Entry::Head => {
                self.head(out);
                Entry::Segment(0, 0)
            }
            Entry::Segment(section, number) => match self.segment((section, number), out) {
                Some(()) => Entry::Segment(section, number + 1),
                None if section < self.sections.len() => {
                    self.next = Entry::Segment(section + 1, 0);
                    return self.next(out);
                }
                None if self.is_complete => {
                    out.push_str("#EXT-X-ENDLIST\n");
                    Entry::None
                }
                None => return false,
            },
            Entry::None => return false,
        };
        true
    }
}

/// Renders the multivariant playlist that leads to a playlist from a fragment on, whose segments have `bandwidth` bits
/// per second. The address of that playlist is fixed, while a time relative to now is not.
pub(super) fn leading_to(
    (id, first): (RecordingId, usize),
    bandwidth: u64,
    suffix: &Suffix,
) -> String {
    let suffix = suffix.as_str();
    format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-STREAM-INF:BANDWIDTH={bandwidth}\n\
         {FOLDER}/{id}/{FROM}{first}{SUFFIX}{suffix}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::past::address::AT;
    use crate::text::tests::whole;

    fn suffix(query: &str) -> Suffix {
        Suffix::of(query, &[AT]).expect("a short query")
    }

    fn write(sections: impl Into<Vec<Section>>, is_complete: bool, query: &str) -> String {
        whole(Playlist::new(sections.into(), is_complete, suffix(query)))
    }

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
            write([one], true, "key=k&at=-5"),
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
        let text = write([first, empty, second], false, "");
        assert!(text.contains("#EXT-X-TARGETDURATION:12\n"), "{text}");
        assert!(text.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n"), "{text}");
        assert!(!text.contains("ENDLIST"), "{text}");
        assert_eq!(text.matches("#EXT-X-DISCONTINUITY\n").count(), 1);
        assert_eq!(text.matches("#EXT-X-MAP").count(), 2);
    }

    #[test]
    fn a_time_is_answered_with_a_fixed_address() {
        let id = "006b0a5f2000010203040506".parse().expect("an identifier");
        let text = leading_to((id, 7), 800_000, &suffix("at=-600s&key=k"));
        let line = "\nrecordings/006b0a5f2000010203040506/from-7.m3u8?key=k\n";
        assert!(text.ends_with(line), "{text}");
    }
}
