//! The built-in authority: keys to publish, a password for titles, and free listening.

use std::future::ready;
use std::sync::Arc;

use config::{Config, PublishKey, Secret};
use fanout::gate::{Action, Denied, Proof, Request, Terms};

use super::authority::{Authority, Fingerprints, Grant, Verdict};

/// See the module's description. It answers at once.
#[derive(Debug)]
pub(super) struct Keys {
    config: Arc<Config>,
    fingerprints: Fingerprints,
}

impl Keys {
    /// With the secrets of `config`, all of which are set by now.
    pub(super) fn new(config: Arc<Config>, fingerprints: Fingerprints) -> Self {
        Self {
            config,
            fingerprints,
        }
    }

    fn judge(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        if action == Action::Play {
            return Ok(Grant::to_all());
        }
        let evidence = Evidence::of(request).ok_or(Denied::Missing)?;
        let password = self.config.auth.admin_password.as_ref();
        let password = password.filter(|_| action == Action::UpdateMetadata);
        let password = password.map(|secret| PublishKey { name: None, secret });
        // Every secret is compared, so that the time does not reveal which one matched.
        let mut fitting = None;
        for key in self.config.publish_keys(request.stream).chain(password) {
            if evidence.fits(key.secret) {
                fitting = Some(key);
            }
        }
        let key = fitting.ok_or(Denied::Wrong)?;
        Ok(Grant {
            // The same key gives the same credential, however it was presented.
            credential: Some(self.fingerprints.of(key.secret.reveal())),
            terms: Terms {
                until: None,
                identity: key.name.cloned(),
            },
        })
    }
}

impl Authority for Keys {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(ready(self.judge(action, request)))
    }
}

/// What proves that a client knows a secret.
#[derive(Clone, Copy, Debug)]
enum Evidence<'a> {
    /// The secret itself.
    Secret(&'a str),
    /// An answer to a challenge, which only a client that knows the secret can give.
    Proof(&'a dyn Proof),
}

impl<'a> Evidence<'a> {
    fn of(request: &Request<'a>) -> Option<Self> {
        let secret = request.secret().map(Self::Secret);
        secret.or_else(|| request.proof.map(Self::Proof))
    }

    fn fits(self, secret: &Secret) -> bool {
        match self {
            Self::Secret(offered) => secret.matches(offered),
            Self::Proof(proof) => proof.verifies(secret.reveal()),
        }
    }
}
