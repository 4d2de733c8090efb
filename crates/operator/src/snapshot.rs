//! `GET /api/v1/streams/{name}/snapshot`: the newest keyframe of a stream, as an MP4 of one frame.
//!
//! It is made for each request of an operator; viewers see the still image of the pages instead.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use container::fmp4;
use media::StreamName;

use super::api::{not_found, refuse};
use crate::Console;

/// Path suffix after a stream's name.
const SUFFIX: &str = "/snapshot";

/// Handles `GET /api/v1/streams/{name}/snapshot`.
pub(super) async fn newest(
    State(console): State<Arc<Console>>,
    Path(path): Path<String>,
) -> Response {
    let name = path.strip_suffix(SUFFIX).map(StreamName::parse);
    let Some(Ok(name)) = name else {
        return not_found("this takes /api/v1/streams/{name}/snapshot");
    };
    let Some(stream) = console.front.registry.stream(&name) else {
        return not_found("there is no such stream");
    };
    let permission = console.front.gate.play_unasked(&name);
    let Some((track, picture)) = stream.keyframe(&permission) else {
        // A publishing browser sends a keyframe only on request.
        stream.request_keyframe();
        return refuse(StatusCode::CONFLICT, "the stream has no video now");
    };
    match fmp4::still(&track, &picture) {
        Some(still) => {
            let headers = [
                (header::CONTENT_TYPE, "video/mp4"),
                (header::CACHE_CONTROL, "no-store"),
            ];
            (headers, still).into_response()
        }
        None => refuse(
            StatusCode::CONFLICT,
            "MP4 does not carry the stream's video",
        ),
    }
}
