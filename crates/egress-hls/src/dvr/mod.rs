//! The DVR window: the past of a stream, further back than memory reaches, on disk.
//!
//! ```text
//!  lane of segments ──RangeReader──► Keeper ──► Window: what is kept ──► dvr.m3u8, {n}.m4s
//!   (memory)                           │ write, remove, off the async threads
//!                                      └──► {directory}/{stream}/{number}.m4s, init-{digest}.m4s
//! ```
//!
//! * A stream has a keeper for as long as it is live and is to have a window, watched or not. It writes each
//!   segment once it is complete, and removes what has left the window.
//! * The lane is the queue. A disk that is slow makes the keeper late; what the lane has dropped before it could be
//!   written is a gap, and is counted. Nothing else waits for the disk: not the publisher, and no viewer of the
//!   present.
//! * What is kept is listed and numbered as in the lane, with the date ranges of its events, and goes on over a
//!   publisher's return. It ends with its stream. After a restart of the server it begins anew: numbers and times are
//!   the stream's, which begins anew too.
//! * It is fragmented MP4 alone. The other packagings have the present only.
//! * A segment that has left the playlist can be read for as long again as the lane keeps one. The letter of RFC
//!   8216bis §6.2.2 wants the length of the whole window, which would double the disk.

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
use formats::Mp4;
use media::{Span, StreamName};
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

/// What is kept: the one that carries all that the others do, for one copy on disk.
pub(crate) const PACKAGING: Packaging = Packaging::Mp4;

/// How often the server looks for streams that have no keeper yet. A lane begins with the last picture group, so
/// nothing is lost meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Writes at a time. A disk is no faster for more, and threads that hang on one that is stuck are few.
const WRITES_MAX: usize = 4;

/// Reads at a time, of at most a piece each.
const READS_MAX: usize = 16;

/// Makes permissions for the server's own readers.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Play> + Send + Sync>;

/// How long the window of a stream is; zero for none.
pub type Lengths = Box<dyn Fn(&StreamName) -> Duration + Send + Sync>;

/// What an operator decides about windows.
pub struct Settings {
    /// Where they are kept; a directory of the server's own.
    pub directory: PathBuf,
    /// How long each is; asked when its stream begins.
    pub lengths: Lengths,
}

base::debug!(Settings { directory });

/// What all windows together have done, and hold.
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

/// The windows of all streams.
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

    /// Whether a stream of that name has a window while it is live.
    pub fn has_window(&self, stream: &StreamName) -> bool {
        !(self.settings.lengths)(stream).is_zero()
    }

    /// See [`Sums`].
    pub fn sums(&self) -> Sums {
        Sums {
            bytes: self.counts.bytes.value(),
            segments: self.counts.segments.value(),
            failures: self.counts.failures.value(),
            reads: self.counts.reads.value(),
        }
    }

    /// Keeps the windows of all streams, until it is dropped. First removes what an earlier run has left.
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

    /// Begins a keeper for each live stream that has none and is to have one.
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
            // Tracks that follow the first may still make it another presentation; that is a discontinuity.
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

    /// The window of a stream that is kept now.
    pub(crate) fn window(&self, stream: &Arc<Stream>) -> Option<Arc<Window>> {
        let window = self.windows.lock().get(stream.name()).cloned()?;
        window.is_of(stream).then_some(window)
    }

    fn forget(&self, window: &Window) {
        self.windows.lock().remove(window.stream().name());
    }

    /// The bytes of a segment that memory no longer has, the first of them at once, and whether any node has the
    /// same.
    ///
    /// # Errors
    /// When it is not kept, or the disk does not give it.
    pub(crate) async fn segment(
        &self,
        window: &Window,
        number: u64,
    ) -> io::Result<(FileBody, bool)> {
        let (path, is_whole) = window.path(number).ok_or(io::ErrorKind::NotFound)?;
        Ok((self.read(path).await?, is_whole))
    }

    /// The initialization segment of a digest.
    ///
    /// # Errors
    /// When it is not kept, or the disk does not give it.
    pub(crate) async fn init(&self, window: &Window, digest: &str) -> io::Result<Bytes> {
        let path = window.init_path(digest).ok_or(io::ErrorKind::NotFound)?;
        let body = self.read(path).await?;
        match body.left() {
            0 => Ok(body.into_first()),
            // It is a kilobyte; whatever this is, it is none.
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    async fn read(&self, path: PathBuf) -> io::Result<FileBody> {
        let body = FileBody::open(Arc::clone(&self.disk), path, Arc::clone(&self.reads)).await?;
        self.counts.reads.add(1);
        Ok(body)
    }
}
