//! A process's part of a load, as received from its parent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::Listening;
use crate::clock::nanoseconds;
use crate::publish::synthetic::Program;
use crate::target::Target;

/// Part of a load for a single process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    /// Address for WebRTC's datagrams, replacing the one in the response.
    pub(crate) via: Option<SocketAddr>,
    /// Index of this process among all.
    pub(crate) process: u64,
    pub(crate) processes: u64,
    /// Wall clock at which the first member begins, in nanoseconds.
    pub(crate) begin_at: u64,
    /// Number of listeners or publishers of all processes.
    pub(crate) members: u64,
    /// Number of members that begin per second.
    pub(crate) ramp: f64,
    /// Time between the last beginning and the window.
    pub(crate) settle: Duration,
    /// Length of the measuring window.
    pub(crate) window: Duration,
    pub(crate) work: Work,
}

/// Work of the members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Work {
    Listen(Listening),
    Publish(Source),
}

/// Media that publishers send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Source {
    File(PathBuf),
    Synthetic(Program),
}

/// Times of a load, in nanoseconds since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    pub(crate) ramp_end: u64,
    pub(crate) window_begin: u64,
    pub(crate) end: u64,
}

impl Plan {
    /// Returns the number of members that have begun `elapsed` after the first one.
    pub(crate) fn due(&self, elapsed: Duration) -> u64 {
        // Saturating: a rate without a limit gives an infinite product.
        let begun = (elapsed.as_secs_f64() * self.ramp) as u64;
        begun.saturating_add(1).min(self.members)
    }

    /// Returns the time from the first member's beginning to that of member `number`, counted from 0.
    pub(crate) fn begins(&self, number: u64) -> Duration {
        Duration::try_from_secs_f64(number as f64 / self.ramp).unwrap_or(Duration::MAX)
    }

    pub(crate) fn timeline(&self) -> Timeline {
        let ramp_end = self.begins(self.members.saturating_sub(1));
        let window_begin = ramp_end + self.settle;
        Timeline {
            ramp_end: nanoseconds(ramp_end),
            window_begin: nanoseconds(window_begin),
            end: nanoseconds(window_begin + self.window),
        }
    }

    /// Returns the number among all members of this process's member `own`.
    pub(crate) fn global(&self, own: u64) -> u64 {
        own * self.processes + self.process
    }

    /// Returns the mark on the media of publisher `number`: it differs between the publishers of a run, and between runs.
    pub(crate) fn source(&self, number: u64) -> u32 {
        (self.begin_at >> 20) as u32 ^ (number as u32) << 12
    }

    /// Returns how many of the first `all` members belong to this process.
    pub(crate) fn own_share(&self, all: u64) -> u64 {
        all.saturating_sub(self.process).div_ceil(self.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Plan {
        /// Returns the plan of a process that does all the work at `url`, and begins now.
        pub(crate) fn alone(url: &str, members: u64, work: Work) -> Self {
            Self {
                target: url.parse().expect("an address"),
                via: None,
                process: 0,
                processes: 1,
                begin_at: crate::clock::wall(),
                members,
                ramp: 50.0,
                settle: Duration::from_millis(300),
                window: Duration::from_millis(2_000),
                work,
            }
        }

        pub(crate) fn carried_out(&self) -> crate::tally::Tally {
            crate::worker::carry_out(self, &mut |_| {}).expect("it runs")
        }
    }

    fn plan(process: u64, processes: u64) -> Plan {
        let work = Work::Listen(Listening::default());
        Plan {
            process,
            processes,
            ramp: 10.0,
            settle: Duration::from_secs(2),
            window: Duration::from_secs(5),
            ..Plan::alone("http://127.0.0.1:1/x", 10, work)
        }
    }

    #[test]
    fn processes_share_all_members() {
        for processes in 1..=4 {
            for all in 0..=10 {
                let mut members: Vec<u64> = (0..processes)
                    .map(|process| plan(process, processes))
                    .flat_map(|plan| (0..plan.own_share(all)).map(move |own| plan.global(own)))
                    .collect();
                members.sort_unstable();
                assert_eq!(members, (0..all).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn beginnings_are_even() {
        let five = Plan {
            members: 5,
            ..plan(0, 1)
        };
        let due = |millis| five.due(Duration::from_millis(millis));
        assert_eq!(
            [0, 99, 101, 299, 301, 401, 9_000].map(due),
            [1, 1, 2, 3, 4, 5, 5]
        );
        assert_eq!(five.timeline().ramp_end, 400_000_000);
        assert_eq!(five.begins(2), Duration::from_millis(200));
    }

    #[test]
    fn no_members_are_no_ramp() {
        let none = Plan {
            members: 0,
            ..plan(0, 1)
        };
        assert_eq!(none.due(Duration::from_secs(1)), 0);
        assert_eq!(none.timeline().ramp_end, 0);
    }

    #[test]
    fn the_window_follows_the_ramp() {
        let expected = Timeline {
            ramp_end: 900_000_000,
            window_begin: 2_900_000_000,
            end: 7_900_000_000,
        };
        assert_eq!(plan(0, 1).timeline(), expected);
    }
}
