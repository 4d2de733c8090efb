//! axe-core, which judges whether pages are accessible: one script, as the Python package
//! `axe-playwright-python` carries it.

use std::fs;
use std::path::Path;

use crate::run::{Failure, Workspace};
use crate::wheel;

/// The package, and the digest of its wheel.
const REQUIREMENT: &str = "axe-playwright-python==0.1.8 \
    --hash=sha256:fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8\n";
/// Beginning of the script inside.
const BANNER: &str = "/*! axe v4.12.1";

/// Installs the script at `target/tools/axe.min.js`, where the tests look for it.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let script = workspace.target.join("tools/axe.min.js");
    if is_in_place(&script) {
        return Ok(());
    }
    println!("downloading axe-core");
    let folder = workspace.target.join("tools/axe");
    wheel::unpack(workspace, REQUIREMENT, &folder)?;
    fs::rename(folder.join("axe_playwright_python/axe.min.js"), &script)?;
    fs::remove_dir_all(&folder)?;
    if is_in_place(&script) {
        return Ok(());
    }
    Err(Failure(format!(
        "{} does not begin with {BANNER}",
        script.display()
    )))
}

fn is_in_place(script: &Path) -> bool {
    fs::read_to_string(script).is_ok_and(|text| text.starts_with(BANNER))
}
