//! `/api/v1/events`: events as Server-Sent Events (HTML Living Standard, section 9.2).
//!
//! A client receives the events it requested (`stream`, a pattern as in the configuration; `kind`, some of the kinds by name)
//! from the moment it connected, or after the event that `Last-Event-ID` names. `id` is the event's number, `event` its kind,
//! `data` a JSON object. Events that a client missed are reported as an event `missed`, whatever its filter.
//!
//! An event stream is not bounded in time, so it does not count among the port's connections; there are at most
//! [`EVENT_STREAMS_MAX`]. For a client that does not read, nothing is queued beyond its connection's buffers.

mod body;
mod view;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use config::Glob;
use fanout::events::{Event, Events, Topic};
use serde::Deserialize;
use tokio::sync::Semaphore;

use self::body::EventBody;
use super::api::refuse;
use super::connections::Lease;

/// Maximum number of event streams at a time: dashboards and collectors of a few people. Every event wakes each of them.
pub const EVENT_STREAMS_MAX: usize = 32;

/// Header sent by a client that reconnects, as browsers do by themselves.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Header that keeps nginx from holding events back.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Handler of event-stream requests, and the permits for them.
#[derive(Clone, Debug)]
pub(super) struct EventStreams {
    events: Arc<Events>,
    permits: Arc<Semaphore>,
}

/// A request for events.
#[derive(Debug)]
pub(super) struct Ask {
    method: Method,
    filter: Filter,
    last: Option<u64>,
    lease: Lease,
}

/// Filter of the events to send.
#[derive(Debug, Default)]
struct Filter {
    stream: Option<Glob>,
    topics: Option<Vec<Topic>>,
}

/// Query of the request.
#[derive(Debug, Deserialize)]
struct Which {
    stream: Option<String>,
    kind: Option<String>,
}

impl EventStreams {
    pub(super) fn new(events: &Arc<Events>) -> Self {
        Self {
            events: Arc::clone(events),
            permits: Arc::new(Semaphore::new(EVENT_STREAMS_MAX)),
        }
    }

    /// `GET /api/v1/events`.
    pub(super) async fn answer(self, ask: Ask) -> Response {
        let head = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            (ACCEL_BUFFERING, "no"),
        ];
        if ask.method == Method::HEAD {
            return head.into_response();
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let words = format!("{EVENT_STREAMS_MAX} event streams are open, as many as may be");
            return refuse(StatusCode::SERVICE_UNAVAILABLE, &words);
        };
        let reader = match ask.last {
            Some(sequence) => self.events.subscribe_after(sequence),
            None => self.events.subscribe(),
        };
        ask.lease.outlast();
        let body = EventBody::new(reader, ask.filter, ask.lease, permit);
        (head, Body::new(body)).into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Ask {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let bad = |words: &str| refuse(StatusCode::BAD_REQUEST, words);
        let which = Query::<Which>::try_from_uri(&parts.uri);
        let Query(which) = which.map_err(|rejection| bad(&rejection.body_text()))?;
        let filter = Filter::parse(&which).map_err(|words| bad(&words))?;
        let last = last_event(&parts.headers).map_err(bad)?;
        let lease = parts.extensions.get::<Lease>().cloned();
        Ok(Self {
            method: parts.method.clone(),
            filter,
            last,
            lease: lease.expect("every connection to this port has one"),
        })
    }
}

/// Returns the number of the last event that the client has seen. An empty value means none, as browsers intend.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    let text = headers.get(LAST_EVENT_ID).map(HeaderValue::to_str);
    match text {
        None | Some(Ok("")) => Ok(None),
        Some(Ok(text)) => match text.trim().parse() {
            Ok(sequence) => Ok(Some(sequence)),
            Err(_) => Err("Last-Event-ID is no event's number"),
        },
        Some(Err(_)) => Err("Last-Event-ID is no event's number"),
    }
}

impl Filter {
    fn parse(which: &Which) -> Result<Self, String> {
        let stream = which.stream.as_deref().map(Glob::parse).transpose();
        let topics = which.kind.as_deref().map(|list| {
            let names = list.split(',').map(str::trim);
            names.map(topic).collect::<Result<_, _>>()
        });
        Ok(Self {
            stream: stream.map_err(|words| format!("stream: {words}"))?,
            topics: topics.transpose()?,
        })
    }

    /// Returns whether the client requested this event.
    fn admits(&self, event: &Event) -> bool {
        let topic = event.kind.topic();
        let is_kind = self.topics.as_ref().is_none_or(|all| all.contains(&topic));
        let name = event.stream.as_ref();
        let matches = |pattern: &Glob| name.is_some_and(|name| pattern.matches(name.as_str()));
        is_kind && self.stream.as_ref().is_none_or(matches)
    }
}

fn topic(name: &str) -> Result<Topic, String> {
    let mut all = Topic::ALL.into_iter();
    all.find(|topic| topic.label() == name).ok_or_else(|| {
        let known = Topic::ALL.map(Topic::label).join(", ");
        format!("kind: there is no {name:?}; there are {known}")
    })
}

#[cfg(test)]
mod tests;
