//! Body of an answer that is a file, read in pieces as the client takes them.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::holdings::Held;
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::disk::Disk;

/// Length of a piece in bytes. An address may hold some hundreds of pieces at a time; one takes a slow disk some ten
/// milliseconds.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Limit for a read, including its wait for a turn. A disk that needs longer is no use to players.
const READ_TIME: Duration = Duration::from_secs(5);

/// Read in progress; it yields the file and the piece that was read.
type Reading = Pin<Box<dyn Future<Output = io::Result<(File, Bytes)>> + Send>>;

/// Body read from a file; call [`poll_next`](Self::poll_next) until it returns `None`.
pub struct FileBody {
    /// Piece that was read when the file was opened.
    first: Bytes,
    file: Option<File>,
    /// Bytes after those that were read.
    left: u64,
    reading: Option<Reading>,
    reads: Arc<Semaphore>,
    /// Charge for a piece, returned when the body is sent.
    _held: Option<Held>,
}

base::debug!(FileBody { left });

impl FileBody {
    /// Opens a file and reads its first piece.
    ///
    /// # Errors
    /// If the file does not exist, or the disk does not deliver it in time.
    pub(super) async fn open(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        reads: Arc<Semaphore>,
    ) -> io::Result<Self> {
        let open = move || {
            let mut file = disk.open(&path)?;
            let length = file.metadata()?.len();
            let first = piece(&mut file, length)?;
            Ok((file, length, first))
        };
        let (file, length, first) = blocking(Arc::clone(&reads), open).await?;
        Ok(Self {
            left: length - first.len() as u64,
            first,
            file: Some(file),
            reading: None,
            reads,
            _held: None,
        })
    }

    /// Keeps the charge of a piece for as long as the body is being sent.
    pub(crate) fn holding(mut self, held: Held) -> Self {
        self._held = Some(held);
        self
    }

    /// Returns the number of bytes after the first piece.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Takes the piece that was read when the file was opened.
    pub(crate) fn take_first(&mut self) -> Bytes {
        std::mem::take(&mut self.first)
    }

    /// Returns the next piece after the first; `None` at the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let reading = match (&mut self.reading, self.file.take()) {
            (Some(reading), _) => reading,
            (None, Some(mut file)) => {
                let left = self.left;
                let read = move || piece(&mut file, left).map(|bytes| (file, bytes));
                let reads = Arc::clone(&self.reads);
                self.reading.insert(Box::pin(blocking(reads, read)))
            }
            // A read has failed.
            (None, None) => return Poll::Ready(None),
        };
        let read = ready!(reading.as_mut().poll(cx));
        self.reading = None;
        Poll::Ready(Some(read.map(|(file, bytes)| {
            self.left -= bytes.len() as u64;
            self.file = Some(file);
            bytes
        })))
    }
}

/// Reads the next piece of a file that has `left` bytes left.
fn piece(file: &mut File, left: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; left.min(PIECE_BYTES as u64) as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes.into())
}

/// Runs `read` on a blocking thread when it is its turn. A read that hangs keeps its turn, so that only a few threads
/// can hang.
async fn blocking<T: Send + 'static>(
    reads: Arc<Semaphore>,
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let run = async {
        let permit = reads.acquire_owned().await.map_err(io::Error::other)?;
        let read = move || {
            let _permit = permit;
            read()
        };
        let joined = tokio::task::spawn_blocking(read).await;
        joined.map_err(io::Error::other)?
    };
    let run = timeout(READ_TIME, run).await;
    run.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
