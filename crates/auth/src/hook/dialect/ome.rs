//! OvenMediaEngine's `AdmissionWebhooks`, opening and closing.
//!
//! The question is JSON, signed in `X-OME-Signature`: the HMAC-SHA1 of the body with the secret, in URL-safe Base64 without
//! padding. Its address consists of the stream's name and the configured host; credentials that the client presents outside of
//! its address are in the query, as `user`, `password` and `key`. The answer is 200 with `allowed`, and may have `new_url`
//! (another stream), `lifetime` (milliseconds, 0 for no limit) and `reason`. Titles have no counterpart and are asked for as
//! incoming.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanout::gate::Action;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use crate::authority::Grant;
use crate::hook::form::{arguments, with_mark};
use crate::hook::{
    Answer, Body, Garbled, HookDenied, HookFeature, Moment, Occasion, Reply, Speaks,
};
use crate::secret::Secret;

pub(super) struct Ome;

#[derive(Deserialize)]
struct Said {
    allowed: bool,
    new_url: Option<String>,
    lifetime: Option<u64>,
    reason: Option<String>,
}

impl Speaks for Ome {
    fn name(&self) -> &'static str {
        "ome"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[HookFeature::Ends, HookFeature::Signatures]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        let direction = match on.action {
            Action::Publish | Action::UpdateMetadata => "incoming",
            Action::Play => "outgoing",
        };
        let (protocol, scheme) = match request.protocol {
            "rtmp" => ("rtmp", "rtmp"),
            "whip" | "webrtc" => ("webrtc", "http"),
            "hls" => ("llhls", "http"),
            // OvenMediaEngine has no other protocols; the hook receives Carillon's name.
            other => (other, "http"),
        };
        let address = request.peer.ip().to_canonical();
        let (host, arguments) = (&on.settings.host, with_mark(&arguments(request)));
        let body = Body::json(&json!({
            "client": {
                "address": address,
                "port": request.peer.port(),
                "real_ip": address,
                "user_agent": request.agent,
            },
            "request": {
                "direction": direction,
                "protocol": protocol,
                "status": if on.moment == Moment::Begin { "opening" } else { "closing" },
                "url": format!("{scheme}://{host}/{}{arguments}", request.stream),
                "time": base::date::rfc3339_millis(on.at),
            },
        }));
        // Without a secret the key is empty.
        let secret = on.settings.secret.as_ref().map_or("", Secret::reveal);
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, body.text.as_bytes()));
        Body {
            signature: Some(("x-ome-signature", signature)),
            ..body
        }
    }

    fn answer(&self, _: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        if reply.head.status != StatusCode::OK {
            return Ok(Err(HookDenied::because(None)));
        }
        let said: Said = serde_json::from_slice(&reply.body)
            .map_err(|_| Garbled("it is no JSON object with `allowed`"))?;
        if !said.allowed {
            return Ok(Err(HookDenied::because(said.reason)));
        }
        let stream = said.new_url.filter(|url| !url.is_empty());
        let stream = stream.as_deref().map(stream_of).transpose()?;
        let lifetime = said.lifetime.filter(|lifetime| *lifetime > 0);
        let lifetime = lifetime.map(Duration::from_millis);
        Ok(Grant::lasting(lifetime, reply.at).renamed(stream))
    }
}

/// Returns the stream of an address: its path, without the file after application and stream.
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
