//! Who is sent what was recorded: files, recordings, clips, and streams from a time on.
//!
//! A playback is one client with one of them, however many requests it makes for it: ranges of a file when somebody
//! jumps in it, pieces over HLS. Its first request passes the gate and the limits and makes it a listener with a record,
//! like any other; further ones belong to it. What it is being sent ends when its permission does, or when an operator
//! removes it: then it is refused for [`REMOVED_FOR`], because its player would only ask again. It has left when nothing
//! is sent to it and it has asked for nothing for [`SILENT_FOR`]. What one answer is all of is a playback by itself,
//! and ends with that answer.
//!
//! A client is an address with a program, a set of credentials and a query, as a viewer of HLS is. There are at most
//! [`PLAYBACKS_MAX`], each of which takes one of the places of listeners that the limits are about.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use fanout::gate::{Authorized, Denied, Play};
use fanout::{Format, Guest, JoinRefused, Permit, Protocol, Retention};
use http::{HeaderMap, StatusCode, Uri, header};
use limits::Rejected;
use media::StreamName;
use reports::access::request_line;

use crate::refusal;
use crate::reply::Reply;
use crate::request::Request;

/// After so long without a request and without an answer under way a client has left. Players over HLS ask for a piece
/// every few seconds, and one that is paused asks again when it goes on.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// How long a client that was removed is refused.
const REMOVED_FOR: Duration = Duration::from_secs(60);

/// Each takes about a kilobyte, its record included.
const PLAYBACKS_MAX: usize = 65_536;

/// How often it is looked who has left.
const LOOK: Duration = Duration::from_secs(1);

/// What a request is about.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) request: &'a Request<'a>,
    /// For which the gate is asked.
    pub(super) stream: &'a StreamName,
    pub(super) subject: Subject<'a>,
}

/// What is played.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Subject<'a> {
    /// A file of a folder, over HLS or as it is.
    File { name: &'a str, is_hls: bool },
    /// A recording, or several over HLS.
    Recorded(vod::Played),
    /// What one answer is all of.
    Alone,
}

impl Subject<'_> {
    fn is_alone(self) -> bool {
        self == Self::Alone
    }

    /// As what the books have it.
    fn format(self) -> Format {
        let (name, protocol) = match self {
            Self::File { is_hls: true, .. } | Self::Recorded(vod::Played::Hls) => {
                ("recorded-hls", Protocol::Hls)
            }
            Self::File { .. } | Self::Recorded(vod::Played::File(_)) => ("file", Protocol::Http),
            Self::Alone => ("recorded", Protocol::Http),
        };
        Format {
            name,
            protocol,
            retention: Retention::Live,
        }
    }
}

/// What a request may have, before it is known whether there is anything to send.
#[derive(Debug)]
pub(super) enum Pass {
    /// It belongs to a playback.
    Known(Arc<Guest>),
    /// It begins one.
    New(Authorized<Play>, Option<Permit>),
}

/// Why a request is refused, sorted by blame.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// By the gate.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// An operator has removed the client.
    #[error("you were removed from here")]
    Removed,
    /// The stream has as many listeners as it may.
    #[error("{0}")]
    Full(JoinRefused),
    /// A limit of the server.
    #[error("{0}")]
    Rejected(Rejected),
}

impl Refused {
    /// The answer.
    pub(super) fn answer(self, request: &Request<'_>) -> Reply {
        let front = request.front;
        let words = format!("{self}\n");
        match self {
            Self::Denied(denied) => refusal::denied(denied),
            Self::Removed => Reply::text(StatusCode::FORBIDDEN, words),
            Self::Full(_) => Reply::text(StatusCode::SERVICE_UNAVAILABLE, words)
                .with(header::RETRY_AFTER, front.drain.retry_after()),
            Self::Rejected(reason) => {
                refusal::limited(reason, &front.admission, request.visitor.peer)
            }
        }
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Playbacks {
    /// Random for each run, so that no client can choose requests that collide.
    hashes: RandomState,
    state: Lock<State>,
}

type Key = (IpAddr, u64);

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// When it was looked last who has left.
    looked: Option<Instant>,
}

#[derive(Debug)]
enum Entry {
    Playing {
        /// Answers under way have it as well.
        guest: Arc<Guest>,
        /// When its permission ends, if it does.
        until: Option<Instant>,
        seen: Instant,
    },
    Removed {
        at: Instant,
    },
}

impl Entry {
    /// Lets go of a playback that has ended. False for one that may begin again: its permission is over.
    fn settle(&mut self, now: Instant) -> bool {
        if let Self::Playing { guest, until, .. } = self
            && guest.ended().is_revoked()
        {
            if until.is_some_and(|until| until <= now) {
                return false;
            }
            *self = Self::Removed { at: now };
        }
        true
    }

    fn has_left(&self, silent_for: Duration, now: Instant) -> bool {
        let since = |at: &Instant| now.saturating_duration_since(*at);
        match self {
            Self::Playing { guest, seen, .. } => {
                Arc::strong_count(guest) == 1 && since(seen) >= silent_for
            }
            Self::Removed { at } => since(at) >= REMOVED_FOR,
        }
    }
}

impl Playbacks {
    /// Asks the gate about a request, and takes a place for it under the limits, unless it belongs to a playback.
    ///
    /// # Errors
    /// See [`Refused`].
    pub(super) async fn admit(&self, wanted: &Wanted<'_>) -> Result<Pass, Refused> {
        if !wanted.subject.is_alone()
            && let Some(guest) = self.touch(self.key(wanted), Instant::now())?
        {
            return Ok(Pass::Known(guest));
        }
        let request = wanted.request;
        let permission = request.may_play(wanted.stream).await?;
        let permit = match request.is_head() {
            true => None,
            false => {
                let permit = request.front.admission.viewer(request.visitor.peer.ip());
                Some(Permit::new(permit.map_err(Refused::Rejected)?))
            }
        };
        Ok(Pass::New(permission, permit))
    }

    /// What is to be sent to it, as a listener: the one that it is, or a new one.
    ///
    /// # Errors
    /// When the stream has no place, or the server none.
    pub(super) fn begin(&self, pass: Pass, wanted: &Wanted<'_>) -> Result<Arc<Guest>, Refused> {
        let request = wanted.request;
        let (permission, permit) = match pass {
            Pass::Known(guest) => return Ok(guest),
            Pass::New(permission, permit) => (permission, permit),
        };
        // Without the query, which may hold a key.
        let line = request_line("GET", request.uri.path(), "HTTP/1.1");
        let introduction = request
            .shown()
            .introduction(request.visitor.peer, line, permit);
        let (registry, format) = (&request.front.registry, wanted.subject.format());
        let guest = Guest::enter(registry, &permission, format, introduction);
        let guest = Arc::new(guest.map_err(Refused::Full)?);
        if wanted.subject.is_alone() {
            return Ok(guest);
        }
        let key = self.key(wanted);
        let mut state = self.state.lock();
        if let Some(Entry::Playing { guest, .. }) = state.entries.get(&key) {
            // Another of its requests was faster.
            return Ok(Arc::clone(guest));
        }
        if state.entries.len() >= PLAYBACKS_MAX {
            return Err(Refused::Rejected(Rejected::Listeners));
        }
        let entry = Entry::Playing {
            guest: Arc::clone(&guest),
            until: permission.until(),
            seen: Instant::now(),
        };
        state.entries.insert(key, entry);
        Ok(guest)
    }

    /// Lets go of those that have left: at once, once the server drains.
    pub(super) fn expire(&self, is_draining: bool, now: Instant) {
        let mut state = self.state.lock();
        let looked = state.looked.get_or_insert(now);
        if now.saturating_duration_since(*looked) < LOOK {
            return;
        }
        *looked = now;
        let silent_for = if is_draining {
            Duration::ZERO
        } else {
            SILENT_FOR
        };
        let left: Vec<_> = state
            .entries
            .extract_if(|_, entry| !entry.settle(now) || entry.has_left(silent_for, now))
            .collect();
        drop(state);
        // Without the lock: a listener that leaves takes others.
        drop(left);
    }

    /// The playback that a request belongs to, if it goes on.
    fn touch(&self, key: Key, now: Instant) -> Result<Option<Arc<Guest>>, Refused> {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(&key) else {
            return Ok(None);
        };
        if !entry.settle(now) {
            let over = state.entries.remove(&key);
            drop(state);
            drop(over);
            return Ok(None);
        }
        match entry {
            Entry::Playing { guest, seen, .. } => {
                *seen = now;
                Ok(Some(Arc::clone(guest)))
            }
            Entry::Removed { .. } => Err(Refused::Removed),
        }
    }

    fn key(&self, wanted: &Wanted<'_>) -> Key {
        let request = wanted.request;
        let client = (request.visitor.peer.ip(), &request.uri, &request.headers);
        self.key_of(wanted.stream, wanted.subject, client)
    }

    fn key_of(
        &self,
        stream: &StreamName,
        subject: Subject<'_>,
        (address, uri, headers): (IpAddr, &Uri, &HeaderMap),
    ) -> Key {
        let mut hasher = self.hashes.build_hasher();
        (stream, subject, uri.query()).hash(&mut hasher);
        for name in [header::USER_AGENT, header::REFERER, header::AUTHORIZATION] {
            let value = headers.get(name);
            value.map(AsRef::<[u8]>::as_ref).hash(&mut hasher);
        }
        (address, hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Requests of one client that belong together, and some that do not.
    #[test]
    fn a_playback_is_one_client_with_one_thing() {
        let playbacks = Playbacks::default();
        let (stream, other) = (name("vod"), name("live/show"));
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static("player"));
        let address = IpAddr::from([192, 0, 2, 1]);
        let uri = Uri::from_static("/vod/a.mp4?link=1");
        let file = |name, is_hls| Subject::File { name, is_hls };
        let subject = file("a.mp4", false);
        let of = |stream: &StreamName, subject: Subject<'_>, uri: &Uri, headers: &HeaderMap| {
            playbacks.key_of(stream, subject, (address, uri, headers))
        };
        let key = of(&stream, subject, &uri, &headers);
        headers_with(&headers, header::RANGE, "bytes=5-", |headers| {
            assert_eq!(of(&stream, subject, &uri, headers), key);
        });
        let another_query = Uri::from_static("/vod/a.mp4?link=2");
        let mut others = vec![
            of(&other, subject, &uri, &headers),
            of(&stream, file("b.mp4", false), &uri, &headers),
            of(&stream, file("a.mp4", true), &uri, &headers),
            of(&stream, subject, &another_query, &headers),
        ];
        for header in [header::USER_AGENT, header::REFERER, header::AUTHORIZATION] {
            headers_with(&headers, header, "another", |headers| {
                others.push(of(&stream, subject, &uri, headers));
            });
        }
        assert!(!others.contains(&key), "{others:?}");
    }

    fn headers_with(
        headers: &HeaderMap,
        name: header::HeaderName,
        value: &'static str,
        check: impl FnOnce(&HeaderMap),
    ) {
        let mut headers = headers.clone();
        headers.insert(name, HeaderValue::from_static(value));
        check(&headers);
    }

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    #[test]
    fn who_was_removed_is_refused_for_a_while() {
        let playbacks = Playbacks::default();
        let key = (IpAddr::from([192, 0, 2, 1]), 1);
        let now = Instant::now();
        let removed = Entry::Removed { at: now };
        playbacks.state.lock().entries.insert(key, removed);
        playbacks.expire(false, now);
        assert!(matches!(playbacks.touch(key, now), Err(Refused::Removed)));
        let later = now + REMOVED_FOR;
        playbacks.expire(false, later);
        assert!(matches!(playbacks.touch(key, later), Ok(None)));
    }
}
