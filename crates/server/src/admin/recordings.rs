//! `/api/v1/recordings`, and what the operator says of a stream's recording, as JSON.

use std::sync::Arc;

use archive::{Archive, Refused};
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use media::StreamName;
use recordings::{RecordingId, Shelf};
use serde::Deserialize;
use serde_json::json;

use super::announce::is_json;
use super::api::{Api, not_found, refuse};
use crate::view;

/// What follows a stream's name in the path.
pub(super) const SUFFIX: &str = "/recording";

/// The longest request: one word.
const BODY_BYTES_MAX: usize = 1_024;

/// Recordings in one answer.
const PAGE: usize = 100;

/// Which recordings.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    stream: Option<String>,
    /// The last one of the page before.
    cursor: Option<String>,
}

/// `GET /api/v1/recordings?stream=&cursor=`.
pub(super) async fn list(
    State(shelf): State<Arc<Shelf>>,
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
    let page = shelf.list(stream.as_ref(), cursor, PAGE);
    let next = page.last().filter(|_| page.len() == PAGE);
    let next = next.map(|last| last.id.to_string());
    let all: Vec<_> = page.iter().map(|one| view::recording(one)).collect();
    Json(json!({ "recordings": all, "cursor": next })).into_response()
}

/// `GET /api/v1/recordings/{id}`.
pub(super) async fn one(State(shelf): State<Arc<Shelf>>, Path(id): Path<String>) -> Response {
    let id = id.parse::<RecordingId>().ok();
    match id.and_then(|id| shelf.get(id)) {
        Some(recording) => Json(view::recording(&recording)).into_response(),
        None => not_found("there is no such recording"),
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
