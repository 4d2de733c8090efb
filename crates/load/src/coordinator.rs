//! The parent of a load: starts the processes, watches the server meanwhile, and adds up the results.
//!
//! Each process is this program again, as `carillon load worker`. One thread for each worker reads its lines
//! and passes them on through one channel.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::clock;
use crate::plan::{Plan, Work};
use crate::report::{Frame, Machine, Report};
use crate::sums::Sum;
use crate::tally::{Progress, Tally};
use crate::watch::{self, Look};
use crate::worker::{self, Word};

/// Number of descriptors of a process in addition to those of its members.
const DESCRIPTORS_SPARE: u64 = 64;
/// Maximum number of processes: more than any machine has processors, and few enough not to overload it.
const PROCESSES_MAX: u64 = 64;
/// Capacity of the channel of workers' lines.
const WORDS_MAX: usize = 256;
/// Time that each process takes to start.
const START_TIME: Duration = Duration::from_millis(100);
/// Time allowed for workers to report after the end of the plan.
const END_PATIENCE: Duration = Duration::from_secs(30);
/// Minimum length of the window, in seconds; a shorter one means that all members failed before it began.
const WINDOW_MIN: f64 = 0.05;
/// Interval between two progress lines if a line cannot be overwritten.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Errors of a load itself.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A process could not be started or reached.
    #[error("a process of the load: {0}")]
    Process(#[from] std::io::Error),
    /// The plan could not be written as JSON; this never happens.
    #[error("a plan: {0}")]
    Plan(#[from] serde_json::Error),
    /// A worker wrote something other than its lines.
    #[error("a process of the load ended early")]
    WorkerLost,
    /// There are too many members for one machine.
    #[error(
        "{members} members need {needed} processes, more than {PROCESSES_MAX}: raise `ulimit -n`"
    )]
    TooMany {
        /// Number of members requested.
        members: u64,
        /// Number of processes that they need.
        needed: u64,
    },
}

/// Returns the number of processes over which `members` are spread; each member needs that many `descriptors`.
pub(crate) fn processes(
    members: u64,
    descriptors: u64,
    asked: Option<u64>,
) -> Result<u64, LoadError> {
    let limit = worker::raise_descriptor_limit();
    let each = limit.saturating_sub(DESCRIPTORS_SPARE) / descriptors;
    let each = each.max(1);
    let needed = members.div_ceil(each).max(1);
    if needed > PROCESSES_MAX {
        return Err(LoadError::TooMany { members, needed });
    }
    Ok(asked.unwrap_or(1).clamp(needed, PROCESSES_MAX))
}

/// Runs the plan in all its processes.
pub(crate) fn run(mut plan: Plan, pids: &[u32]) -> Result<Report, LoadError> {
    let before = Look::at(pids);
    let start_time = START_TIME * (plan.processes as u32 + 2);
    plan.begin_at = clock::wall() + clock::nanoseconds(start_time);
    let began = Instant::now() + start_time;
    let mut crew = Crew::start(&plan)?;
    let timeline = plan.timeline();
    let moment = |time: u64| began + Duration::from_nanos(time);

    crew.hear_until(moment(timeline.window_begin))?;
    let (window, idle, first) = (Instant::now(), watch::idle_seconds(), Look::at(pids));
    let overflows = watch::overflows();
    crew.hear_until(moment(timeline.end))?;
    let seconds = window.elapsed().as_secs_f64().max(WINDOW_MIN);
    let idle = watch::idle_seconds() - idle;
    let last = Look::at(pids);
    let overflows = watch::overflows().saturating_sub(overflows);
    crew.hear_until(moment(timeline.end) + END_PATIENCE)?;
    let tally = crew.finish()?;

    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (kernel, congestion_control) = watch::machine();
    let frame = Frame {
        command: match plan.work {
            Work::Listen(_) => "listen",
            Work::Publish(_) => "publish",
        },
        url: plan.target.to_string(),
        machine: Machine {
            kernel,
            congestion_control,
            cpus,
            idle: (seconds > WINDOW_MIN).then_some(idle / seconds / cpus as f64),
            overflows,
        },
        requested: plan.members,
    };
    let server = (!pids.is_empty()).then(|| first.until(&last, seconds, &before));
    Ok(Report::new(frame, seconds, server, &tally))
}

/// The workers, and their reports so far.
struct Crew {
    children: Vec<Child>,
    words: Receiver<(usize, Option<Word>)>,
    progress: Vec<Progress>,
    members: u64,
    tallies: Vec<Tally>,
    next_line: Instant,
}

impl Crew {
    fn start(plan: &Plan) -> Result<Self, LoadError> {
        let (tell, words) = sync_channel(WORDS_MAX);
        let mut crew = Self {
            children: Vec::new(),
            words,
            progress: vec![Progress::default(); plan.processes as usize],
            members: plan.members,
            tallies: Vec::new(),
            next_line: Instant::now(),
        };
        for process in 0..plan.processes {
            // The executable may have been replaced since; this path is the program that is running.
            let mut child = Command::new("/proc/self/exe")
                .args(["load", "worker"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let own = Plan {
                process,
                ..plan.clone()
            };
            if let Some(stdin) = child.stdin.take() {
                serde_json::to_writer(stdin, &own)?;
            }
            if let Some(stdout) = child.stdout.take() {
                let tell = tell.clone();
                std::thread::spawn(move || listen(process as usize, BufReader::new(stdout), &tell));
            }
            crew.children.push(child);
        }
        Ok(crew)
    }

    /// Reads the workers' lines until `end`, or until all workers have reported everything.
    fn hear_until(&mut self, end: Instant) -> Result<(), LoadError> {
        while !self.is_over() {
            let left = end.saturating_duration_since(Instant::now());
            match self.words.recv_timeout(left) {
                Ok((process, Some(Word::Progress(progress)))) => {
                    self.progress[process] = progress;
                    self.show_progress();
                }
                Ok((_, Some(Word::Done(tally)))) => self.tallies.push(*tally),
                Ok((_, None)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(LoadError::WorkerLost);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.tallies.len() == self.children.len()
    }

    fn show_progress(&mut self) {
        let is_terminal = std::io::stderr().is_terminal();
        let now = Instant::now();
        let mut sum = Progress::default();
        self.progress.iter().for_each(|progress| sum.add(*progress));
        if sum.begun == 0 || !is_terminal && now < self.next_line {
            return;
        }
        self.next_line = now + LINE_INTERVAL;
        let end = if is_terminal { "\x1b[K\r" } else { "\n" };
        let line = format!(
            "{} of {} begun, {} joined, {} failed, {} lost, {:.1} MB{end}",
            sum.begun,
            self.members,
            sum.joined,
            sum.failed,
            sum.lost,
            sum.bytes as f64 / 1e6
        );
        let mut stderr = std::io::stderr();
        // If standard error is closed, the progress is not wanted.
        stderr
            .write_all(line.as_bytes())
            .and_then(|()| stderr.flush())
            .ok();
    }

    fn finish(mut self) -> Result<Tally, LoadError> {
        if !self.is_over() {
            return Err(LoadError::WorkerLost);
        }
        let mut whole = Tally::default();
        self.tallies.drain(..).for_each(|tally| whole.add(tally));
        for mut child in self.children.drain(..) {
            child.wait()?;
        }
        if std::io::stderr().is_terminal() {
            std::io::stderr().write_all(b"\x1b[K").ok();
        }
        Ok(whole)
    }
}

/// Ends the workers: a load that fails leaves no process behind.
impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Passes on a worker's lines; sends `None` for a worker that ended without its tally.
fn listen(process: usize, lines: impl BufRead, tell: &SyncSender<(usize, Option<Word>)>) {
    for line in lines.lines() {
        let word = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let is_last = !matches!(word, Some(Word::Progress(_)));
        if tell.send((process, word)).is_err() || is_last {
            return;
        }
    }
    tell.send((process, None)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_decide_how_many_processes() {
        let limit = worker::raise_descriptor_limit();
        assert_eq!(processes(10, 1, None).expect("few"), 1);
        assert_eq!(processes(10, 1, Some(3)).expect("few"), 3);
        if let Some(more) = limit.checked_mul(2) {
            assert_eq!(processes(more, 1, Some(1)).expect("not many"), 3);
            assert_eq!(processes(limit, 2, Some(1)).expect("not many"), 3);
        }
        assert!(
            matches!(processes(u64::MAX, 1, None), Err(LoadError::TooMany { .. }))
                || limit == u64::MAX
        );
    }

    #[test]
    fn a_worker_that_ends_early_is_noticed() {
        let (tell, words) = sync_channel(8);
        let text = serde_json::to_string(&Word::Progress(Progress::default())).expect("JSON");
        listen(1, format!("{text}\n").as_bytes(), &tell);
        let heard: Vec<_> = words.try_iter().collect();
        assert!(matches!(
            heard[..],
            [(1, Some(Word::Progress(_))), (1, None)]
        ));
    }
}
