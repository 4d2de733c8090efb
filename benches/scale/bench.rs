//! A run: its options, and its findings so far.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Server;

use crate::audience::Report;
use crate::figure::{Against, Figure, Target, Unit};
use crate::machine::Machine;
use crate::options::Options;
use crate::table;

/// Window length below which a run is only a first look.
const SHORT: Duration = Duration::from_secs(10);

/// A run.
#[derive(Debug)]
pub(crate) struct Bench {
    options: Options,
    machine: Machine,
    scenario: &'static str,
    figures: Vec<Figure>,
    /// Reports of all turns.
    turns: Vec<Value>,
    failures: Vec<String>,
    /// Tables of other forms, with their headings.
    tables: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new(options: Options, machine: Machine) -> Self {
        Self {
            options,
            machine,
            scenario: "",
            figures: Vec::new(),
            turns: Vec::new(),
            failures: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Begins a scenario; later records belong to it.
    pub(crate) fn open(&mut self, scenario: &'static str) {
        self.scenario = scenario;
    }

    pub(crate) fn rounds(&self) -> usize {
        self.options.rounds
    }

    /// Returns another build of the server, to be compared with this one.
    pub(crate) fn before(&self) -> Option<PathBuf> {
        self.options.before.clone()
    }

    pub(crate) fn window(&self) -> Duration {
        self.options.window
    }

    /// Returns whether this run only checks that the scenario works.
    pub(crate) fn is_short(&self) -> bool {
        self.options.window < SHORT
    }

    /// Records the reports of one server in one turn, and prints them.
    pub(crate) fn note(&mut self, round: usize, who: &str, reports: &[&Report]) {
        for report in reports {
            eprintln!("round {}: {who}: {report}", round + 1);
            for bottleneck in report.bottlenecks() {
                eprintln!("  the load itself: {bottleneck}");
            }
        }
        let reports: Vec<&Value> = reports.iter().map(|report| report.json()).collect();
        self.turns.push(json!({
            "scenario": self.scenario,
            "round": round + 1,
            "who": who,
            "reports": reports,
        }));
    }

    /// Records another value of a turn.
    pub(crate) fn note_value(&mut self, round: usize, who: &str, value: Value) {
        eprintln!("round {}: {who}: {value}", round + 1);
        self.turns.push(json!({
            "scenario": self.scenario,
            "round": round + 1,
            "who": who,
            "value": value,
        }));
    }

    /// Records the back-end that the server uses here.
    pub(crate) fn learn_backend(&mut self, server: &Server) {
        let metrics = server.metrics();
        let series = metrics.iter().map(|(name, _)| name);
        let mut backends = series.filter_map(|name| {
            let label = name.strip_prefix("carillon_worker_backend{")?;
            label.split('"').nth(1).map(str::to_owned)
        });
        self.machine.backend = backends.next();
    }

    /// Records the number of listeners that were lost in each round; none may be.
    pub(crate) fn losses(&mut self, lost: Vec<f64>) {
        let target = Some(Target::NeverAbove(0.0));
        self.figure("listeners lost", Unit::Count, lost, None, target);
    }

    /// Records a figure.
    pub(crate) fn figure(
        &mut self,
        what: &str,
        unit: Unit,
        ours: Vec<f64>,
        against: Option<Against>,
        target: Option<Target>,
    ) {
        self.figures.push(Figure {
            scenario: self.scenario,
            what: what.to_owned(),
            unit,
            ours,
            against,
            target,
        });
    }

    /// Records a table of another form, in Markdown.
    pub(crate) fn add_table(&mut self, heading: &str, table: String) {
        self.tables.push((heading.to_owned(), table));
    }

    /// Records that the scenario could not be measured.
    pub(crate) fn fail(&mut self, why: &(dyn Any + Send)) {
        let text = why.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| why.downcast_ref::<&str>().copied());
        let failure = format!("{}: {}", self.scenario, text.unwrap_or("it panicked"));
        self.failures.push(failure);
    }

    pub(crate) fn failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Returns the text of machine, table, and failures.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "\n{}\n{} rounds, medians (range); ratios are within one round\n\n{}",
            self.machine,
            self.options.rounds,
            table::markdown(&self.figures)
        );
        for (heading, table) in &self.tables {
            text.push_str(&format!("\n{heading}:\n\n{table}"));
        }
        for failure in &self.failures {
            text.push_str(&format!("\nnot measured: {failure}\n"));
        }
        text
    }

    /// Writes all results to the file.
    pub(crate) fn save(&self) -> io::Result<()> {
        let path: &Path = &self.options.json;
        let document = json!({
            "machine": self.machine.json(),
            "rounds": self.options.rounds,
            "window_seconds": self.options.window.as_secs(),
            "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
            "failures": self.failures,
            "turns": self.turns,
        });
        let text = serde_json::to_string_pretty(&document)?;
        std::fs::write(path, text + "\n")
    }
}
