//! Authorization gate: the only module that grants permissions.
//!
//! It owns the registry's only [`Gatekeeper`], so nothing is published, played or administered without a value made here. An
//! [`Authority`] decides what a client may do; the gate awaits its answer, for at most [`ANSWER_TIMEOUT`], in the task of the
//! requesting connection.
//!
//! Secrets are compared in constant time. Wrong ones use up a small allowance per address and kind of action ([`Guesses`]).
//! While the allowance is used up, no credential that the address presents for that kind is accepted, so guessing gains
//! nothing. The allowance is checked when the answer arrives: thousands of concurrent guesses while an authority takes its time
//! are worth no more than as many in a row. It is also checked before an authority spends time on a secret, and requests that
//! wait for such work queue per address ([`net::turns`]), so guesses take no time from others. Pending questions use up no
//! allowance, so many broadcasters behind one address may wait together.
//!
//! One exception: a credential that was right from that address before is still accepted, so a publisher that shares its
//! address with a guesser (behind a NAT or a balancer) can reconnect. Guesses from other addresses, and for other keys, stay
//! limited. A guesser behind a publisher's own address learns at any pace whether a guess is right, which is why a key has at
//! least eight characters.
//!
//! Before all that, the lists of [`access`](crate::access) decide whether a client is let in at all; an excluded client has not
//! guessed.
//!
//! A right credential that has expired, or is for something else, is not a guess: a player that keeps using yesterday's link
//! does not lock out others behind its address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use base::Labelled;
use base::holdings::Holdings;
use fanout::Fanout;
use fanout::gate::{
    ANSWER_TIMEOUT, Action, Authorized, Credential, Decision, Denied, Gate, Gatekeeper, Play,
    Publish, Request, UpdateMetadata,
};
use media::StreamName;
use net::link::Connector;
use tokio::time::timeout;

use crate::access::Access;
use crate::authority::{Authority, Ender, Fingerprints, Grant, Guesses};
use crate::hook::{Asker, Hooked};
use crate::keys::{Keys, SignatureResult};
use crate::proof::Scope;
use crate::secret::Secret;
use crate::settings::Permissions;

/// Placeholder for the secret of publishers without one. Every real key is longer.
const NO_KEY: &str = "";

/// Placeholder for the secret of publishers that an authority permits without a credential.
const OPEN: &str = "open";

/// Action of using the operator's port.
#[derive(Clone, Copy, Debug)]
pub struct Administer;

/// Gate that asks an [`Authority`].
#[derive(Debug)]
pub struct AuthorityGate {
    admin_password: Option<Secret>,
    permissions: Arc<dyn Permissions>,
    gatekeeper: Gatekeeper,
    access: Access,
    authority: Arc<dyn Authority>,
    /// Configured keys, whether or not the authority uses them.
    keys: Arc<Keys>,
    guesses: Arc<Guesses>,
    fingerprints: Fingerprints,
}

impl AuthorityGate {
    /// Makes a gate that decides by a configuration's keys and its hook, which is reached by `connector` and charged to
    /// `holdings`; or by `authority`, if given. Listeners are those of `fanout`.
    ///
    /// # Errors
    /// Fails when the system has no random bytes.
    pub fn new(
        permissions: Arc<dyn Permissions>,
        gatekeeper: Gatekeeper,
        authority: Option<Arc<dyn Authority>>,
        (connector, holdings): (&Connector, &Arc<Holdings>),
        fanout: &Arc<Fanout>,
    ) -> Result<Self, getrandom::Error> {
        let fingerprints = Fingerprints::new()?;
        let admin_password = permissions.auth().admin_password.clone();
        let guesses = Arc::new(Guesses::default());
        // Weak, because the fan-out owns the permissions, and these own the table.
        let listeners = Arc::downgrade(fanout);
        let ender = Ender::new(move |listener| {
            if let Some(fanout) = listeners.upgrade() {
                fanout.directory().end_permission(listener, Instant::now());
            }
        });
        let keys = Arc::new(Keys::new(
            Arc::clone(&permissions),
            fingerprints.clone(),
            Arc::clone(&guesses),
            &ender,
            connector,
        ));
        let asker = Asker::new(&permissions.auth().hook, connector, holdings);
        let authority = match (authority, asker) {
            (Some(authority), _) => authority,
            (None, None) => Arc::<Keys>::clone(&keys),
            (None, Some(asker)) => Arc::new(Hooked {
                permissions: Arc::clone(&permissions),
                keys: Arc::<Keys>::clone(&keys),
                asker: Arc::new(asker),
                guesses: Arc::clone(&guesses),
                fingerprints: fingerprints.clone(),
                ender,
            }),
        };
        Ok(Self {
            admin_password,
            gatekeeper,
            access: Access::new(&*permissions),
            authority,
            keys,
            permissions,
            guesses,
            fingerprints,
        })
    }

    /// Rereads the files of keys and addresses that have changed. May wait for a disk.
    pub fn look_at_keys(&self) {
        self.keys.look();
        self.access.look();
    }

    /// Rereads all files of keys and addresses, and describes the results. May wait for a disk.
    pub fn reread_keys(&self) -> String {
        let reported: Vec<_> = self
            .keys
            .read_again()
            .chain(self.access.read_again())
            .collect();
        match reported.is_empty() {
            true => "no file".to_owned(),
            false => reported.join(", "),
        }
    }

    /// Returns the counts of verified token signatures.
    pub fn signature_counts(&self) -> &Labelled<SignatureResult> {
        self.keys.signature_counts()
    }

    /// Checks that a password is the operator's, or a key with the admin scope.
    ///
    /// # Errors
    /// Fails when it is neither, or none was presented.
    pub async fn administer(
        &self,
        peer: IpAddr,
        password: Option<&str>,
    ) -> Result<Authorized<Administer>, Denied> {
        let offered = password.filter(|password| !password.is_empty());
        let offered = offered.ok_or(Denied::Missing)?;
        let known = self.admin_password.as_ref();
        let fitting = known.filter(|known| known.matches(offered));
        let grant = fitting.map(|password| Grant {
            credential: Some(self.fingerprints.of(password.reveal())),
            ..Grant::to_all()
        });
        let verdict = match grant {
            Some(grant) => Ok(grant),
            None => self.keys.administer(peer, offered).await,
        };
        self.guesses.believe(Scope::Admin, peer, verdict)?;
        Ok(self.gatekeeper.authorize(Administer))
    }

    /// Permits administration where the operator's port is open to every client that can reach it.
    pub fn administer_unasked(&self) -> Authorized<Administer> {
        self.gatekeeper.authorize(Administer)
    }

    /// Permits an operator to announce an event of a stream.
    pub fn announce(
        &self,
        _operator: &Authorized<Administer>,
        stream: &StreamName,
    ) -> Authorized<UpdateMetadata> {
        self.gatekeeper.authorize(UpdateMetadata {
            stream: stream.clone(),
        })
    }

    /// Permits a publication by this server that yields to every key of the stream.
    pub fn publish_until_replaced(&self, stream: &StreamName) -> Authorized<Publish> {
        self.gatekeeper.authorize(Publish {
            stream: stream.clone(),
            credential: Credential::YIELDS,
        })
    }

    /// Permits a publication by this server that does not yield: a key replaces it, and is replaced by it, only if the present
    /// publisher has stalled.
    pub fn publish_without_key(&self, stream: &StreamName) -> Authorized<Publish> {
        self.gatekeeper.authorize(Publish {
            stream: stream.clone(),
            credential: self.fingerprints.of(NO_KEY),
        })
    }

    /// Permits this server to push or record a stream.
    pub fn play_unasked(&self, stream: &StreamName) -> Authorized<Play> {
        self.gatekeeper.authorize(Play {
            stream: stream.clone(),
        })
    }

    /// Checks the access lists, then asks the authority about a client.
    async fn ask(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        self.let_in(action, request.stream, request)?;
        let verdict = self.authority.decide(action, request);
        let verdict = timeout(ANSWER_TIMEOUT, verdict).await.unwrap_or_else(|_| {
            tracing::warn!(
                stream = %request.stream,
                peer = %request.peer,
                ?action,
                seconds = ANSWER_TIMEOUT.as_secs(),
                "the authority has not answered in time"
            );
            Err(Denied::Unavailable)
        });
        let peer = request.peer.ip();
        let grant = self.guesses.believe(action.into(), peer, verdict)?;
        let stream = grant.stream(request);
        if stream != *request.stream {
            self.let_in(action, &stream, request)?;
        }
        Ok(grant)
    }

    /// Checks that a client may connect to a stream, whatever it presents.
    fn let_in(
        &self,
        action: Action,
        stream: &StreamName,
        request: &Request<'_>,
    ) -> Result<(), Denied> {
        let judged = self.access.judge(action, stream, request);
        judged.map_err(|excluded| {
            let peer = request.peer;
            tracing::debug!(%stream, %peer, ?action, agent = ?request.agent, reason = %excluded, "a client is not let in");
            Denied::Excluded(excluded)
        })
    }
}

impl Gate for AuthorityGate {
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(async move {
            let grant = self.ask(Action::Publish, request).await?;
            let credential = grant.credential;
            let action = Publish {
                stream: grant.stream(request),
                credential: credential.unwrap_or_else(|| self.fingerprints.of(OPEN)),
            };
            let permission = self.gatekeeper.grant(action, grant.terms);
            Ok(permission.witnessed(grant.witness))
        })
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        Box::pin(async move {
            let grant = self.ask(Action::Play, request).await?;
            let stream = grant.stream(request);
            let mut terms = grant.terms;
            if let Some(time) = self.permissions.listen_duration_max(&stream) {
                let end = Instant::now() + time;
                terms.until = Some(terms.until.map_or(end, |until| until.min(end)));
            }
            let permission = self.gatekeeper.grant(Play { stream }, terms);
            Ok(permission.witnessed(grant.witness))
        })
    }

    fn update_metadata<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(async move {
            let grant = self.ask(Action::UpdateMetadata, request).await?;
            let stream = grant.stream(request);
            Ok(self
                .gatekeeper
                .grant(UpdateMetadata { stream }, grant.terms))
        })
    }
}
