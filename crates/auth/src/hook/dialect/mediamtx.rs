//! MediaMTX's `authMethod: http` (`internal/auth/manager.go`).
//!
//! The question is JSON. 2xx permits; 401 asks the client for a credential; anything else denies. Titles have no counterpart
//! and are asked for as publishing. MediaMTX does not report ends to its hook.

use fanout::gate::Action;
use serde_json::json;

use crate::authority::Grant;
use crate::hook::{Answer, Body, Garbled, HookDenied, HookFeature, Occasion, Reply, Speaks};

pub(super) struct MediaMtx;

impl Speaks for MediaMtx {
    fn name(&self) -> &'static str {
        "mediamtx"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        let action = match on.action {
            Action::Publish | Action::UpdateMetadata => "publish",
            Action::Play => "read",
        };
        let protocol = match request.protocol {
            "whip" | "webrtc" => "webrtc",
            // MediaMTX has only HLS over HTTP.
            "http" => "hls",
            other => other,
        };
        Body::json(&json!({
            "user": request.user.unwrap_or_default(),
            "password": request.password.unwrap_or_default(),
            "token": request.token.unwrap_or_default(),
            "ip": request.peer.ip().to_canonical(),
            "action": action,
            "path": request.stream.as_str(),
            "protocol": protocol,
            "id": uuid(on.number),
            "query": request.query,
            "userAgent": request.agent,
        }))
    }

    fn answer(&self, _: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        Ok(match reply.head.status {
            status if status.is_success() => Ok(Grant::to_all()),
            status => Err(HookDenied::by_status(status, None)),
        })
    }
}

/// Formats a number as a UUID (version 8, RFC 9562 §5.8), which hooks may expect of an `id`.
fn uuid(number: u64) -> String {
    format!("00000000-0000-8000-8000-{:012x}", number & 0xffff_ffff_ffff)
}
