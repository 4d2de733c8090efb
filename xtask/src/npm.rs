//! npm packages of the programs in `tests/clients`, by their lock files.

use std::fs;
use std::path::Path;

use crate::run::{self, Failure, Workspace};

/// Installs what `tests/clients/NAME` needs at `target/tools/NAME`, exactly as its lock file says, unless it is installed
/// already.
pub(crate) fn install(workspace: &Workspace, name: &str) -> Result<(), Failure> {
    let source = workspace.root.join("tests/clients").join(name);
    let folder = workspace.target.join("tools").join(name);
    let (wanted, present) = (
        source.join("package-lock.json"),
        folder.join("installed.json"),
    );
    if is_same(&wanted, &present) {
        return Ok(());
    }
    println!("downloading the packages of tests/clients/{name}");
    download(workspace, &source, &folder).map_err(|failure| {
        Failure(format!(
            "{failure}\nthe packages of tests/clients/{name} could not be had through npm"
        ))
    })?;
    // Only now is the installation complete.
    fs::copy(wanted, present)?;
    Ok(())
}

fn download(workspace: &Workspace, source: &Path, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    let mut npm = workspace.command("npm", &["ci", "--silent", "--ignore-scripts"]);
    npm.args(["--no-audit", "--no-fund"]).current_dir(folder);
    run::run(&mut npm)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let read = |path| fs::read(path).ok();
    read(one).is_some_and(|bytes| read(other) == Some(bytes))
}
