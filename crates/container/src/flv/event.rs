//! Events as data messages, in AMF0.
//!
//! | event | message |
//! |---|---|
//! | caption | `onTextData { text, language, duration }` |
//! | cue | `onCuePoint { name, time, type: "event", parameters: { action, duration, scte35 } }` |
//! | ID3 | `onCuePoint { name: "id3", time, type: "event", parameters: { data } }` |
//!
//! Times and durations are in seconds, bytes in base64, and unknown fields are left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use media::{CueAction, EventContent, Span, TimedEvent};

use super::amf::Amf;

/// Returns the body of the message for `event`: a name and an object.
pub(super) fn body(event: &TimedEvent) -> Bytes {
    let mut out = Amf::default();
    match &event.content {
        EventContent::Caption(caption) => {
            out.string("onTextData");
            out.object(|out| {
                out.text("text", &caption.text);
                if !caption.language.is_empty() {
                    out.text("language", &caption.language);
                }
                if caption.duration > Span::ZERO {
                    out.seconds("duration", caption.duration);
                }
            });
        }
        EventContent::Cue(cue) => out.cue_point(event, &cue.id, |out| {
            let action = match cue.action {
                CueAction::Out => "out",
                CueAction::In => "in",
                CueAction::Other => "other",
            };
            out.text("action", action);
            if let Some(duration) = cue.duration {
                out.seconds("duration", duration);
            }
            out.text("scte35", &STANDARD.encode(&cue.section));
        }),
        EventContent::Id3(tag) => out.cue_point(event, "id3", |out| {
            out.text("data", &STANDARD.encode(tag));
        }),
    }
    out.0.into()
}

impl Amf {
    fn cue_point(&mut self, event: &TimedEvent, name: &str, parameters: impl FnOnce(&mut Self)) {
        self.string("onCuePoint");
        self.object(|out| {
            out.text("name", name);
            out.seconds("time", Span::from_ticks(event.at.ticks()));
            out.text("type", "event");
            out.key(b"parameters");
            out.object(parameters);
        });
    }
}

#[cfg(test)]
mod tests {
    use media::{Caption, Cue, Timestamp};

    use super::*;

    fn body_of(content: EventContent) -> Bytes {
        body(&TimedEvent {
            at: Timestamp::from_millis(1_500),
            content,
            is_scripted: false,
        })
    }

    #[test]
    fn a_caption_is_byte_for_byte_as_specified() {
        let body = body_of(EventContent::Caption(Caption {
            text: "Hi".to_owned(),
            language: "en".to_owned(),
            duration: Span::ZERO,
        }));
        let expected =
            b"\x02\0\x0AonTextData\x03\0\x04text\x02\0\x02Hi\0\x08language\x02\0\x02en\0\0\x09";
        assert_eq!(body[..], expected[..]);
    }

    #[test]
    fn a_cue_is_a_cue_point_with_its_section() {
        let body = body_of(EventContent::Cue(Cue {
            id: "ad1".to_owned(),
            action: CueAction::Out,
            duration: Some(Span::from_millis(30_000)),
            section: Bytes::from_static(&[0xFC, 0x30]),
            began: None,
        }));
        let time = 1.5_f64.to_be_bytes();
        let duration = 30_f64.to_be_bytes();
        let expected = [
            &b"\x02\0\x0AonCuePoint\x03\0\x04name\x02\0\x03ad1\0\x04time\0"[..],
            &time,
            b"\0\x04type\x02\0\x05event\0\x0Aparameters\x03\0\x06action\x02\0\x03out\0\x08duration\0",
            &duration,
            b"\0\x06scte35\x02\0\x04/DA=\0\0\x09\0\0\x09",
        ];
        assert_eq!(body, expected.concat());
    }

    #[test]
    fn a_long_tag_is_a_long_string() {
        let body = body_of(EventContent::Id3(vec![0; 60_000].into()));
        let head = b"\0\x04data\x0C\0\x01\x38\x80AAAA";
        assert!(body.windows(head.len()).any(|window| window == head));
    }
}
