//! Output for people: a line of progress while a run continues, then a table of its steps, the slowest tests, and for each
//! failure the command that repeats it alone.

use std::time::{Duration, Instant};

use crate::journal::Journal;
use crate::run::{Failure, Workspace};
use crate::suite::{self, Durations, Outcome};

/// Number of slowest tests that are named at the end.
const SLOWEST: usize = 10;

/// Beginning of a line in which a test says what it could not test on this host.
const UNTESTED: &str = "NOT TESTED";

/// Report of a run.
pub(crate) struct Report {
    journal: Journal,
    durations: Durations,
    /// All steps of the run, in order.
    plan: Vec<&'static str>,
    started: Instant,
    /// Steps that have ended.
    rows: Vec<Row>,
    step: Open,
    slowest: Vec<(f64, String)>,
    /// Passed tests, for the records.
    seen: Vec<(String, suite::Duration)>,
    again: Vec<(String, String)>,
    /// Messages of tests about what they could not test here.
    untested: Vec<String>,
    passed: u64,
    failed: u64,
}

/// The running step.
struct Open {
    name: &'static str,
    /// Command that repeats it alone.
    again: String,
    started: Instant,
    passed: u64,
    failed: u64,
    /// Number of tests that it will run, if known.
    tests: usize,
    /// Number of its tests that have ended.
    ended: usize,
    /// Whether a failure of it is listed already, with the command that repeats it.
    names_failures: bool,
}

/// A step that has ended.
struct Row {
    name: &'static str,
    end: End,
    passed: u64,
    failed: u64,
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    /// Passed in an earlier run of the same tree.
    Before,
}

impl Open {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            again: format!("cargo xtask {name}"),
            started: Instant::now(),
            passed: 0,
            failed: 0,
            tests: 0,
            ended: 0,
            names_failures: false,
        }
    }
}

impl Report {
    pub(crate) fn new(journal: Journal, durations: Durations, plan: Vec<&'static str>) -> Self {
        Self {
            journal,
            durations,
            plan,
            started: Instant::now(),
            rows: Vec::new(),
            step: Open::new(""),
            slowest: Vec::new(),
            seen: Vec::new(),
            again: Vec::new(),
            untested: Vec::new(),
            passed: 0,
            failed: 0,
        }
    }

    /// Records a step that passed in an earlier run and is not repeated; returns whether it is one.
    pub(crate) fn is_done(&mut self, name: &'static str) -> bool {
        let Some(seconds) = self.journal.passed(&step_key(name)) else {
            return false;
        };
        self.rows.push(Row {
            name,
            end: End::Before,
            passed: 0,
            failed: 0,
            seconds,
        });
        true
    }

    /// Returns whether a step passed in an earlier run and need not be repeated.
    pub(crate) fn is_step_green(&self, name: &str) -> bool {
        self.journal.passed(&step_key(name)).is_some()
    }

    /// Returns whether a test passed in an earlier run and need not be repeated.
    pub(crate) fn is_green(&self, test: &str) -> bool {
        self.journal.passed(&test_key(test)).is_some()
    }

    pub(crate) fn open(&mut self, name: &'static str, about: &str) {
        self.step = Open::new(name);
        // The step no longer counts as passed, should the run be killed.
        self.journal.note(&step_key(name), false, 0.0);
        let number = self.rows.len() + 1;
        let left = self.left(0.0);
        println!(
            "\n==== [{number}/{}] {name}: {about} ({}{left})",
            self.plan.len(),
            spoken(self.started.elapsed()),
        );
    }

    /// Sets the command that repeats the step alone, if the step's name is not the command's.
    pub(crate) fn repeated_by(&mut self, command: String) {
        self.step.again = command;
    }

    /// Makes the journal compare the files with those at the beginning of the run.
    pub(crate) fn check_journal(&mut self, workspace: &Workspace) {
        self.journal.check(workspace);
    }

    /// Ends the step.
    pub(crate) fn close(&mut self, result: &Result<(), Failure>) {
        let step = &self.step;
        let seconds = step.started.elapsed().as_secs_f64();
        let is_passed = result.is_ok();
        self.journal.note(&step_key(step.name), is_passed, seconds);
        println!("---- {}", spoken(step.started.elapsed()));
        if let Err(failure) = result {
            println!("step `{}` failed: {failure}", step.name);
            if !step.names_failures {
                self.again.push((step.name.to_owned(), step.again.clone()));
            }
        }
        let failed = step.failed.max(u64::from(!is_passed));
        self.passed += step.passed;
        self.failed += failed;
        self.rows.push(Row {
            name: step.name,
            end: if is_passed { End::Passed } else { End::Failed },
            passed: step.passed,
            failed,
            seconds,
        });
    }

    /// Counts checks that a step performed itself.
    pub(crate) fn count(&mut self, passed: u64, failed: u64) {
        self.step.passed += passed;
        self.step.failed += failed;
    }

    /// Shows one line of a test run and counts what it reports.
    pub(crate) fn test_line(&mut self, line: &str) {
        println!("{line}");
        self.read_line(line);
    }

    /// Counts what a line of a test executable reports, and keeps the times of its tests.
    fn read_line(&mut self, line: &str) {
        // Criterion prints this for a bench that completed in test mode.
        if line == "Success" {
            self.count(1, 0);
        }
        if let Some((passed, failed)) = test_result(line) {
            self.count(passed, failed);
        }
        if let Some((name, seconds)) = timed_test(line) {
            self.slow(seconds, name);
        }
        if line.starts_with(UNTESTED) && !self.untested.iter().any(|said| said == line) {
            self.untested.push(line.to_owned());
        }
    }

    /// Sets the number of tests that the step runs.
    pub(crate) fn expect(&mut self, tests: usize) {
        self.step.tests += tests;
    }

    /// Counts and shows a test, or an executable of several, that ended; `seconds_left` is the recorded time of those that have
    /// not.
    pub(crate) fn ended(&mut self, outcome: &Outcome, seconds_left: f64) {
        self.step.ended += 1;
        let (passed, failed) = (self.step.passed, self.step.failed);
        for line in outcome.output.lines() {
            self.read_line(line);
        }
        // It ended before it could report how many tests failed.
        if !outcome.is_passed && self.step.failed == failed {
            self.count(0, 1);
        }
        self.journal
            .note(&test_key(&outcome.name), outcome.is_passed, outcome.seconds);
        let counted = self.step.passed - passed;
        if counted <= 1 {
            self.slow(outcome.seconds, &outcome.name);
        }
        let tests = if counted > 1 {
            format!(", {counted} tests")
        } else {
            String::new()
        };
        if outcome.is_passed {
            let duration = suite::Duration {
                seconds: outcome.seconds,
                processors: outcome.processors,
            };
            self.seen.push((outcome.name.clone(), duration));
        } else {
            println!("\n{}", outcome.output.trim_end());
            self.again.extend(repetitions(outcome));
            self.step.names_failures = true;
        }
        println!(
            "{}/{} {} {} ({:.1} s{tests})  {}{}",
            self.step.ended,
            self.step.tests,
            if outcome.is_passed { "ok" } else { "FAILED" },
            outcome.name,
            outcome.seconds,
            spoken(self.started.elapsed()),
            self.left(seconds_left),
        );
    }

    fn slow(&mut self, seconds: f64, name: &str) {
        self.slowest.push((seconds, name.to_owned()));
        self.slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
        self.slowest.truncate(SLOWEST);
    }

    /// Estimates the rest of the run, from the records and from this machine's speed compared with them so far.
    fn left(&self, seconds_left_of_step: f64) -> String {
        let record = |name: &str| self.durations.seconds(&step_key(name));
        let done = self.rows.iter().filter(|row| row.end == End::Passed);
        let (mut took, mut recorded) = (0.0, 0.0);
        for row in done {
            if let Some(seconds) = record(row.name) {
                took += row.seconds;
                recorded += seconds;
            }
        }
        let behind = self.rows.len() + usize::from(self.step.ended > 0);
        let ahead: f64 = self
            .plan
            .iter()
            .skip(behind)
            .filter(|name| self.journal.passed(&step_key(name)).is_none())
            .filter_map(|name| record(name))
            .sum();
        if ahead + seconds_left_of_step == 0.0 {
            return String::new();
        }
        let pace = if recorded > 30.0 {
            took / recorded
        } else {
            1.0
        };
        let left = Duration::from_secs_f64((ahead + seconds_left_of_step) * pace);
        format!(", about {} left", spoken(left))
    }

    /// Prints the table and the result; returns whether everything passed.
    pub(crate) fn finish(self) -> bool {
        let is_passed = self.failed == 0;
        println!(
            "\n{:<22} {:>7} {:>7} {:>13}",
            "step", "passed", "failed", "time"
        );
        for row in &self.rows {
            let end = match row.end {
                End::Passed => "",
                End::Failed => "  FAILED",
                End::Before => "  green before",
            };
            let time = spoken(Duration::from_secs_f64(row.seconds));
            println!(
                "{:<22} {:>7} {:>7} {time:>13}{end}",
                row.name, row.passed, row.failed
            );
        }
        let rest = &self.plan[self.rows.len()..];
        if !rest.is_empty() {
            println!("not run: {}", rest.join(", "));
        }
        if self.slowest.len() > 1 {
            println!("\nthe slowest tests");
            for (seconds, name) in &self.slowest {
                println!("{seconds:>8.1} s  {name}");
            }
        }
        if !self.again.is_empty() {
            println!("\nfailed, and what repeats it alone");
            for (name, again) in &self.again {
                println!("  {name}\n      {again}");
            }
        }
        if !self.untested.is_empty() {
            println!();
        }
        for line in &self.untested {
            println!("{line}");
        }
        println!(
            "\ntest result: {}. {} passed, {} failed; {} steps in {}",
            if is_passed { "ok" } else { "FAILED" },
            self.passed,
            self.failed,
            self.rows.len(),
            spoken(self.started.elapsed()),
        );
        is_passed
    }

    /// Returns the times of the tests and steps that passed.
    pub(crate) fn seen(&self) -> Vec<(String, suite::Duration)> {
        let passed = self.rows.iter().filter(|row| row.end == End::Passed);
        // Tests that a resumed run skips make a step short.
        let passed = passed.filter(|_| !self.journal.is_resumed());
        let steps = passed.map(|row| {
            let duration = suite::Duration {
                seconds: row.seconds,
                processors: 0.0,
            };
            (step_key(row.name), duration)
        });
        self.seen.iter().cloned().chain(steps).collect()
    }
}

/// Returns the failed tests of a job, and the command that repeats each: a scenario is one test, an executable of unit tests
/// has many.
fn repetitions(outcome: &Outcome) -> Vec<(String, String)> {
    let lines = outcome.output.lines().filter_map(|line| {
        let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
        end.starts_with("FAILED").then_some(name)
    });
    let failed: Vec<_> = lines
        .filter(|name| !outcome.again.contains(*name))
        .collect();
    if failed.is_empty() {
        return vec![(outcome.name.clone(), outcome.again.clone())];
    }
    let of_executable = |test: &&str| {
        let again = format!("{} -- --exact {test}", outcome.again);
        (format!("{} {test}", outcome.name), again)
    };
    failed.iter().map(of_executable).collect()
}

fn step_key(name: &str) -> String {
    format!("step {name}")
}

fn test_key(name: &str) -> String {
    format!("test {name}")
}

/// Parses `test result: ok. 3 passed; 0 failed; …` to (3, 0); also if coloured.
fn test_result(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("test result: ")?;
    let number_before = |word: &str| {
        let (before, _) = rest.split_once(word)?;
        before.rsplit([' ', '.']).next()?.parse().ok()
    };
    Some((number_before(" passed;")?, number_before(" failed;")?))
}

/// Parses `test a::b ... ok <1.234s>`, as `--report-time` writes it.
fn timed_test(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = rest.split_once('<')?;
    Some((name, time.strip_suffix("s>")?.parse().ok()?))
}

/// Formats a duration for people.
pub(crate) fn spoken(elapsed: Duration) -> String {
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
    fn times_of_tests_are_read() {
        assert_eq!(
            timed_test("test a::b ... ok <0.012s>"),
            Some(("a::b", 0.012))
        );
        assert_eq!(timed_test("test a::b ... ok"), None);
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(spoken(Duration::from_millis(2_340)), "2.3 s");
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 5 s");
    }

    fn outcome(name: &str, output: &str, is_passed: bool) -> Outcome {
        Outcome {
            name: name.to_owned(),
            again: format!("cargo xtask scenarios {name}"),
            is_passed,
            seconds: 1.0,
            processors: 0.5,
            output: output.to_owned(),
        }
    }

    #[test]
    fn each_failed_test_of_an_executable_is_repeated_alone() {
        let said = "test a::one ... ok <0.001s>\ntest a::two ... FAILED <0.002s>\n";
        let unit = Outcome {
            again: "cargo test -p carillon-net --lib".to_owned(),
            ..outcome("unit net lib", said, false)
        };
        let again = "cargo test -p carillon-net --lib -- --exact a::two";
        let expected = ("unit net lib a::two".to_owned(), again.to_owned());
        assert_eq!(repetitions(&unit), [expected]);
        let scenario = outcome("core::b", "test core::b ... FAILED\n", false);
        assert_eq!(repetitions(&scenario)[0].1, "cargo xtask scenarios core::b");
    }

    #[test]
    fn a_failure_is_counted_once_and_named_with_what_repeats_it() {
        let plan = vec!["unit", "scenarios"];
        let mut report = Report::new(Journal::default(), Durations::default(), plan);
        report.open("scenarios", "");
        report.expect(3);
        let passed = "test result: ok. 1 passed; 0 failed;";
        report.ended(&outcome("core::a", passed, true), 1.0);
        let failed = "test result: FAILED. 0 passed; 1 failed;";
        report.ended(&outcome("core::b", failed, false), 1.0);
        report.ended(&outcome("core::c", "signal: 9", false), 0.0);
        report.close(&Err(Failure("2 failed".to_owned())));
        assert_eq!((report.passed, report.failed), (1, 2));
        let names: Vec<_> = report.again.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["core::b", "core::c"]);
        let seen: Vec<_> = report.seen().into_iter().map(|(name, _)| name).collect();
        assert_eq!(seen, ["core::a"], "and not the step, which failed");
        assert!(!report.finish());
    }
}
