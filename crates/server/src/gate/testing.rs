//! An authority that answers when the test says.

use std::sync::atomic::{AtomicUsize, Ordering};

use fanout::gate::{Action, Credential, Denied, Identity, Request, Terms};
use tokio::sync::watch;

use super::authority::{Authority, Grant, Verdict};

/// Everybody may listen, and publish with the key. What concerns streams below `late/` is decided when the
/// test says.
#[derive(Debug)]
pub(crate) struct Late {
    key: &'static str,
    opened: watch::Sender<bool>,
    waiting: AtomicUsize,
}

impl Late {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            opened: watch::Sender::new(false),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Has the late answers come.
    pub(crate) fn open(&self) {
        self.opened.send_replace(true);
    }

    /// How many questions wait for an answer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn judge(&self, action: Action, request: &Request<'_>) -> Result<Grant, Denied> {
        if action == Action::Play {
            return Ok(Grant::to_all());
        }
        let secret = request.secret().ok_or(Denied::Missing)?;
        if secret != self.key {
            return Err(Denied::Wrong);
        }
        let identity = request.user.and_then(Identity::new);
        let terms = Terms {
            until: None,
            identity,
        };
        Ok(Grant {
            credential: Some(Credential(7)),
            terms,
        })
    }
}

impl Authority for Late {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(async move {
            if request.stream.as_str().starts_with("late/") {
                let _waiting = Waiting::new(&self.waiting);
                let mut opened = self.opened.subscribe();
                opened.wait_for(|opened| *opened).await.expect("it is here");
            }
            self.judge(action, request)
        })
    }
}

/// A question waits as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
