//! `carillon rec`: recordings of a directory, without a server.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use config::Config;
use recordings::Recording;
use recordings::archive::Event;
use recordings::archive::offline::{self, FixError, Listing};
use reports::view;
use serde_json::json;

/// Maintenance of recordings.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists recordings without changing them.
    Ls {
        #[command(flatten)]
        place: Place,
        /// Prints a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Repairs recordings as a starting server does: closes those left open, truncates incomplete ends, and finalises
    /// them. Skips a directory that a server uses.
    Fix {
        #[command(flatten)]
        place: Place,
    },
}

/// Location of the recordings.
#[derive(Args, Debug)]
pub(crate) struct Place {
    /// Directories of recordings; by default those of the configuration.
    #[arg(value_name = "DIRECTORY", conflicts_with = "config")]
    directories: Vec<PathBuf>,
    /// Configuration file whose directories are used.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Reasons why the command fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("name a directory of recordings, or a configuration with one")]
    NoDirectory,
    #[error("{}: {error}", directory.display())]
    Read {
        directory: PathBuf,
        error: io::Error,
    },
    #[error(transparent)]
    Fix(#[from] FixError),
    #[error("{0} recordings could not be mended")]
    Left(usize),
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Command {
    /// Returns the directories to work on.
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Ls { place, .. } | Self::Fix { place } => place,
        }
    }

    /// Runs the command. `config` is the configuration, used if no directory is named.
    pub(crate) fn run(&self, config: Option<&Config>, out: &mut impl Write) -> Result<(), Failure> {
        let directories = self.place().directories(config);
        if directories.is_empty() {
            return Err(Failure::NoDirectory);
        }
        match self {
            Self::Ls { json, .. } => ls(&directories, *json, out),
            Self::Fix { .. } => fix(&directories, out),
        }
    }
}

impl Place {
    /// Returns whether the configuration must be read.
    pub(crate) fn is_configured(&self) -> bool {
        self.directories.is_empty()
    }

    fn directories(&self, config: Option<&Config>) -> Vec<PathBuf> {
        let mut all = self.directories.clone();
        if let Some(config) = config {
            all.extend(config.recording.directory.clone());
            all.extend(config.records.iter().map(|rule| rule.directory.clone()));
        }
        all.sort();
        all.dedup();
        all
    }
}

fn ls(directories: &[PathBuf], is_json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let mut all = Listing::default();
    for directory in directories {
        let listing = offline::list(directory).map_err(|error| Failure::Read {
            directory: directory.clone(),
            error,
        })?;
        all.recordings.extend(listing.recordings);
        all.unreadable.extend(listing.unreadable);
        all.others.extend(listing.others);
    }
    all.recordings.sort_by_key(|recording| recording.id);
    match is_json {
        true => write_json(&all, out)?,
        false => write_table(&all, out)?,
    }
    Ok(())
}

fn write_json(all: &Listing, out: &mut impl Write) -> io::Result<()> {
    let recordings: Vec<_> = all.recordings.iter().map(view::recording).collect();
    let unreadable = all.unreadable.iter();
    let unreadable: Vec<_> = unreadable
        .map(|(path, error)| json!({ "path": path.to_string_lossy(), "error": error }))
        .collect();
    let others = all.others.iter();
    let others: Vec<_> = others.map(|path| path.to_string_lossy()).collect();
    let all = json!({ "recordings": recordings, "unreadable": unreadable, "others": others });
    writeln!(out, "{all}")
}

/// Writes a table for people: numbers aligned right, paths last.
fn write_table(all: &Listing, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:24}  {:9}  {:>9}  {:>8}  PATH",
        "ID", "STATE", "LENGTH", "MIB"
    )?;
    for recording in &all.recordings {
        writeln!(out, "{}", row(recording))?;
    }
    for (path, error) in &all.unreadable {
        writeln!(out, "unreadable: {} ({error})", path.display())?;
    }
    for path in &all.others {
        writeln!(out, "no recording: {}", path.display())?;
    }
    let bytes: u64 = all.recordings.iter().map(|one| one.bytes).sum();
    writeln!(
        out,
        "{} recordings, {:.1} MiB; {} unreadable, {} other files",
        all.recordings.len(),
        mebibytes(bytes),
        all.unreadable.len(),
        all.others.len()
    )
}

fn row(recording: &Recording) -> String {
    let seconds = recording.duration.as_secs();
    let [hours, minutes, seconds] = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
    let length = format!("{hours}:{minutes:02}:{seconds:02}");
    let (id, state, path) = (
        recording.id,
        recording.state.label(),
        recording.path.display(),
    );
    let size = mebibytes(recording.bytes);
    format!("{id}  {state:9}  {length:>9}  {size:>8.1}  {path}")
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn fix(directories: &[PathBuf], out: &mut impl Write) -> Result<(), Failure> {
    let mut failed = 0;
    for directory in directories {
        for event in offline::fix(directory)? {
            failed += usize::from(matches!(event, Event::Failed { .. }));
            if let Some(line) = line(&event) {
                writeln!(out, "{line}")?;
            }
        }
    }
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Left(failed)),
    }
}

fn line(event: &Event) -> Option<String> {
    let words = match event {
        Event::Recovered(recording) => ("closed", &recording.path),
        Event::Finalised(recording) => ("finalised", &recording.path),
        Event::Deleted { recording, .. } => ("removed, empty", &recording.path),
        Event::Failed { stream, error } => return Some(format!("failed: {stream}: {error}")),
        Event::Started(_) | Event::Closed(_) | Event::Gap { .. } => return None,
    };
    Some(format!("{}: {}", words.0, words.1.display()))
}
