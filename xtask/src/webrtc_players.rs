//! Independent players: of WebRTC by pion (Go), werift (Node.js) and three scripts for pages, and within Go's TLS. Their
//! programs are in `tests/clients`, each with the exact versions and digests of what it needs.

use crate::run::{Failure, Workspace};
use crate::{go, npm};

/// Installs the players where the tests look for them: in `target/tools/bin`, and the
/// packages that scripts and pages need at `target/tools/werift` and `target/tools/whep`.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    go::build(workspace, "pion", "pion-viewer").map_err(|failure| {
        Failure(format!(
            "{failure}\nthe player on pion could not be built with modules of the Go proxy"
        ))
    })?;
    go::build(workspace, "tls", "tls-listener")?;
    npm::install(workspace, "werift")?;
    npm::install(workspace, "whep")
}
