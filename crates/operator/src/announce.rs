//! `POST /api/v1/streams/{name}/events`: an event that the operator announces, as JSON. Requests for `/recording` behind a name
//! are passed to [`recordings`].
//!
//! | `type` | fields |
//! |---|---|
//! | `id3` | `text`, perhaps with `description`; or `data`: a whole ID3v2 tag in base64 |
//! | `cue` | `out`: `true` or `false`, perhaps with `duration` and `id` |
//! | `cue` | `scte35`: a section in hexadecimal or base64, perhaps with `id` |
//! | `caption` | `text`, perhaps with `language` and `duration` |
//!
//! The event takes effect now; the response contains its time on the stream's timeline.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use auth::Administer;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use container::{id3, scte35};
use fanout::gate::Authorized;
use media::{Caption, Cue, EventContent, Span, StreamName};
use serde::Deserialize;
use serde_json::json;

use super::api::{not_found, refuse, refuse_unless_json};
use super::recordings;
use crate::Console;

/// Path suffix after a stream's name.
const SUFFIX: &str = "/events";

/// Maximum length of a request in bytes: twice what the largest tag takes in base64.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Maximum length of an ID3 tag in bytes: the tag is repeated for each format, and must fit into one packet of an elementary
/// stream.
const TAG_BYTES_MAX: usize = 16 * 1024;

/// Maximum length of a text in bytes: the capacity of a tag.
const TEXT_BYTES_MAX: usize = 4_096;

/// Maximum length of a break's name in bytes.
const ID_BYTES_MAX: usize = 64;

/// Maximum length of a language tag that BCP 47 needs in practice, in bytes (RFC 5646 §4.4.1).
const LANGUAGE_BYTES_MAX: usize = 35;

/// Maximum length of a break in seconds: a field of 33 bits at 90 kHz holds a little more than a day.
const BREAK_SECONDS_MAX: f64 = 86_400.0;

/// Maximum duration of a caption in seconds.
const CAPTION_SECONDS_MAX: f64 = 60.0;

/// Operator who makes the request; set by the port's guard.
#[derive(Clone, Debug)]
pub(super) struct Operator(pub(super) Arc<Authorized<Administer>>);

/// An event in the form of the request.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Announcement {
    Id3 {
        text: Option<String>,
        #[serde(default)]
        description: String,
        data: Option<String>,
    },
    Cue {
        out: Option<bool>,
        duration: Option<f64>,
        id: Option<String>,
        scte35: Option<String>,
    },
    Caption {
        text: String,
        #[serde(default)]
        language: String,
        duration: Option<f64>,
    },
}

/// `POST /api/v1/streams/{name}/events`.
pub(super) async fn announce(
    State(console): State<Arc<Console>>,
    Extension(Operator(operator)): Extension<Operator>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Some(name) = path.strip_suffix(recordings::SUFFIX) {
        return recordings::command(&console, name, &headers, body).await;
    }
    let name = path.strip_suffix(SUFFIX).map(StreamName::parse);
    let Some(Ok(name)) = name else {
        return not_found("this takes /api/v1/streams/{name}/events, and /recording");
    };
    if let Some(refused) = refuse_unless_json(&headers) {
        return refused;
    }
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else {
        let text = format!("an event has {BODY_BYTES_MAX} bytes at most");
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, &text);
    };
    let content = match content(&body) {
        Ok(content) => content,
        Err(words) => return refuse(StatusCode::BAD_REQUEST, &words),
    };
    let Some(stream) = console.front.registry.stream(&name) else {
        return not_found("there is no such stream");
    };
    let id = match &content {
        EventContent::Cue(cue) => Some(cue.id.clone()),
        _ => None,
    };
    let permission = console.front.gate.announce(&operator, &name);
    match stream.announce(&permission, content, Instant::now()) {
        Some(at) => {
            let seconds = at.ticks() as f64 / media::TICKS_PER_SECOND as f64;
            Json(json!({ "stream": name.as_str(), "at": seconds, "id": id })).into_response()
        }
        None => refuse(StatusCode::CONFLICT, "the stream has no publisher now"),
    }
}

/// Parses a request into the event it announces, or returns an explanation of the error.
fn content(body: &[u8]) -> Result<EventContent, String> {
    let announcement = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    match announcement {
        Announcement::Id3 {
            text,
            description,
            data,
        } => tag(text, &description, data).map(EventContent::Id3),
        Announcement::Cue {
            out,
            duration,
            id,
            scte35,
        } => cue(out, duration, id, scte35).map(EventContent::Cue),
        Announcement::Caption {
            text,
            language,
            duration,
        } => Ok(EventContent::Caption(Caption {
            text: non_empty("text", text, TEXT_BYTES_MAX)?,
            language: language_tag(language)?,
            duration: seconds(duration, CAPTION_SECONDS_MAX)?.unwrap_or_default(),
        })),
    }
}

fn tag(text: Option<String>, description: &str, data: Option<String>) -> Result<Bytes, String> {
    match (text, data) {
        (Some(text), None) => {
            let text = non_empty("text", text, TEXT_BYTES_MAX)?;
            if description.len() > TEXT_BYTES_MAX {
                return Err(format!("description: {TEXT_BYTES_MAX} bytes at most"));
            }
            let tag = id3::Tag::default().user_text(description, &text);
            Ok(tag.into_bytes().into())
        }
        (None, Some(data)) => {
            let bytes = STANDARD.decode(data.trim());
            let bytes = bytes.map_err(|error| format!("data: {error}"))?;
            if bytes.len() > TAG_BYTES_MAX {
                return Err(format!("data: a tag has {TAG_BYTES_MAX} bytes at most"));
            }
            match id3::is_tag(&bytes) {
                true => Ok(bytes.into()),
                false => Err("data: this is not one whole ID3v2 tag".to_owned()),
            }
        }
        _ => Err("id3 needs either text or data".to_owned()),
    }
}

fn cue(
    out: Option<bool>,
    duration: Option<f64>,
    id: Option<String>,
    scte35: Option<String>,
) -> Result<Cue, String> {
    let id = id.map(break_id).transpose()?;
    let duration = seconds(duration, BREAK_SECONDS_MAX)?;
    let (section, id) = match (out, scte35) {
        (None, Some(text)) => {
            if duration.is_some() {
                return Err("duration: the section of scte35 says it".to_owned());
            }
            (section(&text)?, id)
        }
        (Some(is_out), None) => {
            if !is_out && duration.is_some() {
                return Err("duration: the end of a break has none".to_owned());
            }
            let id = id.unwrap_or_else(|| format!("cue-{}", millis_now()));
            let units = duration.map(|span| span.ticks().unsigned_abs() / TICKS_PER_UNIT);
            let insert = scte35::Insert {
                event: scte35::event_number(&id),
                is_out,
                duration: units,
            };
            (scte35::write(&insert), Some(id))
        }
        _ => return Err("cue needs either out or scte35".to_owned()),
    };
    let parsed = scte35::parse(&section).map_err(|error| format!("scte35: {error}"))?;
    Ok(parsed.into_cue(section.into(), id))
}

/// Ticks of a stream's clock per unit of a section's clock.
const TICKS_PER_UNIT: u64 = media::TICKS_PER_SECOND as u64 / 90_000;

fn section(text: &str) -> Result<Vec<u8>, String> {
    let words = "scte35: this is no section in hexadecimal or base64";
    scte35::section_of_text(text).ok_or_else(|| words.to_owned())
}

fn break_id(id: String) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_graphic() && char != '"' && char != '\\';
    match id.len() <= ID_BYTES_MAX && !id.is_empty() && id.chars().all(is_plain) {
        true => Ok(id),
        false => Err(format!(
            "id: 1 to {ID_BYTES_MAX} visible ASCII characters without quotation marks and backslashes"
        )),
    }
}

fn language_tag(language: String) -> Result<String, String> {
    let is_tag = |char: char| char.is_ascii_alphanumeric() || char == '-';
    match language.len() <= LANGUAGE_BYTES_MAX && language.chars().all(is_tag) {
        true => Ok(language),
        false => Err("language: a tag such as en or pt-BR".to_owned()),
    }
}

fn non_empty(field: &str, text: String, bytes_max: usize) -> Result<String, String> {
    match text.len() {
        0 => Err(format!("{field}: it is empty")),
        len if len > bytes_max => Err(format!("{field}: {bytes_max} bytes at most")),
        _ => Ok(text),
    }
}

fn seconds(duration: Option<f64>, max: f64) -> Result<Option<Span>, String> {
    match duration {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 && seconds <= max => {
            let ticks = seconds * media::TICKS_PER_SECOND as f64;
            Ok(Some(Span::from_ticks(ticks as i64)))
        }
        Some(_) => Err(format!("duration: more than 0 and at most {max} seconds")),
    }
}

fn millis_now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis()
}

#[cfg(test)]
mod tests {
    use media::CueAction;

    use super::*;

    fn wrong(json: &str) -> String {
        content(json.as_bytes()).expect_err(json)
    }

    fn cue_of(json: &str) -> Cue {
        match content(json.as_bytes()) {
            Ok(EventContent::Cue(cue)) => cue,
            other => panic!("{json}: {other:?}"),
        }
    }

    #[test]
    fn a_break_is_written_as_a_section() {
        let out = cue_of(r#"{"type":"cue","out":true,"duration":30.5,"id":"ad1"}"#);
        let back = cue_of(r#"{"type":"cue","out":false,"id":"ad1"}"#);
        assert_eq!((out.action, back.action), (CueAction::Out, CueAction::In));
        assert_eq!(out.duration, Some(Span::from_millis(30_500)));
        assert_eq!((&out.id[..], &back.id[..]), ("ad1", "ad1"));
        let event = |cue: &Cue| match scte35::parse(&cue.section) {
            Ok(scte35::Command::Insert { event, .. }) => event,
            other => panic!("{other:?}"),
        };
        assert_eq!(event(&out), event(&back), "one break, one number");
    }

    #[test]
    fn a_section_may_be_hexadecimal_or_base64() {
        let base64 = "/DAvAAAAAAAA///wFAVIAACPf+/+c2nALv4AUsz1AAAAAAAKAAhDVUVJAAABNWLbowo=";
        let bytes = STANDARD.decode(base64).expect("base64");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        for text in [base64.to_owned(), hex.clone(), format!("0x{hex}")] {
            let cue = cue_of(&format!(r#"{{"type":"cue","scte35":"{text}"}}"#));
            assert_eq!(cue.section, bytes, "exactly as given");
            assert_eq!(cue.action, CueAction::Out);
            assert_eq!(&cue.id[..], "splice-4800008F");
        }
    }

    #[test]
    fn tags_and_captions_are_taken() {
        let text = content(br#"{"type":"id3","text":"Hello"}"#);
        let Ok(EventContent::Id3(tag)) = text else {
            panic!("{text:?}")
        };
        assert!(id3::is_tag(&tag));
        let data = STANDARD.encode(&tag);
        let data = content(format!(r#"{{"type":"id3","data":"{data}"}}"#).as_bytes());
        assert_eq!(data, Ok(EventContent::Id3(tag)));
        let caption = r#"{"type":"caption","text":"Hello","language":"en","duration":2.0}"#;
        let expected = Caption {
            text: "Hello".to_owned(),
            language: "en".to_owned(),
            duration: Span::from_millis(2_000),
        };
        let caption = content(caption.as_bytes());
        assert_eq!(caption, Ok(EventContent::Caption(expected)));
    }

    /// Rows of texts of errors, and the bodies that cause them.
    const WRONG: &str = r#"
missing field `type` <= {}
expected <= not json
unknown variant `jingle` <= {"type":"jingle"}
unknown field `test` <= {"type":"id3","test":"x"}
either text or data <= {"type":"id3"}
either text or data <= {"type":"id3","text":"x","data":"SUQz"}
not one whole ID3v2 tag <= {"type":"id3","data":"SUQz"}
data:  <= {"type":"id3","data":"%"}
text: it is empty <= {"type":"id3","text":""}
either out or scte35 <= {"type":"cue"}
more than 0 <= {"type":"cue","out":true,"duration":-1}
has none <= {"type":"cue","out":false,"duration":1}
id: 1 to 64 <= {"type":"cue","out":true,"id":"a b"}
section_length <= {"type":"cue","scte35":"FC30"}
no section in hexadecimal <= {"type":"cue","scte35":"hello"}
CRC_32 <= {"type":"cue","scte35":"/DAlAAAAAAAAAP/wFAUAAAPof+//SVqZrP4Ae5igAAEBAQAAh7W2pg=="}
language:  <= {"type":"caption","text":"x","language":"e n"}
at most 60 <= {"type":"caption","text":"x","duration":61}
"#;

    #[test]
    fn what_is_wrong_is_said() {
        for row in WRONG.lines().skip(1) {
            let (words, json) = row.split_once(" <= ").expect(row);
            let said = wrong(json);
            assert!(said.contains(words), "{json}: {said}");
        }
        let long = format!(r#"{{"type":"caption","text":"{}"}}"#, "x".repeat(4_097));
        assert!(wrong(&long).contains("4096 bytes at most"));
    }
}
