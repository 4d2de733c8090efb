//! A child process whose output is kept and whose whole group is killed on drop.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, kill_process_group};

pub use rustix::process::Signal;

use crate::wait_until;

/// Maximum number of lines of standard error kept: the end is what explains a failure.
const LINES_MAX: usize = 4_000;
/// Maximum number of bytes of standard output kept; a longer output means that the test requests the wrong thing.
const STDOUT_MAX: usize = 256 << 20;
/// Time limit for a killed child to be reaped.
const REAP_DEADLINE: Duration = crate::DEADLINE;

/// A running child and its output so far. Dropping it kills the child and everything it started; if the test is panicking, its
/// output is printed.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts `command` in a process group of its own, with both outputs captured.
    ///
    /// # Panics
    /// Panics if the child cannot be started.
    #[must_use]
    pub fn start(name: &str, command: &mut Command) -> Self {
        let spawned = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let stdout = Arc::new(Mutex::new(Vec::new()));
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            let kept = Arc::clone(&stdout);
            readers.push(std::thread::spawn(move || keep_bytes(pipe, &kept)));
        }
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            readers.push(std::thread::spawn(move || keep_lines(pipe, &kept)));
        }
        Self {
            name: name.to_owned(),
            child,
            stdout,
            stderr,
            readers,
        }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the standard output so far.
    pub fn stdout(&self) -> Vec<u8> {
        locked(&self.stdout).clone()
    }

    /// Returns the last lines of standard error so far.
    pub fn stderr(&self) -> String {
        let lines = locked(&self.stderr);
        lines
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Returns whether the child has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to the child and its descendants: `Signal::STOP` freezes it as a hung network would, `Signal::CONT` lets
    /// it continue, `Signal::KILL` ends it without a goodbye.
    ///
    /// # Panics
    /// Panics if the child has ended already.
    pub fn signal(&self, signal: Signal) {
        let sent = self.group().map_or(Err(rustix::io::Errno::SRCH), |group| {
            kill_process_group(group, signal)
        });
        sent.unwrap_or_else(|error| panic!("{}: {signal:?}: {error}", self.name));
    }

    /// Kills the child and waits until it is gone; by then the kernel has closed its sockets.
    pub fn kill(&mut self) {
        self.kill_group();
        let what = format!("{} to be gone", self.name);
        wait_until(&what, REAP_DEADLINE, || !self.is_running());
    }

    /// Waits for the child's end and for the last of its output.
    ///
    /// # Panics
    /// Panics if the child still runs after `deadline`.
    pub fn wait(&mut self, deadline: Duration) -> ExitStatus {
        let mut status = None;
        let what = format!("{} to end", self.name);
        wait_until(&what, deadline, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        // Processes it left behind would hold the pipes open.
        self.kill_group();
        for reader in self.readers.drain(..) {
            let _a_panic_there_lost_output_only = reader.join();
        }
        status.unwrap_or_else(|| panic!("{}: no exit status", self.name))
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn kill_group(&self) {
        if let Some(group) = self.group() {
            // An error means that the group is empty.
            let _none_left = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
        let _reaped = self.child.wait();
        if std::thread::panicking() {
            let stdout = self.stdout();
            let shown = String::from_utf8_lossy(&stdout[..stdout.len().min(16 << 10)]).into_owned();
            eprintln!("---- {}: stdout\n{shown}", self.name);
            eprintln!("---- {}: stderr\n{}\n----", self.name, self.stderr());
        }
    }
}

fn keep_bytes(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = retry(|| pipe.read(&mut buffer)) {
        let mut kept = locked(kept);
        let room = STDOUT_MAX - kept.len();
        kept.extend_from_slice(&buffer[..length.min(room)]);
    }
}

fn keep_lines(pipe: impl Read, kept: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let mut kept = locked(kept);
        if kept.len() == LINES_MAX {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
}

fn retry(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns what is behind a lock, although a thread may have panicked with it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = crate::DEADLINE;

    fn shell(script: &str) -> Process {
        Process::start("sh", Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn output_and_status_arrive() {
        let mut process = shell("printf out; echo err >&2; exit 3");
        assert_eq!(process.wait(DEADLINE).code(), Some(3));
        assert_eq!(process.stdout(), b"out");
        assert_eq!(process.stderr(), "err");
    }

    #[test]
    fn grandchildren_die_with_the_child() {
        let mut process = shell("sleep 1000 & echo $!; wait");
        wait_until("the grandchild's pid", DEADLINE, || {
            !process.stdout().is_empty()
        });
        let pid = String::from_utf8_lossy(&process.stdout()).trim().to_owned();
        process.kill();
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        wait_until("the grandchild's end", DEADLINE, || {
            state().is_empty() || state().contains(") Z ")
        });
    }

    #[test]
    fn a_stopped_child_says_nothing_until_it_continues() {
        // A single process: a shell that is stopped while it forks waits for a child that is stopped as well, and never appears
        // as stopped.
        let process = shell(
            "exec perl -e '$|=1; for (;;) { print qq(x\\n); select undef, undef, undef, 0.01 }'",
        );
        wait_until("the first line", DEADLINE, || !process.stdout().is_empty());
        process.signal(Signal::STOP);
        let stopped = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid()));
            stat.is_ok_and(|stat| stat.contains(") T "))
        };
        wait_until("the stop", DEADLINE, stopped);
        process.signal(Signal::CONT);
        let before = process.stdout().len();
        wait_until("more lines", DEADLINE, || {
            process.stdout().len() > before + 20
        });
    }
}
