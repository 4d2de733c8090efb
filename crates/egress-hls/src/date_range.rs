//! Events as date ranges of a playlist (RFC 8216bis §4.4.5.1).
//!
//! * An ad break is one range: its beginning and its end are tags with the same identifier and start (§4.4.5.1.1).
//!   Events that the media itself carries (ID3, captions) have no range.
//! * Each title is a range of the class [`TITLE_CLASS`], which ends where the next one begins. A title without text
//!   means that nothing is known to be playing. Its identifier consists of its time on the stream's timeline and a
//!   digest of its text, so all nodes produce the same identifier, and the contents of a tag never change.
//! * Texts come from untrusted sources: see [`Quoted`].

use std::fmt::{self, Write};
use std::sync::Arc;

use fanout::TitleChange;
use media::{Cue, CueAction, EventContent, TimedEvent, Timestamp};

use crate::digest::digest;
use crate::playlist::Seconds;
use crate::wall::iso8601;

/// Class of titles. A title ends where the next range of its class begins (`END-ON-NEXT`).
pub(crate) const TITLE_CLASS: &str = "com.carillon.title";

/// Separator of artist and title, for sources that send both as one text.
const ARTIST_SEPARATOR: &str = " - ";

/// Longest text in characters: more than a line of a player shows.
const TEXT_CHARS_MAX: usize = 256;

/// Writes the tags of titles. `wall` returns the time at which a title began, in milliseconds since 1970.
pub(crate) fn write_titles(
    f: &mut impl Write,
    titles: &[Arc<TitleChange>],
    wall: impl Fn(&TitleChange) -> Option<i64>,
) -> fmt::Result {
    titles.iter().try_for_each(|change| match wall(change) {
        Some(millis) => write_title(f, change, millis),
        None => Ok(()),
    })
}

fn write_title(f: &mut impl Write, change: &TitleChange, millis: i64) -> fmt::Result {
    let TitleChange { title, at, .. } = change;
    let (id, start) = (digest(title.text.as_bytes()), iso8601(millis));
    let at = at.millis();
    write!(
        f,
        "#EXT-X-DATERANGE:ID=\"title-{at}-{id}\",CLASS=\"{TITLE_CLASS}\""
    )?;
    write!(f, ",START-DATE=\"{start}\",END-ON-NEXT=YES")?;
    let (artist, text) = title
        .text
        .split_once(ARTIST_SEPARATOR)
        .filter(|(artist, text)| !artist.trim().is_empty() && !text.trim().is_empty())
        .unwrap_or(("", &title.text));
    for (name, text) in [("TITLE", text), ("ARTIST", artist), ("URL", &title.url)] {
        if !text.trim().is_empty() {
            write!(f, ",X-{name}=\"{}\"", Quoted(text.trim()))?;
        }
    }
    f.write_char('\n')
}

/// Writes the tags of those events that have one. `wall` converts a timestamp of the stream to milliseconds since 1970.
pub(crate) fn write_all(
    f: &mut impl Write,
    events: &[Arc<TimedEvent>],
    wall: impl Fn(Timestamp) -> Option<i64>,
) -> fmt::Result {
    events.iter().try_for_each(|event| write(f, event, &wall))
}

fn write(
    f: &mut impl Write,
    event: &TimedEvent,
    wall: impl Fn(Timestamp) -> Option<i64>,
) -> fmt::Result {
    let EventContent::Cue(cue) = &event.content else {
        return Ok(());
    };
    let start = cue.began.unwrap_or(event.at);
    let Some(millis) = wall(start) else {
        return Ok(());
    };
    write!(f, "#EXT-X-DATERANGE:ID=\"{}\"", Quoted(&cue.id))?;
    write!(f, ",START-DATE=\"{}\"", iso8601(millis))?;
    match (cue.action, cue.duration) {
        (CueAction::Out, Some(duration)) => write!(f, ",PLANNED-DURATION={}", Seconds(duration))?,
        (CueAction::In, _) if cue.began.is_some() => {
            write!(f, ",DURATION={}", Seconds(event.at - start))?;
        }
        _ => {}
    }
    write!(f, ",{}=0x", attribute(cue))?;
    for byte in &cue.section {
        write!(f, "{byte:02X}")?;
    }
    f.write_char('\n')
}

const fn attribute(cue: &Cue) -> &'static str {
    match cue.action {
        CueAction::Out => "SCTE35-OUT",
        CueAction::In => "SCTE35-IN",
        CueAction::Other => "SCTE35-CMD",
    }
}

/// Text in the form of a quoted string, which has no escapes (§4.2): at most [`TEXT_CHARS_MAX`] characters, without
/// quotation marks and line ends, and without `{$`, which would begin a reference to a variable (§4.3).
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ' ';
        for char in self.0.chars().take(TEXT_CHARS_MAX) {
            let char = match char {
                '"' => '\'',
                '$' if before == '{' => ' ',
                // Some players treat them as line ends.
                '\u{2028}' | '\u{2029}' => ' ',
                control if control.is_control() => ' ',
                other => other,
            };
            f.write_char(char)?;
            before = char;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use media::Span;

    use super::*;

    /// Returns the tag of a cue at ten seconds, on a stream that began in 1970.
    fn written(id: &str, action: CueAction, duration: Option<i64>, began: Option<i64>) -> String {
        let cue = Cue {
            id: id.to_owned(),
            action,
            duration: duration.map(Span::from_millis),
            section: vec![0xFC, 0x30, 0x0A].into(),
            began: began.map(Timestamp::from_millis),
        };
        let event = TimedEvent {
            at: Timestamp::from_millis(10_250),
            content: EventContent::Cue(cue),
            is_scripted: false,
        };
        let mut out = String::new();
        write_all(&mut out, &[Arc::new(event)], |at| Some(at.millis())).expect("a text");
        out
    }

    #[test]
    fn a_break_is_one_range() {
        assert_eq!(
            written("ad1", CueAction::Out, Some(30_000), None),
            "#EXT-X-DATERANGE:ID=\"ad1\",START-DATE=\"1970-01-01T00:00:10.250Z\",PLANNED-DURATION=30.00000,\
             SCTE35-OUT=0xFC300A\n"
        );
        assert_eq!(
            written("ad1", CueAction::In, None, Some(5_000)),
            "#EXT-X-DATERANGE:ID=\"ad1\",START-DATE=\"1970-01-01T00:00:05.000Z\",DURATION=5.25000,\
             SCTE35-IN=0xFC300A\n"
        );
    }

    /// Returns the tag of a title that began in the stream's thirteenth second.
    fn title(text: &str, url: &str) -> String {
        let title = media::Title {
            text: text.to_owned(),
            url: url.to_owned(),
        };
        let change = TitleChange {
            title: Arc::new(title),
            at: Timestamp::from_millis(12_480),
            epoch: 1,
        };
        let mut out = String::new();
        write_titles(&mut out, &[Arc::new(change)], |change| {
            Some(change.at.millis())
        })
        .expect("a text");
        let begin = "#EXT-X-DATERANGE:ID=\"title-12480-";
        let (_, rest) = out.split_once(begin).expect("the identifier");
        let (id, rest) = rest.split_once('"').expect("its end");
        assert_eq!(id, digest(text.as_bytes()));
        let same =
            ",CLASS=\"com.carillon.title\",START-DATE=\"1970-01-01T00:00:12.480Z\",END-ON-NEXT=YES";
        let rest = rest.strip_prefix(same).expect("what all titles have");
        rest.strip_suffix('\n').expect("one line").to_owned()
    }

    #[test]
    fn a_title_is_a_range_until_the_next() {
        assert_eq!(title("", ""), "");
        assert_eq!(title("News", ""), ",X-TITLE=\"News\"");
        let expected = ",X-TITLE=\"B - C\",X-ARTIST=\"A\",X-URL=\"http://x/y.png\"";
        assert_eq!(title("A - B - C", "http://x/y.png"), expected);
        assert_eq!(title("- A -", ""), ",X-TITLE=\"- A -\"");
        assert_eq!(title(" - A", ""), ",X-TITLE=\"- A\"");
    }

    #[test]
    fn a_text_of_strangers_stays_within_its_quotation_marks() {
        let evil = title("x\",X-EVIL=\"1\r\n#EXT-X-ENDLIST\u{2028}{$y}", "");
        assert_eq!(evil, ",X-TITLE=\"x',X-EVIL='1  #EXT-X-ENDLIST { y}\"");
        let long = title(&"\u{266b}".repeat(10_000), "");
        assert_eq!(long.chars().filter(|char| *char == '\u{266b}').count(), 256);
    }

    #[test]
    fn an_end_without_a_beginning_and_other_commands_have_no_duration() {
        let start = "START-DATE=\"1970-01-01T00:00:10.250Z\"";
        for (id, action, shown, name) in [
            ("x", CueAction::In, "x", "SCTE35-IN"),
            ("a\"b\nc", CueAction::Other, "a'b c", "SCTE35-CMD"),
        ] {
            let expected = format!("#EXT-X-DATERANGE:ID=\"{shown}\",{start},{name}=0xFC300A\n");
            assert_eq!(written(id, action, None, None), expected);
        }
    }
}
