//! Permission by HTTP hook: an HTTP server of the operator's is asked whether a client may publish or listen.
//!
//! ```text
//!  gate ─Request─► Hooked ─► Asker: cache, breaker, turns  ─► Speaks::body   ─► POST
//!  gate ◄──Grant── Hooked ◄─ Asker ◄───────────────── Answer ◄─────── Speaks::answer ◄─ Reply
//! ```
//!
//! * The request to the gate goes out in the [`Dialect`] of another server, so that a hook which was written for that server
//!   works unchanged, or in our own. A dialect is a file of `dialect`, and its row in `dialect/mod.rs`; it does no IO.
//! * A reply comes within the hook's `timeout` or is [`Unanswered`]. At most [`IN_FLIGHT_MAX`] questions are under way;
//!   others wait for their turn, shared out by address (`net::turns`), so no client keeps another one's question back.
//! * After some failures in a row nothing is asked for a while: a hook that is down is not kept down by
//!   everyone who waits for it.
//! * A permission is kept for as long as the operator says. A denial is asked anew each time, for a client may have got
//!   its right in between.
//! * Where the operator says so, the hook is told of the end of what it has permitted. Ends wait in a queue that is bounded, and
//!   those of a server that stops are not told.
//! * Where the operator says so, the hook is told at intervals of what goes on, and may end it.
//! * Where the operator says so, the hook is told of each publisher that comes and goes, one after another, whoever has permitted it.
//! * Secrets are in the request, where the hook needs them, and nowhere else: the cache has digests of them, the log nothing.
//!
//! Called by the gate, which makes [`Hooked`], and by `server`, which tells of publishers.

mod asker;
mod dialect;
mod form;
mod kept;
#[cfg(test)]
mod tests;
mod told;
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

/// Moment of what a client does at which a hook is told of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    /// It has connected, and will ask for something.
    Connect,
    /// It asks to begin.
    Begin,
    /// What was permitted goes on.
    Update {
        /// How long so far.
        lasted: Duration,
    },
    /// What was permitted has ended.
    End {
        /// How long it went on.
        lasted: Duration,
    },
}

/// Occasion on which a hook is told of a request to the gate, with what the server adds to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) action: Action,
    pub(crate) moment: Moment,
    /// When it is told: a field of some dialects.
    pub(crate) at: SystemTime,
    /// Tells this question apart from others of this process; the end has the same.
    pub(crate) number: u64,
    pub(crate) settings: &'a AuthHook,
}

/// What has become of a stream's publisher.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mount {
    /// It has come.
    Added,
    /// It has left.
    Removed,
}

/// Body that is posted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Body {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
    /// Header that proves to the hook who asks, in dialects that have one.
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

/// Reply of a hook, which does not say that it is at fault: a status of 500 and above is none.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) head: response::Parts,
    pub(crate) body: Bytes,
    /// When it came: a permission for some time begins then.
    pub(crate) at: Instant,
}

/// Meaning of a reply.
pub(crate) type Answer = Result<Grant, HookDenied>;

/// Denial by a hook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HookDenied {
    /// [`Denied::Missing`] if it wants a credential, [`Denied::Unavailable`] if it permits what cannot be done, or
    /// [`Denied::Wrong`].
    pub(crate) denied: Denied,
    /// The hook's words for the log; the name that is none, where it permits what cannot be done.
    pub(crate) reason: Option<String>,
}

impl HookDenied {
    pub(crate) fn because(reason: Option<String>) -> Self {
        let denied = Denied::Wrong;
        Self { denied, reason }
    }

    /// Denial by a status, of which 401 has the client asked for a credential.
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
    /// Permission for some time from `now` on; `None` is for as long as the client likes.
    pub(crate) fn lasting(lifetime: Option<Duration>, now: Instant) -> Self {
        let mut grant = Self::to_all();
        grant.terms.until = lifetime.and_then(|lasts| now.checked_add(lasts));
        grant
    }

    /// This permission, for the stream that the hook puts in the place of the one that was asked for.
    ///
    /// # Errors
    /// When its name is none, or reserved: the hook has answered nothing that could be done.
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

/// Feature that some dialects have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HookFeature {
    /// The hook is asked about clients that have connected and want nothing yet.
    Connections,
    /// The hook is told of the end of what it has permitted.
    Ends,
    /// The hook is told of what goes on.
    Updates,
    /// The hook is told of publishers, whoever has permitted them.
    Mounts,
    /// The hook is told headers of listeners.
    Headers,
    /// What is posted is signed.
    Signatures,
}

/// Language between a server and its hooks: bodies to post, and what replies mean. No IO.
pub(crate) trait Speaks: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &'static str;

    /// What it has.
    fn features(&self) -> &'static [HookFeature];

    /// The body that tells of a request, or asks about it.
    fn body(&self, on: &Occasion<'_>) -> Body;

    /// What a reply to that means.
    ///
    /// # Errors
    /// When it means nothing.
    fn answer(&self, on: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled>;

    /// The body that tells of a stream's publisher; `None` without [`HookFeature::Mounts`].
    fn mount(&self, _stream: &str, _mount: Mount, _settings: &AuthHook) -> Option<Body> {
        None
    }
}

/// Dialect of hooks: Carillon's own, unless an operator names another.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static dyn Speaks);

/// Authority of servers with a hook: the configured keys, and for what none of them permits the hook.
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
            // A key permits without a question, so that what has one goes on while the hook is down. Listening may need none.
            if self
                .permissions
                .needs_credential(action.into(), request.stream)
            {
                match self.keys.decide(action, request).await {
                    Ok(grant) => return Ok(grant),
                    // The hook did not make it.
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
        // One without a secret is asked about, for it may have to be told that it needs one. Players over RTMP present it in
        // their address.
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
                // What stands for another stream is the publisher's secret, as where stream keys are names.
                let asked_for = grant.stream.as_ref().map(|_| stream.as_str());
                // Listeners are told apart by no credential.
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
                    // Otherwise whoever sends enough clients would be let in.
                    _ if matches!(error, Unanswered::TooMany(_)) => Err(Denied::Unavailable),
                    (HookUnanswered::Allow, Action::Play) => Ok(Grant::to_all()),
                    _ => Err(Denied::Unavailable),
                }
            }
        }
    }
}
