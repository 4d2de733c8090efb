//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::scenario;

/// Options of a run.
#[derive(Debug)]
pub(crate) struct Options {
    scenarios: Vec<String>,
    /// Number of turns of every server.
    pub(crate) rounds: usize,
    /// Measured part of each turn, unless the scenario sets its own.
    pub(crate) window: Duration,
    /// File to which the figures are written.
    pub(crate) json: PathBuf,
    /// Another build of the server, which has its turn in every round in which servers take turns.
    pub(crate) before: Option<PathBuf>,
    pub(crate) list: bool,
}

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            scenarios: Vec::new(),
            rounds: 5,
            window: Duration::from_secs(10),
            json: PathBuf::from("bench.json"),
            before: None,
            list: false,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut number = |least: usize| {
                let value = arguments.next().unwrap_or_default();
                let number = value.parse().ok().filter(|number| *number >= least);
                number.ok_or_else(|| format!("{argument} needs a number from {least} on"))
            };
            match argument.as_str() {
                "--rounds" => options.rounds = number(1)?,
                // A shorter window is too short for two reads of the server's counters.
                "--seconds" => options.window = Duration::from_secs(number(3)? as u64),
                "--json" => {
                    let file = arguments.next().ok_or("--json needs a file")?;
                    options.json = PathBuf::from(file);
                }
                "--before" => {
                    let file = arguments.next().ok_or("--before needs a file")?;
                    options.before = Some(PathBuf::from(file));
                }
                "--list" => options.list = true,
                name if scenario::ALL.iter().any(|scenario| scenario.name == name) => {
                    options.scenarios.push(argument);
                }
                _ => {
                    return Err(format!(
                        "`{argument}`: no such scenario or option; try --list"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Returns whether a scenario must run: one of those named, or any if none was named.
    pub(crate) fn wants(&self, name: &str) -> bool {
        if self.scenarios.is_empty() {
            return !scenario::IN_OTHERS.contains(&name);
        }
        self.scenarios.iter().any(|wanted| wanted == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn scenarios_and_options_mix() {
        let line = "ogg-14k --rounds 2 idle --seconds 4 --before old/carillon";
        let options = parse(line).expect("all of it is known");
        assert_eq!((options.rounds, options.window.as_secs()), (2, 4));
        assert_eq!(options.before, Some(PathBuf::from("old/carillon")));
        assert!(options.wants("idle") && options.wants("ogg-14k") && !options.wants("delay"));
        assert!(parse("").expect("nothing is everything").wants("delay"));
    }

    #[test]
    fn the_unknown_is_refused() {
        for line in [
            "ogg",
            "--rounds",
            "--rounds 0",
            "--seconds 1",
            "--json",
            "--before",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
