//! `/api/v1`: streams, listeners and links, as JSON.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::date;
use fanout::{ListenerId, ListenerRecord, ListenerReport};
use links::Row;
use media::StreamName;
use net::link::LinkReport;
use reports::view::StreamView;
use serde::Deserialize;
use serde_json::{Value, json};
use web::listeners;

use crate::Console;

/// `GET /api/v1/streams`.
pub(super) async fn streams(State(console): State<Arc<Console>>) -> Json<Value> {
    let streams = console.front.registry.list();
    let infos: Vec<_> = streams.iter().map(|one| one.info()).collect();
    let all: Vec<_> = infos
        .iter()
        .map(|info| StreamView::of(info).with_opus(console.audio.has_room(info)))
        .collect();
    let blocks = console.front.registry.blocks(Instant::now());
    let blocked: Vec<_> = blocks
        .iter()
        .map(|(name, time)| json!({ "name": name.as_str(), "seconds": time.as_secs().max(1) }))
        .collect();
    Json(json!({ "streams": all, "blocked": blocked }))
}

/// Time for which the stream stays blocked.
#[derive(Debug, Deserialize)]
pub(super) struct For {
    #[serde(rename = "for")]
    time: Option<String>,
}

/// `DELETE /api/v1/streams/{name}?for=`.
pub(super) async fn end_stream(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    Query(For { time }): Query<For>,
) -> Response {
    let Ok(name) = StreamName::parse(&name) else {
        return not_found("no stream can have this name");
    };
    let block = match time.as_deref().map(config::duration).transpose() {
        Ok(block) => block,
        Err(words) => return refuse(StatusCode::BAD_REQUEST, &format!("for: {words}")),
    };
    match console.front.registry.end(&name, block, Instant::now()) {
        Ok(true) => {
            let blocked = block.map(|time| time.as_secs());
            tracing::info!(stream = %name, ?blocked, "a stream is ended by the operator");
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(false) => not_found("there is no such stream, nor a block of it"),
        Err(error) => refuse(StatusCode::CONFLICT, &error.to_string()),
    }
}

/// Filter of the list of listeners.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    stream: Option<String>,
}

/// `GET /api/v1/listeners?stream=`.
pub(super) async fn listeners(
    State(console): State<Arc<Console>>,
    Query(which): Query<Which>,
) -> Response {
    let Ok(all) = listeners::reported(console.front.registry.fanout()).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let wanted = |record: &ListenerRecord| {
        which
            .stream
            .as_deref()
            .is_none_or(|name| record.stream.as_str() == name)
    };
    let all: Vec<_> = all
        .iter()
        .filter(|(record, _)| wanted(record))
        .map(|(record, report)| listener(record, report.as_ref()))
        .collect();
    Json(json!({ "listeners": all })).into_response()
}

fn listener(record: &ListenerRecord, report: Option<&ListenerReport>) -> Value {
    json!({
        "id": record.id.0,
        "stream": record.stream.as_str(),
        "format": record.format.name,
        "protocol": record.format.protocol.label(),
        "peer": record.peer.to_string(),
        "agent": record.agent,
        "since": date::rfc3339(record.since),
        "seconds": record.requested.elapsed().as_secs(),
        "bytes": report.map_or(0, |report| report.sent_bytes),
        // Unknown while the listener joins, and if it is further behind than the log reaches.
        "lag_seconds": report.and_then(|report| report.lag).map(|lag| lag.seconds()),
        "skips": report.map_or(0, |report| report.skips),
    })
}

/// `DELETE /api/v1/listeners/{id}`.
pub(super) async fn kick(State(console): State<Arc<Console>>, Path(id): Path<u64>) -> Response {
    match listeners::kick(console.front.registry.fanout(), ListenerId(id), None).await {
        Ok(true) => StatusCode::NO_CONTENT.into_response(),
        Ok(false) => not_found("there is no such listener"),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// `GET /api/v1/push`.
pub(super) async fn pushes(State(console): State<Arc<Console>>) -> Json<Value> {
    let all = console.links.pushes.list();
    let all: Vec<_> = all.iter().map(|(row, report)| link(row, report)).collect();
    Json(json!({ "push": all }))
}

/// `GET /api/v1/pull`.
pub(super) async fn pulls(State(console): State<Arc<Console>>) -> Json<Value> {
    let all = console.links.pulls.list();
    let all: Vec<_> = all.iter().map(|(row, report)| link(row, report)).collect();
    Json(json!({ "pull": all }))
}

fn link(row: &Row, report: &LinkReport) -> Value {
    json!({
        "stream": row.stream.as_str(),
        "url": row.url,
        "state": report.state.label(),
        "since": date::rfc3339(report.since),
        "attempts": report.attempts,
        "failures": report.failures,
        "last_error": report.error,
        "bytes": report.bytes,
    })
}

/// Refuses a request that is not declared as JSON: a page of another site can send other types without permission.
pub(super) fn refuse_unless_json(headers: &HeaderMap) -> Option<Response> {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = value.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return None;
    }
    let text = "the content type must be application/json";
    Some(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

pub(super) fn not_found(text: &str) -> Response {
    refuse(StatusCode::NOT_FOUND, text)
}

pub(super) fn refuse(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}
