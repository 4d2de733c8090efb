//! Verification of signed links: tokens in the parameter `link` of the address, or in place of a key.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use fanout::gate::{Action, Denied, Identity, Request, Terms};
use media::Glob;

use super::players::{Players, Shared};
use crate::authority::{Fingerprints, Grant, moment};
use crate::link::{self, Refused, Wanted};
use crate::secret::Secret;

/// Parameter of the address.
const PARAMETER: &str = "link";

/// Verifier of signed links.
#[derive(Debug)]
pub(super) struct Links {
    secrets: Vec<Secret>,
    fingerprints: Fingerprints,
    players: Arc<Players>,
}

impl Links {
    pub(super) fn new(
        secrets: &[Secret],
        fingerprints: Fingerprints,
        players: Arc<Players>,
    ) -> Self {
        Self {
            secrets: secrets.to_vec(),
            fingerprints,
            players,
        }
    }

    /// Returns the verdict on a request's link; `None` if it presents none, or if links are disabled.
    pub(super) fn judge(
        &self,
        action: Action,
        request: &Request<'_>,
        now: SystemTime,
    ) -> Option<Result<Grant, Denied>> {
        if self.secrets.is_empty() {
            return None;
        }
        let in_query = http1::Query::new(request.query.as_bytes()).get(PARAMETER);
        // For programs with a field for a key or password, but none for an address.
        let as_key = || request.secret().filter(|secret| link::is_meant(secret));
        let token = in_query.or_else(|| as_key().map(str::to_owned))?;
        Some(self.permit(&token, action, request, now))
    }

    fn permit(
        &self,
        token: &str,
        action: Action,
        request: &Request<'_>,
        now: SystemTime,
    ) -> Result<Grant, Denied> {
        let (stream, peer) = (request.stream, request.peer);
        let wanted = Wanted {
            action: action.into(),
            stream,
            address: peer.ip(),
        };
        let secrets = self.secrets.iter().map(Secret::reveal);
        let fits = |pattern: &str| Glob::parse(pattern).is_ok_and(|glob| glob.fits(stream));
        let permitted = link::judge(token, secrets, wanted, fits, now);
        let permitted = permitted.map_err(|refused| {
            tracing::debug!(%stream, %peer, ?action, reason = %refused, "a link is refused");
            match refused {
                Refused::Forged => Denied::Wrong,
                Refused::Expired
                | Refused::OtherAction
                | Refused::OtherStream
                | Refused::OtherAddress => Denied::Unfit,
            }
        })?;
        let until = Some(moment(permitted.expires, now)?);
        let name = permitted.name.as_deref();
        let players_max = permitted.players_max.filter(|_| action == Action::Play);
        let witness = players_max.map(|players_max| {
            // A reissued link with the same name counts with the earlier one.
            let known_by = match name {
                Some(name) => format!("link of {name}"),
                None => format!("link {token}"),
            };
            let shared = Shared {
                credential: self.fingerprints.of(&known_by),
                players_max,
            };
            self.players.admit(shared, request, Instant::now())
        });
        let witness = witness.transpose()?;
        // A reissued link is the same publisher's.
        let known_by = format!("link {:?}", permitted.target);
        Ok(Grant {
            credential: Some(self.fingerprints.of(&known_by)),
            terms: Terms {
                until,
                identity: name.and_then(Identity::new),
            },
            witness,
            ..Grant::to_all()
        })
    }
}
