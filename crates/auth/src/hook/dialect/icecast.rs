//! Icecast's URL authentication: `listener_add`, `listener_remove`, `stream_auth`, and `mount_add` and `mount_remove` when a source
//! has come and has ended (`auth_url.c`).
//!
//! A form. What permits is a header `icecast-auth-user: 1` (2.5: `x-icecast-auth-result: ok`), whatever the status is;
//! `icecast-auth-timelimit` says for how many seconds, `icecast-auth-message` why not. Nothing else permits.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::hook::form::Form;
use crate::hook::mounts::Mount;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

pub(super) fn body(question: &Question<'_>, moment: Moment, host: &str) -> String {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    // Icecast appends the query of a listener's or a source's address. That of a request for titles is about the title.
    let query = match question.action {
        Action::Play | Action::Publish => question.with_mark(),
        Action::UpdateMetadata => String::new(),
    };
    let mount = format!("/{}{query}", question.stream);
    let action = match (question.action, moment) {
        (Action::Play, Moment::End { .. }) => "listener_remove",
        (Action::Play, _) => "listener_add",
        (Action::Publish | Action::UpdateMetadata, Moment::End { .. }) => {
            return self::mount(question.stream, Mount::Removed, host);
        }
        (Action::Publish | Action::UpdateMetadata, _) => "stream_auth",
    };
    // A source has one secret, wherever it puts it; that of a listener in its address is in `mount`.
    let is_told = question.action == Action::Play && has_key(question.query);
    let token = question.token.filter(|_| !is_told);
    let password = question.password.or(token).unwrap_or_default();
    let form = Form::default()
        .field("action", action)
        .field("mount", &mount)
        .field("ip", &question.peer.ip().to_canonical().to_string())
        .field("server", name)
        .field("port", port)
        .field("user", question.user.unwrap_or_default())
        .field("pass", password);
    let form = match (question.action, moment) {
        (Action::Publish, _) => form,
        (Action::UpdateMetadata, _) => form.field("admin", "1"),
        (Action::Play, Moment::End { lasted }) => form
            .field("client", &question.number.to_string())
            .field("agent", question.agent)
            .field("duration", &lasted.as_secs().to_string()),
        (Action::Play, _) => {
            let form = form
                .field("client", &question.number.to_string())
                .field("agent", question.agent);
            let headers = question.headers.iter();
            headers.fold(form, |form, (field, value)| form.field(field, value))
        }
    };
    form.finish()
}

pub(super) fn mount(stream: &str, mount: Mount, host: &str) -> String {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let action = match mount {
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

fn has_key(query: &str) -> bool {
    let is_key = |part: &str| part.starts_with("key=") || part.starts_with("token=");
    query.split('&').any(is_key)
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
            stream: None,
        };
    }
    Verdict::Denied {
        reason: text("icecast-auth-message").map(str::to_owned),
        wants_credential: status == StatusCode::UNAUTHORIZED,
    }
}
