//! Carillon's own dialect.
//!
//! The question is JSON: `{"action": "publish" | "play" | "metadata", "stream", "protocol", "address", "port", "agent", "user",
//! "password", "token", "query"}`; values that the client does not present are `null`. Any 2xx permits. The body is empty or a
//! JSON object with the optional fields `allowed` (default true), `seconds` (duration of the permission), `identity`, `stream`
//! (substitute for the requested one) and `reason`. 401 asks the client for a credential; any other status below 500 denies.

use std::time::Duration;

use fanout::gate::{Action, Identity};
use serde::Deserialize;
use serde_json::json;

use crate::authority::Grant;
use crate::hook::{
    Answer, Body, Garbled, HookDenied, HookFeature, Moment, Occasion, Reply, Speaks,
};

pub(super) struct Carillon;

#[derive(Deserialize)]
struct Said {
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

impl Speaks for Carillon {
    fn name(&self) -> &'static str {
        "carillon"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[HookFeature::Ends, HookFeature::Updates]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        let action = match (on.action, on.moment) {
            (Action::UpdateMetadata, _) => "metadata",
            (Action::Publish, Moment::Begin | Moment::Connect) => "publish",
            (Action::Play, Moment::Begin | Moment::Connect) => "play",
            (Action::Publish, Moment::Update { .. }) => "publish_update",
            (Action::Play, Moment::Update { .. }) => "play_update",
            (Action::Publish, Moment::End { .. }) => "publish_ended",
            (Action::Play, Moment::End { .. }) => "play_ended",
        };
        let mut value = json!({
            "id": on.number,
            "action": action,
            "stream": request.stream.as_str(),
            "protocol": request.protocol,
            "address": request.peer.ip().to_canonical(),
            "port": request.peer.port(),
            "agent": request.agent,
            "user": request.user,
            "password": request.password,
            "token": request.token,
            "query": request.query,
        });
        if let Moment::End { lasted } | Moment::Update { lasted } = on.moment {
            value["seconds"] = lasted.as_secs_f64().into();
        }
        Body::json(&value)
    }

    fn answer(&self, _: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        if !reply.head.status.is_success() {
            return Ok(Err(HookDenied::by_status(reply.head.status, None)));
        }
        if reply.body.trim_ascii().is_empty() {
            return Ok(Ok(Grant::to_all()));
        }
        let said: Said = serde_json::from_slice(&reply.body)
            .map_err(|_| Garbled("it is neither empty nor a JSON object of the kind"))?;
        let lifetime = said.seconds.map(Duration::try_from_secs_f64).transpose();
        let lifetime = lifetime.map_err(|_| Garbled("its `seconds` are no length of time"))?;
        if !said.allowed {
            return Ok(Err(HookDenied::because(said.reason)));
        }
        let mut grant = Grant::lasting(lifetime, reply.at);
        grant.terms.identity = said.identity.as_deref().and_then(Identity::new);
        Ok(grant.renamed(said.stream))
    }
}
