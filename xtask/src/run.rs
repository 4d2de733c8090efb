//! Child processes: how every step starts `cargo` and other programs, and the text of a failure.

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reason why a step failed, for the reader of the end of the output.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Locations of the project.
pub(crate) struct Workspace {
    /// Root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target directory; builds with other flags get subdirectories of it.
    pub(crate) target: PathBuf,
}

impl Workspace {
    pub(crate) fn locate() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().unwrap_or(here).to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |dir| root.join(dir));
        Self { root, target }
    }

    /// Returns a `cargo` child at the root, with its standard input closed.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo, arguments);
        // Set by the `cargo run` around this process: these variables describe xtask, not the child.
        for variable in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUSTFLAGS"] {
            command.env_remove(variable);
        }
        // Incremental compilation makes a first build slower; using it only for later builds would make those start anew.
        command.env("CARGO_INCREMENTAL", "0");
        command
    }

    /// Returns any other child at the root, with its standard input closed.
    pub(crate) fn command<P: AsRef<OsStr>, S: AsRef<OsStr>>(
        &self,
        program: P,
        arguments: &[S],
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }
}

/// Returns the command line as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Runs a command to its end, with the output passed through.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let line = shown(command);
    let status = command
        .status()
        .map_err(|error| Failure(format!("`{line}`: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure(format!("`{line}`: {status}")))
    }
}

/// Runs a command to its end and passes each line of standard output to `each`, which decides what is shown.
pub(crate) fn run_lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<(), Failure> {
    let line = shown(command);
    let failed = |error: std::io::Error| Failure(format!("`{line}`: {error}"));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(stdout) = child.stdout.take() {
        for text in BufReader::new(stdout).split(b'\n') {
            each(&String::from_utf8_lossy(&text.map_err(failed)?));
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure(format!("`{line}`: {status}")))
    }
}

/// Runs a command and returns its standard output as text; nothing is shown. An exit status other than 0 is a failure.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let line = shown(command);
    let output = command
        .output()
        .map_err(|error| Failure(format!("`{line}`: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Failure(format!(
        "`{line}`: {}\n{}",
        output.status,
        complaint.trim_end()
    )))
}
