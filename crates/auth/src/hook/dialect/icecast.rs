//! Icecast's URL authentication: `listener_add`, `listener_remove`, `stream_auth`, and `mount_add` and `mount_remove` when a
//! source starts and ends (`auth_url.c`).
//!
//! The question is a form. The header `icecast-auth-user: 1` permits (2.5: `x-icecast-auth-result: ok`), whatever the status
//! is; `icecast-auth-timelimit` limits the permission, in seconds, and `icecast-auth-message` gives the reason of a denial.
//! Nothing else permits.

use std::time::Duration;

use fanout::gate::{Action, Request};

use crate::authority::Grant;
use crate::hook::form::{Form, has_key, with_mark};
use crate::hook::{
    Answer, Body, Garbled, HookDenied, HookFeature, Moment, Mount, Occasion, Reply, Speaks,
};
use crate::settings::AuthHook;

pub(super) struct Icecast;

impl Speaks for Icecast {
    fn name(&self) -> &'static str {
        "icecast"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[HookFeature::Ends, HookFeature::Mounts, HookFeature::Headers]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        // Icecast appends the query of a listener's or source's address. The query of a title request is about the title.
        let query = match on.action {
            Action::Play | Action::Publish => with_mark(request.query),
            Action::UpdateMetadata => String::new(),
        };
        let action = match (on.action, on.moment) {
            (Action::Play, Moment::End { .. }) => "listener_remove",
            (Action::Play, _) => "listener_add",
            (Action::Publish | Action::UpdateMetadata, Moment::End { .. }) => {
                return mount(request.stream.as_str(), Mount::Removed, on.settings);
            }
            (Action::Publish | Action::UpdateMetadata, _) => "stream_auth",
        };
        // A source has one secret, wherever it puts it. A listener's secret in its address is already in `mount`.
        let is_reported = on.action == Action::Play && has_key(request.query);
        let token = request.token.filter(|_| !is_reported);
        let password = request.password.or(token).unwrap_or_default();
        let (name, port) = server(on.settings);
        let form = Form::default()
            .field("action", action)
            .field("mount", &format!("/{}{query}", request.stream))
            .field("ip", &request.peer.ip().to_canonical().to_string())
            .field("server", name)
            .field("port", port)
            .field("user", request.user.unwrap_or_default())
            .field("pass", password);
        let form = match on.action {
            Action::Publish => return form.finish(),
            Action::UpdateMetadata => return form.field("admin", "1").finish(),
            Action::Play => form
                .field("client", &on.number.to_string())
                .field("agent", request.agent),
        };
        let form = match on.moment {
            Moment::End { lasted } => form.field("duration", &lasted.as_secs().to_string()),
            _ => passed(form, request, on.settings),
        };
        form.finish()
    }

    fn answer(&self, _: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        let headers = &reply.head.headers;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_allowed =
            text("icecast-auth-user") == Some("1") || text("x-icecast-auth-result") == Some("ok");
        if !is_allowed {
            let reason = text("icecast-auth-message").map(str::to_owned);
            return Ok(Err(HookDenied::by_status(reply.head.status, reason)));
        }
        let seconds = text("icecast-auth-timelimit").and_then(|text| text.trim().parse().ok());
        // Icecast takes 0 for no limit.
        let seconds = seconds.filter(|seconds| *seconds > 0);
        let lifetime = seconds.map(Duration::from_secs);
        Ok(Ok(Grant::lasting(lifetime, reply.at)))
    }

    fn mount(&self, stream: &str, to: Mount, settings: &AuthHook) -> Option<Body> {
        Some(mount(stream, to, settings))
    }
}

/// Adds the listener's headers that the hook is to receive.
fn passed(form: Form, request: &Request<'_>, settings: &AuthHook) -> Form {
    settings.headers.iter().fold(form, |form, name| {
        let value = request.headers.and_then(|headers| headers.header(name));
        match value {
            Some(value) => form.field(&format!("{}{name}", settings.header_prefix), value),
            None => form,
        }
    })
}

fn mount(stream: &str, to: Mount, settings: &AuthHook) -> Body {
    let (name, port) = server(settings);
    let action = match to {
        Mount::Added => "mount_add",
        Mount::Removed => "mount_remove",
    };
    Form::default()
        .field("action", action)
        .field("mount", &format!("/{stream}"))
        .field("server", name)
        .field("port", port)
        .finish()
}

/// Returns the name and port of this server.
fn server(settings: &AuthHook) -> (&str, &str) {
    let host = &settings.host[..];
    host.rsplit_once(':').unwrap_or((host, ""))
}
