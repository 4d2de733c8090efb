//! Events as date ranges of a playlist (RFC 8216bis §4.4.5.1).
//!
//! A break is one range: its beginning and its end are tags with the same identifier and start (§4.4.5.1.1). What has
//! its way in the media (ID3, captions) has no range.

use std::fmt::{self, Write};
use std::sync::Arc;

use media::{Cue, CueAction, EventContent, TimedEvent, Timestamp};

use crate::playlist::Seconds;
use crate::wall::iso8601;

/// The tags of those events that have one. `wall` tells a moment of the stream as milliseconds since 1970.
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

/// A text as a quoted string has it, which knows no escapes (§4.2).
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            f.write_char(match char {
                '"' => '\'',
                control if control.is_control() => ' ',
                other => other,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use media::Span;

    use super::*;

    /// What is written of a cue at ten seconds, on a stream that began in 1970.
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

    #[test]
    fn an_end_without_a_beginning_and_other_commands_have_no_duration() {
        let start = "START-DATE=\"1970-01-01T00:00:10.250Z\"";
        assert_eq!(
            written("x", CueAction::In, None, None),
            format!("#EXT-X-DATERANGE:ID=\"x\",{start},SCTE35-IN=0xFC300A\n")
        );
        assert_eq!(
            written("a\"b\nc", CueAction::Other, None, None),
            format!("#EXT-X-DATERANGE:ID=\"a'b c\",{start},SCTE35-CMD=0xFC300A\n")
        );
    }
}
