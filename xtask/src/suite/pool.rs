//! Runner of jobs as child processes, as many at a time as the schedule permits; it measures each.
//!
//! A child's output goes to a file, which is read when the child ends: a passed test shows nothing, a failed one everything.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::descendants::Descendants;
use super::gauge::Gauge;
use super::process::{Process, TICKS_PER_SECOND};
use super::schedule::Schedule;
use super::{Job, Outcome};
use crate::run::Failure;

/// Interval of checking whether children have ended: short compared with a test, long compared with the check.
const POLL: Duration = Duration::from_millis(10);

/// Variable that marks all programs that a job starts, even those in process groups of their own.
const MARK: &str = "CARILLON_XTASK_JOB";

/// A running job.
struct Running {
    job: Job,
    child: Child,
    output: PathBuf,
    began: Instant,
    is_killed: bool,
    has_ended: bool,
}

/// Runs all jobs; `each` receives every outcome, and the seconds that the rest will take.
pub(crate) fn run(
    mut schedule: Schedule,
    folder: &std::path::Path,
    mut each: impl FnMut(&Outcome, f64),
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let mut running: Vec<Running> = Vec::new();
    let mut begun = 0;
    let mut descendants = Descendants::default();
    let mut gauge = Gauge::new(std::thread::available_parallelism().map_or(1, usize::from));
    loop {
        while running.is_empty() || gauge.admits() {
            let Some(job) = schedule.next() else { break };
            gauge.begun();
            let output = folder.join(format!("{}-{begun}", std::process::id()));
            running.push(Running::begin(job, output)?);
            begun += 1;
        }
        if running.is_empty() {
            return Ok(());
        }
        descendants.sample(running.iter().map(|one| one.child.id()));
        let mut index = 0;
        let mut has_ended = false;
        while index < running.len() {
            let Some(seconds_used) = running[index].poll()? else {
                index += 1;
                continue;
            };
            let ended = running.swap_remove(index);
            schedule.ended(&ended.job);
            let seen = descendants.take(ended.child.id());
            let outcome = ended.finish(seconds_used.max(seen))?;
            each(&outcome, schedule.seconds_left());
            has_ended = true;
        }
        if !has_ended {
            std::thread::sleep(POLL);
        }
    }
}

impl Running {
    fn begin(mut job: Job, output: PathBuf) -> Result<Self, Failure> {
        let file = File::create(&output)?;
        let command: &mut Command = &mut job.command;
        let child = command
            .env(MARK, &output)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .map_err(|error| Failure(format!("{}: {error}", job.name)))?;
        Ok(Self {
            job,
            child,
            output,
            began: Instant::now(),
            is_killed: false,
            has_ended: false,
        })
    }

    /// Returns the processor seconds of the child and its descendants once it has ended, and kills a child that hangs.
    fn poll(&mut self) -> Result<Option<f64>, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        if let Some(seconds) = seconds_of_ended(&stat) {
            return Ok(Some(seconds));
        }
        if !self.is_killed && self.began.elapsed() > self.job.time_max {
            self.is_killed = true;
            self.kill();
        }
        Ok(None)
    }

    /// Kills the child and everything it started: servers and players would otherwise run alongside the next tests.
    fn kill(&mut self) {
        self.child.kill().ok();
        let mark = format!("{MARK}={}\0", self.output.display());
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            // The environment of a process that has ended, or of another user, cannot be read.
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&mark) {
                let mut kill = Command::new("kill");
                kill.arg("-KILL").arg(process.file_name());
                kill.stderr(Stdio::null()).status().ok();
            }
        }
    }

    fn finish(mut self, seconds_used: f64) -> Result<Outcome, Failure> {
        let status: ExitStatus = self.child.wait()?;
        self.has_ended = true;
        let seconds = self.began.elapsed().as_secs_f64();
        let bytes = std::fs::read(&self.output)?;
        std::fs::remove_file(&self.output)?;
        let mut output = String::from_utf8_lossy(&bytes).into_owned();
        if self.is_killed {
            output.push_str(&format!("\nkilled after {:?}\n", self.job.time_max));
        } else if !status.success() {
            output.push_str(&format!("\n{status}\n"));
        }
        let is_empty = !self.job.may_be_empty && !has_test(&output);
        if is_empty && status.success() {
            output.push_str("\nit ran no test\n");
        }
        Ok(Outcome {
            name: self.job.name.clone(),
            again: self.job.again.clone(),
            is_passed: status.success() && !is_empty,
            seconds,
            processors: seconds_used / seconds.max(0.01),
            output,
        })
    }
}

impl Drop for Running {
    /// Kills the child if the run ends by an error of its own.
    fn drop(&mut self) {
        if !self.has_ended {
            self.kill();
            self.child.wait().ok();
        }
    }
}

/// Returns whether a harness with this output ran a test.
fn has_test(output: &str) -> bool {
    output
        .lines()
        .any(|line| line.starts_with("test ") && line.contains(" ... "))
}

/// Parses a line of `/proc/PID/stat`: returns the processor time of a process that has ended and is not yet waited for, with
/// that of the children it has waited for; `None` while it runs.
fn seconds_of_ended(stat: &str) -> Option<f64> {
    let process = Process::parse(stat).filter(|process| process.has_ended)?;
    Some((process.ticks + process.ticks_of_children) as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job {
            may_be_empty: name != "empty",
            ..Job::new(name, command)
        }
    }

    #[test]
    fn outcomes_have_output_and_processors() {
        let jobs = vec![
            shell("fine", "echo nothing to say"),
            shell("empty", "echo test result: ok. 0 passed"),
            shell("busy", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"),
            shell("broken", "echo a complaint >&2; exit 3"),
        ];
        let folder = std::env::temp_dir().join(format!("carillon-pool-{}", std::process::id()));
        let mut outcomes = Vec::new();
        let schedule = Schedule::new(jobs, 2.0, 4);
        run(schedule, &folder, |outcome, _| {
            outcomes.push(outcome.clone());
        })
        .expect("they run");
        std::fs::remove_dir(&folder).expect("nothing is left in it");
        let of = |name: &str| outcomes.iter().find(|outcome| outcome.name == name);
        let broken = of("broken").expect("it ran");
        assert!(!broken.is_passed && broken.output.contains("a complaint"));
        assert!(broken.output.contains("exit status: 3"));
        let empty = of("empty").expect("it ran");
        assert!(!empty.is_passed && empty.output.contains("it ran no test"));
        assert!(of("fine").is_some_and(|outcome| outcome.is_passed));
        assert!(of("busy").is_some_and(|outcome| outcome.processors > 0.1));
    }

    #[test]
    fn what_a_job_has_started_is_killed_with_it() {
        let folder = std::env::temp_dir().join(format!("carillon-kill-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let left = folder.join("left");
        let mut job = shell("hangs", "setsid sleep 1000 & echo $! > $0; wait");
        job.command.arg(&left);
        let mut running = Running::begin(job, folder.join("output")).expect("it begins");
        let pid = loop {
            match std::fs::read_to_string(&left) {
                Ok(pid) if pid.ends_with('\n') => break pid,
                _ => std::thread::sleep(POLL),
            }
        };
        running.kill();
        drop(running);
        let stat = format!("/proc/{}/stat", pid.trim());
        // The process that inherits it must reap it.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::sleep(POLL);
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn processor_time_is_read_of_what_has_ended() {
        let stat = "17 (a (b) c) Z 1 17 1 0 -1 4 0 0 0 0 150 50 25 75 20 0 1 0 9 0 0";
        assert_eq!(seconds_of_ended(stat), Some(3.0));
        assert_eq!(seconds_of_ended(&stat.replace(" Z ", " S ")), None);
        assert_eq!(seconds_of_ended(""), None);
    }
}
