//! The authority of servers with a hook: the configured keys, and for what none of them permits the hook.

use std::time::Instant;

use auth_hook::{Asker, Question, Verdict as Answer};
use config::{HookAsks, HookUnanswered};
use fanout::gate::{Action, Denied, Identity, Request, Terms};

use super::authority::{Authority, Fingerprints, Grant, Verdict};
use super::keys::Keys;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Hooked {
    pub(super) keys: Keys,
    pub(super) asker: Asker,
    pub(super) asks: HookAsks,
    pub(super) unanswered: HookUnanswered,
    pub(super) fingerprints: Fingerprints,
}

impl Hooked {
    fn is_asked_about(&self, action: Action) -> bool {
        match (self.asks, action) {
            (HookAsks::All, _) => true,
            (HookAsks::Play, action) => action == Action::Play,
            (HookAsks::Publish, action) => action != Action::Play,
        }
    }

    async fn ask(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        let question = Question {
            action: match action {
                Action::Publish => auth_hook::Action::Publish,
                Action::Play => auth_hook::Action::Play,
                Action::UpdateMetadata => auth_hook::Action::UpdateMetadata,
            },
            stream: request.stream.as_str(),
            protocol: request.protocol,
            peer: request.peer,
            agent: request.agent,
            user: request.user,
            password: request.password,
            token: request.token,
            query: request.query,
            number: self.asker.next_number(),
        };
        match self.asker.ask(&question).await {
            Ok(Answer::Allowed { lifetime, identity }) => {
                let identity = identity.as_deref().and_then(Identity::new);
                let known_by = identity.as_ref().map(Identity::as_str);
                let known_by = known_by.or_else(|| request.secret());
                // Listeners are told apart by no credential.
                let known_by = known_by.filter(|_| action != Action::Play);
                Ok(Grant {
                    credential: known_by.map(|secret| self.fingerprints.of(secret)),
                    terms: Terms {
                        until: lifetime.and_then(|lasts| Instant::now().checked_add(lasts)),
                        identity,
                    },
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
                let presents_nothing = request.secret().is_none() && request.query.is_empty();
                Err(match wants_credential || presents_nothing {
                    true if request.secret().is_none() => Denied::Missing,
                    _ => Denied::Wrong,
                })
            }
            Err(error) => {
                let (stream, peer) = (request.stream, request.peer);
                tracing::warn!(%stream, %peer, ?action, %error, "the hook for permissions gives no answer");
                match (self.unanswered, action) {
                    (HookUnanswered::Allow, Action::Play) => Ok(Grant::to_all()),
                    _ => Err(Denied::Unavailable),
                }
            }
        }
    }
}

impl Authority for Hooked {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        if !self.is_asked_about(action) {
            return self.keys.decide(action, request);
        }
        Box::pin(async move {
            // A key permits without a question, so that what has one goes on while the hook is down. Listening takes none.
            if action != Action::Play
                && let Ok(grant) = self.keys.decide(action, request).await
            {
                return Ok(grant);
            }
            self.ask(action, request).await
        })
    }
}
