//! Our own dialect.
//!
//! Asked as JSON: `{"action": "publish" | "play" | "metadata", "stream", "protocol", "address", "port", "agent", "user",
//! "password", "token", "query"}`; what the client does not present is `null`. Any 2xx permits; the body is empty or a JSON
//! object of which `allowed` (default true), `seconds` (how long the permission lasts), `identity`, `stream` (the one that
//! the client gets instead) and `reason` are read. 401 has the client asked for a credential; any other status below 500 denies.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Garbled;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

#[derive(Deserialize)]
struct Answer {
    #[serde(default = "yes")]
    allowed: bool,
    seconds: Option<f64>,
    identity: Option<String>,
    stream: Option<String>,
    reason: Option<String>,
}

fn yes() -> bool {
    true
}

pub(super) fn body(question: &Question<'_>, moment: Moment) -> Value {
    let action = match (question.action, moment) {
        (Action::UpdateMetadata, _) => "metadata",
        (Action::Publish, Moment::Begin | Moment::Connect) => "publish",
        (Action::Play, Moment::Begin | Moment::Connect) => "play",
        (Action::Publish, Moment::Update { .. }) => "publish_update",
        (Action::Play, Moment::Update { .. }) => "play_update",
        (Action::Publish, Moment::End { .. }) => "publish_ended",
        (Action::Play, Moment::End { .. }) => "play_ended",
    };
    let mut value = json!({
        "id": question.number,
        "action": action,
        "stream": question.stream,
        "protocol": question.protocol,
        "address": question.peer.ip().to_canonical().to_string(),
        "port": question.peer.port(),
        "agent": question.agent,
        "user": question.user,
        "password": question.password,
        "token": question.token,
        "query": question.query,
    });
    if let (Moment::End { lasted } | Moment::Update { lasted }, Some(fields)) =
        (moment, value.as_object_mut())
    {
        fields.insert("seconds".to_owned(), lasted.as_secs_f64().into());
    }
    value
}

pub(super) fn verdict(status: StatusCode, body: &[u8]) -> Result<Verdict, Garbled> {
    if !status.is_success() {
        return Ok(Verdict::Denied {
            reason: None,
            wants_credential: status == StatusCode::UNAUTHORIZED,
        });
    }
    if body.trim_ascii().is_empty() {
        return Ok(Verdict::ALLOWED);
    }
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|_| Garbled("it is neither empty nor a JSON object of the kind"))?;
    let lifetime = answer.seconds.map(Duration::try_from_secs_f64).transpose();
    let lifetime = lifetime.map_err(|_| Garbled("its `seconds` are no length of time"))?;
    Ok(match answer.allowed {
        true => Verdict::Allowed {
            lifetime,
            identity: answer.identity,
            stream: answer.stream,
        },
        false => Verdict::Denied {
            reason: answer.reason,
            wants_credential: false,
        },
    })
}
