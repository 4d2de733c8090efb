//! Keys that verify tokens: a secret, or the public keys of a set (RFC 7517).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::KEYS_TRIED_MAX;

/// Most keys of a set; an issuer has two or three at a time.
pub const KEYS_MAX: usize = 32;

/// Keys from one source.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

/// Reason why a text is not a set of keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysRejected {
    /// The text is not a JSON object with an array `keys`.
    #[error("is no JSON Web Key Set: {0}")]
    Syntax(#[from] serde_json::Error),
    /// None of the keys can be used.
    #[error("has no public key for signatures that can be used (RSA, P-256, P-384 or Ed25519)")]
    None,
    /// There are too many keys.
    #[error("has more than {KEYS_MAX} keys")]
    TooMany,
    /// There are too many keys without a name.
    #[error(
        "has more than {KEYS_TRIED_MAX} keys without a `kid`, and a token is tried with no more"
    )]
    Nameless,
}

/// Key with the algorithms it is for.
#[derive(Clone)]
pub(super) struct Key {
    id: Option<String>,
    algorithms: &'static [Algorithm],
    decoding: DecodingKey,
}

// Shows no secret.
base::debug!(Key { id, algorithms });

#[derive(serde::Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Makes an HMAC key (HS256, HS384, HS512). It has no name, and is tried for tokens with any key name.
    pub fn of_secret(secret: &str) -> Self {
        Self(vec![Key {
            id: None,
            algorithms: &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512],
            decoding: DecodingKey::from_secret(secret.as_bytes()),
        }])
    }

    /// Parses a set. Keys for other purposes or of an unknown kind are left out (RFC 7517 §5); so are secrets, which have no
    /// place in a published document.
    ///
    /// # Errors
    /// Fails when no key can be used, or there are too many.
    pub fn parse(document: &[u8]) -> Result<Self, KeysRejected> {
        let document: Document = serde_json::from_slice(document)?;
        if document.keys.len() > KEYS_MAX {
            return Err(KeysRejected::TooMany);
        }
        let keys = document.keys.into_iter().filter_map(Key::of);
        let keys: Vec<_> = keys.collect();
        let nameless = keys.iter().filter(|key| !key.is_named()).count();
        match nameless {
            _ if keys.is_empty() => Err(KeysRejected::None),
            _ if nameless > KEYS_TRIED_MAX => Err(KeysRejected::Nameless),
            _ => Ok(Self(keys)),
        }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys that may have signed a token with this key name, or without one.
    pub(super) fn named(&self, id: Option<&str>) -> impl Iterator<Item = &Key> {
        self.0.iter().filter(move |key| match (id, &key.id) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => true,
        })
    }
}

impl Key {
    /// Reads a key; `None` for one that cannot be used.
    fn of(value: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let common = &jwk.common;
        let is_for_signatures = common
            .public_key_use
            .as_ref()
            .is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
        let verifies = common
            .key_operations
            .as_ref()
            .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        if !is_for_signatures || !verifies {
            return None;
        }
        let of_kind: &'static [Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[
                Algorithm::RS256,
                Algorithm::RS384,
                Algorithm::RS512,
                Algorithm::PS256,
                Algorithm::PS384,
                Algorithm::PS512,
            ],
            AlgorithmParameters::EllipticCurve(point) => match point.curve {
                EllipticCurve::P256 => &[Algorithm::ES256],
                EllipticCurve::P384 => &[Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            _ => return None,
        };
        let algorithms = match common.key_algorithm {
            // A key that names its algorithm is only for that one.
            Some(named) => {
                let named = Algorithm::try_from(named).ok()?;
                let at = of_kind.iter().position(|algorithm| *algorithm == named)?;
                &of_kind[at..=at]
            }
            None => of_kind,
        };
        Some(Self {
            algorithms,
            decoding: DecodingKey::from_jwk(&jwk).ok()?,
            id: jwk.common.key_id,
        })
    }

    pub(super) const fn is_named(&self) -> bool {
        self.id.is_some()
    }

    pub(super) fn takes(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    pub(super) const fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}
