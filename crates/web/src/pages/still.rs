//! `/{stream}/still.mp4`: the newest keyframe of a stream as an MP4 of one frame, which browsers show without a decoder of
//! ours.
//!
//! The gate is queried as for a listener, but nobody is counted as one.

use std::time::Instant;

use http::StatusCode;
use media::StreamName;

use crate::refusal;
use crate::reply::Reply;
use crate::request::Request;

/// Address relative to the stream's page.
pub(super) const NAME: &str = "still.mp4";

/// Answers a request for the still of a stream.
pub(super) async fn answer(request: &Request<'_>, name: &StreamName) -> Reply {
    let permission = match request.may_play(name).await {
        Ok(permission) => permission,
        Err(denied) => return refusal::denied(denied),
    };
    let kept = &request.front.pages.stills;
    let still = match request.front.registry.stream(name) {
        Some(stream) => kept.of(&stream, &permission, Instant::now()),
        None => {
            kept.forget(name);
            None
        }
    };
    match still {
        Some(still) => still.answer(&request.headers, request.is_private(name)),
        None => Reply::text(
            StatusCode::NOT_FOUND,
            "There is no picture of this stream.\n",
        ),
    }
}
