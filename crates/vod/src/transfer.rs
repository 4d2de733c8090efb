//! A body that the kernel sends from its page cache to a socket.
//!
//! A client on a plain connection is sent a window of a file with one call, and no byte of it comes through this
//! process. What is not in the page cache is [read](Reads) first, as for every other client, because the thread of a
//! connection must not wait for a disk. A window of a paced file is what its [pace](Pace::window) sends in one go, and
//! clients are served together in steps of [`STEP`].

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use rustix::fs::sendfile;
use rustix::io::{ReadWriteFlags, preadv2};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::pace::Pace;
use crate::reads::Reads;

/// Clients that are due within this time are served in one go: a thread that wakes for each costs more than the wake
/// does.
const STEP: Duration = Duration::from_millis(100);

/// Bytes of a window at most: what a client may be ahead of its pace, and what is sent to one before another has its
/// turn.
const WINDOW_BYTES: u64 = 1 << 20;

/// The distance of the bytes by which is found whether a window is in the page cache: the kernel reads ahead so much at
/// the least.
const PROBE_BYTES: u64 = 128 << 10;

/// What steps are counted from.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// See the module's description. Made of a [`Body`](crate::Body) that nothing was taken from.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub(crate) ready: Bytes,
    pub(crate) file: Arc<File>,
    pub(crate) reads: Arc<Reads>,
    pub(crate) ranges: Vec<Range<u64>>,
    pub(crate) pace: Option<Pace>,
}

impl Transfer {
    /// Sends it all. `patience` is for the client to take something.
    ///
    /// # Errors
    /// When the client is gone or takes nothing, or the file cannot be read.
    pub async fn send(self, socket: &mut TcpStream, patience: Duration) -> io::Result<()> {
        timeout(patience, socket.write_all(&self.ready)).await??;
        let mut sent = self.ready.len() as u64;
        let began = Instant::now();
        for mut range in self.ranges.iter().cloned() {
            while range.start < range.end {
                if let Some(pace) = self.pace {
                    wait_until(began + pace.due(sent)).await;
                }
                let most = self.pace.map_or(WINDOW_BYTES, |pace| pace.window(sent));
                let most = most.min(WINDOW_BYTES);
                let window = range.start..range.end.min(range.start + most);
                self.send_window(socket, window.clone(), patience).await?;
                sent += window.end - window.start;
                range.start = window.end;
            }
        }
        Ok(())
    }

    async fn send_window(
        &self,
        socket: &mut TcpStream,
        mut window: Range<u64>,
        patience: Duration,
    ) -> io::Result<()> {
        if !is_cached(&self.file, &window)? {
            return self.read_window(socket, window, patience).await;
        }
        while window.start < window.end {
            timeout(patience, socket.writable()).await??;
            let sent = socket.try_io(Interest::WRITABLE, || {
                let count = (window.end - window.start) as usize;
                let mut at = window.start;
                Ok(sendfile(&*socket, &*self.file, Some(&mut at), count)?)
            });
            match sent {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(sent) => {
                    window.start += sent as u64;
                    self.reads.count(sent as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Through this process's memory.
    async fn read_window(
        &self,
        socket: &mut TcpStream,
        window: Range<u64>,
        patience: Duration,
    ) -> io::Result<()> {
        let mut left = vec![window];
        while !left.is_empty() {
            let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
            let (mut read, rest) = reads.window(file, left, Arc::default()).await?;
            while !read.bytes.is_empty() {
                let taken = timeout(patience, socket.write_buf(&mut read.bytes)).await??;
                if taken == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            left = rest;
        }
        Ok(())
    }
}

/// Waits until the first step at `due` or after it; not at all if that is over.
async fn wait_until(due: Instant) {
    let now = Instant::now();
    if due <= now {
        return;
    }
    let steps = (due - *BEGAN).as_nanos().div_ceil(STEP.as_nanos());
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    sleep_until(*BEGAN + STEP * steps).await;
}

/// Whether a window is in the page cache, as far as some of its bytes tell. A file system that cannot say so has
/// nothing cached.
fn is_cached(file: &File, window: &Range<u64>) -> io::Result<bool> {
    let last = window.end - 1;
    let probes = (window.start..last).step_by(PROBE_BYTES as usize);
    for at in probes.chain([last]) {
        let mut byte = [0];
        let mut pieces = [IoSliceMut::new(&mut byte)];
        match preadv2(file, &mut pieces, at, ReadWriteFlags::NOWAIT) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::Body;

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(addr));
        (ours.expect("accepted").0, theirs.expect("connected"))
    }

    fn file(bytes: &[u8]) -> (Arc<File>, Arc<Reads>) {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(bytes, 0).expect("written");
        (Arc::new(file), Arc::default())
    }

    fn of(body: &Body) -> Transfer {
        body.transfer().expect("nothing was taken")
    }

    #[tokio::test]
    async fn a_client_gets_what_the_body_has() {
        let bytes: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (file, reads) = file(&bytes);
        let ranges = vec![3..4_000_000, 7..7, 10_000_000..20_000_000];
        let body = Body::of("head").followed_by((file, Arc::clone(&reads)), ranges);
        let transfer = of(&body);
        let (mut ours, mut theirs) = pair().await;
        let mut got = Vec::new();
        let (sent, read) = tokio::join!(
            async {
                let sent = transfer.send(&mut ours, PATIENCE).await;
                drop(ours);
                sent
            },
            theirs.read_to_end(&mut got)
        );
        sent.expect("sent");
        read.expect("read");
        let wanted = [
            b"head",
            &bytes[3..4_000_000],
            &bytes[10_000_000..20_000_000],
        ]
        .concat();
        assert!(got == wanted);
        assert_eq!(reads.bytes(), wanted.len() as u64 - 4);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_is_an_error() {
        let (file, reads) = file(&[0; 100]);
        let whole = 0..200;
        let body = Body::of("").followed_by((file, reads), vec![whole]);
        let (mut ours, _theirs) = pair().await;
        let sent = of(&body).send(&mut ours, PATIENCE).await;
        let error = sent.expect_err("there are a hundred bytes");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (file, reads) = file(&vec![0; 64 << 20]);
        let whole = 0..64 << 20;
        let body = Body::of("").followed_by((file, reads), vec![whole]);
        let (mut ours, _theirs) = pair().await;
        let sent = of(&body).send(&mut ours, Duration::from_millis(1)).await;
        let error = sent.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_due_time_is_a_step() {
        LazyLock::force(&BEGAN);
        wait_until(Instant::now()).await;
        let began = Instant::now();
        wait_until(began + Duration::from_millis(1)).await;
        let waited = began.elapsed();
        assert!(
            waited > Duration::ZERO && waited <= STEP + Duration::from_millis(1),
            "{waited:?}"
        );
    }
}
