//! A permission: what is permitted, on which terms, to whom, and how it ends before its time.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use media::StreamName;
use tokio::sync::Notify;

use super::{Denied, Play};
use crate::directory::Permit;
use crate::listener::ListenerId;

/// Longest identity, in bytes: a mail address or a UUID with a prefix.
pub const IDENTITY_BYTES_MAX: usize = 64;

/// Permission to do `A`, granted by the gate.
///
/// It may end. From [`until`](Self::until) on the permitted action has to stop: the drivers of publishers end
/// the publication with words; a listener that joined by [`join`](crate::join()) is removed by the registry, at its
/// first tick after that.
#[derive(Debug)]
pub struct Authorized<A> {
    action: A,
    terms: Terms,
    witness: Option<Arc<dyn Witness>>,
}

impl<A> Authorized<A> {
    /// What is permitted.
    pub fn action(&self) -> &A {
        &self.action
    }

    /// When the permission ends; `None` if it does not.
    pub fn until(&self) -> Option<Instant> {
        self.terms.until
    }

    /// Whether it has ended by now.
    pub fn is_over(&self, now: Instant) -> bool {
        self.terms.until.is_some_and(|until| until <= now)
    }

    /// The identity that was permitted, if the authority has a name for it.
    pub fn identity(&self) -> Option<&Identity> {
        self.terms.identity.as_ref()
    }

    /// Has a witness told when what is permitted goes on, and when it ends.
    #[must_use]
    pub fn witnessed(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// To be called when what is permitted begins, by what does it, which keeps the permit until it ends. `None` if no
    /// one is to be told.
    pub fn begin(&self, ongoing: Ongoing) -> Option<Permit> {
        let witness = self.witness.as_ref();
        witness.map(|witness| witness.begin(ongoing))
    }
}

impl Authorized<Play> {
    /// The permission, if it is for this stream: the gate may have answered with another one. For callers that serve
    /// what they were asked for or nothing.
    ///
    /// # Errors
    /// [`Denied::Wrong`] when it is for another one.
    pub fn only_for(self, stream: &StreamName) -> Result<Self, Denied> {
        match self.action.stream == *stream {
            true => Ok(self),
            false => Err(Denied::Wrong),
        }
    }
}

/// Tells an authority of what it has permitted. A permission that comes to nothing, because there is no such stream, is not
/// told of.
pub trait Witness: fmt::Debug + Send + Sync {
    /// What is permitted begins, and ends when the last copy of the permit is dropped, on any thread.
    fn begin(&self, ongoing: Ongoing) -> Permit;
}

/// What goes on with a permission, and how it can be ended before its time.
#[derive(Clone, Debug)]
pub enum Ongoing {
    /// A listener: by [`Directory::end_permission`](crate::Directory::end_permission).
    Listener(ListenerId),
    /// A publication.
    Publication(Revocation),
    /// What a listener is told beside what it hears, on another connection. It ends with the permission, and is no listener.
    Beside(Revocation),
}

/// Ends a permission before its time. Copies are one.
#[derive(Clone, Debug, Default)]
pub struct Revocation(Arc<Revoked>);

#[derive(Debug, Default)]
struct Revoked {
    is_over: AtomicBool,
    waiting: Notify,
}

impl Revocation {
    /// The permission ends now.
    pub fn revoke(&self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }

    /// Whether it has ended.
    pub fn is_revoked(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// Waits until it ends; for ever, where it does not.
    pub async fn revoked(&self) {
        let mut waiting = pin!(self.0.waiting.notified());
        // From here on no end is missed.
        waiting.as_mut().enable();
        if !self.is_revoked() {
            waiting.await;
        }
    }
}

/// On which terms a permission is granted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Terms {
    /// When it ends; `None` if it does not.
    pub until: Option<Instant>,
    /// The identity that it was granted to.
    pub identity: Option<Identity>,
}

/// What an authority calls a client: the name of a key, a user, a subject. Shown to the operator; no metric
/// label, because there may be any number of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Identity(Arc<str>);

impl Identity {
    /// `None` if the text is empty, longer than [`IDENTITY_BYTES_MAX`] or holds a control character.
    pub fn new(text: &str) -> Option<Self> {
        let length = 1..=IDENTITY_BYTES_MAX;
        let is_fit = length.contains(&text.len()) && !text.contains(char::is_control);
        is_fit.then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes [`Authorized`] values. There is one for each registry, and it cannot be copied.
#[derive(Debug)]
pub struct Gatekeeper(());

impl Gatekeeper {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Permits `action` without end, to no peer in particular. To be called in one place: after the credentials
    /// were checked.
    pub fn authorize<A>(&self, action: A) -> Authorized<A> {
        self.grant(action, Terms::default())
    }

    /// Permits `action` on terms. To be called where [`authorize`](Self::authorize) is.
    pub fn grant<A>(&self, action: A, terms: Terms) -> Authorized<A> {
        Authorized {
            action,
            terms,
            witness: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn identities_are_short_and_plain() {
        let longest = "x".repeat(IDENTITY_BYTES_MAX);
        for (text, is_fit) in [
            ("studio", true),
            ("Ünder the böll", true),
            (&*longest, true),
            ("", false),
            ("two\nlines", false),
            (&*format!("{longest}x"), false),
        ] {
            let identity = Identity::new(text);
            assert_eq!(
                identity.as_ref().map(Identity::as_str),
                is_fit.then_some(text)
            );
        }
    }

    #[test]
    fn permissions_end_when_their_terms_say() {
        let keeper = Gatekeeper::new();
        let now = Instant::now();
        let forever = keeper.authorize(());
        assert!(!forever.is_over(now) && forever.until().is_none());
        let until = now + Duration::from_secs(60);
        let identity = Identity::new("studio");
        let terms = Terms {
            until: Some(until),
            identity: identity.clone(),
        };
        let bounded = keeper.grant((), terms);
        assert!(!bounded.is_over(now) && bounded.is_over(until));
        assert_eq!(bounded.identity(), identity.as_ref());
    }

    #[tokio::test]
    async fn a_permission_is_revoked_for_those_who_wait_and_those_who_come_later() {
        let revocation = Revocation::default();
        assert!(!revocation.is_revoked());
        let other = revocation.clone();
        let waiting = tokio::spawn(async move { other.revoked().await });
        tokio::task::yield_now().await;
        revocation.revoke();
        waiting.await.expect("no panic");
        revocation.revoked().await;
        assert!(revocation.is_revoked());
    }
}
