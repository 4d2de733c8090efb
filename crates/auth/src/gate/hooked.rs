//! The authority of servers with a hook: the configured keys, and for what none of them permits the hook.

use std::sync::{Arc, Weak};
use std::time::{Instant, SystemTime};

use fanout::gate::{Action, Denied, Identity, Ongoing, Request, Terms, Witness};
use fanout::{Fanout, Permit};
use media::StreamName;

use super::attempts::Kind;
use super::authority::{Authority, Fingerprints, Grant, Verdict};
use super::guesses::Guesses;
use super::keys::Keys;
use super::users;
use crate::hook::{Asker, Permitted, Question, Unanswered, Updated, Verdict as Answer};
use crate::settings::{HookAsks, HookUnanswered};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Hooked {
    pub(super) keys: Arc<Keys>,
    pub(super) asker: Arc<Asker>,
    pub(super) asks: HookAsks,
    pub(super) unanswered: HookUnanswered,
    pub(super) guesses: Arc<Guesses>,
    pub(super) fingerprints: Fingerprints,
    /// Whose permissions may end before their time.
    pub(super) fanout: Weak<Fanout>,
}

impl Hooked {
    fn is_asked_about(&self, action: Action, stream: &StreamName) -> bool {
        let is_its_business = match (self.asks, action) {
            (HookAsks::All, _) => true,
            (HookAsks::Play, action) => action == Action::Play,
            (HookAsks::Publish, action) => action != Action::Play,
        };
        is_its_business && self.keys.leave_to_hook(action, stream)
    }

    /// What tells the hook of what it has permitted, if it is to be told.
    fn told(&self, question: &Question<'_>) -> Option<Arc<dyn Witness>> {
        let permitted = Arc::new(self.asker.permitted(question)?);
        Some(Arc::new(Told {
            permitted,
            fanout: Weak::clone(&self.fanout),
        }))
    }

    async fn ask(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        let (kind, peer) = (Kind::of(action), request.peer.ip());
        let presented = self.fingerprints.of_presented(request);
        // One without a secret is asked about, for it may have to be told that it needs one.
        let presents_secret = presents_secret(request);
        let secret = presented.filter(|_| presents_secret);
        if secret.is_some_and(|secret| !self.guesses.may_try(peer, kind, secret)) {
            return Err(Denied::TooManyAttempts);
        }
        let time = http1::iso8601_millis(SystemTime::now());
        let headers = request.headers.map_or_else(Vec::new, |headers| {
            self.asker.passed(|name| headers.header(name))
        });
        let question = Question {
            action,
            stream: request.stream.as_str(),
            protocol: request.protocol,
            peer: request.peer,
            agent: request.agent,
            user: request.user,
            password: request.password,
            token: request.token,
            query: request.query,
            headers: &headers,
            time: &time,
            number: self.asker.next_number(),
        };
        match self.asker.ask(&question).await {
            Ok(Answer::Allowed {
                lifetime,
                identity,
                stream,
            }) => {
                let stream = stream.map(|name| renamed(request, &name)).transpose()?;
                let identity = identity.as_deref().and_then(Identity::new);
                let known_by = identity.as_ref().map(Identity::as_str);
                let known_by = known_by.or_else(|| request.secret());
                // What stands for another stream is the publisher's secret, as where stream keys are names.
                let asked_for = stream.as_ref().map(|_| request.stream.as_str());
                // Listeners are told apart by no credential.
                let known_by = known_by.or(asked_for).filter(|_| action != Action::Play);
                Ok(Grant {
                    credential: known_by.map(|secret| self.fingerprints.of(secret)),
                    presented,
                    terms: Terms {
                        until: lifetime.and_then(|lasts| Instant::now().checked_add(lasts)),
                        identity,
                    },
                    stream,
                    witness: self.told(&question),
                })
            }
            Ok(Answer::Denied {
                reason,
                wants_credential,
            }) => {
                if let Some(reason) = reason {
                    let (stream, peer) = (request.stream, request.peer);
                    tracing::info!(%stream, %peer, ?action, ?reason, "the hook denies");
                }
                let may_lack_one = wants_credential || presented.is_none();
                Err(match may_lack_one && !presents_secret {
                    true => Denied::Missing,
                    false => Denied::Wrong,
                })
            }
            Err(error) => {
                let (stream, peer) = (request.stream, request.peer);
                tracing::warn!(%stream, %peer, ?action, %error, "the hook for permissions gives no answer");
                match (self.unanswered, action) {
                    // Otherwise whoever sends enough clients would be let in.
                    _ if matches!(error, Unanswered::TooMany(_)) => Err(Denied::Unavailable),
                    (HookUnanswered::Allow, Action::Play) => Ok(Grant::to_all()),
                    _ => Err(Denied::Unavailable),
                }
            }
        }
    }
}

/// Whether a client presents a secret, in a field of its protocol or, as players over RTMP do, in its address.
fn presents_secret(request: &Request<'_>) -> bool {
    request.secret().is_some() || users::presented(request).is_some()
}

/// The stream that the hook has put in the place of the one that was asked for.
///
/// # Errors
/// When its name is none, or reserved: the hook has answered nothing that could be done.
fn renamed(request: &Request<'_>, name: &str) -> Result<StreamName, Denied> {
    let stream = StreamName::parse(name).ok();
    stream.filter(|name| !name.is_reserved()).ok_or_else(|| {
        let (stream, peer) = (request.stream, request.peer);
        tracing::warn!(%stream, %peer, ?name, "the hook for permissions renames a stream to what is no stream's name");
        Denied::Unavailable
    })
}

/// Has the hook told of what it has permitted, while it goes on and when it has ended.
#[derive(Debug)]
struct Told {
    permitted: Arc<Permitted>,
    fanout: Weak<Fanout>,
}

impl Witness for Told {
    fn begin(&self, ongoing: Ongoing) -> Permit {
        let fanout = Weak::clone(&self.fanout);
        let updated = match ongoing {
            Ongoing::Listener(listener) => self.permitted.begun(move || {
                if let Some(fanout) = fanout.upgrade() {
                    fanout.directory().end_permission(listener, Instant::now());
                }
            }),
            Ongoing::Publication(revocation) => self.permitted.begun(move || revocation.revoke()),
            // The hook counts listeners: of what is no listener it is told while it goes on, and of no end.
            Ongoing::Beside(revocation) => {
                return Permit::new(self.permitted.begun(move || revocation.revoke()));
            }
        };
        Permit::new(Permission {
            permitted: Arc::clone(&self.permitted),
            _updated: updated,
            since: Instant::now(),
        })
    }
}

/// What is permitted, while it goes on.
struct Permission {
    permitted: Arc<Permitted>,
    _updated: Option<Updated>,
    since: Instant,
}

impl Drop for Permission {
    fn drop(&mut self) {
        let time = http1::iso8601_millis(SystemTime::now());
        self.permitted.ended(self.since.elapsed(), time);
    }
}

impl Authority for Hooked {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        if !self.is_asked_about(action, request.stream) {
            return self.keys.decide(action, request);
        }
        Box::pin(async move {
            // A key permits without a question, so that what has one goes on while the hook is down. Listening may need none.
            if self.keys.are_needed(action, request.stream) {
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
