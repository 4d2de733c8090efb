//! What is kept of a request, to tell the hook later of what it has permitted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use fanout::gate::{Action, Request};
use media::StreamName;
use net::holdings::{Held, Holdings, Kind};

use super::{Moment, Occasion};
use crate::settings::AuthHook;

/// Longest text of a client that is kept for as long as what was permitted lasts: a token of twice the usual length.
const KEPT_BYTES_MAX: usize = 1_024;

/// Request that outlives its connection's question. What is kept of it is bounded, for there are as many as listeners: a
/// longer name of a program is cut, a longer secret or argument is left out. Of headers none is kept.
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
    /// What is kept of a request that the hook was asked about, and counted.
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

    /// The request.
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

    /// The occasion of telling of it, which is `request`, at a later moment.
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

/// The first arguments, whole ones.
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
        let asked = Request {
            agent: &long,
            password: Some(&long),
            query: &query,
            ..request(&STREAM)
        };
        let account = Holdings::new(0);
        let kept = KeptRequest::of(&began(&asked, &settings), &account);
        let told = kept.request();
        assert_eq!(told.agent.len(), KEPT_BYTES_MAX);
        assert_eq!((told.password, told.query), (None, "key=a"));
        assert_eq!(told.token, asked.token);
        let fits = "y".repeat(KEPT_BYTES_MAX);
        assert_eq!(kept_query(&fits), fits);
        assert_eq!(kept_query(&format!("{fits}&z=1")), fits);
        assert_eq!(kept_query(&format!("{fits}y&z=1")), "");
        let bytes = account.bytes(Kind::Questions);
        assert!(
            (KEPT_BYTES_MAX..2 * KEPT_BYTES_MAX).contains(&bytes),
            "{bytes}"
        );
        drop(kept);
        assert_eq!(account.bytes(Kind::Questions), 0);
    }
}
