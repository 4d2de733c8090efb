//! How busy the machine is: no test begins while those that run already wait for processors.
//!
//! Records of earlier runs say what a test takes on the machine that made them; on a slower one, or with a newer browser,
//! as many would get in each other's way until they time out. Builds at idle priority do not count: they give way.

use std::time::{Duration, Instant};

/// Between two looks: long enough for a test that has begun to show.
const WINDOW: Duration = Duration::from_millis(500);

/// Share of the processors' time from which on no further test begins.
const BUSY_MAX: f64 = 0.85;

/// Lets as many tests begin in each window as there are processors, unless these are busy.
#[derive(Debug)]
pub(super) struct Gauge {
    per_window: usize,
    left: usize,
    last: Option<(Instant, Ticks)>,
}

/// Processor time since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl Gauge {
    pub(super) fn new(processors: usize) -> Self {
        Self {
            per_window: processors.max(1),
            left: processors.max(1),
            last: None,
        }
    }

    /// Whether another test may begin now.
    pub(super) fn admits(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.last.is_none_or(|(at, _)| now >= at + WINDOW);
        if is_due
            && let Some(ticks) = std::fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|it| parse(&it))
        {
            self.look(ticks, now);
        }
        self.left > 0
    }

    /// A test has begun.
    pub(super) fn begun(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn look(&mut self, ticks: Ticks, now: Instant) {
        let is_busy = self.last.is_some_and(|(_, last)| {
            let busy = ticks.busy.saturating_sub(last.busy) as f64;
            busy > BUSY_MAX * ticks.all.saturating_sub(last.all) as f64
        });
        self.left = if is_busy { 0 } else { self.per_window };
        self.last = Some((now, ticks));
    }
}

/// The first line of `/proc/stat` (proc_stat(5)): `cpu user nice system idle iowait irq softirq steal …`.
fn parse(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map_while(|it| it.parse().ok())
        .collect();
    let [
        user,
        nice,
        system,
        idle,
        waiting,
        interrupts,
        soft,
        stolen,
        ..,
    ] = fields[..]
    else {
        return None;
    };
    let busy = user + system + interrupts + soft + stolen;
    Some(Ticks {
        busy,
        all: busy + nice + idle + waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_begin_as_the_processors_allow() {
        let mut gauge = Gauge::new(2);
        let began = Instant::now();
        let mut look = |window: u32, busy| {
            let all = u64::from(window) * 100;
            gauge.look(Ticks { busy, all }, began + window * WINDOW);
            let mut count = 0;
            while gauge.left > 0 {
                gauge.begun();
                count += 1;
            }
            count
        };
        assert_eq!(
            [look(0, 0), look(1, 50), look(2, 140), look(3, 160)],
            [2, 2, 0, 2]
        );
    }

    #[test]
    fn builds_at_idle_priority_are_not_busy() {
        let stat = "cpu  10 700 5 200 30 1 2 3 0 0\ncpu0 1 2 3\n";
        assert_eq!(parse(stat), Some(Ticks { busy: 21, all: 951 }));
        assert_eq!(parse(""), None);
    }
}
