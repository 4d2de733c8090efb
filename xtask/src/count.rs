//! Lines of code by crate, shipped and for tests. Blank lines and comments do not count.

use std::collections::BTreeMap;

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::source::{self, CodeLines};

/// Crate that is for tests alone, although it is below `crates`.
const TESTKIT: &str = "testkit";

/// Prints the lines of each crate, the largest first, and their sums.
pub(crate) fn print(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let mut crates = BTreeMap::<String, CodeLines>::new();
    for path in source::rust_files(&workspace.root.join("crates"))? {
        let name = path.strip_prefix(&workspace.root).unwrap_or(&path);
        let name = name.to_string_lossy();
        let member = name.split('/').nth(1).unwrap_or_default();
        let mut lines = CodeLines::of(&std::fs::read_to_string(&path)?);
        if member == TESTKIT || source::is_test_file(&name) {
            lines.tests += std::mem::take(&mut lines.shipped);
        }
        let sum = crates.entry(member.to_owned()).or_default();
        sum.shipped += lines.shipped;
        sum.tests += lines.tests;
    }
    let mut rows: Vec<_> = crates.into_iter().collect();
    rows.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.shipped));
    println!("{:>9} {:>9}  crate", "shipped", "tests");
    for (name, lines) in &rows {
        println!("{:>9} {:>9}  {name}", lines.shipped, lines.tests);
    }
    let sum = |of: fn(&CodeLines) -> usize| rows.iter().map(|(_, lines)| of(lines)).sum::<usize>();
    let (shipped, tests) = (sum(|lines| lines.shipped), sum(|lines| lines.tests));
    println!("{shipped:>9} {tests:>9}  all");
    report.count(1, 0);
    Ok(())
}
