//! Reads from a disk: on threads of their own, in windows, and a bounded number of them.
//!
//! A disk that hangs keeps the reads that it has begun, and all others wait for them or give up; nothing else of the
//! server waits with them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use base::Counter;
use bytes::Bytes;
use net::holdings::{Held, Holdings, Kind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::patches::Patches;
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

/// Bytes between two ranges of a file that are read with them: a read by itself costs as much as copying so many.
const NEAR_BYTES: u64 = 4 << 10;

/// Bytes of what is made or read in one go above which others of the kind wait: many small pieces, or the head of thousands
/// of samples, take milliseconds of a core.
const DEAR_BYTES: u64 = PIECE_BYTES;

/// How long a read may wait and last. A disk that needs longer is no use to players.
const READ_TIME: Duration = Duration::from_secs(10);

/// A read that takes longer comes late: the media that a player has in hand may not last.
const LATE_AFTER: Duration = Duration::from_secs(1);

/// What all listeners of a folder share.
#[derive(Debug)]
pub(crate) struct Reads {
    holdings: Arc<Holdings>,
    turns: Arc<Semaphore>,
    /// For what takes a core: of one folder no more than half of them at a time.
    dear: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    made: Arc<Semaphore>,
    /// Bytes that were read, or sent without that.
    pub(crate) bytes: Counter,
    /// Reads that came late, or never.
    pub(crate) late: Counter,
    /// Begun with the first client that is sent to from the page cache.
    sender: OnceLock<Sender>,
}

/// What was read, and the memory that it takes.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

/// The memory of a list that was made for one listener.
#[derive(Debug)]
pub(crate) struct List {
    holdings: Arc<Holdings>,
    _room: Option<OwnedSemaphorePermit>,
    _held: Held,
}

impl List {
    /// Has a piece counted that is made from it.
    pub(crate) fn count(&self, piece: Bytes) -> Bytes {
        self.holdings.note(Kind::Files, piece.len()).over(piece)
    }
}

impl Reads {
    /// None are under way.
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
        // Until the client has the last piece of it.
        let held = self.hold(read.len());
        let read = Read {
            bytes: held.over(read.into()),
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

    /// Counts bytes that were read or made for one listener.
    pub(crate) fn hold(&self, bytes: usize) -> Held {
        self.holdings.note(Kind::Files, bytes)
    }

    /// Memory for a list that is made for one listener, which is counted.
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

    /// Makes something of so many bytes for one listener, off the async threads.
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

    /// The same as [`blocking`](Self::blocking) for what takes a core and no disk.
    async fn dear<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let turn = timeout(READ_TIME, Arc::clone(&self.dear).acquire_owned()).await?;
        let turn = turn.map_err(io::Error::other)?;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        self.blocking(work).await
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
            self.late.add(1);
        }
        run.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

/// A file that says what cannot be.
pub(crate) fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn half_of_the_cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).max(1)
}

fn pieces(file: &File, ranges: &[Range<u64>], patches: &Patches) -> io::Result<Vec<u8>> {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    // A window at most.
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

/// The first of some ranges, and those behind it that are near and in order; `None` if there are none.
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
        assert!(
            counted[0] as u64 * near <= WINDOW_BYTES + near,
            "{counted:?}"
        );
    }

    #[test]
    fn what_is_made_for_listeners_is_bounded() {
        let reads = Reads::new(&Holdings::new(0));
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
        // What is cheap does not wait for it.
        let _all = Arc::clone(&reads.dear)
            .acquire_many_owned(half_of_the_cores() as u32)
            .await;
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
