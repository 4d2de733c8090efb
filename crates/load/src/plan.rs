//! What one process of a load is to do, as its parent tells it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::Listening;
use crate::clock::nanoseconds;
use crate::publish::synthetic::Program;
use crate::target::Target;

/// One process's part of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    /// Where to send WebRTC's datagrams, instead of to the address in the answer.
    pub(crate) via: Option<SocketAddr>,
    /// This process among all.
    pub(crate) process: u64,
    pub(crate) processes: u64,
    /// When the first member begins, wall clock in nanoseconds.
    pub(crate) begin_at: u64,
    /// Listeners or publishers of all processes.
    pub(crate) members: u64,
    /// How many of them begin in a second.
    pub(crate) ramp: f64,
    /// Between the last beginning and the window.
    pub(crate) settle: Duration,
    /// What is measured.
    pub(crate) window: Duration,
    pub(crate) work: Work,
}

/// What the members do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Work {
    Listen(Listening),
    Publish(Source),
}

/// What publishers send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Source {
    File(PathBuf),
    Synthetic(Program),
}

/// The moments of a load, in nanoseconds since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    pub(crate) ramp_end: u64,
    pub(crate) window_begin: u64,
    pub(crate) end: u64,
}

impl Plan {
    /// How many members have begun `elapsed` after the first one.
    pub(crate) fn due(&self, elapsed: Duration) -> u64 {
        // Saturating: a rate without a limit is an infinite product.
        let begun = (elapsed.as_secs_f64() * self.ramp) as u64;
        begun.saturating_add(1).min(self.members)
    }

    /// When member `number`, counted from 0, begins after the first one.
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

    /// The number among all members of this process's member `own`.
    pub(crate) fn global(&self, own: u64) -> u64 {
        own * self.processes + self.process
    }

    /// The mark on the media of publisher `number`: it differs between the publishers of a run, and between
    /// runs.
    pub(crate) fn source(&self, number: u64) -> u32 {
        (self.begin_at >> 20) as u32 ^ (number as u32) << 12
    }

    /// How many of the first `all` members are this process's.
    pub(crate) fn own_share(&self, all: u64) -> u64 {
        all.saturating_sub(self.process).div_ceil(self.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(process: u64, processes: u64) -> Plan {
        Plan {
            target: "http://127.0.0.1:1/x".parse().expect("an address"),
            via: None,
            process,
            processes,
            begin_at: 0,
            members: 10,
            ramp: 10.0,
            settle: Duration::from_secs(2),
            window: Duration::from_secs(5),
            work: Work::Listen(Listening::default()),
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
