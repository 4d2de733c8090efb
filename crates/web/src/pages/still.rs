//! `/{stream}/still.mp4`: the newest keyframe of a stream as an MP4 of one picture, which browsers show without a
//! decoder of ours.
//!
//! The gate is asked as for a listener, and nobody is counted as one.

use std::time::Instant;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use media::StreamName;

use super::permit::{is_private, permit, refuse};
use crate::front_door::FrontDoor;
use crate::visitor::Visitor;

/// Relative to the stream's page.
pub(super) const NAME: &str = "still.mp4";

/// Answers a request for the still of a stream.
pub(super) async fn answer(
    front: &FrontDoor,
    visitor: Visitor,
    name: &StreamName,
    request: Request,
) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let permission = match permit(&*front.gate, visitor, name, headers, uri).await {
        Ok(permission) => permission,
        Err(denied) => return refuse(denied),
    };
    let stream = front.registry.stream(name);
    let still = match stream {
        Some(stream) => front.pages.stills.of(&stream, &permission, Instant::now()),
        None => {
            front.pages.stills.forget(name);
            None
        }
    };
    match still {
        Some(still) => still.answer(headers, is_private(&front.config, name, headers, uri)),
        None => (
            StatusCode::NOT_FOUND,
            "There is no picture of this stream.\n",
        )
            .into_response(),
    }
}
