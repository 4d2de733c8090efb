//! What is told: messages, and the way to the task.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::counts::{Counts, Outcome};

/// Messages between the tellers and the task: what happens at once when a thousand streams end, and more.
pub(crate) const TOLD_MAX: usize = 4_096;

/// The longest body, as the specification recommends.
const BODY_BYTES_MAX: usize = 20_000;

/// Something that has happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// What, such as `recording.closed`.
    pub kind: &'static str,
    /// The stream that it is about, if any.
    pub stream: Option<String>,
    /// What is posted: an object of JSON that is not empty. Its `sequence` is put in front.
    pub body: Bytes,
    /// Its identifier, of letters, digits and `_`, for one that may be told twice: receivers, and the queue, take it for
    /// one message then. `None` for a random one.
    pub id: Option<Arc<str>>,
}

/// A message on its way to the task.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) message: Message,
    /// Resolves once a restart spares it.
    pub(crate) kept: Option<oneshot::Sender<()>>,
}

/// Hands messages over.
#[derive(Clone, Debug)]
pub struct Teller {
    pub(crate) told: mpsc::Sender<Told>,
    pub(crate) counts: Arc<Counts>,
}

impl Teller {
    /// Hands a message over. It waits for nothing: what finds no room is counted, and lost.
    pub fn tell(&self, message: Message) {
        self.hand_over(message, None);
    }

    /// The same. True when the message is written down, so that a restart spares it; false when that will not happen.
    pub async fn tell_surely(&self, message: Message) -> bool {
        let (kept, is_kept) = oneshot::channel();
        self.hand_over(message, Some(kept));
        is_kept.await.is_ok()
    }

    /// The same, for a caller that can wait.
    ///
    /// # Errors
    /// The message, when there is no room for it now.
    pub fn offer(&self, message: Message) -> Result<(), Message> {
        if message.body.len() > BODY_BYTES_MAX {
            self.tell(message);
            return Ok(());
        }
        let told = Told {
            message,
            kept: None,
        };
        let offered = self.told.try_send(told);
        offered.map_err(|refused| refused.into_inner().message)
    }

    fn hand_over(&self, message: Message, kept: Option<oneshot::Sender<()>>) {
        let kind = message.kind;
        let is_fit = message.body.len() <= BODY_BYTES_MAX;
        let is_told = is_fit && self.told.try_send(Told { message, kept }).is_ok();
        if !is_told {
            self.counts.outcomes.count(Outcome::Dropped);
            tracing::error!(kind, "a webhook is lost: too many at once, or too long");
        }
    }
}
