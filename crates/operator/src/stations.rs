//! `GET /api/v1/stations`: stations and what they play; `POST /api/v1/stations/{name}` commands a station.
//!
//! The request is `{"action":"skip"}`, `{"action":"reload"}`, or `{"action":"queue","file":"…"}`. The first two are answered
//! before they are done: a station that reloads plays its current track to the end.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use programme::station::{Command, Handle, Played, RequestRefused};
use reports::view;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{not_found, refuse, refuse_unless_json};
use crate::Console;

/// Maximum length of a request in bytes: one short word in braces, and the longest path that Linux knows, with every byte
/// escaped.
const BODY_BYTES_MAX: usize = 32 * 1_024;

/// Command for a station.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Action {
    Skip,
    Reload,
    Queue { file: String },
}

/// `GET /api/v1/stations`.
pub(super) async fn list(State(console): State<Arc<Console>>) -> Json<Value> {
    let all: Vec<_> = console.stations.handles.iter().map(station).collect();
    Json(json!({ "stations": all }))
}

fn station(handle: &Handle) -> Value {
    let report = handle.report();
    let history: Vec<_> = report.history.iter().map(played).collect();
    let refused = report.refused.iter();
    let refused: Vec<_> = refused
        .map(|file| json!({ "file": file.name, "reason": file.reason }))
        .collect();
    json!({
        "stream": handle.stream().as_str(),
        "state": report.phase.label(),
        "error": report.error,
        "format": report.format.map(|format| format.to_string()),
        "tracks": report.tracks,
        "current": report.current.as_ref().map(view::playing),
        "next": report.next,
        "queue": report.requests,
        "history": history,
        "refused": refused,
        "refused_count": report.refused_count,
    })
}

fn played(played: &Played) -> Value {
    let Played { track, outcome } = played;
    let mut reported = view::playing(track);
    reported["outcome"] = outcome.label().into();
    reported
}

/// `POST /api/v1/stations/{name}`.
pub(super) async fn command(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let mut stations = console.stations.handles.iter();
    let Some(station) = stations.find(|station| station.stream().as_str() == name) else {
        return not_found("there is no station of this name");
    };
    if let Some(refused) = refuse_unless_json(&headers) {
        return refused;
    }
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else {
        let text = format!("a request has {BODY_BYTES_MAX} bytes at most");
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, &text);
    };
    let command = match serde_json::from_slice(&body) {
        Ok(Action::Skip) => Command::Skip,
        Ok(Action::Reload) => Command::Reload,
        Ok(Action::Queue { file }) => return queue(station, file).await,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    match station.send(command) {
        Ok(()) => {
            tracing::info!(stream = %name, ?command, "the operator commands a station");
            StatusCode::ACCEPTED.into_response()
        }
        Err(error) => refuse(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

async fn queue(station: &Handle, file: String) -> Response {
    match station.request(file.clone()).await {
        Ok(before) => {
            tracing::info!(stream = %station.stream(), ?file, "the operator requests a file of a station");
            (StatusCode::ACCEPTED, Json(json!({ "before": before }))).into_response()
        }
        Err(error) => {
            let status = match error {
                RequestRefused::Unknown => StatusCode::NOT_FOUND,
                RequestRefused::Waiting | RequestRefused::Played(_) => StatusCode::CONFLICT,
                RequestRefused::Full | RequestRefused::Overloaded => {
                    StatusCode::SERVICE_UNAVAILABLE
                }
            };
            refuse(status, &error.to_string())
        }
    }
}
