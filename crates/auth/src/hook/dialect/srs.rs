//! SRS's `http_hooks`: `on_connect`, `on_publish`, `on_unpublish`, `on_play` and `on_stop` (`srs_app_http_hooks.cpp`).
//!
//! JSON; what the client presents outside of its address is in `param`, too, as `user`, `password` and `key`. What permits is 200 or 201 with the body `0`, or with an object whose `code` is 0; an empty body denies. Titles
//! have no counterpart and are asked for as publishing.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Garbled;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

/// What SRS calls the host of clients that name none.
const VHOST: &str = "__defaultVhost__";

#[derive(Deserialize)]
struct Answer {
    code: i64,
}

pub(super) fn body(question: &Question<'_>, moment: Moment, host: &str) -> Value {
    let action = match (question.action, moment) {
        (_, Moment::Connect) => return connection(question, host),
        (Action::Publish | Action::UpdateMetadata, Moment::End { .. }) => "on_unpublish",
        (Action::Play, Moment::End { .. }) => "on_stop",
        (Action::Publish | Action::UpdateMetadata, _) => "on_publish",
        (Action::Play, _) => "on_play",
    };
    let arguments = question.arguments();
    let mark = if arguments.is_empty() { "" } else { "?" };
    let param = format!("{mark}{arguments}");
    let mut value = json!({
        "server_id": "carillon",
        "service_id": "carillon",
        "action": action,
        "client_id": question.number.to_string(),
        "ip": question.peer.ip().to_canonical().to_string(),
        "vhost": VHOST,
        "app": question.application(),
        "tcUrl": question.tc_url(host),
        "stream": question.last_segment(),
        "param": param,
        "stream_url": format!("/{}", question.stream),
        "stream_id": question.stream,
    });
    if action == "on_play"
        && let Some(fields) = value.as_object_mut()
    {
        fields.insert("pageUrl".to_owned(), Value::from(""));
    }
    value
}

/// What is asked before it is known what the client wants.
fn connection(question: &Question<'_>, host: &str) -> Value {
    json!({
        "server_id": "carillon",
        "service_id": "carillon",
        "action": "on_connect",
        "client_id": question.number.to_string(),
        "ip": question.peer.ip().to_canonical().to_string(),
        "vhost": VHOST,
        "app": question.application(),
        "tcUrl": question.tc_url(host),
        "pageUrl": "",
    })
}

pub(super) fn verdict(status: StatusCode, body: &[u8]) -> Result<Verdict, Garbled> {
    if !matches!(status, StatusCode::OK | StatusCode::CREATED) {
        return Ok(Verdict::DENIED);
    }
    let body = body.trim_ascii();
    let code = match body {
        b"" => return Err(Garbled("its body is empty, where `0` permits")),
        _ if body.starts_with(b"{") => {
            let answer: Result<Answer, _> = serde_json::from_slice(body);
            answer.map_err(|_| Garbled("its body has no `code`"))?.code
        }
        _ => {
            let text = str::from_utf8(body).ok().and_then(|text| text.parse().ok());
            text.ok_or(Garbled("its body is no number"))?
        }
    };
    Ok(match code {
        0 => Verdict::ALLOWED,
        code => Verdict::Denied {
            reason: Some(format!("code {code}")),
            wants_credential: false,
        },
    })
}
