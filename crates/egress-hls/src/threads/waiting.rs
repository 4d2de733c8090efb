//! Connections that wait for parts.
//!
//! One task per awaited part, rather than per connection, reports to the thread when the part has arrived.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::mpsc::TrySendError;
use std::time::Duration;

use net::Slot;
use tokio::runtime::Handle as Runtime;
use tokio::time::{sleep, timeout};

use super::{Command, Handle};
use crate::channel::Channel;
use crate::waits;

/// Delay before a command is sent again to a thread that is behind.
const RETRY: Duration = Duration::from_millis(1);

/// Part of a channel that is open.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct WaitKey {
    /// Address of the channel, unique while the wait holds the channel.
    channel: usize,
    number: u64,
    part: usize,
}

/// Connections that wait for one part.
#[derive(Debug)]
struct Wait {
    slots: Vec<Slot>,
    /// Channel whose address is [`WaitKey::channel`]; held so that the address stays unique.
    _channel: Arc<Channel>,
}

/// Waits of a thread; call [`begin`](Self::begin) for a connection, and [`end`](Self::end) when the part is reported.
pub(super) struct Waits {
    all: HashMap<WaitKey, Wait>,
    runtime: Runtime,
    thread: Handle,
}

impl Waits {
    /// Makes an empty set. The tasks run on the current runtime and report to `thread`.
    pub(super) fn new(thread: Handle) -> Self {
        Self {
            all: HashMap::new(),
            runtime: Runtime::current(),
            thread,
        }
    }

    /// Adds a connection that waits for a part.
    pub(super) fn begin(
        &mut self,
        channel: &Arc<Channel>,
        (number, part): (u64, usize),
        slot: Slot,
    ) -> WaitKey {
        let key = WaitKey {
            channel: Arc::as_ptr(channel).addr(),
            number,
            part,
        };
        match self.all.entry(key) {
            Entry::Occupied(mut entry) => entry.get_mut().slots.push(slot),
            Entry::Vacant(entry) => {
                entry.insert(Wait {
                    slots: vec![slot],
                    _channel: Arc::clone(channel),
                });
                let reported = tell(Arc::clone(channel), key, self.thread.clone());
                self.runtime.spawn(reported);
            }
        }
        key
    }

    /// Removes a connection that no longer waits.
    pub(super) fn leave(&mut self, key: WaitKey, slot: Slot) {
        if let Some(wait) = self.all.get_mut(&key)
            && let Some(at) = wait.slots.iter().position(|waiting| *waiting == slot)
        {
            wait.slots.swap_remove(at);
        }
    }

    /// Ends the wait for a part, and returns the connections that waited.
    pub(super) fn end(&mut self, key: WaitKey) -> Vec<Slot> {
        self.all
            .remove(&key)
            .map(|wait| wait.slots)
            .unwrap_or_default()
    }
}

/// Reports to a thread that a part has arrived, or is late.
async fn tell(channel: Arc<Channel>, key: WaitKey, thread: Handle) {
    let patience = waits::patience(&channel.promise.segmentation);
    let wait = channel.reader.wait_for(key.number, key.part);
    timeout(patience, wait).await.ok();
    // Every holder of the channel keeps its lane open.
    drop(channel);
    let mut command = Command::Came(key);
    loop {
        match thread.inbox.try_send(command) {
            Ok(()) => return thread.waker.wake(),
            Err(TrySendError::Full(again)) => command = again,
            Err(TrySendError::Disconnected(_)) => return,
        }
        sleep(RETRY).await;
    }
}
