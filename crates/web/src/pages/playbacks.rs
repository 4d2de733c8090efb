//! Playbacks: the clients that are being sent recorded media (files, recordings, clips, and streams that start at a past time).
//!
//! A playback is one client with one such item, however many requests it makes for it: ranges of a file when somebody seeks,
//! pieces over HLS. Its first request passes the gate and the limits and makes it a listener with a record, like any other;
//! further requests belong to it. Sending stops when its permission ends, or when an operator removes it. A removed client is
//! refused for [`REMOVED_FOR`], because its player would only repeat the request. A playback has left when nothing is being
//! sent to it and it has made no request for [`SILENT_FOR`]. An item that one reply delivers completely is a playback by
//! itself, and ends with that reply.
//!
//! A client is identified by address, program, credentials and query, like a viewer of HLS. There are at most [`PLAYBACKS_MAX`]
//! playbacks, each of which takes a listener's place under the limits.

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

/// Time without a request and without a reply under way after which a client has left. Players over HLS request a piece every
/// few seconds, and a paused one sends requests again when it resumes.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// Time for which a removed client is refused.
const REMOVED_FOR: Duration = Duration::from_secs(60);

/// Maximum number of playbacks. Each takes about a kilobyte, its record included.
const PLAYBACKS_MAX: usize = 65_536;

/// Interval between sweeps for departed clients.
const LOOK: Duration = Duration::from_secs(1);

/// Subject of a request.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) request: &'a Request<'a>,
    /// Stream for which the gate is queried.
    pub(super) stream: &'a StreamName,
    pub(super) subject: Subject<'a>,
}

/// Item that is played.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Subject<'a> {
    /// A file of a folder, over HLS or as it is.
    File { name: &'a str, is_hls: bool },
    /// A recording, or several over HLS.
    Recorded(vod::Played),
    /// An item that one reply delivers completely.
    Alone,
}

impl Subject<'_> {
    fn is_alone(self) -> bool {
        self == Self::Alone
    }

    /// Returns the format under which the playback is recorded.
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

/// Admission of a request, before it is known whether there is anything to send.
#[derive(Debug)]
pub(super) enum Pass {
    /// The request belongs to a playback.
    Known(Arc<Guest>),
    /// The request begins a playback.
    New(Authorized<Play>, Option<Permit>),
}

/// Reason why a request is refused, sorted by blame.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// The gate refuses.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// An operator has removed the client.
    #[error("you were removed from here")]
    Removed,
    /// The stream is full.
    #[error("{0}")]
    Full(JoinRefused),
    /// A limit of the server is reached.
    #[error("{0}")]
    Rejected(Rejected),
}

impl Refused {
    /// Builds the reply to the refused request.
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

/// All playbacks; call [`expire`](Self::expire) a few times a second.
#[derive(Debug, Default)]
pub(super) struct Playbacks {
    /// Hash keys, random for each run, so that no client can choose requests that collide.
    hashes: RandomState,
    state: Lock<State>,
}

type Key = (IpAddr, u64);

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// Time of the last sweep for departed clients.
    looked: Option<Instant>,
}

#[derive(Debug)]
enum Entry {
    Playing {
        /// Listener of the playback; replies under way share it.
        guest: Arc<Guest>,
        /// Time at which the permission ends, if it does.
        until: Option<Instant>,
        seen: Instant,
    },
    Removed {
        at: Instant,
    },
}

impl Entry {
    /// Turns a playback whose listener was removed into `Removed`. Returns false for one whose permission has expired: it may
    /// begin again.
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
    /// Checks a request with the gate, and takes a place for it under the limits, unless it belongs to a playback.
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

    /// Returns the listener to send to: the playback's existing one, or a new one.
    ///
    /// # Errors
    /// If the stream or the server has no place left.
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
            // Another request of the same client was faster.
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

    /// Removes the playbacks that have left; once the server drains, without waiting for [`SILENT_FOR`].
    pub(super) fn expire(&self, is_draining: bool, now: Instant) {
        let mut state = self.state.lock();
        let looked = state.looked.get_or_insert(now);
        if now.saturating_duration_since(*looked) < LOOK {
            return;
        }
        *looked = now;
        let silent_for = match is_draining {
            true => Duration::ZERO,
            false => SILENT_FOR,
        };
        let left: Vec<_> = state
            .entries
            .extract_if(|_, entry| !entry.settle(now) || entry.has_left(silent_for, now))
            .collect();
        drop(state);
        // Dropped without the lock: a listener that leaves takes others.
        drop(left);
    }

    /// Returns the playback that a request belongs to, if it is still active.
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
        let with = |name: header::HeaderName, value| {
            let mut headers = headers.clone();
            headers.insert(name, HeaderValue::from_static(value));
            headers
        };
        let ranged = with(header::RANGE, "bytes=5-");
        assert_eq!(of(&stream, subject, &uri, &ranged), key);
        let another_query = Uri::from_static("/vod/a.mp4?link=2");
        let mut others = vec![
            of(&other, subject, &uri, &headers),
            of(&stream, file("b.mp4", false), &uri, &headers),
            of(&stream, file("a.mp4", true), &uri, &headers),
            of(&stream, subject, &another_query, &headers),
        ];
        for header in [header::USER_AGENT, header::REFERER, header::AUTHORIZATION] {
            others.push(of(&stream, subject, &uri, &with(header, "another")));
        }
        assert!(!others.contains(&key), "{others:?}");
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
