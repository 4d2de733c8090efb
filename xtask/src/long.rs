//! `cargo xtask long NAME`: runs that take more than five minutes by nature. Each has a short form in `--all`.

use std::time::Duration;

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::{fuzz, scenarios, session};

/// A longer run of scenarios, or of the fuzz targets.
struct Long {
    name: &'static str,
    /// Duration of the run, for people.
    lasts: &'static str,
    about: &'static str,
    what: What,
}

enum What {
    Scenarios {
        /// Variable that sets how long the scenarios watch, and the number of seconds.
        variable: &'static str,
        seconds: u64,
        /// Parts of the scenarios' names.
        names: &'static [&'static str],
    },
    /// Every fuzz target for this many seconds.
    Fuzz(u64),
}

/// The runs. `cargo xtask mutate` (an hour) and `cargo xtask bench` (an hour) are not in this table.
const LONG: &[Long] = &[
    Long {
        name: "hls",
        lasts: "25 min",
        about: "nine streams keep the rules of HLS, and six players play, for ten minutes",
        what: What::Scenarios {
            variable: "CARILLON_HLS_SECONDS",
            seconds: 600,
            names: &["hls_keeps_its_rules", "hls_plays_without_stalls"],
        },
    },
    Long {
        name: "clients",
        lasts: "25 min",
        about: "each program and browser hears within TLS, and WebRTC peers watch, for ten minutes",
        what: What::Scenarios {
            variable: "CARILLON_LISTENING_SECONDS",
            seconds: 600,
            names: &["everyone_hears", "behind_tls", "sound_shares"],
        },
    },
    Long {
        name: "page",
        lasts: "3 h 15 min",
        about: "a page that has played for an hour, by each protocol, is no further behind than a new one",
        what: What::Scenarios {
            variable: "CARILLON_WATCH_SECONDS",
            seconds: 3_600,
            names: &["no_further_behind"],
        },
    },
    Long {
        name: "churn",
        lasts: "65 min",
        about: "publishers and readers come and go for an hour, and memory stays flat",
        what: What::Scenarios {
            variable: "CARILLON_CHURN_SECONDS",
            seconds: 3_600,
            names: &["publisher_churn"],
        },
    },
    Long {
        name: "fuzz",
        lasts: "4 h",
        about: "every fuzz target for ten minutes",
        what: What::Fuzz(600),
    },
];

/// Time allowed in addition to a long test's watching: its start, its clips, and a busy machine.
const BESIDE: Duration = Duration::from_secs(30 * 60);

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool, Failure> {
    let chosen = match arguments {
        [name] => LONG.iter().find(|long| long.name == *name),
        _ => None,
    };
    let Some(long) = chosen else {
        print_help();
        return Err(Failure("name one of these".to_owned()));
    };
    let again = format!("cargo xtask long {}", long.name);
    Ok(session::alone(workspace, long.name, again, |report| {
        long.run(workspace, report)
    }))
}

impl Long {
    fn run(&self, workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
        match self.what {
            What::Fuzz(seconds) => fuzz::run(workspace, report, seconds),
            What::Scenarios {
                variable,
                seconds,
                names,
            } => {
                let mut jobs = scenarios::named(workspace, names)?;
                for job in &mut jobs {
                    job.command.env(variable, seconds.to_string());
                    job.again = format!("{variable}={seconds} {}", job.again);
                    // Several clients may take turns of that length.
                    job.time_max = 8 * Duration::from_secs(seconds) + BESIDE;
                    job.seconds += seconds as f64;
                }
                scenarios::run(workspace, report, jobs)
            }
        }
    }
}

pub(crate) fn print_help() {
    for long in LONG {
        println!(
            "  long  {:<10} {:>6}  {}",
            long.name, long.lasts, long.about
        );
    }
}
