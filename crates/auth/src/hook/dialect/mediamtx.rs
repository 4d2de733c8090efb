//! MediaMTX's `authMethod: http` (`internal/auth/manager.go`).
//!
//! JSON. 2xx permits; 401 has the client asked for a credential; anything else denies. Titles have no counterpart and
//! are asked for as publishing. MediaMTX tells its hook of no ends.

use http::StatusCode;
use serde_json::{Value, json};

use crate::hook::question::{Question, Verdict};
use fanout::gate::Action;

pub(super) fn body(question: &Question<'_>) -> Value {
    let action = match question.action {
        Action::Publish | Action::UpdateMetadata => "publish",
        Action::Play => "read",
    };
    let protocol = match question.protocol {
        "whip" | "webrtc" => "webrtc",
        // MediaMTX has HLS alone over HTTP.
        "http" => "hls",
        other => other,
    };
    json!({
        "user": question.user.unwrap_or_default(),
        "password": question.password.unwrap_or_default(),
        "token": question.token.unwrap_or_default(),
        "ip": question.peer.ip().to_canonical().to_string(),
        "action": action,
        "path": question.stream,
        "protocol": protocol,
        "id": uuid(question.number),
        "query": question.query,
        "userAgent": question.agent,
    })
}

/// A number in the form of a UUID (version 8, RFC 9562 §5.8), which hooks may expect of an `id`.
fn uuid(number: u64) -> String {
    format!("00000000-0000-8000-8000-{:012x}", number & 0xffff_ffff_ffff)
}

pub(super) fn verdict(status: StatusCode) -> Verdict {
    match status {
        _ if status.is_success() => Verdict::ALLOWED,
        _ => Verdict::Denied {
            reason: None,
            wants_credential: status == StatusCode::UNAUTHORIZED,
        },
    }
}
