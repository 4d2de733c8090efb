//! Third-party programs that read titles from a stream: the npm packages `icy` and
//! `icecast-metadata-js`.

use std::fs;
use std::path::Path;

use crate::run::{self, Failure, Workspace};

/// Each package with everything it needs, in versions that are known to work together; listed one by one because the registry's
/// own resolution changes from day to day.
const PACKAGES: &[(&str, &str)] = &[
    ("codec-parser", "2.5.0"),
    ("core-util-is", "1.0.3"),
    ("debug", "2.6.9"),
    ("icecast-metadata-js", "1.2.9"),
    ("icy", "2.1.0"),
    ("inherits", "2.0.4"),
    ("isarray", "0.0.1"),
    ("ms", "2.0.0"),
    ("readable-stream", "1.0.34"),
    ("stream-parser", "0.3.1"),
    ("string_decoder", "0.10.31"),
];

/// Installs the packages at `target/tools/icy`, where the tests look for them.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.target.join("tools/icy");
    if is_in_place(&folder) {
        return Ok(());
    }
    println!("downloading icy and icecast-metadata-js");
    download(workspace, &folder).map_err(|failure| {
        Failure(format!(
            "{failure}\nthey could not be had through npm; the scenario of titles needs them at {}",
            folder.display()
        ))
    })
}

fn is_in_place(folder: &Path) -> bool {
    PACKAGES.iter().all(|(name, version)| {
        let manifest = folder.join("node_modules").join(name).join("package.json");
        // The authors put spaces in different places.
        let said = |text: String| text.split_whitespace().collect::<String>();
        fs::read_to_string(manifest)
            .is_ok_and(|text| said(text).contains(&format!("\"version\":\"{version}\"")))
    })
}

fn download(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    let mut npm = workspace.command("npm", &["install", "--save-exact", "--ignore-scripts"]);
    npm.args(["--no-audit", "--no-fund", "--loglevel=error"])
        .args(
            PACKAGES
                .iter()
                .map(|(name, version)| format!("{name}@{version}")),
        )
        .current_dir(folder);
    run::run(&mut npm)
}
