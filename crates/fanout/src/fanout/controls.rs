//! What may be done to listeners that are not at a worker, and how they fare: by their ids.

use std::collections::HashMap;
use std::sync::Arc;

use base::Lock;

use crate::handle::Control;
use crate::listener::{ListenerId, ListenerReport};

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Controls(Lock<HashMap<ListenerId, Arc<Control>>>);

impl Controls {
    pub(super) fn enter(&self, id: ListenerId, control: Arc<Control>) {
        self.0.lock().insert(id, control);
    }

    pub(super) fn leave(&self, id: ListenerId) {
        self.0.lock().remove(&id);
    }

    /// Has a listener removed; false if it is not here.
    pub(super) fn kick(&self, id: ListenerId) -> bool {
        let controls = self.0.lock();
        let control = controls.get(&id);
        control.inspect(|control| control.kick()).is_some()
    }

    /// How each of them fares.
    pub(super) fn report(&self) -> Vec<ListenerReport> {
        let controls = self.0.lock();
        let reports = controls.iter().map(|(id, control)| control.report(*id));
        reports.collect()
    }

    /// Those that tasks serve.
    pub(crate) fn readers(&self) -> Vec<(ListenerId, Arc<Control>)> {
        let controls = self.0.lock();
        let readers = controls.iter().filter(|(_, one)| one.standing().is_some());
        readers.map(|(id, one)| (*id, Arc::clone(one))).collect()
    }
}
