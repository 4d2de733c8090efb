//! Recovery of sessions of a killed server: those of its last checkpoint that have no line in the log are added to it.
//!
//! Runs at the start, before the log is opened. A locked checkpoint belongs to a server that is still draining. Errors are
//! logged, and do not keep a server from starting.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};

use config::LogTarget;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::checkpoint::{CHECKPOINT, Head, is_of};
use crate::log::{Place, end_torn_line};

/// Most files beside the log searched for the one that was moved away: the leftovers of a year's rotation, and other logs.
const BESIDE_MAX: usize = 100_000;

/// Lines that were added to a log.
#[derive(Debug)]
pub struct Recovered {
    lines: io::Lines<BufReader<Take<File>>>,
    /// Identifiers of these lines; a draining server may have written others between them.
    ids: HashSet<String>,
}

impl Recovered {
    /// Returns the next line.
    pub(super) fn next(&mut self) -> Option<String> {
        // Lines that cannot be read any more are in the log all the same.
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find(|line| Line::of(line.as_bytes()).is_some_and(|line| self.ids.remove(&line.id)))
    }
}

/// Adds the lines to a log that earlier servers could not write. `None` if there was nothing to add.
pub fn recover(log: &LogTarget) -> Option<Recovered> {
    let LogTarget::File(log) = log else {
        return None;
    };
    let recovered = recover_all(log);
    recovered.unwrap_or_else(|error| {
        tell(log, &error);
        None
    })
}

fn tell(log: &Path, error: &io::Error) {
    tracing::error!(
        %error, log = %log.display(),
        "the sessions that a killed server had open are missing from the log"
    );
}

fn recover_all(log: &Path) -> io::Result<Option<Recovered>> {
    let beside = beside(log)?;
    let name = log.file_name().unwrap_or_default();
    let checkpoints = beside.iter().filter(|path| {
        let of_file = path.file_name();
        of_file.is_some_and(|file| is_of(name, file))
    });
    let from = fs::metadata(log).map_or(0, |metadata| metadata.len());
    let mut ids = HashSet::new();
    for checkpoint in checkpoints {
        match recover_from(log, &beside, checkpoint) {
            Ok(added) => ids.extend(added),
            Err(error) => tell(log, &error),
        }
    }
    if ids.is_empty() {
        return Ok(None);
    }
    tracing::info!(
        sessions = ids.len(), log = %log.display(),
        "sessions that a killed server had open are in the log now"
    );
    let mut file = File::open(log)?;
    let bytes = file.metadata()?.len().saturating_sub(from);
    file.seek(SeekFrom::Start(from))?;
    let lines = BufReader::new(file.take(bytes)).lines();
    Ok(Some(Recovered { lines, ids }))
}

/// Returns the files of the log's folder.
fn beside(log: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = match log.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = fs::read_dir(folder)?.take(BESIDE_MAX);
    let files: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut files = files?;
    files.sort_unstable();
    Ok(files)
}

/// Adds the sessions of a checkpoint, and removes it. Returns the identifiers of those added.
fn recover_from(log: &Path, beside: &[PathBuf], checkpoint: &Path) -> io::Result<HashSet<String>> {
    let file = File::open(checkpoint)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        tracing::info!(log = %log.display(), "another server has sessions open still, and will log them");
        return Ok(HashSet::new());
    }
    let Contents {
        place,
        mut missing,
        titles,
    } = Contents::read(&file)?;
    for (file, from) in written_since(log, beside, place) {
        strike_off(&file, from, &mut missing)?;
    }
    add(log, checkpoint, &missing, &titles)?;
    fs::remove_file(checkpoint)?;
    Ok(missing)
}

/// Parts of a checkpoint kept in memory: no sessions, because these are read twice.
struct Contents {
    place: Place,
    /// Identifiers of sessions that have no line yet.
    missing: HashSet<String>,
    /// Titles by stream, oldest first.
    titles: HashMap<String, Vec<(String, String)>>,
}

/// Fields of a line that recovery needs.
#[derive(Deserialize)]
struct Line {
    r#type: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    stream: String,
    #[serde(default)]
    started: String,
    #[serde(default)]
    at: String,
    #[serde(default)]
    title: String,
    /// Present if the line contains its own titles.
    titles: Option<IgnoredAny>,
}

impl Line {
    /// Parses a line; `None` for anything but a complete line of ours.
    fn of(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    fn is_session(&self) -> bool {
        self.r#type == "session"
    }
}

impl Contents {
    fn read(file: &File) -> io::Result<Self> {
        let mut lines = BufReader::new(file).split(b'\n');
        let head = lines.next().transpose()?.unwrap_or_default();
        let head: Head = serde_json::from_slice(&head)?;
        if head.r#type != CHECKPOINT {
            return Err(io::Error::other(
                "it was written by another version of this server",
            ));
        }
        let mut contents = Self {
            place: head.log,
            missing: HashSet::new(),
            titles: HashMap::new(),
        };
        for line in lines {
            match Line::of(&line?) {
                Some(line) if line.is_session() => {
                    contents.missing.insert(line.id);
                }
                Some(line) => {
                    let titles = contents.titles.entry(line.stream).or_default();
                    titles.push((line.at, line.title));
                }
                None => {}
            }
        }
        Ok(contents)
    }
}

/// Returns the files that may have lines since the checkpoint, with the positions to read from: the former log, under whatever
/// name it is now beside the log, and the present one.
fn written_since(log: &Path, beside: &[PathBuf], place: Place) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    for path in beside {
        let Some(metadata) = fs::metadata(path).ok().filter(Metadata::is_file) else {
            continue;
        };
        let now = Place::of(&metadata);
        let is_log = path.file_name() == log.file_name();
        match (now.is_file_of(&place), is_log) {
            // A shorter file was emptied.
            (true, _) if now.bytes >= place.bytes => files.push((path.clone(), place.bytes)),
            (true, _) | (false, true) => files.push((path.clone(), 0)),
            (false, false) => {}
        }
    }
    files
}

/// Removes sessions from the list that have a line.
fn strike_off(path: &Path, from: u64, missing: &mut HashSet<String>) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    for line in BufReader::new(file).split(b'\n') {
        if let Some(line) = Line::of(&line?).filter(Line::is_session) {
            missing.remove(&line.id);
        }
    }
    Ok(())
}

/// Adds the lines of sessions that have none.
fn add(
    log: &Path,
    checkpoint: &Path,
    missing: &HashSet<String>,
    titles: &HashMap<String, Vec<(String, String)>>,
) -> io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().append(true).create(true).open(log)?;
    end_torn_line(&file, log)?;
    let mut output = BufWriter::new(file);
    for text in BufReader::new(File::open(checkpoint)?).split(b'\n') {
        let text = text?;
        let Some(line) = Line::of(&text).filter(Line::is_session) else {
            continue;
        };
        if missing.contains(&line.id) && line.titles.is_some() {
            output.write_all(&text)?;
            output.write_all(b"\n")?;
        } else if missing.contains(&line.id) {
            let heard = titles
                .get(&line.stream)
                .map_or(&[][..], |all| heard(all, &line.started));
            // Up to the brace that ends the object and the line.
            output.write_all(&text[..text.len() - 1])?;
            let heard = heard
                .iter()
                .map(|(at, title)| json!({"at": at, "title": title}));
            writeln!(output, ",\"titles\":{}}}", Value::from_iter(heard))?;
        }
    }
    let file = output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_data()
}

/// Returns the titles played during a session that began at `started`. Times in one format sort as text.
fn heard<'a>(all: &'a [(String, String)], started: &str) -> &'a [(String, String)] {
    let before = all.partition_point(|(at, _)| at.as_str() <= started);
    &all[before.saturating_sub(1)..]
}
