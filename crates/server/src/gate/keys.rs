//! The built-in authority: keys, users, signed links, tokens, a password for titles, and listening that is free where it is configured
//! so.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use authority::{KeyHash, Scope};
use config::{Config, Key, KeySecretRef, PlayAccess, Secret};
use fanout::gate::{Action, Denied, Identity, Proof, Request, Terms};
use media::StreamName;
use net::link::Connector;

use super::attempts::{Attempts, Kind};
use super::authority::{Authority, Fingerprints, Grant, Verdict};
use super::hashes::Hashes;
use super::holders::{Holders, KeyId};
use super::links::Links;
use super::players::Players;
use super::signatures::SignatureCounts;
use super::tokens::Tokens;
use super::users::{self, UserFiles};
use super::watched::Watched;

/// See the module's description. It answers at once, unless a key is to be compared with hashes, or a token names one that is not
/// known.
#[derive(Debug)]
pub(super) struct Keys {
    config: Arc<Config>,
    fingerprints: Fingerprints,
    /// Shared with the gate, which counts them.
    attempts: Arc<Attempts>,
    /// The keys of the file, and who uses them.
    holders: Arc<Holders>,
    hashes: Hashes,
    links: Links,
    tokens: Tokens,
    users: UserFiles,
}

impl Keys {
    /// With the secrets of `config`, all of which are set by now.
    pub(super) fn new(
        config: Arc<Config>,
        fingerprints: Fingerprints,
        attempts: Arc<Attempts>,
        (players, holders): (&Arc<Players>, Holders),
        connector: &Connector,
    ) -> Self {
        let links = Links::new(
            &config.auth.link_secrets,
            fingerprints.clone(),
            Arc::clone(players),
        );
        let tokens = Tokens::new(
            &config.auth.jwt,
            fingerprints.clone(),
            Arc::clone(players),
            connector,
        );
        Self {
            holders: Arc::new(holders),
            users: UserFiles::new(&config.auth),
            hashes: Hashes::new(fingerprints.clone()),
            links,
            tokens,
            config,
            fingerprints,
            attempts,
        }
    }

    /// Reads its files again that have changed. It may wait for a disk.
    pub(super) fn look(&self) {
        self.holders.look();
        self.tokens.file().look();
        self.users.files().for_each(Watched::look);
    }

    /// Reads its files again, and says what has become of each. It may wait for a disk.
    pub(super) fn read_again(&self) -> impl Iterator<Item = String> {
        let keys = [self.holders.read_again(), self.tokens.file().read_again()];
        let users = self.users.files().map(Watched::read_again);
        keys.into_iter().chain(users).flatten()
    }

    pub(super) const fn signature_counts(&self) -> &SignatureCounts {
        self.tokens.counts()
    }

    /// Whether a client has to present something to listen to a stream.
    pub(super) fn are_needed(&self, action: Action, stream: &StreamName) -> bool {
        action != Action::Play || self.config.play_access(stream) == PlayAccess::Key
    }

    /// Whether a hook may permit what none of them does.
    pub(super) fn leave_to_hook(&self, action: Action, stream: &StreamName) -> bool {
        let scope = match action {
            Action::Publish => Scope::Publish,
            Action::Play => Scope::Play,
            Action::UpdateMetadata => Scope::Metadata,
        };
        self.config.asks_hook(scope, stream)
    }

    /// Whether a secret is that of a key for administrators.
    ///
    /// # Errors
    /// When it is not.
    pub(super) async fn administer(
        &self,
        peer: std::net::IpAddr,
        secret: &str,
    ) -> Result<Grant, Denied> {
        if let Some(verdict) = self.tokens.administer(peer, secret).await {
            return verdict;
        }
        let further = self.holders.keys();
        let keys = self.config.auth.keys.iter().chain(&*further);
        let keys = keys.filter_map(|key| key.for_scope(Scope::Admin));
        let is_limited = || {
            let now = Instant::now();
            self.attempts.are_used_up(peer, Kind::Administer, now)
        };
        let chosen = self
            .choose(Evidence::Secret(secret), keys, is_limited)
            .await;
        chosen.map(|(grant, _)| grant)
    }

    async fn judge(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        if !self.are_needed(action, request.stream) {
            return Ok(Grant::to_all());
        }
        if let Some(verdict) = self.links.judge(action, request, SystemTime::now()) {
            return verdict;
        }
        if let Some(verdict) = self.tokens.judge(action, request).await {
            return verdict;
        }
        let (scope, also) = match action {
            Action::Publish => (Scope::Publish, None),
            Action::Play => (Scope::Play, None),
            Action::UpdateMetadata => (Scope::Metadata, Some(Scope::Admin)),
        };
        let password = self.config.auth.admin_password.as_ref();
        let password = password.filter(|_| action == Action::UpdateMetadata);
        let password = password.map(|secret| Key {
            name: None,
            secret: KeySecretRef::Plain(secret),
            expires: None,
        });
        let further = self.holders.keys();
        let keys = self.config.keys_for(scope, request.stream, &further);
        let named = self.config.auth.keys.iter().chain(&*further);
        let operators = named.filter_map(|key| key.for_scope(also?));
        let is_limited = || {
            let (peer, kind) = (request.peer.ip(), Kind::of(action));
            self.attempts.are_used_up(peer, kind, Instant::now())
        };
        let keys = keys.chain(operators).chain(password);
        if let Some(grant) = self.user(scope, request, is_limited).await? {
            return Ok(grant);
        }
        match Evidence::of(request) {
            Some(evidence) => {
                let (grant, key) = self.choose(evidence, keys, is_limited).await?;
                Ok(Grant {
                    witness: self.holders.witness(key, action, request),
                    ..grant
                })
            }
            // Of users alone, whose password was looked at.
            None if users::presented(request).is_some() => Err(Denied::Wrong),
            None => Err(Denied::Missing),
        }
    }

    /// The permission of the user that a request names, if the password is theirs. Another may still be a key.
    async fn user(
        &self,
        scope: Scope,
        request: &Request<'_>,
        is_limited: impl FnOnce() -> bool,
    ) -> Result<Option<Grant>, Denied> {
        let Some((user, password)) = users::presented(request) else {
            return Ok(None);
        };
        let hashes = self.users.hashes(&user, scope, request.stream);
        if hashes.is_empty() {
            return Ok(None);
        }
        let found = self.hashes.find(&password, hashes, is_limited).await?;
        Ok(found.map(|_| Grant {
            credential: Some(self.fingerprints.of(&format!("user {user}"))),
            terms: Terms {
                until: None,
                identity: Identity::new(&user),
            },
            ..Grant::to_all()
        }))
    }

    /// The permission of the key that the evidence fits, and which key that is.
    async fn choose(
        &self,
        evidence: Evidence<'_>,
        keys: impl Iterator<Item = Key<'_>>,
        is_limited: impl FnOnce() -> bool,
    ) -> Result<(Grant, KeyId), Denied> {
        // Every secret is compared, so that the time does not reveal which one matched.
        let mut fitting = None;
        let mut hashed: Vec<Hashed> = Vec::new();
        for key in keys {
            match (key.secret, evidence) {
                (KeySecretRef::Plain(secret), evidence) => {
                    if evidence.fits(secret) {
                        let id = self.fingerprints.of_key(key.secret);
                        let secret = secret.reveal().to_owned();
                        fitting = Some((secret, id, key.name.cloned(), key.expires));
                    }
                }
                (KeySecretRef::Hash(hash), Evidence::Secret(_)) => hashed.push(Hashed {
                    hash: hash.clone(),
                    name: key.name.cloned(),
                    expires: key.expires,
                }),
                // A hash proves nothing about the answer to a challenge.
                (KeySecretRef::Hash(_), Evidence::Proof(_)) => {}
            }
        }
        if fitting.is_none()
            && let Evidence::Secret(secret) = evidence
            && !hashed.is_empty()
        {
            let hashes = hashed.iter().map(|key| key.hash.clone()).collect();
            let found = self.hashes.find(secret, hashes, is_limited).await?;
            let key = found.map(|at| hashed.swap_remove(at));
            fitting = key.map(|key| {
                let id = self.fingerprints.of_key(KeySecretRef::Hash(&key.hash));
                (secret.to_owned(), id, key.name, key.expires)
            });
        }
        let (secret, key, identity, expires) = fitting.ok_or(Denied::Wrong)?;
        let grant = Grant {
            // The same key gives the same credential, however it was presented.
            credential: Some(self.fingerprints.of(&secret)),
            terms: Terms {
                until: expires
                    .map(|expires| moment(expires, SystemTime::now()))
                    .transpose()?,
                identity,
            },
            ..Grant::to_all()
        };
        Ok((grant, key))
    }
}

/// A key of which there is a hash, for the time that it takes to compare it.
struct Hashed {
    hash: KeyHash,
    name: Option<Identity>,
    expires: Option<SystemTime>,
}

/// When a permission ends by the monotonic clock, which goes on where the other is set.
///
/// # Errors
/// When that is over.
pub(super) fn moment(expires: SystemTime, now: SystemTime) -> Result<Instant, Denied> {
    let left = expires.duration_since(now).ok();
    let left = left.filter(|left| !left.is_zero()).ok_or(Denied::Unfit)?;
    let far = Instant::now() + std::time::Duration::from_secs(FAR_SECONDS);
    Ok(Instant::now()
        .checked_add(left)
        .map_or(far, |end| end.min(far)))
}

/// Ends later than this, in seconds, come then: ten years, within which the server is started again.
const FAR_SECONDS: u64 = 10 * 366 * 24 * 3600;

impl Authority for Keys {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(self.judge(action, request))
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
