//! The only build of the tests, and its executables.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::run::{self, Failure, Workspace};

/// Arguments of the build that every step of the dev profile shares: the server and all tests. The same packages and features
/// each time: another selection would be another build.
const EVERYTHING: [&str; 8] = [
    "build",
    "--workspace",
    "--exclude",
    "carillon-benches",
    "--bins",
    "--tests",
    "--locked",
    "--message-format=json-render-diagnostics",
];

/// An executable with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Name in cargo: `carillon-fanout`.
    pub(crate) package: String,
    /// `lib` for the unit tests of the library, else the target's name.
    pub(crate) target: String,
    pub(crate) path: PathBuf,
    /// Folder of the package, in which cargo runs its tests.
    folder: PathBuf,
}

/// Builds the server and all tests; returns the executables of the tests.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<Executable>, Failure> {
    let mut executables = Vec::new();
    run::run_lines(&mut workspace.cargo(&EVERYTHING), |line| {
        let message = serde_json::from_str(line).unwrap_or_default();
        executables.extend(Executable::of(&message));
    })?;
    Ok(executables)
}

impl Executable {
    /// Parses one of cargo's messages (`compiler-artifact`).
    fn of(message: &Value) -> Option<Self> {
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = PathBuf::from(message["manifest_path"].as_str()?)
            .parent()?
            .to_owned();
        let name = message["target"]["name"].as_str()?;
        let is_library = message["target"]["kind"]
            .as_array()?
            .iter()
            .any(|kind| kind == "lib");
        // `path+file:///…/crates/fanout#carillon-fanout@0.1.0`, or without the name if the folder has it.
        let id = message["package_id"].as_str()?;
        let (place, version) = id.rsplit_once('#')?;
        let package = version
            .split_once('@')
            .map_or_else(|| place.rsplit('/').next(), |(name, _)| Some(name))?;
        Some(Self {
            package: package.to_owned(),
            target: if is_library { "lib" } else { name }.to_owned(),
            path,
            folder,
        })
    }

    /// Returns the package without the project's prefix: `fanout`, the name of its folder.
    pub(crate) fn short_package(&self) -> &str {
        self.package.trim_start_matches("carillon-")
    }

    /// Returns a command that runs it as cargo would.
    pub(crate) fn command(&self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let mut command = workspace.command(&self.path, arguments);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// Returns the names of its tests.
    pub(crate) fn tests(&self, workspace: &Workspace) -> Result<Vec<String>, Failure> {
        let list = run::capture(&mut self.command(workspace, &["--list", "--format=terse"]))?;
        Ok(names(&list))
    }
}

/// Parses lines such as `module::name: test`.
fn names(list: &str) -> Vec<String> {
    list.lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn executables_are_read_from_the_messages_of_cargo() {
        let message = |kind: &str, is_test: bool| {
            json!({
                "reason": "compiler-artifact",
                "package_id": "path+file:///w/crates/fanout#carillon-fanout@0.1.0",
                "manifest_path": "/w/crates/fanout/Cargo.toml",
                "target": {"name": "carillon_fanout", "kind": [kind]},
                "profile": {"test": is_test},
                "executable": "/w/target/debug/deps/fanout-1",
            })
        };
        let library = Executable::of(&message("lib", true)).expect("it is one");
        assert_eq!(
            (library.short_package(), &*library.target),
            ("fanout", "lib")
        );
        assert_eq!(library.package, "carillon-fanout");
        assert_eq!(library.folder, PathBuf::from("/w/crates/fanout"));
        let target = Executable::of(&message("test", true)).expect("it is one");
        assert_eq!(target.target, "carillon_fanout");
        assert_eq!(Executable::of(&message("bin", false)), None);
    }

    #[test]
    fn a_package_may_be_named_by_its_folder() {
        let message = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///w/xtask#0.1.0",
            "manifest_path": "/w/xtask/Cargo.toml",
            "target": {"name": "xtask", "kind": ["bin"]},
            "profile": {"test": true},
            "executable": "/w/target/debug/deps/xtask-1",
        });
        let own = Executable::of(&message).expect("it is one");
        assert_eq!((&*own.package, &*own.target), ("xtask", "xtask"));
    }

    #[test]
    fn tests_are_listed() {
        assert_eq!(names("a::b: test\nc: benchmark\n\n1 test"), ["a::b"]);
    }
}
