//! The core without threads and without a clock, for tests: they say what time it is, and when a worker
//! takes its turn.
//!
//! Everything else is the shipped code. A test supplies the back-ends, whose [`wait`] is never called;
//! it passes on what sockets report, and knows that a worker was woken from the back-end's
//! [`Waker`](net::Waker).
//!
//! [`wait`]: net::Backend::wait

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use net::{Backend, Event};

use crate::clock::Clock;
pub use crate::worker::Next;
use crate::worker::Worker;
use crate::{Config, Departure, Fanout, LaneId, ListenerReport};

/// A worker that runs when it is stepped.
pub struct SteppedWorker(Worker);

impl SteppedWorker {
    /// One turn. `events` are what its sockets have reported since the last one, and is empty
    /// afterwards; `cpu` tells how much CPU time the worker has used so far.
    pub fn step(
        &mut self,
        now: Instant,
        events: &mut Vec<Event>,
        cpu: &mut impl FnMut() -> Duration,
    ) -> Next {
        self.0.step(now, events, cpu)
    }

    /// How its listeners fare: what [`Fanout::report`] would ask a running worker for.
    pub fn report(&self) -> Vec<ListenerReport> {
        self.0.report()
    }

    /// The window of a lane as last chosen, and into how many subgroups it is divided; `None` for a
    /// lane that the worker does not serve.
    pub fn window(&self, lane: LaneId) -> Option<(Duration, usize)> {
        self.0.window(lane)
    }
}

impl std::fmt::Debug for SteppedWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SteppedWorker").finish_non_exhaustive()
    }
}

impl Fanout {
    /// The same as [`start`](Self::start) with workers that the caller steps, at the times that `clock`
    /// tells. [`report`](Self::report) would wait for them in vain.
    ///
    /// # Errors
    /// When a back-end cannot be made.
    pub fn stepped(
        config: &Config,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
        backend: impl FnMut() -> io::Result<Box<dyn Backend>>,
    ) -> io::Result<(Arc<Self>, Vec<SteppedWorker>, Receiver<Departure>)> {
        let clock = Clock::Test(Arc::new(clock));
        let (fanout, workers, departed) = Self::assemble(config, clock, backend)?;
        let workers = workers.into_iter().map(SteppedWorker).collect();
        Ok((Arc::new(fanout), workers, departed))
    }
}
