//! `cargo xtask flaky N`: runs the tests that a change touched, N times each, alongside as many busy loops as there are
//! processors. A test that passes there waits for conditions and not for time.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::suite::{self, Executable};
use crate::{journal, scenarios, session, source, unit};

/// Commit with which the files are compared, unless `--since` names another.
const SINCE: &str = "HEAD~1";

/// A test function in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    /// The package, without the project's prefix.
    package: String,
    /// Module of the file: `core::files_are_served`, or empty for a root.
    module: String,
    function: String,
}

/// Runs `flaky N [--since COMMIT]`.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool, Failure> {
    let usage = || Failure("usage: cargo xtask flaky N [--since COMMIT]".to_owned());
    let (times, since) = match arguments {
        [times] => (times, SINCE),
        [times, option, commit] if option == "--since" => (times, commit.as_str()),
        _ => return Err(usage()),
    };
    let count: usize = times.parse().map_err(|_| usage())?;
    if count == 0 {
        return Err(usage());
    }
    let touched = touched(workspace, since)?;
    if touched.is_empty() {
        println!("no test has changed since {since}");
        return Ok(true);
    }
    let again = format!("cargo xtask flaky {times} --since {since}");
    Ok(session::alone(workspace, "flaky", again, |report| {
        repeat(workspace, report, touched, count)
    }))
}

fn repeat(
    workspace: &Workspace,
    report: &mut Report,
    mut touched: BTreeSet<Touched>,
    times: usize,
) -> Result<(), Failure> {
    let executables = suite::build(workspace)?;
    let (mut units, mut names) = (Vec::new(), Vec::new());
    let mut found = BTreeSet::new();
    for executable in &executables {
        for test in executable.tests(workspace)? {
            let Some(one) = touched.iter().find(|one| one.is(executable, &test)) else {
                continue;
            };
            found.insert(one.clone());
            println!("{} {test}", executable.short_package());
            if executable.short_package() == unit::SCENARIOS {
                names.push(test);
            } else {
                units.push((executable, test));
            }
        }
    }
    touched.retain(|one| !found.contains(one));
    for one in &touched {
        println!(
            "NOT REPEATED, not built here: {} {}::{}",
            one.package, one.module, one.function
        );
    }
    if found.is_empty() {
        return Err(Failure("none of the changed tests was built".to_owned()));
    }
    let mut jobs = Vec::new();
    for _ in 0..times {
        let exactly = units
            .iter()
            .flat_map(|(executable, test)| unit::one(workspace, executable, test));
        jobs.extend(exactly);
        if !names.is_empty() {
            let wanted = |job: &suite::Job| names.iter().any(|name| job.name.starts_with(&**name));
            let named = scenarios::named(workspace, &names)?;
            jobs.extend(named.into_iter().filter(wanted));
        }
    }
    let _busy = BusyLoops::begin(suite::processors());
    scenarios::run(workspace, report, jobs)
}

/// Threads that only keep processors busy, until dropped.
struct BusyLoops {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    fn begin(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || while !is_over.load(Ordering::Relaxed) {})
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

impl Touched {
    /// Returns whether a listed test of an executable is this function.
    fn is(&self, executable: &Executable, test: &str) -> bool {
        let (module, function) = test.rsplit_once("::").unwrap_or(("", test));
        executable.short_package() == self.package
            && function == self.function
            && (module == self.module
                || self.module.is_empty()
                || module.starts_with(&format!("{}::", self.module)))
    }
}

/// Returns the test functions whose lines differ from `since`, and all functions of a test file whose other lines do.
fn touched(workspace: &Workspace, since: &str) -> Result<BTreeSet<Touched>, Failure> {
    // Files that git does not know yet are in the tree; these options make lines begin as below, whatever the user's settings.
    let tree = journal::tree_of(workspace)?;
    let as_read = [
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let arguments = [&["diff"], &as_read[..], &[since, &tree, "--", "*.rs"]].concat();
    let diff = run::capture(&mut workspace.command("git", &arguments))?;
    let mut all = BTreeSet::new();
    for (file, changes) in changes(&diff) {
        let Some((package, module)) = place(&file) else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(workspace.root.join(&file)) else {
            continue;
        };
        for function in functions(&text, &changes, is_of_tests(&file)) {
            all.insert(Touched {
                package: package.clone(),
                module: module.clone(),
                function,
            });
        }
    }
    Ok(all)
}

/// Returns the files of a diff without context, and their changed lines, counted from 1.
fn changes(diff: &str) -> Vec<(String, Vec<Range<usize>>)> {
    let mut files: Vec<(String, Vec<Range<usize>>)> = Vec::new();
    for line in diff.lines() {
        if let Some(file) = line.strip_prefix("+++ b/") {
            files.push((file.to_owned(), Vec::new()));
        } else if line.starts_with("+++ ") {
            // A removed file: its lines belong to no file.
            files.push((String::new(), Vec::new()));
        } else if let Some(range) = line.starts_with("@@ ").then(|| hunk(line)).flatten()
            && let Some((_, ranges)) = files.last_mut()
        {
            ranges.push(range);
        }
    }
    files.retain(|(file, _)| !file.is_empty());
    files
}

/// Returns the new lines of `@@ -3,2 +5,4 @@`. If lines were only removed, the one before counts.
fn hunk(line: &str) -> Option<Range<usize>> {
    let new = line.split_whitespace().nth(2)?.strip_prefix('+')?;
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
    Some(start..start + count.max(1))
}

/// Returns the package and the module of a source file.
fn place(file: &str) -> Option<(String, String)> {
    let (package, path) = if let Some(path) = file.strip_prefix("tests/scenarios/") {
        (unit::SCENARIOS, path)
    } else if let Some(path) = file.strip_prefix("xtask/src/") {
        ("xtask", path)
    } else {
        let (package, path) = file.strip_prefix("crates/")?.split_once('/')?;
        let path = path.strip_prefix("src/").or_else(|| {
            // In a target of several files, the folder is not a module.
            let path = path.strip_prefix("tests/")?;
            Some(path.split_once('/').map_or("", |(_, path)| path))
        })?;
        (package, path)
    };
    let module: Vec<&str> = path
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| !["lib", "main", "mod", ""].contains(part))
        .collect();
    Some((package.to_owned(), module.join("::")))
}

/// Returns whether a file contains only tests.
fn is_of_tests(file: &str) -> bool {
    let path = Path::new(file);
    let is_in_folder = path.iter().any(|part| part == "tests");
    is_in_folder || path.file_name().is_some_and(|name| name == "tests.rs")
}

/// Returns the names of the test functions that `changes` touch; all functions of a test file if the changes touch something
/// else.
fn functions(text: &str, changes: &[Range<usize>], is_of_tests: bool) -> Vec<String> {
    let tests = source::tests(text);
    let touches = |lines: &Range<usize>| {
        changes
            .iter()
            .any(|change| change.start < lines.end && lines.start < change.end)
    };
    let is_outside = |change: &Range<usize>| {
        !tests
            .iter()
            .any(|(_, lines)| lines.start <= change.start && change.end <= lines.end)
    };
    let all = is_of_tests && changes.iter().any(is_outside);
    tests
        .iter()
        .filter(|(_, lines)| all || touches(lines))
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "use x;\n\n#[test]\nfn one() {\n    a();\n}\n\nfn helper() {}\n\n\
                        #[tokio::test]\nasync fn two() {\n    b();\n}\n";

    #[test]
    fn changed_lines_name_their_tests() {
        let functions = |changes: &[usize], is_of_tests| {
            let lines: Vec<_> = changes.iter().map(|line| *line..line + 1).collect();
            functions(TEXT, &lines, is_of_tests)
        };
        assert_eq!(functions(&[5], true), ["one"]);
        assert_eq!(functions(&[12, 4], true), ["one", "two"]);
        assert_eq!(functions(&[8], true), ["one", "two"]);
        assert!(functions(&[8], false).is_empty());
    }

    #[test]
    fn diffs_are_read() {
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +5,4 @@ fn x\n@@ -9 +13 @@\n@@ -20,3 +20,0 @@\n\
                    --- a/y.rs\n+++ /dev/null\n@@ -1,3 +0,0 @@\n";
        let expected = vec![("x.rs".to_owned(), vec![5..9, 13..14, 20..21])];
        assert_eq!(changes(diff), expected);
    }

    #[test]
    fn files_are_modules() {
        let of = |file| place(file).expect("it is a source file");
        let pair = |package: &str, module: &str| (package.to_owned(), module.to_owned());
        assert_eq!(
            of("tests/scenarios/core/files_are_served.rs"),
            pair("tests", "core::files_are_served")
        );
        assert_eq!(
            of("crates/fanout/src/log/tests.rs"),
            pair("fanout", "log::tests")
        );
        assert_eq!(
            of("crates/fanout/tests/fanout/carry.rs"),
            pair("fanout", "carry")
        );
        assert_eq!(of("crates/rtmp/tests/allocation.rs"), pair("rtmp", ""));
        assert_eq!(of("crates/net/src/lib.rs"), pair("net", ""));
        assert_eq!(place("benches/rtmp.rs"), None);
    }
}
