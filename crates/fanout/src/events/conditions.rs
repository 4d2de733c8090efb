//! Changes of listeners' condition, on their way from the threads that carry media to the events: degraded, or
//! recovered.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use base::Lock;

use super::EventKind;
use crate::directory::Directory;
use crate::listener::ListenerId;

/// Upper bound on changes that wait for the next tick, which comes four times a second. A thread that finds no room
/// tries again a second later.
const CONDITIONS_MAX: usize = 1_024;

/// A change of a listener's condition.
#[derive(Clone, Copy, Debug)]
struct Condition {
    id: ListenerId,
    is_degraded: bool,
}

/// Bounded channel of changes from the threads that carry media to the control plane.
#[derive(Debug)]
pub(crate) struct Conditions {
    pub(crate) sender: ConditionSender,
    /// Locked by the control plane only.
    changed: Lock<Receiver<Condition>>,
}

/// Sender of changes; never waits.
#[derive(Clone, Debug)]
pub(crate) struct ConditionSender(SyncSender<Condition>);

impl ConditionSender {
    /// Reports that a listener is degraded or has recovered. Returns `false` when there was no room for the report; the
    /// caller then repeats it.
    pub(crate) fn tell(&self, id: ListenerId, is_degraded: bool) -> bool {
        self.0.try_send(Condition { id, is_degraded }).is_ok()
    }
}

impl Default for Conditions {
    fn default() -> Self {
        let (sender, changed) = sync_channel(CONDITIONS_MAX);
        Self {
            sender: ConditionSender(sender),
            changed: Lock::new(changed),
        }
    }
}

impl Conditions {
    /// Emits the changes since the last call. Listeners that have departed by now get no event, whatever their
    /// condition was.
    pub(crate) fn emit(&self, directory: &Directory) {
        let changed = self.changed.lock();
        for Condition { id, is_degraded } in changed.try_iter().take(CONDITIONS_MAX) {
            let kind = match is_degraded {
                true => EventKind::Degraded { listener: id },
                false => EventKind::Recovered { listener: id },
            };
            directory.emit_of(id, kind);
        }
    }
}
