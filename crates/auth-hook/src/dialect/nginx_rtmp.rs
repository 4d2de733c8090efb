//! nginx-rtmp's `on_publish` and `on_play` (`ngx_rtmp_notify_module.c`).
//!
//! A form; the arguments of the address are appended as the client wrote them, and as `user`, `password` and `key` what it
//! presents elsewhere. 2xx permits. A redirection would rename
//! or relay the stream, which is not done here: it is no answer, so that nothing is published under a name that the hook
//! did not mean. Anything else denies. Titles have no counterpart and are asked for as publishing.

use http::StatusCode;

use super::Garbled;
use crate::form::Form;
use crate::question::{Action, Question, Verdict};

pub(super) fn question(question: &Question<'_>, host: &str) -> String {
    let form = Form::default()
        .field("app", question.application())
        .field("flashver", question.agent)
        .field("swfurl", "")
        .field("tcurl", &question.tc_url(host))
        .field("pageurl", "")
        .field("addr", &question.peer.ip().to_canonical().to_string())
        .field("clientid", &question.number.to_string());
    let name = question.last_segment();
    let form = match question.action {
        Action::Publish | Action::UpdateMetadata => form
            .field("call", "publish")
            .field("name", name)
            .field("type", "live"),
        Action::Play => form
            .field("call", "play")
            .field("name", name)
            .field("start", "4294966296")
            .field("duration", "0")
            .field("reset", "0"),
    };
    form.raw(&question.arguments()).finish()
}

pub(super) fn verdict(status: StatusCode) -> Result<Verdict, Garbled> {
    match status {
        _ if status.is_success() => Ok(Verdict::ALLOWED),
        _ if status.is_redirection() => Err(Garbled("it redirects, and streams are not renamed")),
        _ => Ok(Verdict::DENIED),
    }
}
