//! The one place that decides who may do what.
//!
//! It owns the registry's only [`Gatekeeper`], so nothing is published, played or administered
//! without a value that was made here. Credentials are compared in constant time. Wrong ones use
//! up a small allowance per address and kind of action; while it is used up nothing that address
//! presents for it is looked at, so that guessing gains nothing.
//!
//! But for what has been right from that address before: a publisher that shares its address with a
//! guesser (behind a NAT or a balancer) comes back all the same. Guesses from other addresses, and
//! for other keys, stay limited. Whoever guesses right behind a publisher's own address is told so at
//! any pace, which is why a key has at least eight characters.

mod attempts;
mod successes;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use fanout::gate::{
    Authorized, Credential, Denied, Gate, Gatekeeper, Play, Presented, Proof, Publish,
    UpdateMetadata,
};
use hmac::{Hmac, KeyInit, Mac};
use media::StreamName;
use sha2::Sha256;

use self::attempts::{Attempts, Kind};
use self::successes::Successes;
use crate::config::{Config, Secret};

/// To use the operator's port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Administer;

/// What shows that somebody knows a secret.
#[derive(Clone, Copy, Debug)]
enum Evidence<'a> {
    /// The secret itself.
    Secret(&'a str),
    /// An answer that only who knows it can give.
    Proof(&'a dyn Proof),
}

impl<'a> Evidence<'a> {
    fn of(presented: &Presented<'a>) -> Option<Self> {
        let secret = presented.secret.and_then(Self::of_text);
        secret.or_else(|| presented.proof.map(Self::Proof))
    }

    fn of_text(text: &'a str) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Secret(text))
    }

    fn fits(self, secret: &Secret) -> bool {
        match self {
            Self::Secret(offered) => secret.matches(offered),
            Self::Proof(proof) => proof.verifies(secret.reveal()),
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Gatehouse {
    config: Arc<Config>,
    gatekeeper: Gatekeeper,
    attempts: Attempts,
    successes: Successes,
    /// Credential ids are keyed with it, so that they tell nothing about the secret.
    id_key: [u8; 32],
}

impl Gatehouse {
    /// Guards by the secrets of `config`, all of which are set by now.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new(
        config: Arc<Config>,
        gatekeeper: Gatekeeper,
    ) -> Result<Self, getrandom::Error> {
        let mut id_key = [0; 32];
        getrandom::fill(&mut id_key)?;
        Ok(Self {
            config,
            gatekeeper,
            attempts: Attempts::default(),
            successes: Successes::default(),
            id_key,
        })
    }

    /// Whether a password is the operator's.
    ///
    /// # Errors
    /// When it is not, or none was presented.
    pub(crate) fn administer(
        &self,
        peer: IpAddr,
        password: Option<&str>,
    ) -> Result<Authorized<Administer>, Denied> {
        let permitted = [self.config.auth.admin_password.as_ref()];
        let evidence = password.and_then(Evidence::of_text);
        self.check(Kind::Administer, peer, evidence, &permitted)?;
        Ok(self.gatekeeper.authorize(Administer))
    }

    /// Lets in where the operator's port is open to everybody who can reach it.
    pub(crate) fn administer_unasked(&self) -> Authorized<Administer> {
        self.gatekeeper.authorize(Administer)
    }

    fn check(
        &self,
        kind: Kind,
        peer: IpAddr,
        evidence: Option<Evidence<'_>>,
        permitted: &[Option<&Secret>],
    ) -> Result<(), Denied> {
        let evidence = evidence.ok_or(Denied::Missing)?;
        let now = Instant::now();
        let is_limited = self.attempts.are_used_up(peer, kind, now);
        // Every secret is compared, so that the time taken does not tell which one fitted.
        let mut fitting = None;
        for secret in permitted.iter().flatten() {
            let credential = self.credential(secret.reveal());
            let may_fit = !is_limited || self.successes.has(peer, kind, credential);
            if may_fit && evidence.fits(secret) {
                fitting = Some(credential);
            }
        }
        match fitting {
            Some(credential) => {
                self.successes.note(peer, kind, credential);
                Ok(())
            }
            None if is_limited => Err(Denied::TooManyAttempts),
            None => {
                self.attempts.failed(peer, kind, now);
                Err(Denied::Wrong)
            }
        }
    }

    /// Permits what this server publishes itself and gives up to whoever shows the stream's key.
    pub(crate) fn publish_until_replaced(&self, stream: &StreamName) -> Authorized<Publish> {
        self.permit_publish(stream)
    }

    /// Permits what this server publishes itself and does not give up: a key replaces it, and is
    /// replaced by it, only where one of them has stalled.
    pub(crate) fn publish_as_nobody(&self, stream: &StreamName) -> Authorized<Publish> {
        self.gatekeeper.authorize(Publish {
            stream: stream.clone(),
            // No key is empty.
            credential: self.credential(""),
        })
    }

    /// Permits this server to send a stream on.
    pub(crate) fn play_unasked(&self, stream: &StreamName) -> Authorized<Play> {
        self.gatekeeper.authorize(Play {
            stream: stream.clone(),
        })
    }

    /// All that show the stream's key, in whatever way, have one credential.
    fn permit_publish(&self, stream: &StreamName) -> Authorized<Publish> {
        let key = self.config.publish_key(stream);
        self.gatekeeper.authorize(Publish {
            stream: stream.clone(),
            credential: self.credential(key.map_or("", Secret::reveal)),
        })
    }

    fn credential(&self, secret: &str) -> Credential {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.id_key).expect("HMAC takes keys of any length");
        mac.update(secret.as_bytes());
        let digest = mac.finalize().into_bytes();
        Credential(
            digest
                .iter()
                .take(8)
                .fold(0, |id, byte| id << 8 | u64::from(*byte)),
        )
    }
}

impl Gate for Gatehouse {
    fn publish(
        &self,
        stream: &StreamName,
        presented: &Presented<'_>,
    ) -> Result<Authorized<Publish>, Denied> {
        let key = self.config.publish_key(stream);
        let evidence = Evidence::of(presented);
        self.check(Kind::Publish, presented.peer.ip(), evidence, &[key])?;
        Ok(self.permit_publish(stream))
    }

    /// Everybody may listen.
    fn play(&self, stream: &StreamName, _: &Presented<'_>) -> Result<Authorized<Play>, Denied> {
        Ok(self.gatekeeper.authorize(Play {
            stream: stream.clone(),
        }))
    }

    fn update_metadata(
        &self,
        stream: &StreamName,
        presented: &Presented<'_>,
    ) -> Result<Authorized<UpdateMetadata>, Denied> {
        let key = self.config.publish_key(stream);
        let password = self.config.auth.admin_password.as_ref();
        let (peer, permitted) = (presented.peer.ip(), [key, password]);
        let evidence = Evidence::of(presented);
        self.check(Kind::UpdateMetadata, peer, evidence, &permitted)?;
        Ok(self.gatekeeper.authorize(UpdateMetadata {
            stream: stream.clone(),
        }))
    }
}

#[cfg(test)]
mod tests;
