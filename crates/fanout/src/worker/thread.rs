//! The thread of a worker: takes the time, steps, and waits in the back-end.

use std::time::Instant;

use super::{NextStep, Worker};

impl Worker {
    /// Runs until it is stopped; then every listener is closed.
    ///
    /// A panic here is a defect that has cost this worker's listeners their state, and a back-end that
    /// fails has cost them their sockets. Going on without the worker would refuse its share of joins
    /// for ever, so the process ends and its supervisor starts it anew.
    pub(crate) fn run(mut self) {
        let _guard = net::AbortOnPanic("a worker");
        net::time_slice::request_short();
        self.books.enter_thread();
        let mut events = Vec::new();
        loop {
            let timeout = match self.step(Instant::now(), &mut events, &mut net::cpu::thread_time) {
                // The step has taken some of that time.
                NextStep::At(due) => Some(due.saturating_duration_since(Instant::now())),
                NextStep::Woken => None,
                NextStep::Stopped => return,
            };
            if let Err(error) = self.outlet.backend.wait(timeout, &mut events) {
                tracing::error!(worker = self.index, %error, "the back-end failed; the process cannot go on without this worker");
                std::process::abort();
            }
        }
    }
}
