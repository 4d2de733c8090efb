//! Events in the data messages of RTMP publishers.
//!
//! | message | event |
//! |---|---|
//! | `onTextData` with `text`, and `onCaptionInfo` with `text` | a caption |
//! | `onCuePoint` with a `splice_info_section` in base64 or hexadecimal | a cue |
//! | any other `onCuePoint` | an ID3 tag with its name |
//!
//! The message itself is relayed unchanged. Its content is untrusted; a message that is not understood yields
//! no event.

use std::borrow::Cow;
use std::sync::Arc;

use ::rtmp::amf0::{Decoder, Value};
use container::{id3, scte35};
use media::{Caption, EventContent, Item, Script, Span, TimedEvent};

/// Longest message that is parsed, in bytes: twice the hexadecimal length of the longest section.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// Longest text that is kept, in bytes: the capacity of a tag.
const TEXT_BYTES_MAX: usize = 4_096;

/// Longest language tag, in bytes.
const LANGUAGE_BYTES_MAX: usize = 35;

/// Description of a cue point's name in an ID3 tag.
const CUE_POINT: &str = "onCuePoint";

/// Member of a cue point whose members may hold the section; other encoders put the section into the cue
/// point itself.
const PARAMETERS: &str = "parameters";

/// Returns the event in a data message, if it contains one.
pub(crate) fn event(script: &Script) -> Option<Item> {
    if script.body.len() > BODY_BYTES_MAX {
        return None;
    }
    let mut decoder = Decoder::new(&script.body);
    let name = decoder.value().ok()??;
    let content = match name.text()?.as_ref() {
        "onTextData" | "onCaptionInfo" => caption(&decoder.value().ok()??)?,
        CUE_POINT => cue_point(&decoder.value().ok()??)?,
        _ => return None,
    };
    Some(Item::Event(Arc::new(TimedEvent {
        at: script.at,
        content,
        is_scripted: true,
    })))
}

fn caption(message: &Value<'_>) -> Option<EventContent> {
    let text = bounded(member(message, "text")?.text()?, TEXT_BYTES_MAX);
    let language = member(message, "language").and_then(Value::text);
    let is_tag = |char: char| char.is_ascii_alphanumeric() || char == '-';
    let language = language.filter(|it| it.len() <= LANGUAGE_BYTES_MAX && it.chars().all(is_tag));
    (!text.is_empty()).then(|| {
        EventContent::Caption(Caption {
            text,
            language: language.map(Cow::into_owned).unwrap_or_default(),
            duration: Span::ZERO,
        })
    })
}

fn cue_point(message: &Value<'_>) -> Option<EventContent> {
    let inner = member(message, PARAMETERS).and_then(Value::properties);
    let members = message.properties()?.iter();
    let mut texts = members
        .chain(inner.into_iter().flatten())
        .filter_map(|(_, value)| value.text());
    let section = texts.find_map(|text| {
        let section = scte35::section_of_text(&text)?;
        let parsed = scte35::parse(&section).ok()?;
        Some(parsed.into_cue(section.into(), None))
    });
    if let Some(cue) = section {
        return Some(EventContent::Cue(cue));
    }
    let name = bounded(member(message, "name")?.text()?, TEXT_BYTES_MAX);
    let tag = id3::Tag::default().user_text(CUE_POINT, &name);
    Some(EventContent::Id3(tag.into_bytes().into()))
}

fn member<'m, 'a>(message: &'m Value<'a>, name: &str) -> Option<&'m Value<'a>> {
    let mut members = message.properties()?.iter();
    let found = members.find(|(key, _)| *key == name.as_bytes());
    found.map(|(_, value)| value)
}

fn bounded(text: Cow<'_, str>, bytes_max: usize) -> String {
    let mut text = text.into_owned();
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{CueAction, Timestamp};

    use super::*;

    fn string(text: &str) -> Vec<u8> {
        let length = (text.len() as u16).to_be_bytes();
        [&[2][..], &length, text.as_bytes()].concat()
    }

    /// An object of values that are written already.
    fn object(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut out = vec![3];
        for (name, value) in members {
            out.extend_from_slice(&string(name)[1..]);
            out.extend_from_slice(value);
        }
        out.extend_from_slice(&[0, 0, 9]);
        out
    }

    fn content(name: &str, message: &[u8]) -> Option<EventContent> {
        let body = [&string(name)[..], message].concat();
        let script = Script {
            at: Timestamp::from_millis(5_000),
            body: Bytes::from(body),
        };
        event(&script).map(|item| match item {
            Item::Event(event) => {
                assert!(event.is_scripted && event.at == script.at);
                event.content.clone()
            }
            other => panic!("{other:?}"),
        })
    }

    const SECTION: &str = "/DAvAAAAAAAA///wFAVIAACPf+/+c2nALv4AUsz1AAAAAAAKAAhDVUVJAAABNWLbowo=";

    #[test]
    fn texts_are_captions() {
        let text = object(&[("text", string("Hello")), ("language", string("en"))]);
        let expected = Caption {
            text: "Hello".to_owned(),
            language: "en".to_owned(),
            duration: Span::ZERO,
        };
        for name in ["onTextData", "onCaptionInfo"] {
            let expected = EventContent::Caption(expected.clone());
            assert_eq!(content(name, &text), Some(expected));
        }
        let data = object(&[("type", string("708")), ("data", string("AAAA"))]);
        assert_eq!(content("onCaptionInfo", &data), None, "no text");
        assert_eq!(content("onMetaData", &text), None);
        assert_eq!(content("onTextData", &[2, 0]), None, "cut");
    }

    #[test]
    fn a_cue_point_with_a_section_is_a_cue() {
        let plain = object(&[("type", string("SCTE-35")), ("data", string(SECTION))]);
        let nested = object(&[("name", string("scte35")), (PARAMETERS, plain.clone())]);
        for message in [plain, nested] {
            let Some(EventContent::Cue(cue)) = content(CUE_POINT, &message) else {
                panic!("a cue");
            };
            assert_eq!(
                (cue.action, &cue.id[..]),
                (CueAction::Out, "splice-4800008F")
            );
        }
    }

    #[test]
    fn any_other_cue_point_is_a_tag() {
        let message = object(&[("name", string("chapter 2"))]);
        let tag = id3::Tag::default().user_text(CUE_POINT, "chapter 2");
        let expected = EventContent::Id3(tag.into_bytes().into());
        assert_eq!(content(CUE_POINT, &message), Some(expected));
        assert_eq!(content(CUE_POINT, &object(&[])), None);
    }
}
