//! A log of lines for other programs: a file that may be moved away and reopened, standard output, or nothing.
//!
//! A caller with a line never waits for the disk, see [`Sink`].

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::LogTarget;

use super::sink::{Sink, duplicate};

/// Lines that may wait for the disk: one second in which a large audience leaves at once.
const LINES_MAX: usize = 16 * 1024;

/// How long accepted lines may still take to reach the disk.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// See the module's description. Clones write to the same file.
#[derive(Clone, Debug)]
pub(crate) struct LineLog {
    /// The log's name in metric labels and warnings.
    name: &'static str,
    open: Option<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    sink: Sink,
    /// The file's path, unless it is standard output.
    path: Option<PathBuf>,
}

impl LineLog {
    /// Opens the log of that name.
    ///
    /// # Errors
    /// When the file cannot be opened or there is no thread.
    pub(crate) fn open(name: &'static str, to: &LogTarget) -> io::Result<Self> {
        let (output, path) = match to {
            LogTarget::Off => return Ok(Self { name, open: None }),
            LogTarget::Stdout => (duplicate(io::stdout())?, None),
            LogTarget::File(path) => (append_to(path)?, Some(path.clone())),
        };
        let sink = Sink::open(name, output, LINES_MAX)?;
        let open = Some(Open { sink, path });
        Ok(Self { name, open })
    }

    /// Whether lines go anywhere.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Writes a line, unless lines come faster than the disk takes them.
    pub(crate) fn write(&self, line: &[u8]) {
        if let Some(open) = &self.open {
            open.sink.push(line);
        }
    }

    /// Reopens the file, which has been moved away, and returns its path. On failure nothing
    /// changes.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(crate) fn reopen(&self) -> io::Result<Option<&Path>> {
        let Some(open) = &self.open else {
            return Ok(None);
        };
        let Some(path) = &open.path else {
            return Ok(None);
        };
        open.sink.replace(append_to(path)?);
        Ok(Some(path))
    }

    /// Waits until all lines are written, in bounded time.
    pub(crate) fn flush(&self) {
        if let Some(open) = &self.open
            && !open.sink.flush(FLUSH_PATIENCE)
        {
            tracing::warn!(
                log = self.name,
                "a log ends before its last lines are written"
            );
        }
    }

    /// The log's name and the lines that were dropped; `None` without a log.
    pub(crate) fn lines_lost(&self) -> Option<(&'static str, u64)> {
        let open = self.open.as_ref()?;
        Some((self.name, open.sink.lines_lost()))
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}
