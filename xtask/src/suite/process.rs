//! Parser of `/proc/PID/stat` (proc_pid_stat(5)).

/// Ticks per second of the processor time in `/proc`, which the kernel fixes for all programs.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// Identity of a process even where its number is reused: the number, and its start in the kernel's ticks.
pub(super) type Key = (u32, u64);

/// A process that runs, or that has ended and is not yet waited for.
#[derive(Debug, PartialEq)]
pub(super) struct Process {
    pub(super) key: Key,
    pub(super) parent: u32,
    /// Whether it has ended, and nobody has waited for it yet.
    pub(super) has_ended: bool,
    /// Processor time without that of its children.
    pub(super) ticks: u64,
    /// Processor time of the children that it has waited for, and of theirs.
    pub(super) ticks_of_children: u64,
}

impl Process {
    /// Parses the file's one line.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let pid = stat.split(' ').next()?.parse().ok()?;
        // The name, in parentheses, may contain anything. Of what follows it the state is the first.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            key: (pid, number(19)?),
            parent: fields.get(1)?.parse().ok()?,
            has_ended: *fields.first()? == "Z",
            ticks: number(11)? + number(12)?,
            ticks_of_children: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read() {
        let stat = "17 (a (b) c) Z 3 17 1 0 -1 4 0 0 0 0 150 50 25 75 20 0 1 0 9 0 0";
        let ended = Process {
            key: (17, 9),
            parent: 3,
            has_ended: true,
            ticks: 200,
            ticks_of_children: 100,
        };
        assert_eq!(Process::parse(stat), Some(ended));
        let running = Process::parse(&stat.replace(" Z ", " S "));
        assert!(running.is_some_and(|running| !running.has_ended));
        assert_eq!(Process::parse(""), None);
    }
}
