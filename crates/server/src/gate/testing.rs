//! An authority that answers when the test tells it to.

use fanout::gate::{Action, Credential, Denied, Identity, Request, Terms};
use fanout::testing::Latch;

use super::authority::{Authority, Grant, Verdict};

/// Every client may listen, and publish with the key. Questions about streams below `late/` are answered when
/// the test tells it to.
#[derive(Debug)]
pub(crate) struct Late {
    key: &'static str,
    latch: Latch,
}

impl Late {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            latch: Latch::default(),
        }
    }

    /// Releases the late answers.
    pub(crate) fn open(&self) {
        self.latch.open();
    }

    /// How many questions are pending.
    pub(crate) fn waiting(&self) -> usize {
        self.latch.waiting()
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
            ..Grant::to_all()
        })
    }
}

impl Authority for Late {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(async move {
            if request.stream.as_str().starts_with("late/") {
                self.latch.wait().await;
            }
            self.judge(action, request)
        })
    }
}
