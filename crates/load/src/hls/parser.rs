//! Parser of a playlist's text, as far as a player needs it. Unknown tags are skipped.

use super::attributes::{attributes, date, seconds};
use super::flaw::Flaw;
use super::playlist::{ByteRange, Part, Playlist, Position, Resource, Segment, Words};

/// Maximum length of a playlist in bytes: days of segments. Positions in it have 32 bits.
pub(super) const PLAYLIST_BYTES_MAX: usize = 1 << 20;
/// Upper bound of sequence numbers: sums stay far from overflow.
const SEQUENCE_MAX: u64 = 1 << 53;

/// Document behind an HLS address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Document<P> {
    /// Multivariant playlist: the URI of the best variant.
    Multivariant(String),
    Media(P),
}

/// Reasons why a text is not a playlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PlaylistError {
    #[error("its playlist does not begin with #EXTM3U")]
    NoPlaylist,
    #[error("its playlist is not UTF-8")]
    NoText,
    #[error("its playlist has no TARGETDURATION")]
    NoTarget,
    #[error("its playlist has a tag that cannot be read: {0}")]
    Tag(&'static str),
}

/// Parses a playlist of either kind.
pub(super) fn parse(text: &str) -> Result<Document<Playlist>, PlaylistError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("#EXTM3U") || text.len() > PLAYLIST_BYTES_MAX {
        return Err(PlaylistError::NoPlaylist);
    }
    let mut parser = Parser {
        text,
        ..Parser::default()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix('#') {
            None => parser.uri(line)?,
            Some(tag) => {
                let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
                parser.tag(name, value)?;
            }
        }
    }
    parser.finish()
}

#[derive(Default)]
struct Parser<'a> {
    text: &'a str,
    playlist: Playlist,
    has_target: bool,
    /// Segment whose tags are being read.
    segment: Segment,
    /// Map for the segments that follow.
    map: Option<Resource>,
    /// Date at which the next segment begins.
    date: Option<u64>,
    /// Byte range of the next segment.
    range: Option<&'a str>,
    /// URI and end of the last range, at which a range without a beginning continues.
    last: Option<(&'a str, u64)>,
    /// Bit rate of the variant whose URI comes next; then the bit rate and the URI of the best variant.
    variant: Option<u64>,
    best: Option<(u64, &'a str)>,
}

impl<'a> Parser<'a> {
    fn tag(&mut self, name: &str, value: &'a str) -> Result<(), PlaylistError> {
        let playlist = &mut self.playlist;
        match name {
            "EXT-X-STREAM-INF" => {
                let rate = attribute(value, "BANDWIDTH").and_then(|rate| rate.parse().ok());
                self.variant = Some(rate.unwrap_or(0));
            }
            "EXT-X-TARGETDURATION" => {
                playlist.target = seconds(value).ok_or(PlaylistError::Tag("TARGETDURATION"))?;
                self.has_target = true;
            }
            "EXT-X-MEDIA-SEQUENCE" => playlist.sequence = number(value, "MEDIA-SEQUENCE")?,
            "EXT-X-DISCONTINUITY-SEQUENCE" => {
                playlist.discontinuity = number(value, "DISCONTINUITY-SEQUENCE")?;
            }
            "EXT-X-PART-INF" => {
                let target = attribute(value, "PART-TARGET").and_then(seconds);
                playlist.part_target = Some(target.ok_or(PlaylistError::Tag("PART-INF"))?);
            }
            "EXT-X-SERVER-CONTROL" => {
                let span = |name| attribute(value, name).and_then(seconds);
                playlist.hold_back = span("HOLD-BACK");
                playlist.part_hold_back = span("PART-HOLD-BACK");
                playlist.can_skip_until = span("CAN-SKIP-UNTIL");
                playlist.can_block = attribute(value, "CAN-BLOCK-RELOAD") == Some("YES");
            }
            "EXT-X-SKIP" => {
                let skipped = attribute(value, "SKIPPED-SEGMENTS").unwrap_or_default();
                playlist.skipped = number(skipped, "SKIP")?;
            }
            "EXT-X-ENDLIST" => playlist.is_ended = true,
            "EXT-X-MAP" => {
                let uri = attribute(value, "URI").ok_or(PlaylistError::Tag("MAP"))?;
                self.map = Some(self.resource(uri, attribute(value, "BYTERANGE"), "MAP")?);
            }
            "EXT-X-PART" => self.part(value)?,
            "EXT-X-PRELOAD-HINT" if attribute(value, "TYPE") == Some("PART") => {
                let uri = attribute(value, "URI").ok_or(PlaylistError::Tag("PRELOAD-HINT"))?;
                // A hinted range has no end yet: it is fetched once it is listed.
                let is_whole = attribute(value, "BYTERANGE-START").is_none();
                self.playlist.hint = is_whole.then(|| self.words(uri));
            }
            "EXT-X-DISCONTINUITY" => self.segment.is_discontinuous = true,
            "EXT-X-GAP" => self.segment.is_gap = true,
            "EXT-X-PROGRAM-DATE-TIME" => self.date = date(value),
            "EXT-X-BYTERANGE" => self.range = Some(value),
            "EXTINF" => {
                let duration = value.split(',').next().and_then(seconds);
                self.segment.duration = duration.ok_or(PlaylistError::Tag("EXTINF"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn part(&mut self, list: &'a str) -> Result<(), PlaylistError> {
        const NAME: &str = "PART";
        let error = PlaylistError::Tag(NAME);
        let uri = attribute(list, "URI").ok_or(error)?;
        let duration = attribute(list, "DURATION").and_then(seconds);
        let part = Part {
            duration: duration.ok_or(error)?,
            resource: self.resource(uri, attribute(list, "BYTERANGE"), NAME)?,
            is_independent: attribute(list, "INDEPENDENT") == Some("YES"),
            is_gap: attribute(list, "GAP") == Some("YES"),
        };
        self.segment.parts.push(part);
        Ok(())
    }

    fn uri(&mut self, uri: &'a str) -> Result<(), PlaylistError> {
        if let Some(rate) = self.variant.take() {
            if self.best.is_none_or(|(best, _)| rate > best) {
                self.best = Some((rate, uri));
            }
            return Ok(());
        }
        let range = self.range.take();
        self.segment.whole = Some(self.resource(uri, range, "BYTERANGE")?);
        self.close();
        Ok(())
    }

    /// Closes the segment, because it is complete or the text is over.
    fn close(&mut self) {
        let mut segment = std::mem::take(&mut self.segment);
        segment.map = self.map;
        segment.date = self.date;
        self.date = self.date.map(|date| date + segment.duration);
        self.playlist.segments.push(segment);
    }

    fn finish(mut self) -> Result<Document<Playlist>, PlaylistError> {
        if let Some((_, uri)) = self.best {
            return Ok(Document::Multivariant(uri.to_owned()));
        }
        if !self.has_target {
            return Err(PlaylistError::NoTarget);
        }
        if !self.segment.parts.is_empty() {
            self.segment.duration = 0;
            self.close();
        }
        self.playlist.flaws = flaws(&self.playlist);
        self.playlist.text = self.text.into();
        Ok(Document::Media(self.playlist))
    }

    fn resource(
        &mut self,
        uri: &'a str,
        range: Option<&str>,
        name: &'static str,
    ) -> Result<Resource, PlaylistError> {
        let range = match range {
            None => None,
            Some(range) => Some(self.range(uri, range).ok_or(PlaylistError::Tag(name))?),
        };
        Ok(Resource {
            uri: self.words(uri),
            range,
        })
    }

    /// Parses `length[@begin]`; without a beginning, the range follows the previous one.
    fn range(&mut self, uri: &'a str, range: &str) -> Option<ByteRange> {
        let (length, begin) = match range.split_once('@') {
            Some((length, begin)) => (length, begin.trim().parse().ok()?),
            None => match self.last {
                Some((last, end)) if last == uri => (range, end),
                _ => (range, 0),
            },
        };
        let length: u64 = length.trim().parse().ok()?;
        let end = length.checked_add(begin).filter(|_| length > 0)?;
        self.last = Some((uri, end));
        Some(ByteRange { begin, end })
    }

    /// Returns the place of `part`, which must be a piece of the text.
    fn words(&self, part: &str) -> Words {
        let begin = part.as_ptr().addr() - self.text.as_ptr().addr();
        Words {
            begin: begin as u32,
            end: (begin + part.len()) as u32,
        }
    }
}

fn attribute<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    attributes(list)
        .find(|(own, _)| *own == name)
        .map(|(_, value)| value)
}

fn number(text: &str, name: &'static str) -> Result<u64, PlaylistError> {
    let number = text.trim().parse().ok();
    let number = number.filter(|number| *number <= SEQUENCE_MAX);
    number.ok_or(PlaylistError::Tag(name))
}

/// Returns the flaws of a playlist by itself.
fn flaws(playlist: &Playlist) -> Vec<(Option<Position>, Flaw)> {
    let mut flaws = Vec::new();
    let has_parts = playlist.segments.iter().any(|one| !one.parts.is_empty());
    let part_target = playlist.part_target.unwrap_or(u64::MAX);
    let below = |span: Option<u64>, times| span.is_some_and(|span| span < times * playlist.target);
    let part_hold_back = playlist.part_hold_back.unwrap_or(0);
    for (is_broken, flaw) in [
        (
            has_parts && playlist.part_target.is_none(),
            Flaw::NoPartTarget,
        ),
        (
            has_parts && part_hold_back / 2 < playlist.part_target.unwrap_or(0),
            Flaw::PartHoldBackTooShort,
        ),
        (below(playlist.hold_back, 3), Flaw::HoldBackTooShort),
        (below(playlist.can_skip_until, 6), Flaw::SkipTooShort),
    ] {
        if is_broken {
            flaws.push((None, flaw));
        }
    }
    for (index, segment) in playlist.segments.iter().enumerate() {
        let number = playlist.first() + index as u64;
        // Durations are compared as whole seconds (RFC 8216 §4.3.3.1).
        let rounded = (segment.duration + 500_000_000) / 1_000_000_000;
        if rounded * 1_000_000_000 > playlist.target {
            flaws.push((Some(Position::of(number)), Flaw::SegmentTooLong));
        }
        for (part, _) in (0..)
            .zip(&segment.parts)
            .filter(|(_, part)| part.duration > part_target)
        {
            flaws.push((Some(Position::at(number, part)), Flaw::PartTooLong));
        }
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::super::playlist::Found;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    const LIVE: &str = "#EXTM3U\r\n\
        #EXT-X-VERSION:9\r\n\
        #EXT-X-TARGETDURATION:4\n\
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,HOLD-BACK=12,CAN-SKIP-UNTIL=24\n\
        #EXT-X-PART-INF:PART-TARGET=0.50000\n\
        #EXT-X-MEDIA-SEQUENCE:266\n\
        #EXT-X-DISCONTINUITY-SEQUENCE:2\n\
        #EXT-X-MAP:URI=\"init.mp4\"\n\
        #EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:01:00.000Z\n\
        #EXTINF:3.0,\n\
        266.mp4\n\
        #EXT-X-DISCONTINUITY\n\
        #EXT-X-MAP:URI=\"init2.mp4\",BYTERANGE=\"100@20\"\n\
        #EXT-X-PART:DURATION=0.5,URI=\"267.0.mp4\",INDEPENDENT=YES\n\
        #EXT-X-PART:DURATION=0.5,URI=\"267.1.mp4\"\n\
        #EXT-X-PART:DURATION=0.25,URI=\"267.2.mp4\",GAP=YES\n\
        #EXTINF:1.25000,title\n\
        267.mp4\n\
        #EXT-X-PART:DURATION=0.5,INDEPENDENT=YES,URI=\"268.0.mp4\"\n\
        #EXT-X-PART:DURATION=0.5,URI=\"268.1.mp4\"\n\
        #EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"init3.mp4\"\n\
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"268.2.mp4\"\n\
        #EXT-X-RENDITION-REPORT:URI=\"../other.m3u8\",LAST-MSN=1\n";

    fn media(text: &str) -> Playlist {
        match parse(text) {
            Ok(Document::Media(playlist)) => playlist,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_low_latency_playlist_is_read() {
        let playlist = media(LIVE);
        assert!(playlist.is_low_latency() && !playlist.is_ended);
        assert_eq!(playlist.target, 4 * SECOND);
        assert_eq!(playlist.part_target, Some(SECOND / 2));
        assert_eq!(playlist.distance(true), SECOND * 3 / 2);
        assert_eq!(playlist.distance(false), 12 * SECOND);
        assert_eq!(playlist.can_skip_until, Some(24 * SECOND));
        assert_eq!((playlist.sequence, playlist.discontinuity), (266, 2));
        assert_eq!(playlist.end(), Position::at(268, 2));
        let [old, cut, new] = &playlist.segments[..] else {
            panic!("{playlist:?}");
        };
        assert_eq!((old.duration, old.date), (3 * SECOND, Some(60 * SECOND)));
        assert_eq!(playlist.at(old.map.expect("a map").uri), "init.mp4");
        assert!(cut.is_discontinuous && !new.is_discontinuous);
        assert_eq!(cut.date, Some(63 * SECOND));
        let map = new.map.expect("a map");
        assert_eq!(playlist.at(map.uri), "init2.mp4");
        let range = map.range.map(|range| (range.begin, range.end));
        assert_eq!(range, Some((20, 120)));
        assert!(cut.parts[0].is_independent && cut.parts[2].is_gap);
        assert_eq!(new.whole, None);
        let hint = playlist.hint.map(|hint| playlist.at(hint));
        assert_eq!(hint, Some("268.2.mp4"));
        assert!(playlist.flaws.is_empty(), "{:?}", playlist.flaws);
    }

    #[test]
    fn a_position_leads_to_a_piece() {
        let playlist = media(LIVE);
        for (segment, part, by_parts, expected) in [
            (265, 0, true, "behind"),
            (266, 0, true, "266.mp4"),
            (266, 1, true, "behind"),
            (267, 1, true, "267.1.mp4"),
            (267, 3, true, "268.0.mp4"),
            (268, 2, true, "later"),
            (267, 0, false, "267.mp4"),
            (268, 0, false, "later"),
        ] {
            let found = match playlist.find(Position::at(segment, part), by_parts) {
                Found::Piece(piece) => playlist.at(piece.resource.uri),
                Found::Later => "later",
                Found::Behind => "behind",
            };
            assert_eq!(found, expected, "{segment}.{part} {by_parts}");
        }
        let Found::Piece(piece) = playlist.find(Position::at(268, 1), true) else {
            panic!("not listed");
        };
        assert_eq!(piece.ends, Some(65 * SECOND + SECOND / 4));
    }

    #[test]
    fn a_start_is_independent_and_behind_enough() {
        let playlist = media(LIVE);
        let start = |distance: u64, by_parts| {
            let (position, behind) = playlist.start(distance, by_parts);
            (position.segment, position.part, behind)
        };
        assert_eq!(start(SECOND, true), (268, 0, SECOND));
        assert_eq!(start(SECOND * 3 / 2, true), (267, 0, SECOND * 9 / 4));
        assert_eq!(start(3 * SECOND, true), (266, 0, SECOND * 21 / 4));
        assert_eq!(start(60 * SECOND, true), (266, 0, SECOND * 21 / 4));
        assert_eq!(start(SECOND, false), (267, 0, SECOND * 5 / 4));
        let empty = media("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:7\n");
        assert_eq!(empty.start(SECOND, false), (Position::of(7), 0));
    }

    #[test]
    fn a_delta_begins_behind_what_it_skips() {
        let delta = media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:100\n\
             #EXT-X-SKIP:SKIPPED-SEGMENTS=7\n#EXTINF:4,\na.mp4\n#EXT-X-ENDLIST\n",
        );
        assert_eq!((delta.first(), delta.end()), (107, Position::of(108)));
        assert!(delta.is_ended && !delta.is_low_latency());
        assert_eq!(delta.segments[0].map, None);
    }

    #[test]
    fn ranges_follow_one_another() {
        let playlist = media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\
             #EXT-X-PART:DURATION=1,URI=\"a.mp4\",BYTERANGE=\"50@10\"\n\
             #EXT-X-PART:DURATION=1,URI=\"a.mp4\",BYTERANGE=\"30\"\n\
             #EXTINF:2,\n#EXT-X-BYTERANGE:80@10\na.mp4\n",
        );
        let segment = &playlist.segments[0];
        let ranges = segment.parts.iter().map(|part| part.resource.range);
        let ranges: Vec<_> = ranges
            .chain([segment.whole.and_then(|it| it.range)])
            .collect();
        let range = |begin, end| Some(ByteRange { begin, end });
        assert_eq!(ranges, [range(10, 60), range(60, 90), range(10, 90)]);
    }

    #[test]
    fn the_best_variant_is_chosen() {
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100\nlow.m3u8\n\
            #EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=7,BANDWIDTH=300,CODECS=\"a,b\"\nhls/live.m3u8\n\
            #EXT-X-STREAM-INF:BANDWIDTH=300\nother.m3u8\n";
        let best = Document::Multivariant("hls/live.m3u8".to_owned());
        assert_eq!(parse(text), Ok(best));
    }

    #[test]
    fn what_breaks_a_rule_is_noted_with_its_place() {
        let playlist = media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:5\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=5,PART-HOLD-BACK=0.9,CAN-SKIP-UNTIL=11\n\
             #EXT-X-PART-INF:PART-TARGET=0.5\n#EXTINF:2.5,\na.ts\n#EXTINF:2.49,\nb.ts\n\
             #EXT-X-PART:DURATION=0.5,URI=\"c\"\n#EXT-X-PART:DURATION=0.501,URI=\"d\"\n",
        );
        let expected = [
            (None, Flaw::PartHoldBackTooShort),
            (None, Flaw::HoldBackTooShort),
            (None, Flaw::SkipTooShort),
            (Some(Position::of(5)), Flaw::SegmentTooLong),
            (Some(Position::at(7, 1)), Flaw::PartTooLong),
        ];
        assert_eq!(playlist.flaws, expected);
    }

    #[test]
    fn what_is_no_playlist_is_an_error() {
        assert_eq!(parse("<html>"), Err(PlaylistError::NoPlaylist));
        assert_eq!(parse("#EXTM3U\n"), Err(PlaylistError::NoTarget));
        for (tag, name) in [
            ("#EXT-X-MEDIA-SEQUENCE:-1", "MEDIA-SEQUENCE"),
            ("#EXT-X-TARGETDURATION:x", "TARGETDURATION"),
            ("#EXTINF:", "EXTINF"),
            ("#EXT-X-PART:DURATION=1", "PART"),
            ("#EXT-X-PART:DURATION=1,URI=\"a\",BYTERANGE=\"0@1\"", "PART"),
            ("#EXT-X-MAP:BYTERANGE=\"1@1\"", "MAP"),
            ("#EXT-X-SKIP:X=1", "SKIP"),
        ] {
            let text = format!("#EXTM3U\n#EXT-X-TARGETDURATION:1\n{tag}\n");
            assert_eq!(parse(&text), Err(PlaylistError::Tag(name)), "{tag}");
        }
    }
}
