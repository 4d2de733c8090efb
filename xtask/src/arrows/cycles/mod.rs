//! Cycles between the modules of a crate: module files that use each other, so that none can be read without the others.
//!
//! ```text
//!  file ─► reading (syn): definitions, imports, paths ─► tree: what each path means ─► graph: cycles, with their lines
//! ```
//!
//! A module that only re-exports another (`pub use`) does not use it: a path through the module leads to where the name is
//! defined. Tests do not count. Paths within the arguments of macros do; those behind a glob import of another crate do not.

mod graph;
mod listed;
mod reading;
mod tree;

use std::path::Path;

use self::tree::Tree;
use super::failure;
use crate::run::{Failure, Workspace};

/// Modules of one crate that use each other.
struct Cycle {
    /// Lines of the files without their tests, including blank lines and comments.
    lines: usize,
    modules: Vec<String>,
}

/// Maximum number of lines of modules that use each other: as much as a person can read in an hour, since none of them can be
/// read alone.
const LINES_MAX: usize = 3_000;

/// Prints the cycles of all crates, with the lines of their files.
///
/// # Errors
/// Returns an error if one is longer than [`LINES_MAX`], or if `document` lists other cycles than there are.
pub(super) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.root.join("crates");
    let mut crates: Vec<_> = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("src/lib.rs").is_file())
        .collect();
    crates.sort();
    println!("cycles of modules, and their lines:");
    let mut errors = Vec::new();
    let mut long = Vec::new();
    for path in crates {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for cycle in cycles(&path.join("src"))? {
            println!("{:>7} {name}: {}", cycle.lines, cycle.modules.join(", "));
            if cycle.lines >= listed::LINES_MIN {
                long.push((name.to_string(), cycle.modules[0].clone()));
            }
            if cycle.lines > LINES_MAX {
                errors.push(format!(
                    "{name}: {} lines of modules use each other, and {LINES_MAX} may",
                    cycle.lines
                ));
            }
        }
    }
    let list = std::fs::read_to_string(workspace.root.join(listed::LIST))?;
    errors.extend(listed::differences(&list, &long));
    match errors.is_empty() {
        true => Ok(()),
        false => Err(failure(&errors)),
    }
}

/// Returns the cycles of a crate, the longest first.
fn cycles(source: &Path) -> Result<Vec<Cycle>, Failure> {
    let tree = Tree::read(source)?;
    let mut cycles: Vec<_> = graph::components(&tree.edges())
        .into_iter()
        .map(|members| {
            let lines = members.iter().map(|&member| tree.lines(member)).sum();
            let mut modules: Vec<_> = members.iter().map(|&member| tree.name(member)).collect();
            modules.sort();
            Cycle { lines, modules }
        })
        .collect();
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.lines));
    Ok(cycles)
}
