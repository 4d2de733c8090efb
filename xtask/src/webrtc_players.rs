//! Independent players: WebRTC by pion (Go), gst-plugins-rs (Rust), werift (Node.js) and three scripts for pages, and a
//! listener on Go's TLS. Their programs are in `tests/clients`, each with the exact versions and digests of what it needs.

use std::fs;

use crate::run::{self, Failure, Workspace};
use crate::{go, npm};

/// Installs the players where the tests look for them: in `target/tools/bin`, and the packages that scripts and pages need at
/// `target/tools/werift` and `target/tools/whep`.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    go::build(workspace, "pion", "pion-viewer").map_err(|failure| {
        Failure(format!(
            "{failure}\nthe player on pion could not be built with modules of the Go proxy"
        ))
    })?;
    go::build(workspace, "tls", "tls-listener")?;
    build_whep_elements(workspace)?;
    npm::install(workspace, "werift")?;
    npm::install(workspace, "whep")
}

/// Builds the player on gst-plugins-rs apart from everything else: Debian has only GStreamer itself. Cargo knows whether
/// anything must be built; from scratch it takes some three minutes.
fn build_whep_elements(workspace: &Workspace) -> Result<(), Failure> {
    let client = workspace.root.join("tests/clients/gstreamer");
    let folder = workspace.target.join("tools/gstreamer");
    let mut build = workspace.cargo(&["build", "--quiet", "--locked"]);
    build.env("CARGO_TARGET_DIR", &folder).current_dir(client);
    run::run(&mut build)?;
    let program = "whep-elements";
    let bin = go::bin(workspace);
    fs::create_dir_all(&bin)?;
    fs::copy(folder.join("debug").join(program), bin.join(program))?;
    Ok(())
}
