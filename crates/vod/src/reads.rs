//! Reads from a disk: on threads of their own, in windows, and a bounded number of them.
//!
//! A disk that hangs keeps the reads that it has begun, and all others wait for them or give up; nothing else of the
//! server waits with them.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::ranges::Ranges;
use crate::sender::Sender;

/// Reads of one folder at once: more than a disk does better in parallel, and few enough threads if it hangs.
const READS_MAX: usize = 16;

/// Bytes of a window: a thousand listeners of 1 Mb/s are 120 reads a second.
const WINDOW_BYTES: u64 = 1 << 20;

/// Bytes of a window when there is no memory for larger ones, and the unit in which that memory is counted.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

/// Memory of all windows of a folder beyond a piece for each listener: that of 128 listeners who have just begun one.
const WINDOWS_BYTES_MAX: u64 = 128 << 20;

/// Memory of what is made for listeners of a folder beyond a piece for each: the heads of long segments, and the lists of
/// long playlists and clips. A hundred clips of an hour have a third of it.
const MADE_BYTES_MAX: u64 = 64 << 20;

/// How long a read may wait and last. A disk that needs longer is no use to players.
const READ_TIME: Duration = Duration::from_secs(10);

/// A read that takes longer comes late: the media that a player has in hand may not last.
const LATE_AFTER: Duration = Duration::from_secs(1);

/// What all listeners of a folder share.
#[derive(Debug)]
pub(crate) struct Reads {
    turns: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    made: Arc<Semaphore>,
    bytes: AtomicU64,
    late: AtomicU64,
    /// Begun with the first client that is sent to from the page cache.
    sender: OnceLock<Sender>,
}

/// What was read, and the memory that it takes.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

/// Bytes that stand in a file otherwise than they are sent: sixteen at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Patch {
    at: u64,
    bytes: [u8; Self::BYTES_MAX],
    length: u8,
}

impl Patch {
    pub(crate) const BYTES_MAX: usize = 16;

    /// What is to be sent for the bytes from `at` on. No more than [`BYTES_MAX`](Self::BYTES_MAX).
    pub(crate) fn new(at: u64, what: &[u8]) -> Self {
        let mut bytes = [0; Self::BYTES_MAX];
        let length = what.len().min(Self::BYTES_MAX);
        bytes[..length].copy_from_slice(&what[..length]);
        Self {
            at,
            bytes,
            length: length as u8,
        }
    }

    fn end(&self) -> u64 {
        self.at + u64::from(self.length)
    }

    /// Changes what was read from `begin` on.
    fn apply(&self, piece: &mut [u8], begin: u64) {
        let end = begin + piece.len() as u64;
        let (from, to) = (self.at.max(begin), self.end().min(end));
        if from < to {
            let what = &self.bytes[(from - self.at) as usize..(to - self.at) as usize];
            piece[(from - begin) as usize..(to - begin) as usize].copy_from_slice(what);
        }
    }
}

/// The bytes of a file that are to be others than they are.
#[derive(Clone)]
pub(crate) enum Patches {
    /// These, in the order of their places.
    Known(Arc<[Patch]>),
    /// Those that are found for a range of the file when it is read.
    Found(Arc<Find>),
}

/// Finds the patches of a range. Blocks.
pub(crate) type Find = dyn Fn(&File, &Range<u64>) -> io::Result<Vec<Patch>> + Send + Sync;

impl Default for Patches {
    fn default() -> Self {
        Self::Known(Arc::default())
    }
}

impl fmt::Debug for Patches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(patches) => f.debug_list().entries(patches.iter()).finish(),
            Self::Found(_) => f.write_str("Found"),
        }
    }
}

impl Patches {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Known(patches) if patches.is_empty())
    }

    /// Changes what was read from a range of a file.
    fn apply(&self, file: &File, range: &Range<u64>, piece: &mut [u8]) -> io::Result<()> {
        let patch = |patch: &Patch| patch.apply(piece, range.start);
        match self {
            Self::Known(patches) => {
                let first = patches.partition_point(|patch| patch.end() <= range.start);
                let within = patches[first..].iter();
                within.take_while(|it| it.at < range.end).for_each(patch);
            }
            Self::Found(find) => find(file, range)?.iter().for_each(patch),
        }
        Ok(())
    }
}

impl Default for Reads {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(READS_MAX)),
            memory: Arc::new(Semaphore::new((WINDOWS_BYTES_MAX / PIECE_BYTES) as usize)),
            made: Arc::new(Semaphore::new((MADE_BYTES_MAX / PIECE_BYTES) as usize)),
            bytes: AtomicU64::new(0),
            late: AtomicU64::new(0),
            sender: OnceLock::new(),
        }
    }
}

impl Reads {
    /// Bytes that were read, or sent without that.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The thread that sends from the page cache.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn sender(&self) -> io::Result<&Sender> {
        if self.sender.get().is_none() {
            // One that another client begins at the same moment ends at once.
            self.sender.set(Sender::start()?).ok();
        }
        self.sender.get().ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// So many bytes were sent without being read here.
    pub(crate) fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Reads that came late, or never.
    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Reads the next window of what is left of a body, and takes it from there.
    pub(crate) async fn window(
        self: Arc<Self>,
        file: Arc<File>,
        mut left: Ranges,
        patches: Patches,
    ) -> io::Result<(Read, Ranges)> {
        let memory = self.memory_for(left.bytes().min(WINDOW_BYTES));
        let most = match &memory {
            Some(_) => WINDOW_BYTES,
            None => PIECE_BYTES,
        };
        let work = move || -> io::Result<_> {
            let wanted = left.take(most);
            Ok((pieces(&file, &wanted, &patches)?, left))
        };
        let (read, left) = self.blocking(work).await?;
        self.bytes.fetch_add(read.len() as u64, Ordering::Relaxed);
        let read = Read {
            bytes: read.into(),
            _memory: memory,
        };
        Ok((read, left))
    }

    /// Memory for something that is made for one listener; none is counted for a piece.
    ///
    /// # Errors
    /// `ResourceBusy` when others have it all.
    pub(crate) fn room(&self, bytes: u64) -> io::Result<Option<OwnedSemaphorePermit>> {
        if bytes <= PIECE_BYTES {
            return Ok(None);
        }
        let units = u32::try_from(bytes.div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX);
        let made = Arc::clone(&self.made).try_acquire_many_owned(units);
        let busy = |_| io::Error::from(io::ErrorKind::ResourceBusy);
        made.map(Some).map_err(busy)
    }

    fn memory_for(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(PIECE_BYTES)).ok()?;
        let memory = Arc::clone(&self.memory);
        memory.try_acquire_many_owned(units).ok()
    }

    /// Runs `work` off the async threads, in its turn. One that hangs keeps its turn.
    ///
    /// # Errors
    /// `TimedOut` when it takes too long.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let began = Instant::now();
        let turns = Arc::clone(&self.turns);
        let run = async {
            let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
            let work = move || {
                let done = work();
                drop(turn);
                done
            };
            let joined = tokio::task::spawn_blocking(work).await;
            joined.map_err(io::Error::other)?
        };
        let run = timeout(READ_TIME, run).await;
        if began.elapsed() > LATE_AFTER {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        run.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

fn pieces(file: &File, ranges: &[Range<u64>], patches: &Patches) -> io::Result<Vec<u8>> {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    // A window at most.
    let mut bytes = vec![0; total as usize];
    let mut rest = &mut bytes[..];
    for range in ranges {
        let (piece, behind) = rest.split_at_mut((range.end - range.start) as usize);
        file.read_exact_at(piece, range.start)?;
        patches.apply(file, range, piece)?;
        rest = behind;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_replace_what_is_read_of_them() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(b"0123456789", 0).expect("written");
        let patches = [Patch::new(2, b"ab"), Patch::new(6, b"cde")];
        let known = Patches::Known(patches.into());
        let found = Patches::Found(Arc::new(move |_: &File, range: &Range<u64>| {
            let within = patches.iter();
            let within = within.filter(|it| it.at < range.end && range.start < it.end());
            Ok(within.copied().collect())
        }));
        for patches in [known, found] {
            let read = |ranges: &[Range<u64>]| pieces(&file, ranges, &patches).expect("read");
            assert_eq!(read(&[0..10, 0..2]), b"01ab45cde901");
            assert_eq!(read(&[3..4, 4..6, 7..8, 9..10]), b"b45d9");
        }
    }

    #[test]
    fn what_is_made_for_listeners_is_bounded() {
        let reads = Reads::default();
        let all = reads.room(MADE_BYTES_MAX).expect("nobody has any");
        assert!(all.is_some());
        let more = reads.room(PIECE_BYTES + 1).map(drop);
        let more = more.map_err(|error| error.kind());
        assert_eq!(more, Err(io::ErrorKind::ResourceBusy));
        // What nearly all listeners have is never refused.
        assert!(matches!(reads.room(PIECE_BYTES), Ok(None)));
        drop(all);
        assert!(matches!(reads.room(PIECE_BYTES + 1), Ok(Some(_))));
    }

    #[tokio::test]
    async fn windows_shrink_when_memory_is_short() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4 * WINDOW_BYTES).expect("a length");
        let file = Arc::new(file);
        let reads = Arc::new(Reads::default());
        let whole: Range<u64> = 0..4 * WINDOW_BYTES;
        let window = |left| Arc::clone(&reads).window(Arc::clone(&file), left, Patches::default());
        let (first, left) = window(whole.into()).await.expect("read");
        assert_eq!(first.bytes.len() as u64, WINDOW_BYTES);
        let all = u32::try_from(reads.memory.available_permits()).expect("a number");
        let others = Arc::clone(&reads.memory);
        let others = others.try_acquire_many_owned(all).expect("memory");
        let (second, left) = window(left).await.expect("read");
        assert_eq!(second.bytes.len() as u64, PIECE_BYTES);
        drop(others);
        let (third, _) = window(left).await.expect("read");
        assert_eq!(third.bytes.len() as u64, WINDOW_BYTES);
        assert_eq!(reads.bytes(), 2 * WINDOW_BYTES + PIECE_BYTES);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_is_an_error() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        file.set_len(10).expect("a length");
        let reads = Arc::new(Reads::default());
        let more = 0..20;
        let read = reads.window(file, more.into(), Patches::default()).await;
        let error = read.expect_err("there are ten bytes");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
