//! Rate of a server's system calls.

use std::time::Duration;

use testkit::{Process, Tool};

/// Time during which calls are counted. Counting slows a server down, so it is done outside the measured window.
pub(crate) const COUNT_TIME: Duration = Duration::from_secs(2);
/// Time limit for perf to end.
const END_DEADLINE: Duration = Duration::from_secs(60);

/// Returns the calls of these names per second by the processes `pids`, by perf's tracepoints; `None` if the kernel offers
/// none.
pub(crate) fn per_second(pids: &[u32], names: &[&str]) -> Option<f64> {
    let events = names
        .iter()
        .map(|name| format!("syscalls:sys_enter_{name}"));
    let events: Vec<String> = events.collect();
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let seconds = COUNT_TIME.as_secs_f64();
    let mut perf: Process = Tool::new("perf")
        .args(["stat", "-x,", "-e", &events.join(",")])
        .args(["-p", &pids.join(",")])
        .args(["sleep", &seconds.to_string()])
        .start();
    perf.wait(END_DEADLINE);
    let said = perf.stderr();
    let counts = said.lines().filter(|line| line.contains("sys_enter"));
    let counts: Vec<f64> = counts
        .map_while(|line| line.split(',').next()?.parse().ok())
        .collect();
    (counts.len() == names.len()).then(|| counts.iter().sum::<f64>() / seconds)
}
