//! Icecast's URL authentication: `listener_add` and `stream_auth` (`auth_url.c`).
//!
//! A form. What permits is a header `icecast-auth-user: 1` (2.5: `x-icecast-auth-result: ok`), whatever the status is;
//! `icecast-auth-timelimit` says for how many seconds, `icecast-auth-message` why not. Nothing else permits.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::form::Form;
use crate::question::{Action, Question, Verdict};

pub(super) fn question(question: &Question<'_>, host: &str) -> String {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let mount = format!("/{}{}", question.stream, question.with_mark());
    let action = match question.action {
        Action::Play => "listener_add",
        Action::Publish | Action::UpdateMetadata => "stream_auth",
    };
    // A source has one secret, wherever it puts it.
    let password = question.password.or(question.token).unwrap_or_default();
    let form = Form::default()
        .field("action", action)
        .field("mount", &mount)
        .field("ip", &question.peer.ip().to_canonical().to_string())
        .field("server", name)
        .field("port", port)
        .field("user", question.user.unwrap_or_default())
        .field("pass", password);
    let form = match question.action {
        Action::Publish => form,
        Action::UpdateMetadata => form.field("admin", "1"),
        Action::Play => form
            .field("client", &question.number.to_string())
            .field("agent", question.agent),
    };
    form.finish()
}

pub(super) fn verdict(status: StatusCode, headers: &HeaderMap) -> Verdict {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_allowed =
        text("icecast-auth-user") == Some("1") || text("x-icecast-auth-result") == Some("ok");
    if is_allowed {
        let seconds = text("icecast-auth-timelimit").and_then(|text| text.trim().parse().ok());
        return Verdict::Allowed {
            // Icecast takes 0 for no limit.
            lifetime: seconds
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            identity: None,
        };
    }
    Verdict::Denied {
        reason: text("icecast-auth-message").map(str::to_owned),
        wants_credential: status == StatusCode::UNAUTHORIZED,
    }
}
