//! `/api/v1/recordings`, and what the operator says of a stream's recording, as JSON.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use archive::{Archive, Refused};
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use media::StreamName;
use recordings::{Recording, RecordingId, Shelf, Upload};
use serde::Deserialize;
use serde_json::{Value, json};
use uploads::Uploader;

use super::announce::is_json;
use super::api::{Api, not_found, refuse};
use crate::stamp;

/// What follows a stream's name in the path.
pub(super) const SUFFIX: &str = "/recording";

/// The longest request: one word.
const BODY_BYTES_MAX: usize = 1_024;

/// Recordings in one answer.
const PAGE: usize = 100;

/// How long a link to a copy is valid: long enough to begin a download, and of little use to those it is passed on to.
const LINK_VALID: Duration = Duration::from_secs(3_600);

/// What is known of recordings.
#[derive(Clone)]
pub(super) struct Catalogue {
    pub(super) shelf: Arc<Shelf>,
    /// Where copies are.
    pub(super) uploads: Option<Arc<Uploader>>,
}

/// Which recordings.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    stream: Option<String>,
    /// The last one of the page before.
    cursor: Option<String>,
}

/// `GET /api/v1/recordings?stream=&cursor=`.
pub(super) async fn list(
    State(catalogue): State<Catalogue>,
    Query(Which { stream, cursor }): Query<Which>,
) -> Response {
    let Ok(stream) = stream.as_deref().map(StreamName::parse).transpose() else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "stream: no stream can have this name",
        );
    };
    let cursor = cursor
        .map(|cursor| cursor.parse::<RecordingId>())
        .transpose();
    let Ok(cursor) = cursor else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "cursor: it is that of an answer before",
        );
    };
    let page = catalogue.shelf.list(stream.as_ref(), cursor, PAGE);
    let next = page.last().filter(|_| page.len() == PAGE);
    let next = next.map(|last| last.id.to_string());
    let all: Vec<_> = page.iter().map(|one| catalogue.view(one)).collect();
    Json(json!({ "recordings": all, "cursor": next })).into_response()
}

/// `GET /api/v1/recordings/{id}`.
pub(super) async fn one(State(catalogue): State<Catalogue>, Path(id): Path<String>) -> Response {
    let id = id.parse::<RecordingId>().ok();
    match id.and_then(|id| catalogue.shelf.get(id)) {
        Some(recording) => Json(catalogue.view(&recording)).into_response(),
        None => not_found("there is no such recording"),
    }
}

/// `GET /api/v1/recordings/{id}/link`.
pub(super) async fn link(State(catalogue): State<Catalogue>, Path(id): Path<String>) -> Response {
    let id = id.parse::<RecordingId>().ok();
    let Some(recording) = id.and_then(|id| catalogue.shelf.get(id)) else {
        return not_found("there is no such recording");
    };
    let (Some(uploads), Upload::Stored { key, .. }) = (&catalogue.uploads, &recording.upload)
    else {
        return not_found("there is no copy of the recording in object storage");
    };
    let expires = SystemTime::now() + LINK_VALID;
    match uploads.link(key, LINK_VALID).await {
        Ok(url) => {
            Json(json!({ "url": url, "expires": stamp::iso8601(expires, "Z") })).into_response()
        }
        Err(failure) => refuse(StatusCode::BAD_GATEWAY, &failure.to_string()),
    }
}

/// `DELETE /api/v1/recordings/{id}`.
pub(super) async fn remove(
    State(archive): State<Option<Arc<Archive>>>,
    Path(id): Path<String>,
) -> Response {
    let (Some(archive), Ok(id)) = (archive, id.parse::<RecordingId>()) else {
        return not_found("there is no such recording");
    };
    match archive.remove(id) {
        Ok(()) => {
            tracing::info!(%id, "a recording is removed by the operator");
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => answer(refused),
    }
}

impl Catalogue {
    fn view(&self, recording: &Recording) -> Value {
        let key = match &recording.upload {
            Upload::Stored { key, .. } => Some(key),
            Upload::Never | Upload::Pending => None,
        };
        let uploads = self.uploads.as_deref();
        let location = uploads.zip(key).map(|(uploads, key)| uploads.location(key));
        let path = recording.is_local.then(|| recording.path.to_string_lossy());
        json!({
            "id": recording.id.to_string(),
            "stream": recording.stream.as_str(),
            "path": path,
            "state": recording.state.as_str(),
            "type": recording.container.media_type(),
            "started": stamp::iso8601(recording.started, "Z"),
            "ended": stamp::iso8601(recording.ended(), "Z"),
            "seconds": recording.duration.as_secs_f64(),
            "bytes": recording.bytes,
            "uploaded": recording.upload.is_stored(),
            "location": location,
        })
    }
}

/// What is to become of a stream's recording.
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
pub(super) async fn command(api: &Api, name: &str, headers: &HeaderMap, body: Body) -> Response {
    let Ok(name) = StreamName::parse(name) else {
        return not_found("no stream can have this name");
    };
    if !is_json(headers) {
        // A page of another site can send other types without being asked.
        let text = "the content type must be application/json";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
    }
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let Ok(Command { action }) = serde_json::from_slice(&body) else {
        let text = r#"write {"action": "start"}, "stop" or "split""#;
        return refuse(StatusCode::BAD_REQUEST, text);
    };
    let Some(archive) = &api.archive else {
        return answer(Refused::NoRule);
    };
    let Some(stream) = api.registry.stream(&name) else {
        return not_found("there is no such stream");
    };
    let done = match action {
        Action::Start => archive.begin_recording(&stream),
        Action::Stop => archive.end_recording(&stream),
        Action::Split => archive.split_recording(&stream),
    };
    match done {
        Ok(()) => {
            tracing::info!(stream = %name, ?action, "the operator decides on a recording");
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => answer(refused),
    }
}

fn answer(refused: Refused) -> Response {
    let (status, text) = match refused {
        Refused::Unknown => (StatusCode::NOT_FOUND, "there is no such recording"),
        Refused::Open => (
            StatusCode::CONFLICT,
            "the recording is under way: stop or split it first",
        ),
        Refused::NoRule => (
            StatusCode::CONFLICT,
            "there is no place for it: recording.directory is not set",
        ),
        Refused::NotRecorded => (StatusCode::CONFLICT, "the stream is not being recorded"),
        Refused::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the recorder has too much to do; try again",
        ),
    };
    refuse(status, text)
}
