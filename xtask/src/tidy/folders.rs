//! Checks of files that cargo or a test command finds only if something names them, and of the rules for the folders of
//! scenarios.

use std::path::Path;

use crate::build::{BENCHES, BENCHES_OF_SERVERS};
use crate::run::Failure;
use crate::source;
use crate::steps::STEPS;

/// Folder of the scenarios, each in a folder named like the step that runs it.
const SCENARIOS: &str = "tests/scenarios";

/// Folder of code that scenarios share.
const SUPPORT: &str = "support";

/// Folder of the scenarios that `cargo xtask test` runs.
const CORE: &str = "core";

/// Seconds of media that a core scenario may use: it runs in real time.
const CORE_SECONDS_MAX: u32 = 20;

/// Returns all errors.
pub(super) fn errors(root: &Path) -> Result<Vec<String>, Failure> {
    let mut errors = benches(root)?;
    for folder in folders_of_tests(root)? {
        errors.extend(unnamed_modules(root, &folder)?);
    }
    for entry in std::fs::read_dir(root.join(SCENARIOS))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_run = STEPS
            .iter()
            .any(|step| step.name == name && step.has_scenarios());
        if ![SUPPORT, "main.rs"].contains(&&*name) && !is_run {
            errors.push(format!("{SCENARIOS}/{name}: no step of xtask runs it"));
        }
    }
    for path in source::rust_files(&root.join(SCENARIOS).join(SUPPORT))? {
        if !source::tests(&std::fs::read_to_string(&path)?).is_empty() {
            let name = path.strip_prefix(root).unwrap_or(&path);
            errors.push(format!(
                "{}: no step of xtask runs its tests",
                name.display()
            ));
        }
    }
    for path in source::rust_files(&root.join(SCENARIOS).join(CORE))? {
        let text = std::fs::read_to_string(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        errors.extend(long_clips(&name.to_string_lossy(), &text));
    }
    Ok(errors)
}

/// Returns the folders whose modules make up a test target.
fn folders_of_tests(root: &Path) -> Result<Vec<String>, Failure> {
    let mut folders = vec![SCENARIOS.to_owned()];
    for entry in std::fs::read_dir(root.join("crates"))? {
        let tests = entry?.path().join("tests");
        for target in std::fs::read_dir(tests).into_iter().flatten().flatten() {
            let path = target.path();
            if path.join("main.rs").is_file() {
                let name = path.strip_prefix(root).unwrap_or(&path);
                folders.push(name.to_string_lossy().into_owned());
            }
        }
    }
    Ok(folders)
}

/// Returns the files below `folder` that no `main.rs` or `mod.rs` next to them names.
fn unnamed_modules(root: &Path, folder: &str) -> Result<Vec<String>, Failure> {
    let mut errors = Vec::new();
    for path in source::rust_files(&root.join(folder))? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut beside = path.parent().unwrap_or(root).to_owned();
        let mut module = stem.into_owned();
        if module == "main" {
            continue;
        }
        if module == "mod" {
            module = beside
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            beside.pop();
        }
        let is_named = ["main.rs", "mod.rs"].iter().any(|owner| {
            let text = std::fs::read_to_string(beside.join(owner)).unwrap_or_default();
            source::has_word(&text, &format!("mod {module}"))
        });
        if !is_named {
            let name = path.strip_prefix(root).unwrap_or(&path);
            errors.push(format!("{}: nothing says `mod {module};`", name.display()));
        }
    }
    Ok(errors)
}

/// Returns the benches without a target, and those that no step knows.
fn benches(root: &Path) -> Result<Vec<String>, Failure> {
    let manifest = std::fs::read_to_string(root.join("benches/Cargo.toml"))?;
    let mut errors = Vec::new();
    for path in source::rust_files(&root.join("benches"))? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_top = path.parent() == Some(&root.join("benches"));
        let known = BENCHES.iter().chain(&BENCHES_OF_SERVERS);
        if is_top && !known.into_iter().any(|name| *name == stem) {
            errors.push(format!(
                "benches/{stem}.rs: xtask's build.rs has no such bench"
            ));
        }
        if is_top && !manifest.contains(&format!("path = \"{stem}.rs\"")) {
            errors.push(format!(
                "benches/{stem}.rs: Cargo.toml has no [[bench]] with this path"
            ));
        }
    }
    Ok(errors)
}

/// Returns the clips that last too long for the core.
fn long_clips(name: &str, text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for (number, line) in source::code_only(text).lines().enumerate() {
        for (at, call) in line.match_indices(".seconds(") {
            let digits: String = line[at + call.len()..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            if digits.parse::<u32>().is_ok_and(|s| s > CORE_SECONDS_MAX) {
                errors.push(format!(
                    "{name}:{}: a clip of {digits} s; in the core media lasts {CORE_SECONDS_MAX} s at most",
                    number + 1
                ));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clips_are_found() {
        let text = "let a = Clip::Flv.seconds(20);\nlet b = Clip::Mp3.seconds(60); // .seconds(90)";
        let errors = long_clips("tests/scenarios/core/a.rs", text);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with("tests/scenarios/core/a.rs:2:"));
    }
}
