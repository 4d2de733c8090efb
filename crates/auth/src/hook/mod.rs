//! Authorization by HTTP hook: the operator's HTTP server decides whether a client may publish or listen.
//!
//! ```text
//!  gate ─Request─► Hooked ─► Asker: cache, breaker, turns  ─► Speaks::body   ─► POST
//!  gate ◄──Grant── Hooked ◄─ Asker ◄───────────────── Answer ◄─────── Speaks::answer ◄─ Reply
//! ```
//!
//! * The request to the gate is sent in the [`Dialect`] of another server, so that a hook written for that server works
//!   unchanged, or in our own. A dialect is a file of `dialect`, and its row in `dialect/mod.rs`; it does no IO.
//! * A reply arrives within the hook's `timeout`, or the question is [`Unanswered`]. At most [`IN_FLIGHT_MAX`] questions are in
//!   flight; others wait for a turn, shared by address (`net::turns`), so no client delays another one's question.
//! * After several failures in a row nothing is asked for a while, so that waiting clients do not keep a failing hook down.
//! * A permission is cached for as long as the operator configures. A denial is asked anew each time, because the client may
//!   have been authorized in between.
//! * If configured, the end of permitted sessions is reported to the hook. Ends wait in a bounded queue, and those of a
//!   stopping server are not reported.
//! * If configured, ongoing sessions are reported to the hook at intervals, and the hook may end them.
//! * If configured, every publisher that starts or stops is reported in order, whoever has permitted it.
//! * Secrets are in the request, where the hook needs them, and nowhere else: the cache has digests of them, the log nothing.
//!
//! Called by the gate, which makes [`Hooked`], and by `server`, which reports publishers.

mod asker;
mod dialect;
mod form;
mod kept;
mod reported;
#[cfg(test)]
mod tests;
mod updates;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use fanout::gate::{Action, Denied, Request};
use http::{StatusCode, response};
use media::StreamName;

use self::asker::Unanswered;
pub use self::asker::{Asker, IN_FLIGHT_MAX};
use crate::authority::{
    Authority, Ender, Fingerprints, Grant, Guesses, Verdict, name_and_password,
};
use crate::settings::{AuthHook, HookUnanswered, Permissions};

/// Stage of a client's activity at which the hook is asked or notified.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    /// The client has connected, and will request something.
    Connect,
    /// The client asks to begin.
    Begin,
    /// A permitted session continues.
    Update {
        /// Duration so far.
        lasted: Duration,
    },
    /// A permitted session has ended.
    End {
        /// Total duration.
        lasted: Duration,
    },
}

/// Event that a hook is asked about or notified of: a request to the gate, with what the server adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) action: Action,
    pub(crate) moment: Moment,
    /// Time of the message: a field of some dialects.
    pub(crate) at: SystemTime,
    /// Unique number of this question within the process; the end has the same.
    pub(crate) number: u64,
    pub(crate) settings: &'a AuthHook,
}

/// Change of a stream's publisher.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mount {
    /// The publisher has started.
    Added,
    /// The publisher has left.
    Removed,
}

/// Body to post.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Body {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
    /// Header that authenticates this server to the hook, in dialects that have one.
    pub(crate) signature: Option<(&'static str, String)>,
}

impl Body {
    fn json(value: &serde_json::Value) -> Self {
        Self {
            content_type: "application/json",
            text: value.to_string(),
            signature: None,
        }
    }
}

/// Reply of a hook. A status of 500 or above does not count as one.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) head: response::Parts,
    pub(crate) body: Bytes,
    /// Time of arrival, from which a limited permission counts.
    pub(crate) at: Instant,
}

/// Meaning of a reply.
pub(crate) type Answer = Result<Grant, HookDenied>;

/// Denial by a hook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HookDenied {
    /// [`Denied::Missing`] if the hook wants a credential, [`Denied::Unavailable`] if it permits something impossible, or
    /// [`Denied::Wrong`].
    pub(crate) denied: Denied,
    /// The hook's reason, for the log; or the invalid stream name, if it permits something impossible.
    pub(crate) reason: Option<String>,
}

impl HookDenied {
    pub(crate) fn because(reason: Option<String>) -> Self {
        let denied = Denied::Wrong;
        Self { denied, reason }
    }

    /// Denial by a status; 401 asks the client for a credential.
    pub(crate) fn by_status(status: StatusCode, reason: Option<String>) -> Self {
        match status {
            StatusCode::UNAUTHORIZED => Self {
                denied: Denied::Missing,
                reason,
            },
            _ => Self::because(reason),
        }
    }
}

impl Grant {
    /// Permission for some time from `now` on; `None` for no limit.
    pub(crate) fn lasting(lifetime: Option<Duration>, now: Instant) -> Self {
        let mut grant = Self::to_all();
        grant.terms.until = lifetime.and_then(|lasts| now.checked_add(lasts));
        grant
    }

    /// Substitutes the stream that the hook names for the requested one.
    ///
    /// # Errors
    /// Fails when the name is invalid or reserved, so that the hook's answer cannot be carried out.
    pub(crate) fn renamed(self, name: Option<String>) -> Answer {
        let Some(name) = name else {
            return Ok(self);
        };
        let stream = StreamName::parse(&name).ok();
        match stream.filter(|name| !name.is_reserved()) {
            Some(stream) => Ok(Self {
                stream: Some(stream),
                ..self
            }),
            None => Err(HookDenied {
                denied: Denied::Unavailable,
                reason: Some(name),
            }),
        }
    }
}

/// Reply that cannot be understood.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("its answer is not understood: {0}")]
pub(crate) struct Garbled(pub(crate) &'static str);

/// Optional feature of a dialect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HookFeature {
    /// The hook is asked about clients that have connected and requested nothing yet.
    Connections,
    /// Ends of permitted sessions are reported.
    Ends,
    /// Ongoing sessions are reported.
    Updates,
    /// Publishers are reported, whoever has permitted them.
    Mounts,
    /// Headers of listeners are sent to the hook.
    Headers,
    /// Posted bodies are signed.
    Signatures,
}

/// Protocol between a server and its hooks: bodies to post, and meanings of replies. No IO.
pub(crate) trait Speaks: Send + Sync {
    /// Returns the dialect's name in the configuration.
    fn name(&self) -> &'static str;

    /// Returns the dialect's features.
    fn features(&self) -> &'static [HookFeature];

    /// Builds the body that reports a request, or asks about it.
    fn body(&self, on: &Occasion<'_>) -> Body;

    /// Interprets the reply.
    ///
    /// # Errors
    /// Fails when the reply cannot be understood.
    fn answer(&self, on: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled>;

    /// Builds the body that reports a stream's publisher; `None` without [`HookFeature::Mounts`].
    fn mount(&self, _stream: &str, _mount: Mount, _settings: &AuthHook) -> Option<Body> {
        None
    }
}

/// Dialect of hooks: Carillon's own, unless an operator names another.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static dyn Speaks);

/// Authority of servers with a hook: first the configured keys, then the hook for what no key permits.
#[derive(Debug)]
pub(crate) struct Hooked {
    pub(crate) permissions: Arc<dyn Permissions>,
    pub(crate) keys: Arc<dyn Authority>,
    pub(crate) asker: Arc<Asker>,
    pub(crate) guesses: Arc<Guesses>,
    pub(crate) fingerprints: Fingerprints,
    /// Ends permissions before their time.
    pub(crate) ender: Ender,
}

impl Authority for Hooked {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        let is_asked = self.asker.settings.asks.are_for(action);
        if !is_asked || !self.permissions.asks_hook(action.into(), request.stream) {
            return self.keys.decide(action, request);
        }
        Box::pin(async move {
            // A key permits without a question, so its clients continue while the hook is down. Listening may need no key.
            if self
                .permissions
                .needs_credential(action.into(), request.stream)
            {
                match self.keys.decide(action, request).await {
                    Ok(grant) => return Ok(grant),
                    // The hook did not issue this credential.
                    Err(denied @ (Denied::Unfit | Denied::InUse)) => return Err(denied),
                    Err(_) => {}
                }
            }
            self.ask(action, request).await
        })
    }
}

impl Hooked {
    async fn ask(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        let (stream, peer) = (request.stream, request.peer);
        let presented = self.fingerprints.of_presented(request);
        // A request without a secret is also asked about, because the answer may be that it needs one. RTMP players present
        // theirs in their address.
        let presents_secret = request.secret().is_some() || name_and_password(request).is_some();
        let secret = presented.filter(|_| presents_secret);
        let is_guess = |secret| !self.guesses.may_try(peer.ip(), action.into(), secret);
        if secret.is_some_and(is_guess) {
            return Err(Denied::TooManyAttempts);
        }
        let on = self.asker.begin(action, request);
        match self.asker.ask(&on).await {
            Ok(Ok(grant)) => {
                let known_by = grant
                    .terms
                    .identity
                    .as_ref()
                    .map(|identity| identity.as_str());
                let known_by = known_by.or_else(|| request.secret());
                // If the hook names another stream, the requested name is the publisher's secret, as where stream keys are
                // names.
                let asked_for = grant.stream.as_ref().map(|_| stream.as_str());
                // Listeners are not distinguished by credentials.
                let known_by = known_by.or(asked_for).filter(|_| action != Action::Play);
                Ok(Grant {
                    credential: known_by.map(|secret| self.fingerprints.of(secret)),
                    presented,
                    witness: self.asker.witness(&on, &self.ender),
                    ..grant
                })
            }
            Ok(Err(HookDenied {
                denied: Denied::Unavailable,
                reason: name,
            })) => {
                let name = name.unwrap_or_default();
                tracing::warn!(%stream, %peer, ?name, "the hook for permissions renames a stream to what is no stream's name");
                Err(Denied::Unavailable)
            }
            Ok(Err(HookDenied { denied, reason })) => {
                if let Some(reason) = reason {
                    tracing::info!(%stream, %peer, ?action, ?reason, "the hook denies");
                }
                let may_lack_one = denied == Denied::Missing || presented.is_none();
                Err(match may_lack_one && !presents_secret {
                    true => Denied::Missing,
                    false => Denied::Wrong,
                })
            }
            Err(error) => {
                tracing::warn!(%stream, %peer, ?action, %error, "the hook for permissions gives no answer");
                match (self.asker.settings.unanswered, action) {
                    // Otherwise a client could get everyone let in by sending enough requests.
                    _ if matches!(error, Unanswered::TooMany(_)) => Err(Denied::Unavailable),
                    (HookUnanswered::Allow, Action::Play) => Ok(Grant::to_all()),
                    _ => Err(Denied::Unavailable),
                }
            }
        }
    }
}
