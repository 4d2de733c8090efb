//! Media playlists as values, and what a delta update makes of one.

use std::time::Duration;

use super::attributes::Attributes;

/// A media playlist (RFC 8216bis §3, §4.4.3–4.4.5). [`parse`](Self::parse) reads it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MediaPlaylist {
    /// `EXT-X-VERSION`.
    pub version: u64,
    /// `EXT-X-TARGETDURATION`.
    pub target: Duration,
    /// `EXT-X-MEDIA-SEQUENCE`: the number of the first segment.
    pub sequence: u64,
    /// `EXT-X-DISCONTINUITY-SEQUENCE`: how many discontinuities have been removed.
    pub discontinuity_sequence: u64,
    /// `EXT-X-PLAYLIST-TYPE`.
    pub kind: Option<String>,
    /// `EXT-X-INDEPENDENT-SEGMENTS`.
    pub has_independent_segments: bool,
    /// `PART-TARGET` of `EXT-X-PART-INF`.
    pub part_target: Option<Duration>,
    /// `EXT-X-SERVER-CONTROL`.
    pub control: Option<ServerControl>,
    /// `SKIPPED-SEGMENTS` of `EXT-X-SKIP`: this is a delta update.
    pub skipped: Option<u64>,
    /// The segments that are listed. Of the last one there may be only parts.
    pub segments: Vec<Segment>,
    /// `EXT-X-PRELOAD-HINT`.
    pub hints: Vec<Hint>,
    /// `URI` of each `EXT-X-RENDITION-REPORT`.
    pub reports: Vec<String>,
    /// `EXT-X-DATERANGE`, in the order of the text.
    pub date_ranges: Vec<DateRange>,
    /// `EXT-X-ENDLIST`.
    pub is_ended: bool,
    /// Tags that this parser has no field for, as they stand.
    pub unknown: Vec<String>,
}

/// `EXT-X-SERVER-CONTROL` (§4.4.3.8).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerControl {
    /// Requests for a playlist may wait.
    pub can_block_reload: bool,
    /// How far from the end clients of parts play.
    pub part_hold_back: Option<Duration>,
    /// How far from the end other clients play.
    pub hold_back: Option<Duration>,
    /// What is farther from the end may be skipped.
    pub can_skip_until: Option<Duration>,
}

/// One segment with the tags that apply to it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Segment {
    /// Its media sequence number.
    pub number: u64,
    /// `EXT-X-DISCONTINUITY` stands before it.
    pub is_discontinuous: bool,
    /// `EXT-X-GAP`.
    pub is_gap: bool,
    /// `EXT-X-PROGRAM-DATE-TIME`, since 1970.
    pub date: Option<Duration>,
    /// The `EXT-X-MAP` in force.
    pub map: Option<Map>,
    /// The `EXT-X-KEY` in force.
    pub key: Option<Key>,
    /// Its parts, as far as they are listed.
    pub parts: Vec<Part>,
    /// `None` while it is still growing.
    pub file: Option<File>,
}

/// A whole segment: `EXTINF` and the line with its address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// Where it is, relative to the playlist.
    pub uri: String,
    /// How long it lasts.
    pub duration: Duration,
    /// `EXT-X-BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-PART` (§4.4.4.9).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// Where it is, relative to the playlist.
    pub uri: String,
    /// How long it lasts.
    pub duration: Duration,
    /// A decoder may begin in it.
    pub is_independent: bool,
    /// It cannot be had.
    pub is_gap: bool,
    /// `BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-MAP` (§4.4.4.5).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Map {
    /// Where it is, relative to the playlist.
    pub uri: String,
    /// `BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-KEY` (§4.4.4.4) of the method `AES-128`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    /// Where it is, relative to the playlist.
    pub uri: String,
    /// `IV`, if it is not the segment's number.
    pub iv: Option<String>,
}

/// `EXT-X-DATERANGE` (§4.4.5.1).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DateRange {
    /// `ID`.
    pub id: String,
    /// `CLASS`.
    pub class: Option<String>,
    /// `START-DATE`, since 1970.
    pub start: Duration,
    /// All of them.
    pub attributes: Attributes,
    /// How many segments are listed before it.
    pub behind: usize,
}

/// `EXT-X-PRELOAD-HINT` (§4.4.5.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hint {
    /// `PART` or `MAP`.
    pub kind: String,
    /// What the client should request.
    pub uri: String,
}

impl MediaPlaylist {
    /// The segment of that number.
    #[must_use]
    pub fn segment(&self, number: u64) -> Option<&Segment> {
        let first = self.segments.first()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        self.segments.get(index)
    }

    /// The sum of the whole segments.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let files = self
            .segments
            .iter()
            .filter_map(|segment| segment.file.as_ref());
        files.map(|file| file.duration).sum()
    }

    /// Each segment with how much media follows it, parts of the segment that is growing included.
    pub fn with_distances(&self) -> impl Iterator<Item = (&Segment, Duration)> {
        let mut following: Duration = self.segments.iter().map(Segment::duration).sum();
        self.segments.iter().map(move |segment| {
            following -= segment.duration();
            (segment, following)
        })
    }

    /// The discontinuity sequence number of each segment (§6.2.1).
    #[must_use]
    pub fn discontinuities(&self) -> Vec<u64> {
        let number = |count: &mut u64, segment: &Segment| {
            *count += u64::from(segment.is_discontinuous);
            Some(*count)
        };
        let segments = self.segments.iter();
        segments.scan(self.discontinuity_sequence, number).collect()
    }

    /// What a client that has the whole playlist asks for next: a segment's number and a part's.
    #[must_use]
    pub fn next_part(&self) -> (u64, u64) {
        match self.segments.last() {
            None => (self.sequence, 0),
            Some(last) if last.file.is_some() => (last.number + 1, 0),
            Some(last) => (last.number, last.parts.len() as u64),
        }
    }

    /// The address of the part that the client should request before it is there.
    #[must_use]
    pub fn hinted_part(&self) -> Option<&str> {
        let hint = self.hints.iter().find(|hint| hint.kind == "PART")?;
        Some(&hint.uri)
    }

    /// What a client has that held `old` and received this delta update (§6.2.5.1). Skipped segments have no
    /// parts, since `old` may be from before they were dropped.
    ///
    /// # Errors
    /// When a skipped segment is not in `old`, so that the client cannot know it.
    pub fn applied_to(&self, old: &Self) -> Result<Self, String> {
        let Some(skipped) = self.skipped else {
            return Ok(self.clone());
        };
        let mut segments = Vec::new();
        for number in self.sequence..self.sequence + skipped {
            let known = old.segment(number).filter(|segment| segment.file.is_some());
            let known = known.ok_or_else(|| format!("segment {number} is skipped and unknown"))?;
            segments.push(Segment {
                parts: Vec::new(),
                ..known.clone()
            });
        }
        let mut map = segments.last().and_then(|segment| segment.map.clone());
        for segment in &self.segments {
            map = segment.map.clone().or(map);
            segments.push(Segment {
                map: map.clone(),
                ..segment.clone()
            });
        }
        Ok(Self {
            skipped: None,
            segments,
            ..self.clone()
        })
    }

    /// The playlist without the parts of its first `count` segments.
    #[must_use]
    pub fn without_parts_of(&self, count: u64) -> Self {
        let mut changed = self.clone();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        for segment in changed.segments.iter_mut().take(count) {
            segment.parts.clear();
        }
        changed
    }
}

impl Segment {
    /// Its duration; of a segment that is growing, that of its parts so far.
    #[must_use]
    pub fn duration(&self) -> Duration {
        match &self.file {
            Some(file) => file.duration,
            None => self.parts_duration(),
        }
    }

    /// The sum of the listed parts.
    #[must_use]
    pub fn parts_duration(&self) -> Duration {
        self.parts.iter().map(|part| part.duration).sum()
    }
}

/// An address relative to the path of the playlist that names it, as a path.
///
/// Whole addresses, which the server's playlists do not have, are returned as they stand.
#[must_use]
pub fn resolve(base: &str, uri: &str) -> String {
    if uri.starts_with('/') || uri.contains("://") {
        return uri.to_owned();
    }
    let folder = base.split('?').next().unwrap_or_default();
    let mut segments: Vec<&str> = folder.split('/').collect();
    segments.pop();
    let mut rest = uri;
    while let Some(after) = rest.strip_prefix("../") {
        segments.pop();
        rest = after;
    }
    format!("{}/{}", segments.join("/"), rest.trim_start_matches("./"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:5\n\
        #EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-PART-INF:PART-TARGET=1\n#EXT-X-MAP:URI=\"a.mp4\"\n\
        #EXTINF:2,\n5.mp4\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b.mp4\"\n#EXTINF:2,\n6.mp4\n\
        #EXT-X-PART:DURATION=1,URI=\"7.0.mp4\"\n#EXT-X-PART:DURATION=1,URI=\"7.1.mp4\"\n\
        #EXTINF:2,\n7.mp4\n#EXT-X-PART:DURATION=0.5,URI=\"8.0.mp4\"\n";

    fn whole() -> MediaPlaylist {
        MediaPlaylist::parse(WHOLE).expect("it is right")
    }

    #[test]
    fn distances_and_numbers_are_counted() {
        let playlist = whole();
        assert_eq!(playlist.duration(), Duration::from_secs(6));
        let distances: Vec<_> = playlist.with_distances().map(|(_, rest)| rest).collect();
        assert_eq!(distances, [4_500, 2_500, 500, 0].map(Duration::from_millis));
        assert_eq!(playlist.discontinuities(), [1, 2, 2, 2]);
        assert_eq!(playlist.next_part(), (8, 1));
        let number = |number| playlist.segment(number).map(|segment| segment.number);
        assert_eq!(
            [number(4), number(5), number(8), number(9)],
            [None, Some(5), Some(8), None]
        );
    }

    #[test]
    fn a_delta_update_is_applied() {
        let delta = WHOLE
            .replace(
                "#EXT-X-MAP:URI=\"a.mp4\"\n#EXTINF:2,\n5.mp4\n#EXT-X-DISCONTINUITY\n\
                 #EXT-X-MAP:URI=\"b.mp4\"\n#EXTINF:2,\n6.mp4\n",
                "#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n",
            )
            .replace("8.0", "8.0new");
        let delta = MediaPlaylist::parse(&delta).expect("it is right");
        assert_eq!((delta.skipped, delta.segments[0].number), (Some(2), 7));
        let applied = delta.applied_to(&whole()).expect("all are known");
        let expected = MediaPlaylist::parse(&WHOLE.replace("8.0", "8.0new")).expect("it is right");
        assert_eq!(applied, expected);
        let mut without = whole();
        without.segments.remove(0);
        assert!(delta.applied_to(&without).is_err());
    }

    #[test]
    fn parts_of_old_segments_are_left_out() {
        let playlist = whole().without_parts_of(3);
        assert!(playlist.segments[2].parts.is_empty() && !playlist.segments[3].parts.is_empty());
    }

    #[test]
    fn addresses_are_relative_to_the_playlist() {
        let base = "/live/show/hls/live.m3u8?x=/y";
        assert_eq!(resolve(base, "1.mp4"), "/live/show/hls/1.mp4");
        assert_eq!(resolve(base, "../1.mp4?a"), "/live/show/1.mp4?a");
        assert_eq!(resolve(base, "/1.mp4"), "/1.mp4");
    }
}
