//! The core without threads and without a clock, for tests: they supply the time, and decide when a worker takes its
//! turn.
//!
//! Everything else is the shipped code. A test supplies the back-ends, whose [`wait`] is never called; it passes on the
//! sockets' events, and is notified of wake-ups by the back-end's [`Waker`](net::Waker).
//!
//! [`wait`]: net::Backend::wait

mod alarm;
mod items;
mod latch;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use log::Account;
use media::Item;
use net::{Backend, Event};

use crate::clock::Clock;
use crate::lane::{LaneGuard, LaneWriter};
pub use crate::worker::NextStep;
use crate::worker::Worker;
use crate::{
    ArchiveReader, Class, Config, Departure, Fanout, Follower, Format, LaneId, ListenerReport,
    Packager, Policy, RangeReader,
};

pub use self::alarm::Alarm;
pub use self::items::{record, sample, title, track};
pub use self::latch::Latch;

/// A worker that runs only when the test steps it.
pub struct SteppedWorker(Worker);

impl SteppedWorker {
    /// Runs one turn. `events` are its sockets' events since the last one, and is empty afterwards; `cpu` returns the
    /// CPU time that the worker has used so far.
    pub fn step(
        &mut self,
        now: Instant,
        events: &mut Vec<Event>,
        cpu: &mut impl FnMut() -> Duration,
    ) -> NextStep {
        self.0.step(now, events, cpu)
    }

    /// Returns a report on each of its listeners, as [`Fanout::report`] does for running workers.
    pub fn report(&self) -> Vec<ListenerReport> {
        self.0.report()
    }

    /// Returns a lane's window as last chosen, and its number of subgroups; `None` for a lane that the worker does not
    /// serve.
    pub fn window(&self, lane: LaneId) -> Option<(Duration, usize)> {
        self.0.window(lane)
    }
}

base::debug!(SteppedWorker {});

impl Fanout {
    /// Creates workers that the caller steps, at the times that `clock` returns; otherwise like [`start`](Self::start).
    /// [`report`](Self::report) would wait for them in vain.
    ///
    /// # Errors
    /// Fails when a back-end cannot be created.
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

/// A lane without a stream, for tests of packagers.
pub struct BareLane {
    writer: LaneWriter,
    epoch: u32,
}

impl BareLane {
    /// Opens a lane with the default rules of `class`, in epoch `epoch`.
    ///
    /// # Panics
    /// Never panics: its memory is not limited.
    pub fn open(format: Format, class: Class, epoch: u32, packager: Box<dyn Packager>) -> Self {
        let writer = LaneWriter::open(
            format,
            class,
            Policy::default_for(class),
            packager,
            Arc::new([]),
            Account::unlimited(),
            Arc::default(),
        );
        let mut writer = writer.expect("memory is not limited");
        writer.set_epoch(epoch);
        Self { writer, epoch }
    }

    /// Packages one item and makes it readable.
    pub fn push(&mut self, item: &Item) {
        let now = Instant::now();
        if matches!(item, Item::Epoch) {
            self.epoch += 1;
            self.writer.begin_epoch(self.epoch, now);
        } else if let Item::Event(event) = item {
            self.writer.tell(event, now);
        } else {
            self.writer.push(item, now);
        }
        self.writer.publish();
    }

    /// Packages one item that arrived at `arrived`, and makes it readable.
    pub fn push_at(&mut self, item: &Item, arrived: Instant) {
        self.writer.push(item, arrived);
        self.writer.publish();
    }

    /// Returns a follower of the lane.
    pub fn follow(&self) -> Follower {
        Follower::new(&self.guard())
    }

    /// Returns a reader of the lane by ranges.
    pub fn ranges(&self) -> RangeReader {
        RangeReader::new(self.guard().uncounted())
    }

    /// Returns a lossless reader of the lane.
    pub fn archive(&self, bytes_max: usize) -> ArchiveReader {
        ArchiveReader::new(self.guard().uncounted(), bytes_max)
    }

    fn guard(&self) -> LaneGuard {
        LaneGuard::new(Arc::clone(&self.writer.lane))
    }
}

base::debug!(BareLane { writer });
