//! File names of recordings.
//!
//! ```text
//! {directory}/live/show/2026-11-23/15-04-05Z-0.mp4          with the suffix .part while it is open
//! ```
//!
//! A name contains the stream, the start of the recording (in UTC), and a number to distinguish recordings of a stream that
//! begin in the same second. These facts are stored nowhere else, so a renamed file is another recording.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Container, Recording, RecordingId, State, Upload};
use base::date;
use media::StreamName;

/// Suffix of open files.
const PART: &str = ".part";

/// Name of one file, in its parts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FileName {
    pub(crate) stream: StreamName,
    /// Start, in whole seconds since 1970.
    pub(crate) seconds: u64,
    pub(crate) number: u32,
    pub(crate) container: Container,
}

impl FileName {
    /// Makes the first name for a recording that begins now.
    pub(crate) fn new(stream: StreamName, started: SystemTime, container: Container) -> Self {
        Self {
            stream,
            seconds: date::unix_seconds(started),
            number: 0,
            container,
        }
    }

    pub(crate) fn started(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.seconds)
    }

    pub(crate) fn id(&self) -> RecordingId {
        RecordingId::new(&self.stream, self.started(), self.number)
    }

    /// Makes the entry of the recording at `path`, with nothing else known yet.
    pub(crate) fn recording(&self, path: PathBuf, state: State) -> Recording {
        Recording {
            id: self.id(),
            stream: self.stream.clone(),
            path,
            is_local: true,
            started: self.started(),
            duration: Duration::ZERO,
            bytes: 0,
            state,
            container: self.container,
            upload: Upload::Never,
            is_pinned: false,
        }
    }

    /// Returns the path of the file once it is closed.
    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        let text = date::rfc3339(self.started()).replace(':', "-");
        let (day, time) = text.split_once('T').unwrap_or_default();
        let extension = self.container.extension();
        root.join(self.stream.as_str())
            .join(day)
            .join(format!("{time}-{}.{extension}", self.number))
    }

    /// Parses a path below `root`; the flag is true for an open file. `None` if the name is not a recording's.
    pub(crate) fn parse(root: &Path, path: &Path) -> Option<(Self, bool)> {
        let relative = path.strip_prefix(root).ok()?.to_str()?;
        let (folder, file) = relative.rsplit_once('/')?;
        let (stream, day) = folder.rsplit_once('/')?;
        let whole = file.strip_suffix(PART);
        let (stem, extension) = whole.unwrap_or(file).rsplit_once('.')?;
        let (time, number) = stem.split_once("Z-")?;
        let started = date::parse(&format!("{day}T{}Z", time.replace('-', ":")))?;
        let name = Self {
            stream: StreamName::parse(stream).ok()?,
            seconds: date::unix_seconds(started),
            number: number.parse().ok()?,
            container: Container::of_extension(extension)?,
        };
        // Each name has only one valid spelling.
        let is_same = name.path(root) == root.join(folder).join(whole.unwrap_or(file));
        is_same.then_some((name, whole.is_some()))
    }
}

/// Returns the path of a file while it is open.
pub(crate) fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PART);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(stream: &str, seconds: u64) -> FileName {
        let stream = StreamName::parse(stream).expect("a name");
        let started = UNIX_EPOCH + Duration::from_secs(seconds);
        FileName::new(stream, started, Container::Mp4)
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let root = Path::new("/rec");
        let path = name("live/show", 1_795_532_645).path(root);
        assert_eq!(path, root.join("live/show/2026-11-24/15-04-05Z-0.mp4"));
        for seconds in (0..4_000_000_000).step_by(7_654_321) {
            for stream in ["a", "live/show", "live/2026-11-23", "..."] {
                let name = name(stream, seconds);
                let path = name.path(root);
                assert_eq!(FileName::parse(root, &path), Some((name.clone(), false)));
                assert_eq!(FileName::parse(root, &part(&path)), Some((name, true)));
            }
        }
    }

    #[test]
    fn what_is_named_otherwise_is_no_recording() {
        let root = Path::new("/rec");
        let given = "/rec/2026-11-23/15-04-05Z-0.mp4|/rec/a/15-04-05Z-0.mp4|\
                     /rec/a/2026-11-23/15-04-05-0.mp4|/rec/a/2026-11-23/15-4-05Z-0.mp4|\
                     /rec/a/2026-11-23/15-04-05Z-00.mp4|/rec/a/2026-11-23/15-04-05Z-0.txt|\
                     /rec/a/2026-11-23/25-04-05Z-0.mp4|/rec/a/2026-02-30/15-04-05Z-0.mp4|\
                     /rec/a/1869-01-01/15-04-05Z-0.mp4|/rec/a/b c/2026-11-23/15-04-05Z-0.mp4|\
                     /elsewhere/a/2026-11-23/15-04-05Z-0.mp4";
        for path in given.split('|') {
            assert_eq!(FileName::parse(root, Path::new(path)), None, "{path}");
        }
    }
}
