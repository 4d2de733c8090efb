//! OvenMediaEngine's `AdmissionWebhooks`, opening and closing.
//!
//! JSON, signed in `X-OME-Signature`: the HMAC-SHA1 of the body by the secret, in URL-safe Base64 without padding. The address
//! in it is made up of the stream's name and the configured host; what the client presents outside of its address is in the
//! query, as `user`, `password` and `key`. The answer is 200 with `allowed`, and may have `new_url` (another stream), `lifetime`
//! (milliseconds, 0 for no limit) and `reason`. Titles have no counterpart and are asked for as incoming.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Garbled;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

#[derive(Deserialize)]
struct Answer {
    allowed: bool,
    new_url: Option<String>,
    lifetime: Option<u64>,
    reason: Option<String>,
}

pub(super) fn body(question: &Question<'_>, moment: Moment, host: &str) -> Value {
    let direction = match question.action {
        Action::Publish | Action::UpdateMetadata => "incoming",
        Action::Play => "outgoing",
    };
    let (protocol, scheme) = match question.protocol {
        "rtmp" => ("rtmp", "rtmp"),
        "whip" | "webrtc" => ("webrtc", "http"),
        "hls" => ("llhls", "http"),
        // OvenMediaEngine has no others; the hook sees which it is.
        other => (other, "http"),
    };
    let address = question.peer.ip().to_canonical().to_string();
    let arguments = question.arguments();
    let mark = if arguments.is_empty() { "" } else { "?" };
    let url = format!("{scheme}://{host}/{}{mark}{arguments}", question.stream);
    json!({
        "client": {
            "address": address,
            "port": question.peer.port(),
            "real_ip": address,
            "user_agent": question.agent,
        },
        "request": {
            "direction": direction,
            "protocol": protocol,
            "status": if moment == Moment::Begin { "opening" } else { "closing" },
            "url": url,
            "time": question.time,
        },
    })
}

pub(super) fn verdict(status: StatusCode, body: &[u8]) -> Result<Verdict, Garbled> {
    if status != StatusCode::OK {
        return Ok(Verdict::DENIED);
    }
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| Garbled("it is no JSON object with `allowed`"))?;
    if !answer.allowed {
        return Ok(Verdict::Denied {
            reason: answer.reason,
            wants_credential: false,
        });
    }
    let stream = answer.new_url.filter(|url| !url.is_empty());
    let stream = stream.as_deref().map(stream_of).transpose()?;
    let lifetime = answer.lifetime.filter(|lifetime| *lifetime > 0);
    Ok(Verdict::Allowed {
        lifetime: lifetime.map(Duration::from_millis),
        identity: None,
        stream,
    })
}

/// The stream of an address: its path, without the file behind application and stream.
fn stream_of(url: &str) -> Result<String, Garbled> {
    let path = url.split_once("://").and_then(|(_, rest)| {
        let (_, path) = rest.split_once('/')?;
        path.split(['?', '#']).next()
    });
    let path = path.ok_or(Garbled("its `new_url` is no address of a stream"))?;
    let mut segments = path.split('/');
    match (segments.next(), segments.next()) {
        (Some(application), Some(stream)) if !stream.is_empty() => {
            Ok(format!("{application}/{stream}"))
        }
        _ => Err(Garbled("its `new_url` has no application and stream")),
    }
}
