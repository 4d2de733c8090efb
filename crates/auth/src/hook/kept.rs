//! Parts of a request that are kept for later reports to the hook.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use base::holdings::{Held, Holdings, Kind};
use fanout::gate::{Action, Request};
use media::StreamName;

use super::{Moment, Occasion};
use crate::settings::AuthHook;

/// Longest client text kept for the duration of a permission, in bytes: a token of twice the usual length.
const KEPT_BYTES_MAX: usize = 1_024;

/// Request kept beyond its question. Its size is bounded, because there are as many as listeners: a longer program name is cut,
/// and longer secrets or arguments are left out. No headers are kept.
pub(super) struct KeptRequest {
    action: Action,
    number: u64,
    stream: StreamName,
    protocol: &'static str,
    peer: SocketAddr,
    agent: Box<str>,
    user: Option<Box<str>>,
    password: Option<Box<str>>,
    token: Option<Box<str>>,
    query: Box<str>,
    _held: Held,
}

impl KeptRequest {
    /// Copies a request that the hook was asked about, and charges it to `holdings`.
    pub(super) fn of(on: &Occasion<'_>, holdings: &Arc<Holdings>) -> Self {
        let request = on.request;
        let (agent, query) = (cut(request.agent), kept_query(request.query));
        let secrets = [request.user, request.password, request.token].map(kept);
        let texts = [agent, query];
        let texts = texts.into_iter().chain(secrets.into_iter().flatten());
        let bytes = size_of::<Self>() + texts.map(str::len).sum::<usize>();
        let [user, password, token] = secrets.map(|text| text.map(Into::into));
        Self {
            action: on.action,
            number: on.number,
            stream: request.stream.clone(),
            protocol: request.protocol,
            peer: request.peer,
            agent: agent.into(),
            user,
            password,
            token,
            query: query.into(),
            _held: holdings.note(Kind::Questions, bytes),
        }
    }

    /// Returns the kept request.
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            agent: &self.agent,
            user: self.user.as_deref(),
            password: self.password.as_deref(),
            token: self.token.as_deref(),
            query: &self.query,
            ..Request::new(&self.stream, self.protocol, self.peer)
        }
    }

    /// Makes an occasion for a later report about the kept request, given as `request`.
    pub(super) fn on<'a>(
        &self,
        request: &'a Request<'a>,
        moment: Moment,
        settings: &'a AuthHook,
    ) -> Occasion<'a> {
        Occasion {
            request,
            action: self.action,
            moment,
            at: SystemTime::now(),
            number: self.number,
            settings,
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(KEPT_BYTES_MAX)]
}

fn kept(text: Option<&str>) -> Option<&str> {
    text.filter(|text| text.len() <= KEPT_BYTES_MAX)
}

/// Returns the first arguments that fit, without cutting one.
fn kept_query(query: &str) -> &str {
    if query.len() <= KEPT_BYTES_MAX {
        return query;
    }
    let first = cut(query);
    match query.as_bytes().get(first.len()) {
        Some(b'&') => first,
        _ => first.rsplit_once('&').map_or("", |(whole, _)| whole),
    }
}

// Shows no secret.
base::debug!(KeptRequest {
    action,
    stream,
    peer
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::tests::{STREAM, began, request};

    #[test]
    fn what_is_kept_of_a_question_is_bounded() {
        let long = "x".repeat(16 * 1024);
        let query = format!("key=a&more={long}");
        let settings = AuthHook::default();
        let mut asked = request(&STREAM);
        asked.agent = &long;
        asked.password = Some(&long);
        asked.query = &query;
        let account = Holdings::new(0);
        let kept = KeptRequest::of(&began(&asked, &settings), &account);
        let reported = kept.request();
        assert_eq!(reported.agent.len(), KEPT_BYTES_MAX);
        assert_eq!((reported.password, reported.query), (None, "key=a"));
        assert_eq!(reported.token, asked.token);
        let fits = "y".repeat(KEPT_BYTES_MAX);
        assert_eq!(kept_query(&fits), fits);
        assert_eq!(kept_query(&format!("{fits}&z=1")), fits);
        assert_eq!(kept_query(&format!("{fits}y&z=1")), "");
        let bytes = account.bytes(Kind::Questions);
        let bounds = KEPT_BYTES_MAX..2 * KEPT_BYTES_MAX;
        assert!(bounds.contains(&bytes), "{bytes}");
        drop(kept);
        assert_eq!(account.bytes(Kind::Questions), 0);
    }
}
