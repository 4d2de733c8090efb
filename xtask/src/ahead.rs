//! Builds for later steps, made while the scenarios run.
//!
//! Scenarios wait for players and clocks for much of their time, and one compiler at the lowest priority takes no more than
//! what they leave. A build that fails here fails again in the step that needs it, and that step shows the reason.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval of checking whether a build has ended.
const POLL: Duration = Duration::from_millis(200);

/// Builds in progress. Dropping this gives them up.
pub(crate) struct Ahead {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins with the first build; each follows the one before it.
    pub(crate) fn begin(builds: Vec<Command>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let run = move || {
            for build in builds {
                if let Ok(child) = at_leisure(&build).spawn() {
                    wait(child, &seen);
                }
            }
        };
        Self {
            is_over,
            thread: Some(thread::spawn(run)),
        }
    }

    /// Waits for all builds: the next step may need the machine to itself.
    pub(crate) fn finish(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the thread costs only a build that is made later anyway.
            thread.join().ok();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.join();
    }
}

fn wait(mut child: Child, is_over: &AtomicBool) {
    while let Ok(None) = child.try_wait() {
        if is_over.load(Ordering::Relaxed) {
            child.kill().ok();
        }
        thread::sleep(POLL);
    }
}

/// Returns the command at the lowest priority, on one processor, silent.
fn at_leisure(command: &Command) -> Command {
    let mut niced = Command::new("nice");
    niced.args(["-n", "19"]);
    niced.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => niced.env(name, value),
            None => niced.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        niced.current_dir(folder);
    }
    niced.env("CARGO_BUILD_JOBS", "1");
    niced.stdin(Stdio::null());
    niced.stdout(Stdio::null()).stderr(Stdio::null());
    niced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_follow_each_other_and_are_waited_for() {
        let folder = std::env::temp_dir().join(format!("carillon-ahead-{}", std::process::id()));
        let in_shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env("FOLDER", &folder);
            command
        };
        let first = in_shell("mkdir \"$FOLDER\"");
        let second = in_shell("test $(nice) = 19 && rmdir \"$FOLDER\" && mkdir \"$FOLDER.done\"");
        Ahead::begin(vec![first, second]).finish();
        let done = folder.with_extension("done");
        let is_done = std::fs::remove_dir(&done).is_ok();
        assert!(is_done && !folder.exists());
    }

    #[test]
    fn what_is_given_up_ends() {
        let mut endless = Command::new("sleep");
        endless.arg("3600");
        drop(Ahead::begin(vec![endless]));
    }
}
