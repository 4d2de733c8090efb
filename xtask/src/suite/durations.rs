//! Durations of tests and the number of processors each kept busy, by which the next run is scheduled.
//!
//! `tests/durations.json` is committed, so that a first run is scheduled well, too. A run writes its measurements below the
//! target directory; `cargo xtask durations` takes them over. A test without a record counts as [`UNKNOWN`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::run::{Failure, Workspace};

/// Path of the committed records.
const FILE: &str = "tests/durations.json";

/// Record of an ordinary scenario.
const UNKNOWN: Duration = Duration {
    seconds: 10.0,
    processors: 0.7,
};

/// Factor by which a record may grow at once.
const GROWTH_MAX: f64 = 1.25;

/// Seconds, and the number of processors that were busy meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Duration {
    pub(crate) seconds: f64,
    pub(crate) processors: f64,
}

impl Duration {
    /// Returns what is kept of this record beside the last one. A test that waits for processors lasts longer, and takes no more
    /// of them in all: so the seconds grow little by little, and the processors are those of so many seconds.
    fn beside(self, last: Self) -> Self {
        let seconds = self.seconds.min(last.seconds * GROWTH_MAX).max(0.1);
        Self {
            seconds,
            processors: self.processors * (self.seconds / seconds).max(1.0),
        }
    }
}

/// Records by the tests' names; those of steps have no processors.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Durations(BTreeMap<String, Duration>);

impl Durations {
    /// Returns the committed records, or none if the file is absent.
    pub(crate) fn committed(workspace: &Workspace) -> Self {
        Self::read(&workspace.root.join(FILE))
    }

    fn read(path: &std::path::Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).map_or_else(|_| Self::default(), |value| Self::parse(&value))
    }

    fn parse(value: &Value) -> Self {
        let of = |value: &Value| {
            Some(Duration {
                seconds: value.get(0)?.as_f64()?,
                processors: value.get(1)?.as_f64()?,
            })
        };
        let rows = value.as_object().into_iter().flatten();
        Self(
            rows.filter_map(|(name, row)| Some((name.clone(), of(row)?)))
                .collect(),
        )
    }

    /// Returns the record of a test.
    pub(crate) fn of(&self, name: &str) -> Duration {
        self.0.get(name).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the record's seconds, if there is one.
    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|duration| duration.seconds)
    }

    /// Adds the measurements of a run to the records below the target directory.
    pub(crate) fn note(
        workspace: &Workspace,
        seen: impl IntoIterator<Item = (String, Duration)>,
    ) -> Result<(), Failure> {
        let path = seen_path(workspace);
        let mut all = Self::read(&path);
        all.0.extend(seen);
        all.write(&path)
    }

    fn write(&self, path: &std::path::Path) -> Result<(), Failure> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let round = |figure: f64, per: f64| (figure * per).round() / per;
        let rows: Map<String, Value> = self
            .0
            .iter()
            .map(|(name, duration)| {
                let seconds = round(duration.seconds, 10.0);
                let processors = round(duration.processors, 100.0);
                (name.clone(), json!([seconds, processors]))
            })
            .collect();
        let lines: Vec<String> = rows
            .iter()
            .map(|(name, row)| format!("  {}: {row}", json!(name)))
            .collect();
        std::fs::write(path, format!("{{\n{}\n}}\n", lines.join(",\n")))?;
        Ok(())
    }
}

fn seen_path(workspace: &Workspace) -> PathBuf {
    workspace.target.join("xtask/durations.json")
}

/// Takes over the measurements of runs on this machine, and removes tests that no longer exist.
pub(crate) fn record(workspace: &Workspace, present: &[String]) -> Result<(), Failure> {
    let mut all = Durations::committed(workspace);
    for (name, seen) in Durations::read(&seen_path(workspace)).0 {
        let last = all.0.get(&name);
        let kept = last.map_or(seen, |last| seen.beside(*last));
        all.0.insert(name, kept);
    }
    all.0.retain(|name, _| present.contains(name));
    all.write(&workspace.root.join(FILE))?;
    println!("written: {FILE}, {} records", all.0.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_waited_for_processors_takes_no_more_of_them() {
        let of = |seconds, processors| Duration {
            seconds,
            processors,
        };
        let last = of(20.0, 0.2);
        assert_eq!(of(50.0, 0.4).beside(last), of(25.0, 0.8));
        assert_eq!(of(22.0, 0.4).beside(last), of(22.0, 0.4));
        assert_eq!(of(10.0, 0.3).beside(last), of(10.0, 0.3));
    }

    #[test]
    fn records_survive_a_file() {
        let path = std::env::temp_dir().join(format!("carillon-durations-{}", std::process::id()));
        let duration = Duration {
            seconds: 12.5,
            processors: 0.25,
        };
        let written = Durations(BTreeMap::from([("core::a::b".to_owned(), duration)]));
        written.write(&path).expect("it is written");
        let read = Durations::read(&path);
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(read, written);
        assert_eq!(read.of("core::a::b"), duration);
        assert_eq!(read.of("core::a::c"), UNKNOWN);
        assert_eq!(read.seconds("core::a::c"), None);
    }
}
