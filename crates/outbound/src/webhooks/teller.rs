//! Messages, and the handle that passes them to the task.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::webhooks::counts::{Counts, Outcome};

/// Most messages between the tellers and the task: enough for a thousand streams that end at once, and more.
pub(crate) const REPORTED_MAX: usize = 4_096;

/// Longest body in bytes, as the specification recommends.
const BODY_BYTES_MAX: usize = 20_000;

/// Event to be posted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// Kind of the event, such as `recording.closed`.
    pub kind: &'static str,
    /// Stream the event is about, if any.
    pub stream: Option<String>,
    /// Body to post: a JSON object that is not empty. Its `sequence` is put in front.
    pub body: Bytes,
    /// Identifier, of letters, digits and `_`, for an event that may be sent twice: receivers and the queue then treat both as
    /// one message. `None` for a random one.
    pub id: Option<Arc<str>>,
}

/// Message on its way to the task.
#[derive(Debug)]
pub(crate) struct Reported {
    pub(crate) message: Message,
    /// Notified once the message survives a restart.
    pub(crate) kept: Option<oneshot::Sender<()>>,
}

/// Handle that passes messages to the courier.
#[derive(Clone, Debug)]
pub struct Teller {
    pub(crate) reported: mpsc::Sender<Reported>,
    pub(crate) counts: Arc<Counts>,
}

impl Teller {
    /// Passes a message on without waiting. A message that finds no room is counted, and lost.
    pub fn tell(&self, message: Message) {
        self.hand_over(message, None);
    }

    /// Passes a message on like [`tell`](Self::tell), and waits until it is persisted. Returns true if the message then
    /// survives a restart; false if it will not be persisted.
    pub async fn tell_surely(&self, message: Message) -> bool {
        let (kept, is_kept) = oneshot::channel();
        self.hand_over(message, Some(kept));
        is_kept.await.is_ok()
    }

    /// Passes a message on like [`tell`](Self::tell), for a caller that can wait and retry.
    ///
    /// # Errors
    /// Returns the message when there is no room for it now.
    pub fn offer(&self, message: Message) -> Result<(), Message> {
        if message.body.len() > BODY_BYTES_MAX {
            self.tell(message);
            return Ok(());
        }
        let reported = Reported {
            message,
            kept: None,
        };
        let offered = self.reported.try_send(reported);
        offered.map_err(|refused| refused.into_inner().message)
    }

    fn hand_over(&self, message: Message, kept: Option<oneshot::Sender<()>>) {
        let kind = message.kind;
        let is_fit = message.body.len() <= BODY_BYTES_MAX;
        let is_reported = is_fit && self.reported.try_send(Reported { message, kept }).is_ok();
        if !is_reported {
            self.counts.outcomes.count(Outcome::Dropped);
            tracing::error!(kind, "a webhook is lost: too many at once, or too long");
        }
    }
}
