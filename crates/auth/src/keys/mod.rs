//! Built-in authority: keys, users, signed links, tokens, an admin password for titles, and open listening where configured.

mod hashes;
mod holders;
mod jwks;
mod links;
mod players;
mod signatures;
mod tokens;
mod users;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use base::Labelled;
use fanout::gate::{Action, Denied, Identity, Proof, Request, Terms};
use media::StreamName;
use net::link::Connector;

use self::hashes::Hashes;
use self::holders::{Holders, KeyId};
use self::links::Links;
use self::players::Players;
pub use self::signatures::SignatureResult;
use self::tokens::Tokens;
use self::users::UserFiles;
use crate::authority::{
    Authority, Ender, Fingerprints, Grant, Guesses, Tried, Verdict, moment, name_and_password,
};
use crate::proof::{KeyHash, Scope};
use crate::secret::Secret;
use crate::settings::{Key, KeyRule, KeySecretRef, Permissions};
use crate::watched::Watched;

/// Built-in authority. It answers at once, unless a secret must be compared with hashes, a costly token signature verified, or
/// an unknown token key fetched.
#[derive(Debug)]
pub(crate) struct Keys {
    permissions: Arc<dyn Permissions>,
    fingerprints: Fingerprints,
    /// Guess counts, shared with the gate.
    guesses: Arc<Guesses>,
    /// Keys of the file, and the sessions that use them.
    holders: Arc<Holders>,
    hashes: Hashes,
    links: Links,
    tokens: Tokens,
    users: UserFiles,
}

impl Keys {
    /// Makes an authority with the secrets of a configuration. `ender` ends permissions before their time.
    pub(crate) fn new(
        permissions: Arc<dyn Permissions>,
        fingerprints: Fingerprints,
        guesses: Arc<Guesses>,
        ender: &Ender,
        connector: &Connector,
    ) -> Self {
        let auth = permissions.auth();
        let players = Arc::new(Players::new(ender.clone()));
        let holders = Holders::new(&permissions, fingerprints.clone(), ender.clone());
        let links = Links::new(
            &auth.link_secrets,
            fingerprints.clone(),
            Arc::clone(&players),
        );
        let tokens = Tokens::new(&auth.jwt, fingerprints.clone(), players, connector);
        Self {
            holders: Arc::new(holders),
            users: UserFiles::new(auth),
            hashes: Hashes::new(fingerprints.clone()),
            links,
            tokens,
            permissions,
            fingerprints,
            guesses,
        }
    }

    /// Rereads the files that have changed. May wait for a disk.
    pub(crate) fn look(&self) {
        self.holders.look();
        self.tokens.file.look();
        self.users.files().for_each(Watched::look);
    }

    /// Rereads all files and describes the result for each. May wait for a disk.
    pub(crate) fn read_again(&self) -> impl Iterator<Item = String> {
        let keys = [self.holders.read_again(), self.tokens.file.read_again()];
        let users = self.users.files().map(Watched::read_again);
        keys.into_iter().chain(users).flatten()
    }

    pub(crate) const fn signature_counts(&self) -> &Labelled<SignatureResult> {
        &self.tokens.signatures.counts
    }

    /// Checks that a secret is an administrator's key or token.
    ///
    /// # Errors
    /// Fails when it is not.
    pub(crate) async fn administer(&self, peer: IpAddr, secret: &str) -> Result<Grant, Denied> {
        let by = Tried {
            peer,
            scope: Scope::Admin,
            guesses: &self.guesses,
        };
        if let Some(verdict) = self.tokens.administer(by, secret).await {
            return verdict;
        }
        let further = self.holders.keys();
        let keys = self.permissions.auth().keys.iter().chain(&*further);
        let keys = keys.filter_map(|key| key.for_scope(Scope::Admin));
        let evidence = Some(Evidence::Secret(secret));
        let chosen = self.choose(evidence, keys, Vec::new(), by).await;
        chosen.map(|(grant, _)| grant)
    }

    async fn judge(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        if !self
            .permissions
            .needs_credential(action.into(), request.stream)
        {
            return Ok(Grant::to_all());
        }
        if let Some(verdict) = self.links.judge(action, request, SystemTime::now()) {
            return verdict;
        }
        let by = Tried {
            peer: request.peer.ip(),
            scope: action.into(),
            guesses: &self.guesses,
        };
        if let Some(verdict) = self.tokens.judge(action, request, by).await {
            return verdict;
        }
        let further = self.holders.keys();
        let keys = fitting(&*self.permissions, &further, action, request.stream);
        let evidence = Evidence::of(request);
        let user = name_and_password(request);
        if evidence.is_none() && user.is_none() {
            return Err(Denied::Missing);
        }
        let of_users = user.map_or_else(Vec::new, |(user, password)| {
            let users = &self.users;
            users.candidates(&user, &password, action.into(), request.stream)
        });
        let (grant, key) = self.choose(evidence, keys, of_users, by).await?;
        let witness = key.and_then(|key| self.holders.witness(key, action, request));
        Ok(Grant { witness, ..grant })
    }

    /// Returns the permission of the proven key or user, and the key's identifier.
    async fn choose<'a>(
        &self,
        evidence: Option<Evidence<'_>>,
        keys: impl Iterator<Item = Key<'a>>,
        of_users: Vec<Hashed<'a>>,
        by: Tried<'_>,
    ) -> Result<(Grant, Option<KeyId>), Denied> {
        // Every plain secret is compared, so that the time does not reveal which one matched.
        let mut plain = None;
        let mut hashed = of_users;
        for key in keys {
            match (key.secret, evidence) {
                (KeySecretRef::Plain(secret), Some(evidence)) => {
                    if evidence.fits(secret) {
                        plain = Some((secret.reveal().to_owned(), key));
                    }
                }
                (KeySecretRef::Hash(hash), Some(Evidence::Secret(offered))) => {
                    hashed.push(Hashed {
                        hash: hash.clone(),
                        secret: offered.to_owned(),
                        owner: Owner::Key(key),
                    });
                }
                // A hash cannot verify the answer to a challenge.
                (_, None | Some(Evidence::Proof(_))) => {}
            }
        }
        if let Some((secret, key)) = plain {
            return self.grant(&secret, key);
        }
        hashed.sort_by_key(|one| matches!(one.owner, Owner::Nobody));
        let pairs = hashed.iter();
        let pairs = pairs.map(|one| (one.hash.clone(), one.secret.clone()));
        let found = self.hashes.find(pairs.collect(), by).await?;
        let found = found.and_then(|at| hashed.into_iter().nth(at));
        match found.map(|one| (one.owner, one.secret)) {
            Some((Owner::Key(key), secret)) => self.grant(&secret, key),
            Some((Owner::User(user), _)) => {
                let grant = Grant {
                    credential: Some(self.fingerprints.of(&format!("user {user}"))),
                    terms: Terms {
                        until: None,
                        identity: Identity::new(&user),
                    },
                    ..Grant::to_all()
                };
                Ok((grant, None))
            }
            Some((Owner::Nobody, _)) | None => Err(Denied::Wrong),
        }
    }

    /// Returns the permission of a key with this secret.
    fn grant(&self, secret: &str, key: Key<'_>) -> Result<(Grant, Option<KeyId>), Denied> {
        let until = key
            .expires
            .map(|expires| moment(expires, SystemTime::now()))
            .transpose()?;
        let grant = Grant {
            // One key gives one credential, however it was presented.
            credential: Some(self.fingerprints.of(secret)),
            terms: Terms {
                until,
                identity: key.name.cloned(),
            },
            ..Grant::to_all()
        };
        Ok((grant, Some(self.fingerprints.of_key(key.secret))))
    }
}

/// Returns the keys that permit an action, of the configuration and of `further`; titles may also be set with the operator's.
/// Some may have expired.
pub fn fitting<'a>(
    permissions: &'a dyn Permissions,
    further: &'a [KeyRule],
    action: Action,
    stream: &'a StreamName,
) -> impl Iterator<Item = Key<'a>> {
    let is_title = action == Action::UpdateMetadata;
    let password = permissions.auth().admin_password.as_ref();
    let password = password.filter(|_| is_title).map(|secret| Key {
        name: None,
        secret: KeySecretRef::Plain(secret),
        expires: None,
    });
    let named = permissions.auth().keys.iter().chain(further);
    let operators = named.filter_map(|key| key.for_scope(Scope::Admin));
    let operators = operators.filter(move |_| is_title);
    let keys = permissions.keys_for(action.into(), stream, further);
    keys.chain(operators).chain(password)
}

/// Hash to compare with a secret.
struct Hashed<'a> {
    hash: KeyHash,
    secret: String,
    owner: Owner<'a>,
}

/// Owner of a hash.
enum Owner<'a> {
    Key(Key<'a>),
    User(String),
    /// Nobody: the hash is compared only to take the usual time.
    Nobody,
}

impl Authority for Keys {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(self.judge(action, request))
    }
}

/// Proof that a client knows a secret.
#[derive(Clone, Copy, Debug)]
enum Evidence<'a> {
    /// The secret itself.
    Secret(&'a str),
    /// Answer to a challenge, which only a client that knows the secret can give.
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
