//! Reads from a disk: on separate threads, in windows, and bounded in number.
//!
//! A disk that hangs blocks the reads in progress, and all others of its folder wait or give up; nothing else of the
//! server waits with them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use base::Counter;
use base::holdings::{Held, Holdings, Kind};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::patches::Patches;
use crate::sender::Sender;
use files::Ranges;

/// Most concurrent reads of one folder: more than a disk handles well in parallel, and few enough threads if the disk
/// hangs.
const READS_MAX: usize = 16;

/// Length of a window in bytes: a thousand listeners at 1 Mb/s make 120 reads per second.
const WINDOW_BYTES: u64 = 1 << 20;

/// Length of a window in bytes if there is no memory for larger ones, and the unit in which that memory is counted.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

/// Memory of all windows of a folder, beyond one piece for each listener: that of 128 listeners who have just begun a
/// window.
const WINDOWS_BYTES_MAX: u64 = 128 << 20;

/// Memory for data made for the listeners of a folder, beyond one piece for each: heads of long segments, and lists of
/// long playlists and clips. A hundred clips of an hour use a third of it.
const MADE_BYTES_MAX: u64 = 64 << 20;

/// Most bytes between two ranges that are read together: a separate read costs as much as copying this many bytes.
const NEAR_BYTES: u64 = 4 << 10;

/// Size in bytes above which work is expensive and waits for its turn: many small pieces, or the head of thousands of
/// samples, take milliseconds of a core.
const DEAR_BYTES: u64 = PIECE_BYTES;

/// Limit for a read, including its wait for a turn. A disk that needs longer is no use to players.
const READ_TIME: Duration = Duration::from_secs(10);

/// Time after which a read counts as late: the media that a player has buffered may run out.
const LATE_AFTER: Duration = Duration::from_secs(1);

/// State that all listeners of a folder share.
#[derive(Debug)]
pub(crate) struct Reads {
    holdings: Arc<Holdings>,
    turns: Arc<Semaphore>,
    /// Turns for work that occupies a core: for one folder at most half of the cores at a time.
    dear: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    made: Arc<Semaphore>,
    /// Bytes that were read, or sent without being read.
    pub(crate) bytes: Counter,
    /// Reads that were late or failed to finish.
    pub(crate) late: Counter,
    /// Sender from the page cache, started for the first client that needs it.
    sender: OnceLock<Sender>,
}

/// Bytes that were read, and the memory that they occupy.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

/// Memory of a list made for one listener.
#[derive(Debug)]
pub(crate) struct List {
    holdings: Arc<Holdings>,
    _room: Option<OwnedSemaphorePermit>,
    _held: Held,
}

impl List {
    /// Counts the memory of a piece that is made from the list.
    pub(crate) fn count(&self, piece: Bytes) -> Bytes {
        self.holdings.note(Kind::Files, piece.len()).over(piece)
    }
}

impl Reads {
    /// Makes the state, with no reads in progress.
    pub(crate) fn new(holdings: &Arc<Holdings>) -> Self {
        Self {
            holdings: Arc::clone(holdings),
            turns: Arc::new(Semaphore::new(READS_MAX)),
            dear: Arc::new(Semaphore::new(half_of_the_cores())),
            memory: Arc::new(Semaphore::new((WINDOWS_BYTES_MAX / PIECE_BYTES) as usize)),
            made: Arc::new(Semaphore::new((MADE_BYTES_MAX / PIECE_BYTES) as usize)),
            bytes: Counter::default(),
            late: Counter::default(),
            sender: OnceLock::new(),
        }
    }

    /// Returns the thread that sends from the page cache.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn sender(&self) -> io::Result<&Sender> {
        if self.sender.get().is_none() {
            // If another client starts one at the same moment, one of the two ends at once.
            self.sender.set(Sender::start()?).ok();
        }
        self.sender.get().ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// Reads the next window of a body's remaining ranges; returns it and the ranges that are left.
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
        let is_dear = left.is_scattered();
        let work = move || -> io::Result<_> {
            let wanted = left.take(most);
            Ok((pieces(&file, &wanted, &patches)?, left))
        };
        let (read, left) = match is_dear {
            true => self.dear(work).await?,
            false => self.blocking(work).await?,
        };
        self.bytes.add(read.len() as u64);
        // The charge lasts until the client has taken the last piece.
        let held = self.hold(read.len());
        let read = Read {
            bytes: held.over(read.into()),
            _memory: memory,
        };
        Ok((read, left))
    }

    /// Reserves memory for data made for one listener; a single piece needs no reservation.
    ///
    /// # Errors
    /// `ResourceBusy` if all of it is in use.
    pub(crate) fn room(&self, bytes: u64) -> io::Result<Option<OwnedSemaphorePermit>> {
        if bytes <= PIECE_BYTES {
            return Ok(None);
        }
        let units = u32::try_from(bytes.div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX);
        let made = Arc::clone(&self.made).try_acquire_many_owned(units);
        let busy = |_| io::Error::from(io::ErrorKind::ResourceBusy);
        made.map(Some).map_err(busy)
    }

    /// Counts bytes that were read or made for one listener.
    pub(crate) fn hold(&self, bytes: usize) -> Held {
        self.holdings.note(Kind::Files, bytes)
    }

    /// Reserves and counts memory for a list made for one listener.
    ///
    /// # Errors
    /// As [`room`](Self::room).
    pub(crate) fn list(&self, bytes: usize) -> io::Result<List> {
        Ok(List {
            holdings: Arc::clone(&self.holdings),
            _room: self.room(bytes as u64)?,
            _held: self.hold(bytes),
        })
    }

    fn memory_for(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(PIECE_BYTES)).ok()?;
        let memory = Arc::clone(&self.memory);
        memory.try_acquire_many_owned(units).ok()
    }

    /// Makes data of `bytes` bytes for one listener, off the async threads.
    ///
    /// # Errors
    /// As [`blocking`](Self::blocking).
    pub(crate) async fn make<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match bytes > DEAR_BYTES {
            true => self.dear(work).await,
            false => self.blocking(work).await,
        }
    }

    /// Runs work that occupies a core and no disk; otherwise like [`blocking`](Self::blocking).
    async fn dear<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let turn = timeout(READ_TIME, Arc::clone(&self.dear).acquire_owned()).await?;
        let turn = turn.map_err(io::Error::other)?;
        let work = move || {
            let _turn = turn;
            work()
        };
        self.blocking(work).await
    }

    /// Runs `work` off the async threads when it is its turn. Work that hangs keeps its turn.
    ///
    /// # Errors
    /// `TimedOut` if it takes too long.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let began = Instant::now();
        let turns = Arc::clone(&self.turns);
        let run = async {
            let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
            let work = move || {
                let _turn = turn;
                work()
            };
            let joined = tokio::task::spawn_blocking(work).await;
            joined.map_err(io::Error::other)?
        };
        let run = timeout(READ_TIME, run).await;
        if began.elapsed() > LATE_AFTER {
            self.late.add(1);
        }
        run.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

/// Makes the error for a file with impossible contents.
pub(crate) fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn half_of_the_cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).max(1)
}

fn pieces(file: &File, ranges: &[Range<u64>], patches: &Patches) -> io::Result<Vec<u8>> {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    // At most one window.
    let mut bytes = vec![0; total as usize];
    let mut rest = &mut bytes[..];
    let mut together = Vec::new();
    let mut left = ranges;
    while let Some(span) = span(left) {
        let (within, behind) = left.split_at(span.count);
        let is_alone = span.count == 1;
        if !is_alone {
            together.resize((span.end - span.begin) as usize, 0);
            file.read_exact_at(&mut together, span.begin)?;
        }
        for range in within {
            let (piece, after) = rest.split_at_mut((range.end - range.start) as usize);
            if is_alone {
                file.read_exact_at(piece, range.start)?;
            } else {
                let (from, to) = (range.start - span.begin, range.end - span.begin);
                piece.copy_from_slice(&together[from as usize..to as usize]);
            }
            patches.apply(file, range, piece)?;
            rest = after;
        }
        left = behind;
    }
    Ok(bytes)
}

/// Ranges that are read together.
struct Span {
    begin: u64,
    end: u64,
    count: usize,
}

/// Returns the first range, joined with those after it that are near and in order; `None` if there are none.
fn span(ranges: &[Range<u64>]) -> Option<Span> {
    let first = ranges.first()?;
    let mut span = Span {
        begin: first.start,
        end: first.end,
        count: 1,
    };
    for next in &ranges[1..] {
        let is_near = (span.end..=span.end + NEAR_BYTES).contains(&next.start);
        if !is_near || next.end - span.begin > WINDOW_BYTES {
            break;
        }
        (span.end, span.count) = (next.end, span.count + 1);
    }
    Some(span)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;

    use super::*;
    use crate::patches::Patch;

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
            assert_eq!(read(&[9..10, 7..8, 3..4, 4..6]), b"9db45");
        }
    }

    #[test]
    fn what_is_near_is_read_together() {
        let counts = |ranges: &[Range<u64>]| {
            let mut counts = Vec::new();
            let mut left = ranges;
            while let Some(span) = span(left) {
                counts.push(span.count);
                left = &left[span.count..];
            }
            counts
        };
        let scattered: Vec<_> = (0..20_000).map(|at| 2 * at..2 * at + 1).collect();
        assert_eq!(counts(&scattered), [20_000]);
        let near = NEAR_BYTES + 1;
        assert_eq!(counts(&[0..1, near..near + 1, 2 * near..2 * near + 1]), [3]);
        assert_eq!(counts(&[0..1, near + 1..near + 2]), [1, 1]);
        assert_eq!(counts(&[5..6, 0..1, 1..2, 1..3]), [1, 2, 1]);
        let long: Vec<_> = (0..300).map(|at| at * near..at * near + 1).collect();
        let counted = counts(&long);
        assert_eq!(counted.iter().sum::<usize>(), long.len());
        let first = counted[0] as u64 * near;
        assert!(first <= WINDOW_BYTES + near, "{counted:?}");
    }

    #[test]
    fn what_is_made_for_listeners_is_bounded() {
        let reads = Reads::new(&Holdings::new(0));
        let all = reads.room(MADE_BYTES_MAX).expect("nobody has any");
        assert!(all.is_some());
        let more = reads.room(PIECE_BYTES + 1).map(drop);
        let more = more.map_err(|error| error.kind());
        assert_eq!(more, Err(io::ErrorKind::ResourceBusy));
        // The amount that nearly all listeners use is never refused.
        assert!(matches!(reads.room(PIECE_BYTES), Ok(None)));
        drop(all);
        assert!(matches!(reads.room(PIECE_BYTES + 1), Ok(Some(_))));
    }

    #[tokio::test]
    async fn what_takes_a_core_leaves_half_of_them() {
        let reads = Arc::new(Reads::new(&Holdings::new(0)));
        let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let mut all = JoinSet::new();
        for _ in 0..2 * READS_MAX {
            let (reads, now, most) = (Arc::clone(&reads), Arc::clone(&now), Arc::clone(&most));
            all.spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                };
                reads.make(DEAR_BYTES + 1, work).await
            });
        }
        let made = all.join_all().await;
        assert!(made.iter().all(Result::is_ok));
        assert!(most.load(Ordering::Relaxed) <= half_of_the_cores());
        // Cheap work does not wait for it.
        let cores = half_of_the_cores() as u32;
        let _all = Arc::clone(&reads.dear).acquire_many_owned(cores).await;
        reads.make(DEAR_BYTES, || Ok(())).await.expect("made");
    }

    #[tokio::test]
    async fn windows_shrink_when_memory_is_short() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4 * WINDOW_BYTES).expect("a length");
        let file = Arc::new(file);
        let account = Holdings::new(0);
        let reads = Arc::new(Reads::new(&account));
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
        assert_eq!(reads.bytes.value(), 2 * WINDOW_BYTES + PIECE_BYTES);
        assert_eq!(account.bytes(Kind::Files) as u64, reads.bytes.value());
        let piece = first.bytes.slice(..1);
        drop((first, second, third));
        assert_eq!(account.bytes(Kind::Files) as u64, WINDOW_BYTES);
        drop(piece);
        assert_eq!(account.bytes(Kind::Files), 0);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_is_an_error() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        file.set_len(10).expect("a length");
        let reads = Arc::new(Reads::new(&Holdings::new(0)));
        let more = 0..20;
        let read = reads.window(file, more.into(), Patches::default()).await;
        let error = read.expect_err("there are ten bytes");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
