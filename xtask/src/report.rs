//! What is printed: a heading and a duration per step, and the sum at the end.

use std::time::{Duration, Instant};

use crate::run::Failure;

/// The running account of a test command.
pub(crate) struct Report {
    steps: usize,
    opened: usize,
    started: Instant,
    step_started: Instant,
    passed: u64,
    failed: u64,
}

impl Report {
    pub(crate) fn new(steps: usize) -> Self {
        let now = Instant::now();
        Self {
            steps,
            opened: 0,
            started: now,
            step_started: now,
            passed: 0,
            failed: 0,
        }
    }

    pub(crate) fn open(&mut self, name: &str, about: &str) {
        self.opened += 1;
        self.step_started = Instant::now();
        println!("\n==== [{}/{}] {name}: {about}", self.opened, self.steps);
    }

    pub(crate) fn close(&self) {
        println!("---- {}", spoken(self.step_started.elapsed()));
    }

    /// Counts checks that a step made itself.
    pub(crate) fn count(&mut self, passed: u64, failed: u64) {
        self.passed += passed;
        self.failed += failed;
    }

    /// Shows one line of a test run and counts what it reports.
    pub(crate) fn test_line(&mut self, line: &str) {
        println!("{line}");
        // Criterion's word for a bench that ran through in test mode.
        if line == "Success" {
            self.count(1, 0);
        }
        if let Some((passed, failed)) = test_result(line) {
            self.count(passed, failed);
        }
    }

    pub(crate) fn failed(&self, step: &str, failure: &Failure) {
        println!("---- {}", spoken(self.step_started.elapsed()));
        println!("\nstep `{step}` failed: {failure}");
        println!("run it alone with: cargo xtask {step}");
        println!(
            "\ntest result: FAILED. {} passed, {} failed; stopped in step {} of {} after {}",
            self.passed,
            self.failed.max(1),
            self.opened,
            self.steps,
            spoken(self.started.elapsed()),
        );
    }

    pub(crate) fn passed(&self) {
        println!(
            "\ntest result: ok. {} passed, 0 failed; {} steps in {}",
            self.passed,
            self.steps,
            spoken(self.started.elapsed()),
        );
    }
}

/// `test result: ok. 3 passed; 0 failed; …` → (3, 0); also when coloured.
fn test_result(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("test result: ")?;
    let number_before = |word: &str| {
        let (before, _) = rest.split_once(word)?;
        before.rsplit([' ', '.']).next()?.parse().ok()
    };
    Some((number_before(" passed;")?, number_before(" failed;")?))
}

fn spoken(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{:.1} s", elapsed.as_secs_f64())
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_counted() {
        let line = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; finished in 0.1s";
        assert_eq!(test_result(line), Some((12, 0)));
        let line = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured";
        assert_eq!(test_result(line), Some((3, 2)));
        assert_eq!(test_result("test foo::bar ... ok"), None);
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(spoken(Duration::from_millis(2_340)), "2.3 s");
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 5 s");
    }
}
