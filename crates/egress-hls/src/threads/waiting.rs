//! Which connections wait for which part.
//!
//! A task for each part that is waited for, not for each connection, tells the thread when it has come.

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

/// Until a thread that is behind is told again.
const RETRY: Duration = Duration::from_millis(1);

/// A part of a channel that is open.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct WaitKey {
    /// Its address, which is no other's while the wait holds it.
    channel: usize,
    number: u64,
    part: usize,
}

/// Those who wait for a part.
#[derive(Debug)]
struct Wait {
    slots: Vec<Slot>,
    /// See [`WaitKey::channel`].
    _channel: Arc<Channel>,
}

/// See the module's description.
pub(super) struct Waits {
    all: HashMap<WaitKey, Wait>,
    runtime: Runtime,
    thread: Handle,
}

impl Waits {
    /// Waits run on the present runtime, and `thread` is told.
    pub(super) fn new(thread: Handle) -> Self {
        Self {
            all: HashMap::new(),
            runtime: Runtime::current(),
            thread,
        }
    }

    /// A connection waits for a part.
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
                let told = tell(Arc::clone(channel), key, self.thread.clone());
                self.runtime.spawn(told);
            }
        }
        key
    }

    /// A connection waits no longer.
    pub(super) fn leave(&mut self, key: WaitKey, slot: Slot) {
        if let Some(wait) = self.all.get_mut(&key)
            && let Some(at) = wait.slots.iter().position(|waiting| *waiting == slot)
        {
            wait.slots.swap_remove(at);
        }
    }

    /// Those who waited for a part, of which it is known now where it is.
    pub(super) fn end(&mut self, key: WaitKey) -> Vec<Slot> {
        self.all
            .remove(&key)
            .map(|wait| wait.slots)
            .unwrap_or_default()
    }
}

/// Tells a thread that a part has come, or that it is late.
async fn tell(channel: Arc<Channel>, key: WaitKey, thread: Handle) {
    let patience = waits::patience(channel.segmentation());
    let wait = channel.reader().wait_for(key.number, key.part);
    timeout(patience, wait).await.ok();
    // Any task that holds it keeps its lane open.
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
