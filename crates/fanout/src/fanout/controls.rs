//! Removal of, and reports on, listeners that are not at a worker, by their ids.

use std::collections::HashMap;
use std::sync::Arc;

use base::Lock;

use crate::handle::Control;
use crate::listener::{ListenerId, ListenerReport};

/// Controls of listeners that are not at a worker, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Controls(Lock<HashMap<ListenerId, Arc<Control>>>);

impl Controls {
    pub(super) fn enter(&self, id: ListenerId, control: Arc<Control>) {
        self.0.lock().insert(id, control);
    }

    pub(super) fn leave(&self, id: ListenerId) {
        self.0.lock().remove(&id);
    }

    /// Has a listener removed; returns `false` if it is not here.
    pub(super) fn kick(&self, id: ListenerId) -> bool {
        let controls = self.0.lock();
        let control = controls.get(&id);
        control.inspect(|control| control.kick()).is_some()
    }

    /// Returns a report on each of them.
    pub(super) fn report(&self) -> Vec<ListenerReport> {
        let controls = self.0.lock();
        let reports = controls.iter().map(|(id, control)| control.report(*id));
        reports.collect()
    }

    /// Returns the listeners that tasks serve.
    pub(crate) fn readers(&self) -> Vec<(ListenerId, Arc<Control>)> {
        let controls = self.0.lock();
        let readers = controls.iter().filter(|(_, one)| one.standing.is_some());
        readers.map(|(id, one)| (*id, Arc::clone(one))).collect()
    }
}
