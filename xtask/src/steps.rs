//! Every step of the tests: its name, its tier, its subject, and the code that runs it.
//!
//! `cargo xtask test` runs those of the core in this order; `--all` runs all of them, or those of the given parts; `cargo xtask
//! <step>` runs one alone.

use std::process::Command;

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::suite::Sharing;
use crate::{
    advisories, build, demo_clip, fuzz, instructions, sanitize, scenarios, tidy, tools, unit, web,
    workflows,
};

/// Test command that runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// `cargo xtask test`, and with it `--all`.
    Core,
    /// `cargo xtask test --all`.
    All,
    /// None: the step rewrites a file, or its result depends on the day.
    Alone,
}

/// Returns the command of a build.
type Build = fn(&Workspace) -> Result<Command, Failure>;

/// A step of the tests.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) tier: Tier,
    /// Part of `--all` to which it belongs.
    pub(crate) part: &'static str,
    /// Build that it needs first, if that may be made alongside scenarios.
    pub(crate) build: Option<Build>,
    run: Chore,
}

/// Work of a step.
enum Chore {
    Run(Run),
    /// The scenarios in the folder with the step's name.
    Scenarios(Sharing),
}

type Run = fn(&Workspace, &mut Report) -> Result<(), Failure>;

impl Step {
    /// Returns whether builds may be made alongside it.
    pub(crate) fn leaves_time(&self) -> bool {
        matches!(self.run, Chore::Scenarios(Sharing::Together))
    }

    /// Returns whether it runs the scenarios in the folder with its name.
    pub(crate) fn has_scenarios(&self) -> bool {
        matches!(self.run, Chore::Scenarios(_))
    }

    pub(crate) fn run(&self, workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
        match self.run {
            Chore::Run(run) => run(workspace, report),
            Chore::Scenarios(sharing) => scenarios::part(workspace, report, self.name, sharing),
        }
    }
}

/// Name of the step that every run begins with, whatever its parts.
pub(crate) const TOOLS: &str = "tools";

const CHECKS: &str = "checks";
const UNITS: &str = "units";

/// All steps. Quick steps that fail often come first, and those that need the machine to themselves last.
pub(crate) const STEPS: &[Step] = &[
    core(
        TOOLS,
        CHECKS,
        "the programs that the core's tests drive; installs what is missing",
        tools::check_core,
    ),
    core("fmt", CHECKS, "rustfmt, nothing rewritten", build::fmt),
    core(
        "tidy",
        CHECKS,
        "file length, unsafe, clocks and sockets where they may not be",
        tidy::check,
    ),
    core(
        "arrows",
        CHECKS,
        "which crate may depend on which, over `cargo metadata`; cycles of modules",
        crate::arrows::check,
    ),
    core(
        "clippy",
        CHECKS,
        "clippy on all targets, warnings are errors",
        build::clippy,
    ),
    core(
        "build",
        UNITS,
        "the server and all tests, once for the steps below",
        build::everything,
    ),
    core("unit", UNITS, "unit tests", unit::core),
    core(
        "loom",
        UNITS,
        "the log's concurrency, every interleaving",
        sanitize::loom,
    ),
    all(
        "tools-all",
        CHECKS,
        "the programs that all other tests drive",
        tools::check_all,
    ),
    all(
        "web",
        CHECKS,
        "the pages' scripts: types, tests, and that the committed ones are built from them",
        web::check,
    ),
    all(
        "workflows",
        CHECKS,
        "actionlint on the workflows of .github",
        workflows::check,
    ),
    all(
        "deny",
        CHECKS,
        "cargo-deny: bans, licences, sources",
        build::deny,
    ),
    all(
        "doc",
        CHECKS,
        "rustdoc with private items, warnings are errors; tests in doc comments",
        build::doc,
    ),
    all(
        "unit-foreign",
        UNITS,
        "unit tests that ask programs of other makes",
        unit::foreign,
    ),
    all(
        "benches",
        UNITS,
        "the criterion benches in test mode, and the tests of the comparison's programs",
        build::benches,
    ),
    scenarios(
        "core",
        Tier::Core,
        Sharing::Together,
        "scenarios: every protocol in, every format out, every promise once",
    ),
    scenarios(
        "browsers",
        Tier::All,
        Sharing::Together,
        "scenarios: the pages in Chromium and Firefox",
    ),
    scenarios(
        "interop",
        Tier::All,
        Sharing::Together,
        "scenarios: encoders and players of other makes",
    ),
    scenarios(
        "hls",
        Tier::All,
        Sharing::Together,
        "scenarios: HLS, its rules and its players",
    ),
    scenarios(
        "webrtc",
        Tier::All,
        Sharing::Together,
        "scenarios: WHIP and WHEP with peers of other makes",
    ),
    scenarios(
        "radio",
        Tier::All,
        Sharing::Together,
        "scenarios: mounts, titles, stations, Icecast's addresses",
    ),
    scenarios(
        "recording",
        Tier::All,
        Sharing::Together,
        "scenarios: recordings, uploads, time-shift, files",
    ),
    scenarios(
        "permission",
        Tier::All,
        Sharing::Together,
        "scenarios: keys, links, tokens, hooks, lists",
    ),
    scenarios(
        "operation",
        Tier::All,
        Sharing::Together,
        "scenarios: limits, logs, drain, sessions, import, load",
    ),
    Step {
        build: Some(sanitize::asan_build),
        ..all(
            "asan",
            UNITS,
            "the unit tests of unsafe code under the address sanitizer",
            sanitize::asan,
        )
    },
    Step {
        build: Some(instructions::build),
        ..all(
            "instructions",
            UNITS,
            "instructions per visit, join and sample, held against the record",
            instructions::check,
        )
    },
    Step {
        build: Some(fuzz::build),
        ..all(
            "fuzz",
            "fuzz",
            "every fuzz target for ten seconds",
            fuzz::smoke,
        )
    },
    scenarios(
        "measured",
        Tier::All,
        Sharing::Alone,
        "scenarios: delays and counts, one after another",
    ),
    alone(
        "advisories",
        "cargo-deny against the advisory database (needs the network)",
        advisories::check,
    ),
    alone(
        "instructions --record",
        "make benches/instructions/record.json anew",
        instructions::record,
    ),
    alone(
        "durations",
        "make tests/durations.json anew of what this machine's runs saw",
        scenarios::record_durations,
    ),
    alone(
        "count",
        "lines of code of each crate, and of its tests",
        crate::count::print,
    ),
    alone(
        "demo-clip",
        "make crates/server/assets/demo.flv anew",
        demo_clip::make,
    ),
];

const fn step(
    name: &'static str,
    tier: Tier,
    part: &'static str,
    about: &'static str,
    run: Chore,
) -> Step {
    Step {
        name,
        about,
        tier,
        part,
        build: None,
        run,
    }
}

const fn core(name: &'static str, part: &'static str, about: &'static str, run: Run) -> Step {
    step(name, Tier::Core, part, about, Chore::Run(run))
}

const fn all(name: &'static str, part: &'static str, about: &'static str, run: Run) -> Step {
    step(name, Tier::All, part, about, Chore::Run(run))
}

/// Returns a step for a part of the scenarios: a folder of `tests/scenarios`.
const fn scenarios(name: &'static str, tier: Tier, sharing: Sharing, about: &'static str) -> Step {
    step(name, tier, name, about, Chore::Scenarios(sharing))
}

const fn alone(name: &'static str, about: &'static str, run: Run) -> Step {
    step(name, Tier::Alone, "", about, Chore::Run(run))
}

/// Returns the parts of `--all` in order, each once.
pub(crate) fn parts() -> Vec<&'static str> {
    let mut parts = Vec::new();
    for step in STEPS.iter().filter(|step| step.tier != Tier::Alone) {
        if !parts.contains(&step.part) {
            parts.push(step.part);
        }
    }
    parts
}

/// Returns the steps of `cargo xtask test`.
pub(crate) fn of_core() -> Vec<&'static Step> {
    STEPS
        .iter()
        .filter(|step| step.tier == Tier::Core)
        .collect()
}

/// Returns the steps of `--all`, or of some parts of it, with the steps that install the programs that they need.
pub(crate) fn of_parts(wanted: &[String]) -> Vec<&'static Step> {
    let is_wanted = |step: &Step| {
        wanted.is_empty() || step.name.starts_with(TOOLS) || wanted.iter().any(|p| p == step.part)
    };
    STEPS
        .iter()
        .filter(|step| step.tier != Tier::Alone && is_wanted(step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[&Step]) -> Vec<&'static str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn all_holds_the_core_and_each_part_what_it_needs() {
        let all = names(&of_parts(&[]));
        assert!(names(&of_core()).iter().all(|name| all.contains(name)));
        let fuzz = names(&of_parts(&["fuzz".to_owned()]));
        assert_eq!(fuzz, [TOOLS, "tools-all", "fuzz"]);
        let by_part: Vec<_> = parts()
            .iter()
            .flat_map(|part| of_parts(&[(*part).to_owned()]))
            .map(|step| step.name)
            .collect();
        assert!(all.iter().all(|name| by_part.contains(name)));
    }

    #[test]
    fn names_are_given_once() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
