//! A strict parser of media playlists (RFC 8216bis §4.1–4.4).
//!
//! It accepts what the grammar allows and refuses everything else, with the line number. Unknown tags are kept. The rules
//! decide what playlists mean, and what may follow what.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use super::attributes::{self, Attributes};
use super::playlist::{
    DateRange, File, Hint, Key, Map, MediaPlaylist, Part, Segment, ServerControl,
};

/// Tags that may occur only once in a playlist.
const ONCE: &str = "EXT-X-VERSION EXT-X-TARGETDURATION EXT-X-MEDIA-SEQUENCE \
    EXT-X-DISCONTINUITY-SEQUENCE EXT-X-PLAYLIST-TYPE EXT-X-INDEPENDENT-SEGMENTS EXT-X-PART-INF \
    EXT-X-SERVER-CONTROL EXT-X-SKIP EXT-X-ENDLIST EXT-X-START";

/// Tags of multivariant playlists.
const MULTIVARIANT: &str = "EXT-X-MEDIA EXT-X-STREAM-INF EXT-X-I-FRAME-STREAM-INF \
    EXT-X-SESSION-DATA EXT-X-SESSION-KEY EXT-X-CONTENT-STEERING";

/// Returns whether a name is one of these, which are separated by spaces.
pub(super) fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

/// Reason why a text is not a playlist.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SyntaxError {
    /// Line number from 1; 0 for the playlist as a whole.
    pub line: usize,
    /// Description of the error.
    pub reason: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for SyntaxError {}

/// Kind of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Line<'a> {
    /// A tag, and the text after its colon.
    Tag(&'a str, &'a str),
    Uri(&'a str),
}

/// Returns the lines of a playlist with their numbers, without comments and blank lines.
pub(super) fn lines(text: &str) -> Result<Vec<(usize, Line<'_>)>, SyntaxError> {
    let is_control = |c: char| c.is_control() && c != '\r' && c != '\n';
    let mut all = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let failed = |reason: &str| SyntaxError {
            line: index + 1,
            reason: format!("{reason}: {line:?}"),
        };
        if index == 0 && line != "#EXTM3U" {
            return Err(failed("the first line is not #EXTM3U"));
        }
        if line.chars().any(is_control) {
            return Err(failed("a control character"));
        }
        if line.starts_with(' ') || line.ends_with(' ') {
            return Err(failed("white space around a line"));
        }
        if line == "#EXTM3U" && index > 0 {
            return Err(failed("#EXTM3U again"));
        }
        if let Some(tag) = line.strip_prefix('#').filter(|tag| tag.starts_with("EXT")) {
            let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
            all.push((index + 1, Line::Tag(name, value)));
        } else if !line.is_empty() && !line.starts_with('#') {
            all.push((index + 1, Line::Uri(line)));
        }
    }
    Ok(all)
}

impl MediaPlaylist {
    /// Parses a media playlist.
    ///
    /// # Errors
    /// The first deviation from the grammar.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut reader = Reader::default();
        for (number, line) in lines(text)? {
            reader.line(line).map_err(|reason| SyntaxError {
                line: number,
                reason,
            })?;
        }
        let whole = |reason| SyntaxError { line: 0, reason };
        reader.finish().map_err(whole)
    }
}

#[derive(Default)]
struct Reader<'a> {
    playlist: MediaPlaylist,
    seen: HashSet<&'a str>,
    /// Tags that apply to the next segment.
    open: Segment,
    /// Whether there are such tags.
    is_open: bool,
    map: Option<Map>,
    key: Option<Key>,
    duration: Option<Duration>,
    range: Option<String>,
    has_segments: bool,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) -> Result<(), String> {
        match line {
            Line::Uri(uri) => self.uri(uri),
            Line::Tag(name, value) => {
                if is_among(MULTIVARIANT, name) {
                    return Err(format!("{name} in a media playlist"));
                }
                if is_among(ONCE, name) && !self.seen.insert(name) {
                    return Err(format!("{name} again"));
                }
                self.tag(name, value)
            }
        }
    }

    fn tag(&mut self, name: &str, value: &str) -> Result<(), String> {
        let playlist = &mut self.playlist;
        match name {
            "EXTM3U" => {}
            "EXT-X-VERSION" => playlist.version = attributes::integer(value)?,
            "EXT-X-TARGETDURATION" => {
                playlist.target = Duration::from_secs(attributes::integer(value)?);
            }
            "EXT-X-MEDIA-SEQUENCE" | "EXT-X-DISCONTINUITY-SEQUENCE" => {
                self.sequence(name, value)?
            }
            "EXT-X-PLAYLIST-TYPE" => playlist.kind = Some(value.to_owned()),
            "EXT-X-INDEPENDENT-SEGMENTS" => playlist.has_independent_segments = true,
            "EXT-X-PART-INF" => {
                let target = Attributes::parse(value)?.seconds("PART-TARGET")?;
                playlist.part_target = Some(target.ok_or("PART-TARGET is missing")?);
            }
            "EXT-X-SERVER-CONTROL" => playlist.control = Some(control(&Attributes::parse(value)?)?),
            "EXT-X-SKIP" => {
                let skipped = Attributes::parse(value)?.integer("SKIPPED-SEGMENTS")?;
                playlist.skipped = Some(skipped.ok_or("SKIPPED-SEGMENTS is missing")?);
            }
            "EXT-X-PRELOAD-HINT" => playlist.hints.push(hint(&Attributes::parse(value)?)?),
            "EXT-X-RENDITION-REPORT" => {
                let report = Attributes::parse(value)?.need_quoted("URI")?;
                playlist.reports.push(report);
            }
            "EXT-X-DATERANGE" => {
                let mut range = date_range(Attributes::parse(value)?)?;
                range.behind = playlist.segments.len();
                playlist.date_ranges.push(range);
            }
            "EXT-X-KEY" => self.key = key(&Attributes::parse(value)?)?,
            "EXT-X-ENDLIST" => playlist.is_ended = true,
            "EXTINF"
            | "EXT-X-BYTERANGE"
            | "EXT-X-DISCONTINUITY"
            | "EXT-X-GAP"
            | "EXT-X-MAP"
            | "EXT-X-PROGRAM-DATE-TIME"
            | "EXT-X-PART" => self.segment_tag(name, value)?,
            _ => playlist.unknown.push(format!("#{name}:{value}")),
        }
        Ok(())
    }

    fn sequence(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.has_segments || self.is_open {
            return Err(format!("{name} behind a segment"));
        }
        let number = attributes::integer(value)?;
        match name {
            "EXT-X-MEDIA-SEQUENCE" => self.playlist.sequence = number,
            _ => self.playlist.discontinuity_sequence = number,
        }
        Ok(())
    }

    fn segment_tag(&mut self, name: &str, value: &str) -> Result<(), String> {
        let open = &mut self.open;
        let was_open = std::mem::replace(&mut self.is_open, true);
        match name {
            "EXTINF" => {
                let (seconds, _title) = value.split_once(',').ok_or("EXTINF without a comma")?;
                let duration = attributes::seconds(seconds)?;
                if self.duration.replace(duration).is_some() {
                    return Err("a second EXTINF".to_owned());
                }
            }
            "EXT-X-BYTERANGE" => self.range = Some(value.to_owned()),
            "EXT-X-DISCONTINUITY" => open.is_discontinuous = true,
            "EXT-X-GAP" => open.is_gap = true,
            "EXT-X-PROGRAM-DATE-TIME" => open.date = Some(date(value)?),
            "EXT-X-MAP" => {
                let list = Attributes::parse(value)?;
                self.map = Some(Map {
                    uri: list.need_quoted("URI")?,
                    range: list.quoted("BYTERANGE")?.map(str::to_owned),
                });
                // The tag changes what applies, and begins nothing.
                self.is_open = was_open;
            }
            _ => open.parts.push(part(&Attributes::parse(value)?)?),
        }
        Ok(())
    }

    fn uri(&mut self, uri: &str) -> Result<(), String> {
        let duration = self.duration.take();
        let file = File {
            uri: uri.to_owned(),
            duration: duration.ok_or("an address without EXTINF")?,
            range: self.range.take(),
        };
        self.push(Some(file));
        Ok(())
    }

    fn push(&mut self, file: Option<File>) {
        let segment = Segment {
            map: self.map.clone(),
            key: self.key.clone(),
            file,
            ..std::mem::take(&mut self.open)
        };
        self.playlist.segments.push(segment);
        self.is_open = false;
        self.has_segments = true;
    }

    fn finish(mut self) -> Result<MediaPlaylist, String> {
        if self.duration.is_some() {
            return Err("EXTINF without an address".to_owned());
        }
        if !self.seen.contains("EXT-X-TARGETDURATION") {
            return Err("no EXT-X-TARGETDURATION".to_owned());
        }
        if self.is_open {
            self.push(None);
        }
        let mut playlist = self.playlist;
        let first = playlist.sequence + playlist.skipped.unwrap_or_default();
        for (number, segment) in (first..).zip(&mut playlist.segments) {
            segment.number = number;
        }
        Ok(playlist)
    }
}

fn control(list: &Attributes) -> Result<ServerControl, String> {
    Ok(ServerControl {
        can_block_reload: list.yes("CAN-BLOCK-RELOAD")?,
        part_hold_back: list.seconds("PART-HOLD-BACK")?,
        hold_back: list.seconds("HOLD-BACK")?,
        can_skip_until: list.seconds("CAN-SKIP-UNTIL")?,
    })
}

/// Parses a key; `None` for the method `NONE`.
fn key(list: &Attributes) -> Result<Option<Key>, String> {
    match list.plain("METHOD")?.ok_or("METHOD is missing")? {
        "NONE" => Ok(None),
        "AES-128" => Ok(Some(Key {
            uri: list.need_quoted("URI")?,
            iv: list.plain("IV")?.map(str::to_owned),
        })),
        method => Err(format!("a key of method {method}")),
    }
}

fn date_range(attributes: Attributes) -> Result<DateRange, String> {
    let class = attributes.quoted("CLASS")?.map(str::to_owned);
    let has = |name| attributes.plain(name).map(|value| value.is_some());
    let ends_on_next = attributes.plain("END-ON-NEXT")?;
    if ends_on_next.is_some_and(|value| value != "YES") {
        return Err("END-ON-NEXT has another value than YES".to_owned());
    }
    let has_end = has("DURATION")? || attributes.quoted("END-DATE")?.is_some();
    if ends_on_next.is_some() && (class.is_none() || has_end) {
        return Err("END-ON-NEXT without a class, or with an end".to_owned());
    }
    Ok(DateRange {
        id: attributes.need_quoted("ID")?,
        class,
        start: date(&attributes.need_quoted("START-DATE")?)?,
        attributes,
        behind: 0,
    })
}

fn hint(list: &Attributes) -> Result<Hint, String> {
    let kind = list.plain("TYPE")?.ok_or("TYPE is missing")?;
    if !["PART", "MAP"].contains(&kind) {
        return Err(format!("a hint of type {kind}"));
    }
    Ok(Hint {
        kind: kind.to_owned(),
        uri: list.need_quoted("URI")?,
    })
}

fn part(list: &Attributes) -> Result<Part, String> {
    Ok(Part {
        uri: list.need_quoted("URI")?,
        duration: list.seconds("DURATION")?.ok_or("DURATION is missing")?,
        is_independent: list.yes("INDEPENDENT")?,
        is_gap: list.yes("GAP")?,
        range: list.quoted("BYTERANGE")?.map(str::to_owned),
    })
}

/// Parses a date and time of ISO 8601 (`2026-11-23T03:38:42.123Z`, or with an offset such as `+01:00`) to the time since 1970.
fn date(text: &str) -> Result<Duration, String> {
    let failed = || format!("not a date with time and zone: {text:?}");
    let (day, rest) = text.split_once('T').ok_or_else(failed)?;
    let zone = rest.find(['Z', '+', '-']).ok_or_else(failed)?;
    let (time, zone) = rest.split_at(zone);
    let numbers = |text: &str, separator, widths: &[usize]| {
        let fields: Vec<&str> = text.split(separator).collect();
        let lengths = fields.iter().map(|field| field.len());
        let fits = lengths.eq(widths.iter().copied());
        let read: Option<Vec<u64>> = fields.iter().map(|f| attributes::integer(f).ok()).collect();
        read.filter(|_| fits)
    };
    let day = numbers(day, '-', &[4, 2, 2]).ok_or_else(failed)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let clock = numbers(clock, ':', &[2, 2, 2]).ok_or_else(failed)?;
    let fraction = attributes::seconds(&format!("0.{fraction}")).map_err(|_| failed())?;
    let offset = match zone {
        "Z" => 0,
        _ => {
            let digits = zone[1..].replace(':', "");
            let digits = attributes::integer(&digits)
                .ok()
                .filter(|_| digits.len() == 4);
            let digits = i64::try_from(digits.ok_or_else(failed)?).map_err(|_| failed())?;
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            sign * ((digits / 100) * 3_600 + (digits % 100) * 60)
        }
    };
    let is_date = (1..=12).contains(&day[1]) && (1..=31).contains(&day[2]) && day[0] >= 1970;
    if !is_date || clock[0] > 23 || clock[1] > 59 || clock[2] > 60 {
        return Err(failed());
    }
    let seconds =
        days(day[0], day[1], day[2]) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2];
    let seconds = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| seconds.checked_sub(offset));
    let seconds = seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .ok_or_else(failed)?;
    Ok(Duration::from_secs(seconds) + fraction)
}

/// Returns the days from 1970 to a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year / 4 - year / 100 + year / 400;
    year * 365 + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n";

    fn parsed(rest: &str) -> Result<MediaPlaylist, SyntaxError> {
        MediaPlaylist::parse(&format!("{HEAD}{rest}"))
    }

    #[test]
    fn every_tag_finds_its_field() {
        let text = "#EXT-X-VERSION:9\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n\
            #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,HOLD-BACK=6.0,CAN-SKIP-UNTIL=12.0\n\
            #EXT-X-PART-INF:PART-TARGET=0.5\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-NEW-TAG:A=1\n\
            #EXT-X-KEY:METHOD=AES-128,URI=\"0.key\"\n\
            # a comment\n\n#EXT-X-MAP:URI=\"i.mp4\"\n\
            #EXT-X-PROGRAM-DATE-TIME:2026-11-23T03:38:42.123Z\n\
            #EXT-X-PART:DURATION=0.5,URI=\"7.0.mp4\",INDEPENDENT=YES\n#EXT-X-GAP\n\
            #EXTINF:2.00000,a title\n7.mp4\n#EXT-X-DISCONTINUITY\n#EXT-X-KEY:METHOD=NONE\n\
            #EXT-X-DATERANGE:ID=\"a\",CLASS=\"b\",START-DATE=\"2026-11-23T03:38:42Z\",END-ON-NEXT=YES\n\
            #EXT-X-PART:DURATION=0.5,URI=\"8.0.mp4\",GAP=YES\n\
            #EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"8.1.mp4\"\n\
            #EXT-X-RENDITION-REPORT:URI=\"b.m3u8\",LAST-MSN=8\n";
        let playlist = parsed(text).expect("it is right");
        assert_eq!((playlist.version, playlist.sequence), (9, 7));
        assert_eq!(playlist.discontinuity_sequence, 3);
        assert_eq!(playlist.part_target, Some(Duration::from_millis(500)));
        let control = playlist.control.clone().expect("there is one");
        assert_eq!(control.hold_back, Some(Duration::from_secs(6)));
        assert!(control.can_block_reload && playlist.has_independent_segments);
        assert_eq!(playlist.unknown, ["#EXT-X-NEW-TAG:A=1"]);
        assert_eq!(playlist.hinted_part(), Some("8.1.mp4"));
        assert_eq!(playlist.reports, ["b.m3u8"]);
        let [first, second] = &playlist.segments[..] else {
            panic!("{:?}", playlist.segments);
        };
        assert!(first.is_gap && first.parts[0].is_independent && first.file.is_some());
        assert_eq!((first.number, second.number), (7, 8));
        assert!(second.is_discontinuous && second.file.is_none() && second.parts[0].is_gap);
        assert_eq!(second.map, first.map);
        assert_eq!(first.key.as_ref().map(|key| &key.uri[..]), Some("0.key"));
        assert_eq!(second.key, None);
        let range = &playlist.date_ranges[0];
        assert_eq!((&range.id[..], range.behind), ("a", 1));
        assert!(first.date > second.date);
    }

    #[test]
    fn a_trailing_map_begins_no_segment() {
        let playlist =
            parsed("#EXTINF:2,\n0.mp4\n#EXT-X-MAP:URI=\"i.mp4\"\n").expect("it is right");
        assert_eq!(playlist.segments.len(), 1);
    }

    #[test]
    fn lines_may_end_with_a_carriage_return() {
        let text = format!("{HEAD}#EXTINF:2,\n0.mp4\n");
        let other = MediaPlaylist::parse(&text.replace('\n', "\r\n"));
        assert_eq!(other, MediaPlaylist::parse(&text));
    }

    #[test]
    fn deviations_are_refused() {
        for text in [
            "0.mp4\n",
            "#EXTINF:2\n0.mp4\n",
            "#EXTINF:x,\n0.mp4\n",
            "#EXTINF:2,\n#EXTINF:2,\n0.mp4\n",
            "#EXTINF:2,\n",
            "#EXT-X-TARGETDURATION:2\n",
            "#EXTM3U\n",
            "#EXTINF:2,\n0.mp4\n#EXT-X-MEDIA-SEQUENCE:1\n",
            "#EXT-X-DISCONTINUITY\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n",
            "#EXT-X-STREAM-INF:BANDWIDTH=1\nx.m3u8\n",
            "#EXT-X-PART:DURATION=1\n",
            "#EXT-X-PART:URI=\"x\"\n",
            "#EXT-X-MAP:BYTERANGE=\"1@0\"\n",
            "#EXT-X-PART-INF:A=1\n",
            "#EXT-X-SKIP:A=1\n",
            "#EXT-X-PRELOAD-HINT:TYPE=WHAT,URI=\"x\"\n",
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=TRUE\n",
            "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T03:38:42\n",
            "#EXT-X-KEY:METHOD=AES-128\n",
            "#EXT-X-KEY:METHOD=ROT-13,URI=\"x\"\n",
            "#EXT-X-DATERANGE:ID=\"a\"\n",
            "#EXT-X-DATERANGE:ID=\"a\",START-DATE=\"2026-11-23T03:38:42Z\",END-ON-NEXT=YES\n",
            " #EXTINF:2,\n0.mp4\n",
            "#EXTINF:2,\t\n0.mp4\n",
        ] {
            assert!(parsed(text).is_err(), "{text:?}");
        }
        assert!(MediaPlaylist::parse("#EXTM3U\n#EXT-X-VERSION:9\n").is_err());
        assert!(MediaPlaylist::parse("\u{feff}#EXTM3U\n#EXT-X-TARGETDURATION:2\n").is_err());
    }

    #[test]
    fn dates_are_exact() {
        let leap = Duration::from_millis(1_709_164_800_000 + 250);
        assert_eq!(date("2024-02-29T00:00:00.250Z"), Ok(leap));
        assert_eq!(date("2024-02-29T01:30:00.25+01:30"), Ok(leap));
        assert_eq!(date("2024-02-28T23:00:00.250-0100"), Ok(leap));
        assert_eq!(date("1970-01-01T00:00:00Z"), Ok(Duration::ZERO));
        for text in [
            "2024-02-29",
            "2024-13-01T00:00:00Z",
            "2024-1-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
        ] {
            assert!(date(text).is_err(), "{text}");
        }
    }
}
