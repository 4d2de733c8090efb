//! Processor time of what jobs have started, sampled while it runs.
//!
//! The kernel adds to a process what the children took that it waited for. A browser's helpers are waited for by nobody of
//! the job: their parent is killed first, and `init` inherits them. So a browser would seem to cost a fraction of what it does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::process::{Key, Process, TICKS_PER_SECOND};

/// Between two samples: some milliseconds of one processor each.
const INTERVAL: Duration = Duration::from_secs(1);

/// Ticks of each descendant, by the process of the job.
#[derive(Debug, Default)]
pub(super) struct Descendants {
    jobs: HashMap<u32, HashMap<Key, u64>>,
    sampled: Option<Instant>,
}

impl Descendants {
    /// Looks at all processes, if it is time for it. `jobs` are those that run.
    pub(super) fn sample(&mut self, jobs: impl Iterator<Item = u32>) {
        let now = Instant::now();
        if self.sampled.is_some_and(|at| now < at + INTERVAL) {
            return;
        }
        self.sampled = Some(now);
        for job in jobs {
            self.jobs.entry(job).or_default();
        }
        self.note(&processes());
    }

    fn note(&mut self, all: &[Process]) {
        let parents: HashMap<u32, u32> = all.iter().map(|it| (it.key.0, it.parent)).collect();
        for process in all {
            let mut ancestors = std::iter::successors(Some(process.key.0), |pid| {
                parents.get(pid).copied().filter(|parent| *parent > 1)
            });
            let job = ancestors.find(|pid| self.jobs.contains_key(pid));
            if let Some(seen) = job.and_then(|job| self.jobs.get_mut(&job)) {
                seen.insert(process.key, process.ticks);
            }
        }
    }

    /// Seconds that a job and its descendants were seen to take. The job has ended.
    pub(super) fn take(&mut self, job: u32) -> f64 {
        let seen = self.jobs.remove(&job).unwrap_or_default();
        seen.values().sum::<u64>() as f64 / TICKS_PER_SECOND
    }
}

fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    // One that has ended since cannot be read.
    let stats = entries.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        std::fs::read_to_string(entry.path().join("stat")).ok()
    });
    stats.filter_map(|stat| Process::parse(&stat)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, ticks: u64) -> Process {
        Process {
            key: (pid, 1),
            parent,
            has_ended: false,
            ticks,
            ticks_of_children: 0,
        }
    }

    #[test]
    fn descendants_count_for_their_job_after_their_end_too() {
        let mut descendants = Descendants::default();
        descendants.jobs.insert(10, HashMap::new());
        descendants.jobs.insert(20, HashMap::new());
        let helpers = [process(12, 11, 300), process(13, 12, 50)];
        let all = [
            process(10, 2, 5),
            process(11, 10, 40),
            process(99, 2, 1_000),
        ];
        descendants.note(&all);
        descendants.note(&helpers.into_iter().chain(all).collect::<Vec<_>>());
        // Its helper has another parent from here on.
        descendants.note(&[process(13, 1, 70), process(20, 2, 100)]);
        assert_eq!(descendants.take(10), 3.95);
        assert_eq!(descendants.take(20), 1.0);
        assert_eq!(descendants.take(10), 0.0);
    }
}
