//! DVR window: the past of a stream, further back than memory reaches, on disk.
//!
//! ```text
//!  lane of segments ──RangeReader──► Keeper ──► Window: what is kept ──► dvr.m3u8, {n}.m4s
//!   (memory)                           │ write, remove, off the async threads
//!                                      └──► {directory}/{stream}/{number}.m4s, init-{digest}.m4s
//! ```
//!
//! * A stream has a keeper while it is live and its settings give it a window, whether watched or not. The keeper
//!   writes each segment once it is complete, and removes segments that have left the window.
//! * The lane is the queue. A slow disk makes the keeper late; a segment that the lane drops before it could be written
//!   becomes a gap, and is counted. Nothing else waits for the disk: neither the publisher nor any viewer of the
//!   present.
//! * Segments are listed and numbered as in the lane, with the date ranges of their events; the list continues when a
//!   publisher returns. The window ends with its stream. After a restart of the server it begins anew, because numbers
//!   and times belong to the stream, which begins anew too.
//! * The window is in fragmented MP4 only. The other packagings have the present only.
//! * A segment that has left the playlist can still be read for as long as the lane would keep it. RFC 8216bis §6.2.2,
//!   read literally, requires the length of the whole window, which would double the disk space.

mod body;
mod disk;
mod folder;
mod keeper;
mod kept;
mod past;
#[cfg(test)]
mod tests;
mod window;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Counter, Lock};
use bytes::Bytes;
use fanout::gate::{Authorized, Play};
use fanout::{Packager, Phase, Registry, Retention, Segmentation, Stream};
use media::{Span, StreamName};
use packagers::Mp4;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use self::body::FileBody;
pub(crate) use self::body::PIECE_BYTES;
pub(crate) use self::kept::Kept;
pub(crate) use self::past::Past;
pub(crate) use self::window::Window;

use self::disk::{Disk, Files};
use self::folder::Folder;
use self::keeper::Keeper;
use crate::packaging::Packaging;

/// Packaging of windows: the one that carries all that the others do, for one copy on disk.
pub(crate) const PACKAGING: Packaging = Packaging::Mp4;

/// Interval of checks for streams that have no keeper yet. A lane begins with the last group of pictures, so nothing is
/// lost meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Most concurrent writes. A disk is no faster with more, and few threads hang on a disk that is stuck.
const WRITES_MAX: usize = 4;

/// Most concurrent reads, each of at most one piece.
const READS_MAX: usize = 16;

/// Source of permissions for the server's own readers.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Play> + Send + Sync>;

/// Length of a stream's window, by the stream's name; zero for none.
pub type Lengths = Box<dyn Fn(&StreamName) -> Duration + Send + Sync>;

/// Operator's settings of windows.
pub struct Settings {
    /// Directory of the windows; the server's own.
    pub directory: PathBuf,
    /// Length of each window; read when its stream begins.
    pub lengths: Lengths,
}

base::debug!(Settings { directory });

/// Totals of all windows together.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Bytes on disk.
    pub bytes: u64,
    /// Segments written.
    pub segments: u64,
    /// Segments that could not be written.
    pub failures: u64,
    /// Segments and initialization segments read from disk.
    pub reads: u64,
}

/// The counts behind [`Sums`].
#[derive(Debug, Default)]
struct Counts {
    bytes: Counter,
    segments: Counter,
    failures: Counter,
    reads: Counter,
}

/// DVR windows of all streams; [`keep`](Self::keep) is the task that maintains them.
#[derive(Debug)]
pub struct Dvr {
    settings: Settings,
    segmentation: Segmentation,
    disk: Arc<dyn Disk>,
    writes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    counts: Counts,
    windows: Lock<HashMap<StreamName, Arc<Window>>>,
}

impl Dvr {
    pub(crate) fn new(settings: Settings, segmentation: Segmentation) -> Self {
        Self::on(Arc::new(Files), settings, segmentation)
    }

    fn on(disk: Arc<dyn Disk>, settings: Settings, segmentation: Segmentation) -> Self {
        Self {
            settings,
            segmentation,
            disk,
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
            reads: Arc::new(Semaphore::new(READS_MAX)),
            counts: Counts::default(),
            windows: Lock::default(),
        }
    }

    /// Returns whether a stream of that name has a window while it is live.
    pub fn has_window(&self, stream: &StreamName) -> bool {
        !(self.settings.lengths)(stream).is_zero()
    }

    /// Returns the current totals.
    pub fn sums(&self) -> Sums {
        Sums {
            bytes: self.counts.bytes.value(),
            segments: self.counts.segments.value(),
            failures: self.counts.failures.value(),
            reads: self.counts.reads.value(),
        }
    }

    /// Keeps the windows of all streams until the future is dropped. It first removes the files of an earlier run.
    pub async fn keep(self: Arc<Self>, registry: Arc<Registry>, permit: Permit) {
        let (disk, root) = (Arc::clone(&self.disk), self.settings.directory.clone());
        let swept = tokio::task::spawn_blocking(move || folder::sweep(&*disk, &root)).await;
        if let Ok(Err(error)) = swept {
            let directory = self.settings.directory.display();
            tracing::error!(%directory, %error, "the directory of DVR windows cannot be used");
        }
        let mut keepers = JoinSet::new();
        loop {
            self.begin(&registry, &permit, &mut keepers);
            while keepers.try_join_next().is_some() {}
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Starts a keeper for each live stream that has none and is to have a window.
    fn begin(
        self: &Arc<Self>,
        registry: &Arc<Registry>,
        permit: &Permit,
        keepers: &mut JoinSet<()>,
    ) {
        for stream in registry.list() {
            let length = Span::from((self.settings.lengths)(stream.name()));
            if length.ticks() == 0 || self.windows.lock().contains_key(stream.name()) {
                continue;
            }
            let info = stream.info();
            // Tracks announced after the first may still change the presentation; that is a discontinuity.
            if info.phase != Phase::Live || !PACKAGING.carries(&info) {
                continue;
            }
            let permission = permit(stream.name());
            let format = PACKAGING.format(&self.segmentation);
            let make = || Box::new(Mp4::segmented(self.segmentation)) as Box<dyn Packager>;
            let Ok(reader) = stream.ranges(&permission, format, make, Instant::now()) else {
                // Memory is short, or the stream has just ended.
                continue;
            };
            let window = Arc::new(self.window_of(&stream, length));
            self.windows
                .lock()
                .insert(stream.name().clone(), Arc::clone(&window));
            let keeper = Keeper::new(Arc::clone(self), window, reader);
            let registry = Arc::clone(registry);
            keepers.spawn(async move { keeper.run(&registry).await });
        }
    }

    fn window_of(&self, stream: &Arc<Stream>, length: Span) -> Window {
        let grace = match PACKAGING.format(&self.segmentation).retention {
            Retention::Window { time, .. } => time,
            Retention::Live => Span::ZERO,
        };
        let folder = Folder::new(&self.settings.directory, stream.name());
        Window::new(Arc::clone(stream), folder, length, grace)
    }

    /// Returns the window that is kept for a stream now.
    pub(crate) fn window(&self, stream: &Arc<Stream>) -> Option<Arc<Window>> {
        let window = self.windows.lock().get(stream.name()).cloned()?;
        window.is_of(stream).then_some(window)
    }

    fn forget(&self, window: &Window) {
        self.windows.lock().remove(window.stream.name());
    }

    /// Returns the bytes of a segment that memory no longer has, with the first piece already read, and whether every
    /// node has the same bytes.
    ///
    /// # Errors
    /// If the segment is not kept, or the disk does not deliver it.
    pub(crate) async fn segment(
        &self,
        window: &Window,
        number: u64,
    ) -> io::Result<(FileBody, bool)> {
        let (path, is_whole) = window.path(number).ok_or(io::ErrorKind::NotFound)?;
        Ok((self.read(path).await?, is_whole))
    }

    /// Returns the initialization segment with this digest.
    ///
    /// # Errors
    /// If it is not kept, or the disk does not deliver it.
    pub(crate) async fn init(&self, window: &Window, digest: &str) -> io::Result<Bytes> {
        let path = window.init_path(digest).ok_or(io::ErrorKind::NotFound)?;
        let mut body = self.read(path).await?;
        match body.left() {
            0 => Ok(body.take_first()),
            // An initialization segment has about a kilobyte; a longer file is none.
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    async fn read(&self, path: PathBuf) -> io::Result<FileBody> {
        let body = FileBody::open(Arc::clone(&self.disk), path, Arc::clone(&self.reads)).await?;
        self.counts.reads.add(1);
        Ok(body)
    }
}
