//! `/api/v1/recordings`, and the operator's commands for a stream's recording, as JSON.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base::date;
use media::StreamName;
use outbound::uploads::Link;
use recordings::archive::Refused;
use recordings::{LIST_MAX, Recording, RecordingId, Shelf, Upload};
use reports::stamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::api::{not_found, refuse, refuse_unless_json};
use crate::Console;

/// Path suffix after a stream's name.
pub(super) const SUFFIX: &str = "/recording";

/// Maximum length of a request in bytes: one word.
const BODY_BYTES_MAX: usize = 1_024;

/// Maximum number of recordings in one response.
const PAGE: usize = 100;

/// Validity of a link to a copy: long enough to begin a download, and of little use to anyone it is passed on to.
const LINK_VALID: Duration = Duration::from_secs(3_600);

/// Query of a list of recordings.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    stream: Option<String>,
    /// Only recordings that end later.
    from: Option<String>,
    /// Only recordings that begin earlier.
    to: Option<String>,
    state: Option<String>,
    /// Order: `newest` or `oldest` first.
    order: Option<String>,
    /// Last recording of the previous page.
    cursor: Option<String>,
}

/// A parsed query.
#[derive(Debug, Default)]
struct Filter {
    stream: Option<StreamName>,
    from: Option<SystemTime>,
    to: Option<SystemTime>,
    state: Option<recordings::State>,
    is_newest_first: bool,
    cursor: Option<RecordingId>,
}

impl Filter {
    fn parse(which: Which) -> Result<Self, &'static str> {
        let time = |text: Option<String>, wrong| match text {
            None => Ok(None),
            Some(text) => stamp::parse_iso8601(&text).map(Some).ok_or(wrong),
        };
        let state = |text: String| {
            let mut all = recordings::State::ALL.into_iter();
            all.find(|state| state.label() == text)
                .ok_or("state: it is open, closed or finalised")
        };
        let is_newest_first = match which.order.as_deref() {
            None | Some("oldest") => false,
            Some("newest") => true,
            Some(_) => return Err("order: it is oldest or newest"),
        };
        let stream = which.stream.as_deref().map(StreamName::parse).transpose();
        let cursor = which.cursor.map(|cursor| cursor.parse()).transpose();
        Ok(Self {
            stream: stream.map_err(|_| "stream: no stream can have this name")?,
            from: time(which.from, "from: a time is such as 2026-11-23T15:04:05Z")?,
            to: time(which.to, "to: a time is such as 2026-11-23T15:04:05Z")?,
            state: which.state.map(state).transpose()?,
            is_newest_first,
            cursor: cursor.map_err(|_| "cursor: it is that of an answer before")?,
        })
    }

    fn admits(&self, recording: &Recording) -> bool {
        self.from.is_none_or(|from| recording.ended() > from)
            && self.to.is_none_or(|to| recording.started < to)
            && self.state.is_none_or(|state| recording.state == state)
    }

    /// Returns a page of the recordings that the filter admits. Other recordings are skipped, one page of the shelf at a time,
    /// so that the recorder never waits long for the shelf.
    fn page(&self, shelf: &Shelf) -> Vec<Arc<Recording>> {
        let mut found = Vec::new();
        let mut after = self.cursor;
        loop {
            let stream = self.stream.as_ref();
            let page = match self.is_newest_first {
                true => shelf.newest(stream, after, LIST_MAX),
                false => shelf.list(stream, after, LIST_MAX),
            };
            after = page.last().map(|last| last.id);
            let is_last = page.len() < LIST_MAX;
            for recording in page {
                // Recordings are sorted by their beginnings.
                let is_behind = self.to.is_some_and(|to| recording.started >= to);
                if is_behind && !self.is_newest_first {
                    return found;
                }
                if self.admits(&recording) {
                    found.push(recording);
                }
                if found.len() == PAGE {
                    return found;
                }
            }
            if is_last {
                return found;
            }
        }
    }
}

/// `GET /api/v1/recordings?stream=&from=&to=&state=&order=&cursor=`.
pub(super) async fn list(
    State(console): State<Arc<Console>>,
    Query(which): Query<Which>,
) -> Response {
    let page = match Filter::parse(which) {
        Ok(filter) => filter.page(&console.front.shelf),
        Err(wrong) => return refuse(StatusCode::BAD_REQUEST, wrong),
    };
    let next = page.last().filter(|_| page.len() == PAGE);
    let next = next.map(|last| last.id.to_string());
    let all: Vec<_> = page.iter().map(|one| view(&console, one)).collect();
    Json(json!({ "recordings": all, "cursor": next })).into_response()
}

/// `GET /api/v1/recordings/{id}`.
pub(super) async fn one(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Response {
    match found(&console, &id) {
        Some(recording) => Json(view(&console, &recording)).into_response(),
        None => not_found("there is no such recording"),
    }
}

/// `GET /api/v1/recordings/{id}/link`.
pub(super) async fn link(State(console): State<Arc<Console>>, Path(id): Path<String>) -> Response {
    let Some(recording) = found(&console, &id) else {
        return not_found("there is no such recording");
    };
    let uploads = console.front.uploads.as_ref();
    let (Some(uploads), Upload::Stored { key, .. }) = (uploads, &recording.upload) else {
        return not_found("there is no copy of the recording in object storage");
    };
    let expires = SystemTime::now() + LINK_VALID;
    let wanted = Link {
        is_head: false,
        valid: LINK_VALID,
        kept_as: None,
    };
    match uploads.link(key, &wanted).await {
        Ok(url) => Json(json!({ "url": url, "expires": date::rfc3339(expires) })).into_response(),
        Err(failure) => refuse(StatusCode::BAD_GATEWAY, &failure.to_string()),
    }
}

/// `DELETE /api/v1/recordings/{id}`. A recording whose deletion is answered with 204 does not come back, whatever happens to
/// the server.
pub(super) async fn remove(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
) -> Response {
    let Ok(id) = id.parse::<RecordingId>() else {
        return not_found("there is no such recording");
    };
    // The disk may be slow. If the thread fails, the disk is to blame.
    let done = spawn_blocking(move || removed(&console, id)).await;
    let done = done.unwrap_or(Err(Refused::Disk));
    answer(done.inspect(|()| {
        tracing::info!(%id, "a recording is removed by the operator");
    }))
}

fn removed(console: &Console, id: RecordingId) -> Result<(), Refused> {
    let archive = console.archive.as_deref().ok_or(Refused::Unknown)?;
    let recording = archive.shelf().get(id).ok_or(Refused::Unknown)?;
    if recording.state == recordings::State::Open {
        return Err(Refused::Open);
    }
    if let Some(uploads) = &console.front.uploads
        && let Err(failure) = uploads.remove(&recording)
    {
        tracing::error!(%id, %failure, "a recording is not removed");
        return Err(Refused::Disk);
    }
    archive.remove(id)
}

/// Returns the recording with an identifier.
pub(super) fn found(console: &Console, id: &str) -> Option<Arc<Recording>> {
    console.front.shelf.get(id.parse().ok()?)
}

fn view(console: &Console, recording: &Recording) -> Value {
    let key = match &recording.upload {
        Upload::Stored { key, .. } => Some(key),
        Upload::Never | Upload::Pending | Upload::Taken => None,
    };
    let uploads = console.front.uploads.as_deref();
    let location = uploads.zip(key).map(|(uploads, key)| uploads.location(key));
    let mut view = reports::view::recording(recording);
    view["location"] = location.into();
    view
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    pinned: bool,
}

/// `PATCH /api/v1/recordings/{id}` with `{"pinned": true}` or `false`.
pub(super) async fn pin(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let (Some(archive), Ok(id)) = (console.archive.clone(), id.parse::<RecordingId>()) else {
        return not_found("there is no such recording");
    };
    if let Some(refused) = refuse_unless_json(&headers) {
        return refused;
    }
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let Ok(Change { pinned }) = serde_json::from_slice(&body) else {
        let text = r#"write {"pinned": true} or {"pinned": false}"#;
        return refuse(StatusCode::BAD_REQUEST, text);
    };
    // The disk may be slow. If the thread fails, the disk is to blame.
    let done = spawn_blocking(move || archive.pin(id, pinned)).await;
    let done = done.unwrap_or(Err(Refused::Disk));
    answer(done.inspect(|()| {
        tracing::info!(%id, pinned, "the operator decides on a recording");
    }))
}

/// Action requested for a stream's recording.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Start,
    Stop,
    Split,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    action: Action,
}

/// `POST /api/v1/streams/{name}/recording`.
pub(super) async fn command(
    console: &Console,
    name: &str,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    let Ok(name) = StreamName::parse(name) else {
        return not_found("no stream can have this name");
    };
    if let Some(refused) = refuse_unless_json(headers) {
        return refused;
    }
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let Ok(Command { action }) = serde_json::from_slice(&body) else {
        let text = r#"write {"action": "start"}, "stop" or "split""#;
        return refuse(StatusCode::BAD_REQUEST, text);
    };
    let Some(archive) = &console.archive else {
        return answer(Err(Refused::NoRule));
    };
    let Some(stream) = console.front.registry.stream(&name) else {
        return not_found("there is no such stream");
    };
    let done = match action {
        Action::Start => archive.begin_recording(&stream),
        Action::Stop => archive.end_recording(&stream),
        Action::Split => archive.split_recording(&stream),
    };
    answer(done.inspect(|()| {
        tracing::info!(stream = %name, ?action, "the operator decides on a recording");
    }))
}

fn answer(done: Result<(), Refused>) -> Response {
    let (status, text) = match done {
        Ok(()) => return StatusCode::NO_CONTENT.into_response(),
        Err(Refused::Unknown) => (StatusCode::NOT_FOUND, "there is no such recording"),
        Err(Refused::Open) => (
            StatusCode::CONFLICT,
            "the recording is under way: stop or split it first",
        ),
        Err(Refused::NoRule) => (
            StatusCode::CONFLICT,
            "there is no place for it: recording.directory is not set",
        ),
        Err(Refused::NotRecorded) => (StatusCode::CONFLICT, "the stream is not being recorded"),
        Err(Refused::Disk) => (
            StatusCode::CONFLICT,
            "the disk refuses, or does not keep it: it has no extended attributes",
        ),
        Err(Refused::Busy) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the recorder has too much to do; try again",
        ),
    };
    refuse(status, text)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use recordings::Container;

    use super::*;

    fn shelf(count: u64) -> Shelf {
        let shelf = Shelf::default();
        let stream = StreamName::parse("live/a").expect("a name");
        for number in 0..count {
            // A recording every hundred seconds, each fifty seconds long.
            let started = UNIX_EPOCH + Duration::from_secs(1_800_000_000 + 100 * number);
            let recording = Recording {
                id: RecordingId::new(&stream, started, 0),
                stream: stream.clone(),
                path: format!("/{number}.mp4").into(),
                is_local: true,
                started,
                duration: Duration::from_secs(50),
                bytes: number,
                state: match number % 10 {
                    0 => recordings::State::Closed,
                    _ => recordings::State::Finalised,
                },
                container: Container::Mp4,
                is_pinned: false,
                upload: Upload::Never,
            };
            shelf.insert(recording).expect("there is room");
        }
        shelf
    }

    fn found(shelf: &Shelf, which: Which) -> Vec<u64> {
        let filter = Filter::parse(which).expect("understood");
        let page = filter.page(shelf);
        page.iter().map(|one| one.bytes).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn recordings_are_found_by_time_and_state() {
        let shelf = shelf(2_500);
        let which = |from, to, state| Which {
            from,
            to,
            state,
            ..Which::default()
        };
        // The first recording begins at 08:00:00.
        let from = || some("2027-01-15T08:00:50Z");
        let to = || some("2027-01-15T08:05:00Z");
        assert_eq!(found(&shelf, which(from(), to(), None)), [1, 2]);
        let earlier = some("2027-01-15T08:00:49Z");
        assert_eq!(found(&shelf, which(earlier, to(), None)), [0, 1, 2]);
        assert_eq!(found(&shelf, which(None, to(), some("closed"))), [0]);
        assert!(found(&shelf, which(None, None, some("open"))).is_empty());
        let all = found(&shelf, which(None, None, None));
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        let mut newest = which(from(), to(), None);
        newest.order = some("newest");
        assert_eq!(found(&shelf, newest), [2, 1]);
        // Pages continue after the recordings that were skipped.
        let mut closed = Vec::new();
        let mut cursor = None;
        loop {
            let mut next = which(None, None, some("closed"));
            next.cursor = cursor;
            let page = Filter::parse(next).expect("understood").page(&shelf);
            closed.extend(page.iter().map(|one| one.bytes));
            cursor = page.last().map(|last| last.id.to_string());
            if page.len() < PAGE {
                break;
            }
        }
        assert_eq!(closed, (0..2_500).step_by(10).collect::<Vec<_>>());
        let mut best = which(None, None, None);
        best.order = some("best");
        for wrong in [
            best,
            which(some("yesterday"), None, None),
            which(None, some("1"), None),
            which(None, None, some("gone")),
        ] {
            assert!(Filter::parse(wrong).is_err());
        }
    }
}
