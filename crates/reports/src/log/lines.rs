//! Line log for other programs: a file that may be moved away and reopened, standard output, or nothing.
//!
//! A caller with a line never waits for the disk; see [`LineSink`].

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use config::LogTarget;

use super::place::Place;
use super::sink::{LineSink, duplicate};

/// Most lines that may wait for the disk: one second in which a large audience leaves at once.
const LINES_MAX: usize = 16 * 1024;

/// Longest time for accepted lines to reach the disk at a flush.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Log of lines. Clones write to the same file.
#[derive(Clone, Debug)]
pub struct LineLog {
    /// Name of the log in metric labels and warnings.
    name: &'static str,
    open: Option<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    sink: LineSink,
    /// Path of the file; `None` for standard output.
    path: Option<PathBuf>,
    /// Number of times the file was reopened.
    reopened: Arc<AtomicU64>,
}

impl LineLog {
    /// Opens the log with this name.
    ///
    /// # Errors
    /// Fails when the file cannot be opened or there is no thread.
    pub fn open(name: &'static str, to: &LogTarget) -> io::Result<Self> {
        let (output, path) = match to {
            LogTarget::Off => return Ok(Self { name, open: None }),
            LogTarget::Stdout => (duplicate(io::stdout())?, None),
            LogTarget::File(path) => (append_to(path)?, Some(path.clone())),
        };
        let sink = LineSink::open(name, output, LINES_MAX)?;
        let open = Open {
            sink,
            path,
            reopened: Arc::default(),
        };
        Ok(Self {
            name,
            open: Some(open),
        })
    }

    /// Whether lines are written anywhere.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Writes a line; drops it if lines come faster than the disk accepts them.
    pub fn write(&self, line: &[u8]) {
        if let Some(open) = &self.open {
            open.sink.push(line);
        }
    }

    /// Reopens the file, which has been moved away, and returns its path. A failure changes nothing.
    ///
    /// # Errors
    /// Fails when the file cannot be opened.
    pub fn reopen(&self) -> io::Result<Option<&Path>> {
        let (Some(open), Some(path)) = (&self.open, self.path()) else {
            return Ok(None);
        };
        open.sink.replace(append_to(path)?);
        open.reopened.fetch_add(1, Ordering::Release);
        Ok(Some(path))
    }

    /// Returns the path of the file; `None` for standard output, or if the log is off.
    pub fn path(&self) -> Option<&Path> {
        self.open.as_ref()?.path.as_deref()
    }

    /// Returns the number of times the file was reopened.
    pub fn reopened(&self) -> u64 {
        let open = self.open.as_ref();
        open.map_or(0, |open| open.reopened.load(Ordering::Acquire))
    }

    /// Returns the file that lines are written to now, and its length. Later lines are written after that position, or in
    /// another file.
    pub fn place(&self) -> Option<Place> {
        let metadata = self.open.as_ref()?.sink.file().metadata();
        metadata.ok().map(|metadata| Place::of(&metadata))
    }

    /// Syncs written lines to the disk, however long that takes.
    ///
    /// # Errors
    /// Fails when the disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match &self.open {
            Some(open) => open.sink.file().sync_data(),
            None => Ok(()),
        }
    }

    /// Waits until all lines are written, in bounded time. Returns whether they are.
    pub fn flush(&self) -> bool {
        let open = self.open.as_ref();
        open.is_none_or(|open| open.sink.flush(FLUSH_PATIENCE))
    }

    /// Writes the last lines, in bounded time.
    pub fn finish(&self) {
        if !self.flush() {
            tracing::warn!(
                log = self.name,
                "a log ends before its last lines are written"
            );
        }
    }

    /// Returns the log's name and the number of dropped lines; `None` if the log is off.
    pub fn lines_lost(&self) -> Option<(&'static str, u64)> {
        let open = self.open.as_ref()?;
        Some((self.name, open.sink.lines_lost()))
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    end_torn_line(&file, path)?;
    Ok(file)
}

/// Ends an incomplete last line of a log opened for appending: a killed server may have written half of it, and the next line
/// would be joined to that half.
pub fn end_torn_line(mut log: &File, path: &Path) -> io::Result<()> {
    let metadata = log.metadata()?;
    // A file that cannot be read is appended to all the same.
    let Some(last) = metadata.len().checked_sub(1).filter(|_| metadata.is_file()) else {
        return Ok(());
    };
    let mut byte = [b'\n'];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut byte, last));
    if read.is_ok() && byte != *b"\n" {
        log.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_ended_and_the_place_is_that_of_the_open_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, "whole\ntor").expect("written");
        let log = LineLog::open("test", &LogTarget::File(path.clone())).expect("a log");
        let place = log.place().expect("a file");
        assert_eq!(place.bytes, 10);
        log.write(b"next\n");
        assert!(log.flush());
        log.sync().expect("synced");
        assert_eq!(log.place().expect("a file").bytes, 15);
        let moved = folder.path().join("log.1");
        std::fs::rename(&path, &moved).expect("moved");
        assert_eq!(log.reopened(), 0);
        assert_eq!(log.reopen().expect("opened"), Some(&*path));
        assert_eq!(log.reopened(), 1);
        log.write(b"last\n");
        assert!(log.flush());
        assert!(!log.place().expect("a file").is_file_of(&place));
        let read = |path| std::fs::read_to_string(path).expect("a file");
        assert_eq!(read(&moved), "whole\ntor\nnext\n");
        assert_eq!(read(&path), "last\n");
    }
}
