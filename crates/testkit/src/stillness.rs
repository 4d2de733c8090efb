//! How long the machine itself stood still.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the watchers look.
const LOOK: Duration = Duration::from_millis(2);

/// Watches for times in which nothing runs. A virtual machine whose host is busy stops now and then for
/// tens of milliseconds; what is late by that much is nobody's fault.
///
/// A watcher sleeps and looks how late it woke, one on each processor. It uses next to no time, so
/// it is not kept waiting by programs that are merely slow, but by processors that stand still.
#[derive(Debug)]
pub struct Stillness {
    stop: Arc<AtomicBool>,
    watchers: Vec<JoinHandle<Duration>>,
}

impl Stillness {
    /// Watches from now on.
    ///
    /// # Panics
    /// When there are no threads to be had.
    #[must_use]
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let watchers = (0..processors)
            .map(|processor| {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || longest_sleep(processor, &stop))
            })
            .collect();
        Self { stop, watchers }
    }

    /// The longest time, until now, in which one of the processors stood still.
    ///
    /// # Panics
    /// When a watcher has.
    #[must_use]
    pub fn longest(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        let sleeps = self
            .watchers
            .into_iter()
            .map(|watcher| watcher.join().expect("a watcher does not panic"));
        sleeps.max().unwrap_or_default()
    }
}

fn longest_sleep(processor: usize, stop: &AtomicBool) -> Duration {
    let mut only = rustix::thread::CpuSet::new();
    only.set(processor);
    // Where that is not allowed, the watcher sees what the scheduler lets it see.
    rustix::thread::sched_setaffinity(None, &only).ok();
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let before = Instant::now();
        std::thread::sleep(LOOK);
        longest = longest.max(before.elapsed().saturating_sub(LOOK));
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_that_time_has_passed_at_most() {
        let began = Instant::now();
        let stillness = Stillness::watch();
        std::thread::sleep(10 * LOOK);
        assert!(stillness.longest() <= began.elapsed());
    }
}
