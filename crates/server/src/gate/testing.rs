//! An authority that answers when the test says.

use fanout::gate::{Action, Credential, Denied, Identity, Request, Terms};
use fanout::testing::Latch;

use super::authority::{Authority, Grant, Verdict};

/// Everybody may listen, and publish with the key. What concerns streams below `late/` is decided when the
/// test says.
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

    /// Has the late answers come.
    pub(crate) fn open(&self) {
        self.latch.open();
    }

    /// How many questions wait for an answer.
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
