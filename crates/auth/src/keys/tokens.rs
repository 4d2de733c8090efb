//! Verification of JSON Web Tokens: in place of a key, as a Bearer token, a password, or a parameter of the address.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use fanout::gate::{Action, Denied, Identity, Request, Terms};
use media::{Glob, StreamName};
use net::link::Connector;

use super::jwks::{Current, Jwks};
use super::players::{Players, Shared};
use super::signatures::{Signatures, Unverified};
use crate::authority::{Fingerprints, Grant, Tried, moment};
use crate::files::read_token_keys;
use crate::jwt::{self, Claims, KeySet, Refused, Streams};
use crate::proof::Scope;
use crate::settings::AuthJwt;
use crate::watched::Watched;

/// Parameter of the address.
const PARAMETER: &str = "jwt";

/// Verifier of tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    secret: Option<Arc<KeySet>>,
    pub(super) file: Watched<KeySet>,
    published: Option<Jwks>,
    pub(super) signatures: Signatures,
    fingerprints: Fingerprints,
    players: Arc<Players>,
    is_used: bool,
}

impl Tokens {
    pub(super) fn new(
        jwt: &AuthJwt,
        fingerprints: Fingerprints,
        players: Arc<Players>,
        connector: &Connector,
    ) -> Self {
        let begin = |url: &_| Jwks::begin(Clone::clone(url), connector.clone());
        Self {
            secret: jwt
                .secret
                .as_ref()
                .map(|secret| Arc::new(KeySet::of_secret(secret.reveal()))),
            file: Watched::new(jwt.jwks_file.as_deref(), "keys of tokens", read_token_keys),
            published: jwt.jwks_url.as_ref().map(begin),
            signatures: Signatures::new(jwt.rules.clone(), fingerprints.clone()),
            fingerprints,
            players,
            is_used: jwt.is_used(),
        }
    }

    /// Returns the verdict on a request's token; `None` if it presents none, or if tokens are disabled.
    pub(super) async fn judge(
        &self,
        action: Action,
        request: &Request<'_>,
        by: Tried<'_>,
    ) -> Option<Result<Grant, Denied>> {
        let in_query = http1::Query::new(request.query.as_bytes()).get(PARAMETER);
        let in_query = in_query.filter(|_| self.is_used);
        let token = in_query.as_deref();
        let token = token.or_else(|| self.presented(request.secret()))?;
        let stream = request.stream;
        let is_for = |streams: &Streams| is_for(streams, stream);
        Some(
            self.permit(token, action.into(), is_for, Some(request), by)
                .await,
        )
    }

    /// Returns the verdict on a token presented to the operator's port; `None` as for [`judge`](Self::judge).
    pub(super) async fn administer(
        &self,
        by: Tried<'_>,
        secret: &str,
    ) -> Option<Result<Grant, Denied>> {
        let token = self.presented(Some(secret))?;
        let is_for_all = |streams: &Streams| match streams {
            Streams::All => true,
            Streams::Pattern(pattern) => pattern == "**",
            Streams::Named(_) | Streams::Expression(_) => false,
        };
        Some(self.permit(token, Scope::Admin, is_for_all, None, by).await)
    }

    fn presented<'a>(&self, secret: Option<&'a str>) -> Option<&'a str> {
        secret.filter(|secret| self.is_used && jwt::is_meant(secret))
    }

    async fn permit(
        &self,
        token: &str,
        scope: Scope,
        is_for: impl FnMut(&Streams) -> bool,
        request: Option<&Request<'_>>,
        by: Tried<'_>,
    ) -> Result<Grant, Denied> {
        let now = SystemTime::now();
        let permitted = self.verified(token, now, by).await.and_then(|claims| {
            let permission = claims.permission(scope, is_for).cloned();
            let permission = permission.ok_or(Refused::NotPermitted)?;
            Ok((claims, permission))
        });
        let (claims, permission) = permitted.map_err(|refused: Unverified| {
            let (stream, peer) = (request.map(|request| request.stream.as_str()), by.peer);
            tracing::debug!(stream, %peer, ?scope, reason = %refused, "a token is refused");
            self.denied(refused)
        })?;
        let witness = match (permission.players_max, request) {
            (Some(players_max), Some(request)) if scope == Scope::Play => {
                // A reissued token for the same subject counts with the earlier one.
                let known_by = match (&claims.subject, &claims.id) {
                    (Some(subject), _) => format!("token of {subject}"),
                    (None, Some(id)) => format!("token {id}"),
                    (None, None) => format!("token {token}"),
                };
                let shared = Shared {
                    credential: self.fingerprints.of(&known_by),
                    players_max,
                };
                Some(self.players.admit(shared, request, Instant::now())?)
            }
            _ => None,
        };
        // A reissued token is the same publisher's.
        let known_by = match &claims.subject {
            Some(subject) => format!("token of {subject}"),
            None => format!("token for {:?}", permission.streams),
        };
        Ok(Grant {
            credential: Some(self.fingerprints.of(&known_by)),
            terms: Terms {
                until: Some(moment(claims.expires, now)?),
                identity: claims.subject.as_deref().and_then(Identity::new),
            },
            witness,
            ..Grant::to_all()
        })
    }

    /// Returns a token's claims. A token that names an unknown key waits for the issuer's newest keys.
    async fn verified(
        &self,
        token: &str,
        now: SystemTime,
        by: Tried<'_>,
    ) -> Result<Arc<Claims>, Unverified> {
        let published = self.published.as_ref();
        let sets = self.sets(published.and_then(Jwks::current));
        let claims = self.signatures.verify(token, &sets, now, by).await;
        match (claims, published) {
            (Err(Unverified::Refused(Refused::UnknownKey)), Some(published)) => {
                let sets = self.sets(published.newer().await);
                self.signatures.verify(token, &sets, now, by).await
            }
            (claims, _) => claims,
        }
    }

    /// Returns the current sets of keys.
    fn sets(&self, published: Current) -> Vec<Arc<KeySet>> {
        let file = [self.file.content()];
        self.secret
            .iter()
            .cloned()
            .chain(file)
            .chain(published)
            .collect()
    }

    /// Maps a refusal to a denial: a guess, a right token that is unfit, or an issuer whose keys have not arrived yet.
    fn denied(&self, unverified: Unverified) -> Denied {
        let has_none_yet = |published: &Jwks| published.current().is_none();
        let refused = match unverified {
            Unverified::Refused(refused) => refused,
            Unverified::Busy => return Denied::Unavailable,
            Unverified::Limited => return Denied::TooManyAttempts,
        };
        match refused {
            Refused::UnknownKey if self.published.as_ref().is_some_and(has_none_yet) => {
                Denied::Unavailable
            }
            Refused::Forged | Refused::UnknownKey => Denied::Wrong,
            Refused::Expired
            | Refused::NotYet
            | Refused::Claim(_)
            | Refused::OtherIssuer
            | Refused::OtherAudience
            | Refused::NotPermitted => Denied::Unfit,
        }
    }
}

/// Whether a permission is for a stream, or for one that it is a rendition of.
fn is_for(streams: &Streams, stream: &StreamName) -> bool {
    stream.with_parents().any(|name| {
        let name = name.as_str();
        let fits = |pattern: &str| Glob::parse(pattern).is_ok_and(|glob| glob.matches(name));
        streams.contain(name, fits)
    })
}
