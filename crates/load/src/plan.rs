//! What one process of a load is to do, as its parent tells it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::Playing;
use crate::clock::nanoseconds;
use crate::publish::synthetic::Program;
use crate::quantity::Slow;
use crate::ramp::Ramp;
use crate::target::Target;

/// One process's part of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    /// Where to send WebRTC's datagrams, instead of to the address in the answer.
    pub(crate) via: Option<SocketAddr>,
    /// Streams that members are spread over.
    pub(crate) streams: u64,
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

/// How listeners behave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listening {
    /// Asks for titles within the sound.
    pub(crate) icy: bool,
    /// The share that stops reading once media arrives.
    pub(crate) stalled: f64,
    pub(crate) slow: Slow,
    /// Listeners that leave per second, of all processes, each replaced by a new one.
    pub(crate) churn: f64,
    /// Listeners whose every frame is checked.
    pub(crate) checked: u64,
    /// A file of queries, one for each listener.
    pub(crate) queries: Option<PathBuf>,
    pub(crate) playing: Playing,
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
    pub(crate) fn ramp(&self) -> Ramp {
        Ramp::new(self.members, self.ramp)
    }

    pub(crate) fn timeline(&self) -> Timeline {
        let ramp_end = self.ramp().length();
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
            streams: 1,
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
    fn the_window_follows_the_ramp() {
        let expected = Timeline {
            ramp_end: 900_000_000,
            window_begin: 2_900_000_000,
            end: 7_900_000_000,
        };
        assert_eq!(plan(0, 1).timeline(), expected);
    }
}
