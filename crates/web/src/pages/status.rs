//! `/status-json.xsl`: Icecast's status document. A mount that a client may not see is treated as absent.

use media::StreamName;

use crate::reply::Reply;
use crate::request::Request;
use crate::status::{Question, document};

/// Answers a request for the document, of one mount if its query names one.
pub(super) async fn answer(request: &Request<'_>) -> Reply {
    let front = request.front;
    let mut mount = request.parameters().get("mount");
    if let Some(stream) = mount
        .as_deref()
        .and_then(|name| StreamName::parse(name).ok())
        && request.may_be_reported(&stream).await.is_err()
    {
        mount = Some(String::new());
    }
    let question = Question {
        base: &request.base(),
        mount: mount.as_deref(),
        http: &front.config.http,
        started: front.started,
    };
    Reply::json(&document(&front.registry, question))
}
