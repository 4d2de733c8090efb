//! An independent receiver of webhooks: the Python package `standardwebhooks`, by the specification's authors.

use std::path::Path;

use crate::run::{self, Failure, Workspace};

/// The package; it needs no other.
const REQUIREMENT: &str = "standardwebhooks==1.1.0";

/// Installs it at `target/tools/webhooks`, where the tests look for its Python.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.target.join("tools/webhooks");
    let python = folder.join("bin/python");
    if is_in_place(workspace, &python) {
        return Ok(());
    }
    println!("downloading {REQUIREMENT}");
    download(workspace, &folder, &python).map_err(|failure| {
        Failure(format!(
            "{failure}\n{REQUIREMENT} could not be had through pip; scenarios of webhooks need it at {}",
            folder.display()
        ))
    })
}

fn is_in_place(workspace: &Workspace, python: &Path) -> bool {
    let script = "from importlib.metadata import version; \
        print('standardwebhooks==' + version('standardwebhooks'))";
    let installed = run::capture(&mut workspace.command(python, &["-c", script]));
    installed.is_ok_and(|installed| installed.trim() == REQUIREMENT)
}

fn download(workspace: &Workspace, folder: &Path, python: &Path) -> Result<(), Failure> {
    let mut environment = workspace.command("python3", &["-m", "venv", "--clear"]);
    environment.arg(folder);
    run::run(&mut environment)?;
    let mut pip = workspace.command(python, &["-m", "pip", "install", "--quiet"]);
    pip.args(["--only-binary=:all:", REQUIREMENT]);
    run::run(&mut pip)
}
