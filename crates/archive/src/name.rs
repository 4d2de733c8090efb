//! The names of recordings' files.
//!
//! ```text
//! {directory}/live/show/2026-11-23/15-04-05Z-0.mp4          .part behind it while it is open
//! ```
//!
//! A name tells the stream, when its recording begins (in UTC) and a number that differs where recordings of a stream
//! begin in the same second. Nothing else knows these, so a file that is renamed is another recording.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::date;
use media::StreamName;
use recordings::{Container, Recording, RecordingId, State, Upload};

/// What the names of open files end in.
const PART: &str = ".part";

/// The name of one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FileName {
    pub(crate) stream: StreamName,
    /// Whole seconds since 1970.
    pub(crate) seconds: u64,
    pub(crate) number: u32,
    pub(crate) container: Container,
}

impl FileName {
    /// The first name of a recording that begins now.
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

    /// The recording whose file is at `path`, of which nothing else is known yet.
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

    /// Its path, once it is closed.
    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        let text = date::rfc3339(self.started()).replace(':', "-");
        let (day, time) = text.split_once('T').unwrap_or_default();
        let extension = self.container.extension();
        root.join(self.stream.as_str())
            .join(day)
            .join(format!("{time}-{}.{extension}", self.number))
    }

    /// Reads a path below `root`, and whether it is that of an open file. `None` if no recording is named so.
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
        // A name is written in one way.
        let is_same = name.path(root) == root.join(folder).join(whole.unwrap_or(file));
        is_same.then_some((name, whole.is_some()))
    }
}

/// The path of a file while it is open.
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
        for path in [
            "/rec/2026-11-23/15-04-05Z-0.mp4",
            "/rec/a/15-04-05Z-0.mp4",
            "/rec/a/2026-11-23/15-04-05-0.mp4",
            "/rec/a/2026-11-23/15-4-05Z-0.mp4",
            "/rec/a/2026-11-23/15-04-05Z-00.mp4",
            "/rec/a/2026-11-23/15-04-05Z-0.txt",
            "/rec/a/2026-11-23/25-04-05Z-0.mp4",
            "/rec/a/2026-02-30/15-04-05Z-0.mp4",
            "/rec/a/1869-01-01/15-04-05Z-0.mp4",
            "/rec/a/b c/2026-11-23/15-04-05Z-0.mp4",
            "/elsewhere/a/2026-11-23/15-04-05Z-0.mp4",
        ] {
            assert_eq!(FileName::parse(root, Path::new(path)), None, "{path}");
        }
    }
}
