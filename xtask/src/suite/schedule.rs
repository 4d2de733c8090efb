//! Choice of the next test: the longest that fits alongside the running ones.
//!
//! A test that waits for players and clocks takes a tenth of a processor, one that encodes takes two. Tests run together as
//! long as the sum fits the machine. This module is pure: the pool queries it, starts tests, and reports those that have ended.

use super::Job;

/// Minimum share that a test counts for: even a test that only waits has a server, an encoder and their memory.
const PROCESSORS_MIN: f64 = 0.12;

/// Number of times that shorter tests may begin before a longer one that does not fit. After that, room is made for the longer
/// test: at the end of a run it would be alone.
const OVERTAKEN_MAX: u32 = 6;

/// Tests that have not begun, and the load of the running ones.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Waiting tests, the longest first.
    waiting: Vec<Waiting>,
    processors: f64,
    taken: f64,
    running: usize,
    running_max: usize,
}

#[derive(Debug)]
struct Waiting {
    job: Job,
    overtaken: u32,
}

impl Schedule {
    /// Creates a schedule that fills `processors`, and runs `running_max` tests at a time at most.
    pub(crate) fn new(jobs: Vec<Job>, processors: f64, running_max: usize) -> Self {
        let mut waiting: Vec<_> = jobs
            .into_iter()
            .map(|job| Waiting { job, overtaken: 0 })
            .collect();
        waiting.sort_by(|one, other| other.job.seconds.total_cmp(&one.job.seconds));
        Self {
            waiting,
            processors,
            taken: 0.0,
            running: 0,
            running_max,
        }
    }

    /// Returns the test that begins now, if one fits. Call until it returns `None`.
    pub(crate) fn next(&mut self) -> Option<Job> {
        if self.running >= self.running_max {
            return None;
        }
        let fits = |job: &Job| self.running == 0 || self.taken + share(job) <= self.processors;
        let mut chosen = None;
        for (index, waiting) in self.waiting.iter().enumerate() {
            if fits(&waiting.job) {
                chosen = Some(index);
                break;
            }
            if waiting.overtaken >= OVERTAKEN_MAX {
                break;
            }
        }
        let chosen = chosen?;
        for passed in &mut self.waiting[..chosen] {
            passed.overtaken += 1;
        }
        let job = self.waiting.remove(chosen).job;
        self.taken += share(&job);
        self.running += 1;
        Some(job)
    }

    /// Releases the share of a test that has ended.
    pub(crate) fn ended(&mut self, job: &Job) {
        self.taken -= share(job);
        self.running -= 1;
    }

    /// Returns the seconds that the waiting tests will take by their records, on all processors.
    pub(crate) fn seconds_left(&self) -> f64 {
        let work: f64 = self
            .waiting
            .iter()
            .map(|waiting| waiting.job.seconds * share(&waiting.job) / self.processors)
            .sum();
        let longest = self.waiting.first().map_or(0.0, |first| first.job.seconds);
        let at_least: f64 = self.waiting.iter().map(|w| w.job.seconds).sum();
        work.max(longest)
            .max(at_least / self.running_max.max(1) as f64)
    }
}

fn share(job: &Job) -> f64 {
    job.processors.max(PROCESSORS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, seconds: f64, processors: f64) -> Job {
        Job {
            seconds,
            processors,
            ..Job::new(name, std::process::Command::new("true"))
        }
    }

    fn begin(schedule: &mut Schedule) -> Vec<String> {
        std::iter::from_fn(|| schedule.next())
            .map(|job| job.name)
            .collect()
    }

    #[test]
    fn the_longest_begin_and_fill_the_machine() {
        let jobs = vec![
            job("short", 1.0, 0.5),
            job("long", 9.0, 1.5),
            job("middle", 5.0, 0.5),
        ];
        let mut schedule = Schedule::new(jobs, 2.0, 8);
        assert_eq!(begin(&mut schedule), ["long", "middle"]);
        schedule.ended(&job("middle", 5.0, 0.5));
        assert_eq!(begin(&mut schedule), ["short"]);
    }

    #[test]
    fn what_never_fits_runs_alone_and_is_not_put_off_for_ever() {
        let mut jobs: Vec<_> = (0..20).map(|_| job("small", 1.0, 0.9)).collect();
        jobs.push(job("large", 2.0, 4.0));
        jobs.push(job("first", 3.0, 0.9));
        let mut schedule = Schedule::new(jobs, 2.0, 8);
        let (mut order, mut running) = (Vec::new(), Vec::new());
        loop {
            while let Some(job) = schedule.next() {
                order.push(job.name.clone());
                running.push(job);
            }
            let Some(job) = running.pop() else { break };
            schedule.ended(&job);
            if job.name == "large" {
                assert!(running.is_empty());
            }
        }
        let at = order.iter().position(|name| name == "large");
        assert_eq!(at, Some(1 + OVERTAKEN_MAX as usize));
        assert_eq!(order.len(), 22);
    }

    #[test]
    fn no_more_run_than_the_bound() {
        let jobs = (0..9).map(|_| job("idle", 1.0, 0.0)).collect();
        assert_eq!(begin(&mut Schedule::new(jobs, 2.0, 3)).len(), 3);
    }

    #[test]
    fn what_is_left_is_work_or_the_longest_test() {
        let left = |jobs| Schedule::new(jobs, 2.0, 4).seconds_left();
        assert_eq!(left(vec![job("a", 10.0, 1.0), job("b", 30.0, 1.0)]), 30.0);
        assert_eq!(left((0..8).map(|_| job("c", 10.0, 2.0)).collect()), 80.0);
        assert_eq!(left((0..8).map(|_| job("d", 10.0, 0.1)).collect()), 20.0);
    }
}
