//! The scripts of the server's pages: builds them from `crates/web/scripts` in a copy, and compares the output with the
//! committed files of `crates/web/assets`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::tools;

/// Folders of the sources, and of the files made from them.
const SOURCES: &str = "crates/web/scripts";
const ASSETS: &str = "crates/web/assets";
/// Variable in which a build finds its output folder.
const OUTPUT: &str = "CARILLON_ASSETS";
/// Folder that npm fills by the lock file; it stays in the copy from run to run.
const PACKAGES: &str = "node_modules";
/// Lock file, and its copy that records which packages are installed.
const LOCK: &str = "package-lock.json";
const INSTALLED: &str = "installed.json";

/// Installs what the build needs, checks types, runs the tests, builds, and compares.
pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    tools::require(workspace, &["node", "npm"])?;
    let copy = workspace.target.join("web");
    renew(&workspace.root.join(SOURCES), &copy)?;
    install(workspace, &copy)?;
    let made = copy.join("assets");
    for script in ["build", "test"] {
        let mut npm = workspace.command("npm", &["run", "--silent", script]);
        npm.current_dir(&copy).env(OUTPUT, &made);
        run::run(&mut npm)?;
    }
    let names = files(&made)?;
    let committed = workspace.root.join(ASSETS);
    let changed: Vec<_> = names
        .iter()
        .filter(|name| !is_same(&made.join(name), &committed.join(name)))
        .map(|name| name.display().to_string())
        .collect();
    if !changed.is_empty() {
        return Err(Failure(format!(
            "{ASSETS} is not what {SOURCES} makes: {}; run `npm ci && npm run build` there",
            changed.join(", ")
        )));
    }
    println!("{} files are as they are built", names.len());
    report.count(1, 0);
    Ok(())
}

/// Replaces the copied sources; installed packages stay.
fn renew(sources: &Path, copy: &Path) -> Result<(), Failure> {
    fs::create_dir_all(copy)?;
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        let is_kept = [PACKAGES, INSTALLED]
            .iter()
            .any(|kept| entry.file_name() == *kept);
        if is_kept {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    for name in files(sources)? {
        if name.starts_with(PACKAGES) {
            continue;
        }
        let to = copy.join(&name);
        fs::create_dir_all(to.parent().unwrap_or(copy))?;
        fs::copy(sources.join(&name), to)?;
    }
    Ok(())
}

/// Installs the exact packages of the lock file.
fn install(workspace: &Workspace, copy: &Path) -> Result<(), Failure> {
    let (wanted, present) = (copy.join(LOCK), copy.join(INSTALLED));
    if is_same(&wanted, &present) {
        return Ok(());
    }
    println!("downloading what builds the pages' scripts");
    let mut npm = workspace.command("npm", &["ci", "--silent", "--ignore-scripts"]);
    npm.args(["--no-audit", "--no-fund"]).current_dir(copy);
    run::run(&mut npm)?;
    // Only now is the installation complete.
    fs::copy(wanted, present)?;
    Ok(())
}

/// Returns all files below a folder, relative to it, sorted. Installed packages count as one.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_type()?.is_dir() && entry.file_name() != PACKAGES {
                folders.push(name);
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let read = |path| fs::read(path).ok();
    read(one).is_some_and(|bytes| read(other) == Some(bytes))
}
