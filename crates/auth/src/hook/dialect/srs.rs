//! SRS's `http_hooks`: `on_connect`, `on_publish`, `on_unpublish`, `on_play` and `on_stop` (`srs_app_http_hooks.cpp`).
//!
//! The question is JSON; credentials that the client presents outside of its address are also in `param`, as `user`, `password`
//! and `key`. 200 or 201 permits with the body `0`, or with an object whose `code` is 0; an empty body counts as no answer.
//! Titles have no counterpart and are asked for as publishing.

use fanout::gate::Action;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::authority::Grant;
use crate::hook::form::{application, arguments, last_segment, tc_url, with_mark};
use crate::hook::{
    Answer, Body, Garbled, HookDenied, HookFeature, Moment, Occasion, Reply, Speaks,
};

/// SRS's name for the host of clients that name none.
const VHOST: &str = "__defaultVhost__";

pub(super) struct Srs;

#[derive(Deserialize)]
struct Said {
    code: i64,
}

impl Speaks for Srs {
    fn name(&self) -> &'static str {
        "srs"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[HookFeature::Connections, HookFeature::Ends]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        let action = match (on.action, on.moment) {
            (_, Moment::Connect) => "on_connect",
            (Action::Publish | Action::UpdateMetadata, Moment::End { .. }) => "on_unpublish",
            (Action::Play, Moment::End { .. }) => "on_stop",
            (Action::Publish | Action::UpdateMetadata, _) => "on_publish",
            (Action::Play, _) => "on_play",
        };
        let mut value = json!({
            "server_id": "carillon",
            "service_id": "carillon",
            "action": action,
            "client_id": on.number.to_string(),
            "ip": request.peer.ip().to_canonical(),
            "vhost": VHOST,
            "app": application(request),
            "tcUrl": tc_url(request, &on.settings.host),
        });
        if matches!(action, "on_connect" | "on_play") {
            value["pageUrl"] = Value::from("");
        }
        // On connect it is not known yet what the client wants.
        if on.moment != Moment::Connect {
            value["stream"] = last_segment(request).into();
            value["param"] = with_mark(&arguments(request)).into();
            value["stream_url"] = format!("/{}", request.stream).into();
            value["stream_id"] = request.stream.as_str().into();
        }
        Body::json(&value)
    }

    fn answer(&self, _: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        if !matches!(reply.head.status, StatusCode::OK | StatusCode::CREATED) {
            return Ok(Err(HookDenied::because(None)));
        }
        let code = match reply.body.trim_ascii() {
            b"" => return Err(Garbled("its body is empty, where `0` permits")),
            body if body.starts_with(b"{") => {
                let said: Result<Said, _> = serde_json::from_slice(body);
                said.map_err(|_| Garbled("its body has no `code`"))?.code
            }
            body => {
                let text = str::from_utf8(body).ok().and_then(|text| text.parse().ok());
                text.ok_or(Garbled("its body is no number"))?
            }
        };
        Ok(match code {
            0 => Ok(Grant::to_all()),
            code => Err(HookDenied::because(Some(format!("code {code}")))),
        })
    }
}
