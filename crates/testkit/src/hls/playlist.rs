//! Media playlists as values, and the application of delta updates.

use std::time::Duration;

use super::attributes::Attributes;

/// A media playlist (RFC 8216bis §3, §4.4.3–4.4.5). Created by [`parse`](Self::parse).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MediaPlaylist {
    /// `EXT-X-VERSION`.
    pub version: u64,
    /// `EXT-X-TARGETDURATION`.
    pub target: Duration,
    /// `EXT-X-MEDIA-SEQUENCE`: number of the first segment.
    pub sequence: u64,
    /// `EXT-X-DISCONTINUITY-SEQUENCE`: number of discontinuities that have been removed.
    pub discontinuity_sequence: u64,
    /// `EXT-X-PLAYLIST-TYPE`.
    pub kind: Option<String>,
    /// `EXT-X-INDEPENDENT-SEGMENTS`.
    pub has_independent_segments: bool,
    /// `PART-TARGET` of `EXT-X-PART-INF`.
    pub part_target: Option<Duration>,
    /// `EXT-X-SERVER-CONTROL`.
    pub control: Option<ServerControl>,
    /// `SKIPPED-SEGMENTS` of `EXT-X-SKIP`; present in a delta update.
    pub skipped: Option<u64>,
    /// Listed segments. The last one may have only parts.
    pub segments: Vec<Segment>,
    /// `EXT-X-PRELOAD-HINT`.
    pub hints: Vec<Hint>,
    /// `URI` of each `EXT-X-RENDITION-REPORT`.
    pub reports: Vec<String>,
    /// `EXT-X-DATERANGE`, in the order of the text.
    pub date_ranges: Vec<DateRange>,
    /// `EXT-X-ENDLIST`.
    pub is_ended: bool,
    /// Tags for which this parser has no field, unchanged.
    pub unknown: Vec<String>,
}

/// `EXT-X-SERVER-CONTROL` (§4.4.3.8).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerControl {
    /// Whether requests for a playlist may wait.
    pub can_block_reload: bool,
    /// Distance from the end at which clients of parts play.
    pub part_hold_back: Option<Duration>,
    /// Distance from the end at which other clients play.
    pub hold_back: Option<Duration>,
    /// Distance from the end beyond which segments may be skipped.
    pub can_skip_until: Option<Duration>,
}

/// A segment with the tags that apply to it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Segment {
    /// Media sequence number.
    pub number: u64,
    /// Whether `EXT-X-DISCONTINUITY` stands before it.
    pub is_discontinuous: bool,
    /// `EXT-X-GAP`.
    pub is_gap: bool,
    /// `EXT-X-PROGRAM-DATE-TIME`, since 1970.
    pub date: Option<Duration>,
    /// `EXT-X-MAP` that applies.
    pub map: Option<Map>,
    /// `EXT-X-KEY` that applies.
    pub key: Option<Key>,
    /// Listed parts.
    pub parts: Vec<Part>,
    /// The whole segment; `None` while it is still growing.
    pub file: Option<File>,
}

/// A whole segment: `EXTINF` and the line with its address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// Address, relative to the playlist.
    pub uri: String,
    /// Duration.
    pub duration: Duration,
    /// `EXT-X-BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-PART` (§4.4.4.9).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// Address, relative to the playlist.
    pub uri: String,
    /// Duration.
    pub duration: Duration,
    /// Whether a decoder may begin in it.
    pub is_independent: bool,
    /// Whether it is unavailable.
    pub is_gap: bool,
    /// `BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-MAP` (§4.4.4.5).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Map {
    /// Address, relative to the playlist.
    pub uri: String,
    /// `BYTERANGE`.
    pub range: Option<String>,
}

/// `EXT-X-KEY` (§4.4.4.4) of the method `AES-128`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    /// Address, relative to the playlist.
    pub uri: String,
    /// `IV`, if it differs from the segment's number.
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
    /// All attributes.
    pub attributes: Attributes,
    /// Number of segments listed before it.
    pub behind: usize,
}

/// `EXT-X-PRELOAD-HINT` (§4.4.5.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hint {
    /// `PART` or `MAP`.
    pub kind: String,
    /// Address that the client should request.
    pub uri: String,
}

impl MediaPlaylist {
    /// Returns the segment with this number.
    pub fn segment(&self, number: u64) -> Option<&Segment> {
        let first = self.segments.first()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        self.segments.get(index)
    }

    /// Returns the total duration of the whole segments.
    pub fn duration(&self) -> Duration {
        self.files().map(|file| file.duration).sum()
    }

    /// Returns the whole segments.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.segments.iter().flat_map(|segment| &segment.file)
    }

    /// Returns the distance from the end beyond which segments may be skipped, if they may.
    pub(super) fn can_skip_until(&self) -> Option<Duration> {
        self.control.as_ref()?.can_skip_until
    }

    /// Returns each segment with the duration of the media after it, including parts of the segment that is growing.
    pub fn with_distances(&self) -> impl Iterator<Item = (&Segment, Duration)> {
        let mut following: Duration = self.segments.iter().map(Segment::duration).sum();
        self.segments.iter().map(move |segment| {
            following -= segment.duration();
            (segment, following)
        })
    }

    /// Returns the discontinuity sequence number of each segment (§6.2.1).
    pub fn discontinuities(&self) -> Vec<u64> {
        let number = |count: &mut u64, segment: &Segment| {
            *count += u64::from(segment.is_discontinuous);
            Some(*count)
        };
        let segments = self.segments.iter();
        segments.scan(self.discontinuity_sequence, number).collect()
    }

    /// Returns the numbers of the segment and of the part that a client with the whole playlist requests next.
    pub fn next_part(&self) -> (u64, u64) {
        match self.segments.last() {
            None => (self.sequence, 0),
            Some(last) if last.file.is_some() => (last.number + 1, 0),
            Some(last) => (last.number, last.parts.len() as u64),
        }
    }

    /// Returns the address of the part that the client should request in advance.
    pub fn hinted_part(&self) -> Option<&str> {
        let hint = self.hints.iter().find(|hint| hint.kind == "PART")?;
        Some(&hint.uri)
    }

    /// Applies this delta update to `old`, as a client does (§6.2.5.1). Skipped segments have no parts, since `old` may date
    /// from before the parts were dropped.
    ///
    /// # Errors
    /// Returns an error if a skipped segment is not in `old`, so that the client cannot know it.
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

    /// Returns the playlist without the parts of its first `count` segments.
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
    /// Returns the duration; for a segment that is growing, that of its parts so far.
    pub fn duration(&self) -> Duration {
        match &self.file {
            Some(file) => file.duration,
            None => self.parts_duration(),
        }
    }

    /// Returns the total duration of the listed parts.
    pub fn parts_duration(&self) -> Duration {
        self.parts.iter().map(|part| part.duration).sum()
    }
}

/// Resolves an address relative to the path of the playlist that names it, to a path.
///
/// Absolute URLs, which the server's playlists do not have, are returned unchanged.
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
