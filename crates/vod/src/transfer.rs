//! Body that the kernel sends from its page cache to a socket.
//!
//! A client on a plain connection is sent windows of a file, and no byte of them passes through this process. A client
//! with a pace is served by the [thread](crate::sender) of the folder; one without is served, as fast as it takes data,
//! by the task of its connection. A window that is not in the page cache is [read](Reads) first and written by that
//! task, as for every other client, because a thread that sends to others must never wait for a disk. Many small pieces
//! are read and written too, which is cheaper than sending them one by one. Other clients have their turn after each
//! window.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::pace::Pace;
use crate::patches::Patches;
use crate::reads::Reads;
use crate::sender::{Job, Outcome};
use files::Ranges;

/// Body for a plain socket, made from a [`Body`](crate::Body) that nothing was taken from; call [`send`](Self::send).
#[derive(Clone, Debug)]
pub struct Transfer {
    pub(crate) ready: Bytes,
    pub(crate) file: Arc<File>,
    pub(crate) reads: Arc<Reads>,
    pub(crate) ranges: Ranges,
    pub(crate) pace: Option<Pace>,
    pub(crate) count: Option<Count>,
}

/// Counter of sent bytes, called on whichever thread sends them.
#[derive(Clone)]
pub struct Count(Arc<dyn Fn(u64) + Send + Sync>);

impl Count {
    /// Makes a counter that calls `count` with each number of bytes sent.
    pub fn new(count: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    pub(crate) fn tell(&self, bytes: u64) {
        (self.0)(bytes);
    }
}

base::debug!(Count {});

impl Transfer {
    /// Sets the counter of sent bytes.
    #[must_use]
    pub fn counted(self, count: Count) -> Self {
        Self {
            count: Some(count),
            ..self
        }
    }

    /// Sends everything. `patience` is the time for which the client may take nothing. It uses a second descriptor
    /// while it lasts.
    ///
    /// # Errors
    /// If the client is gone or takes nothing, or the file cannot be read.
    pub async fn send(self, socket: &mut TcpStream, patience: Duration) -> io::Result<()> {
        timeout(patience, socket.write_all(&self.ready)).await??;
        let tell = |bytes| {
            if let Some(count) = &self.count {
                count.tell(bytes);
            }
        };
        tell(self.ready.len() as u64);
        if self.ranges.is_scattered() {
            let source = (&self.file, &self.reads);
            return read(source, socket, self.ranges, patience, &tell).await;
        }
        let mut job = Job {
            file: self.file,
            reads: Arc::clone(&self.reads),
            socket: socket.as_fd().try_clone_to_owned()?,
            ranges: self.ranges,
            pace: self.pace,
            sent: self.ready.len() as u64,
            began: Instant::now(),
            patience,
            count: self.count.clone(),
        };
        loop {
            let outcome;
            (job, outcome) = match job.pace {
                Some(_) => {
                    let mut hangs_up = HangsUp(Some(socket));
                    let back = self.reads.sender()?.send(job).await?;
                    hangs_up.0 = None;
                    back
                }
                None => as_it_takes(socket, job).await?,
            };
            match outcome {
                Outcome::Sent => return Ok(()),
                Outcome::Failed(error) => return Err(error),
                Outcome::NotCached(window) => {
                    let bytes = window.end - window.start;
                    let source = (&job.file, &self.reads);
                    read(source, socket, window.into(), patience, &|_| {}).await?;
                    job.advance(bytes);
                }
            }
        }
    }
}

/// Sends as fast as the client takes it.
async fn as_it_takes(socket: &TcpStream, mut job: Job) -> io::Result<(Job, Outcome)> {
    loop {
        timeout(job.patience, socket.writable()).await??;
        match socket.try_io(Interest::WRITABLE, || Ok(job.send()?)) {
            Ok(Some(outcome)) => return Ok((job, outcome)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // A socket that takes everything would occupy the thread, and the runtime would not notice other events.
        yield_now().await;
    }
}

/// Guard that ends the connection if a transfer is dropped while the thread also has its socket.
struct HangsUp<'a>(Option<&'a TcpStream>);

impl Drop for HangsUp<'_> {
    fn drop(&mut self) {
        if let Some(socket) = self.0 {
            // If the client is gone, the socket is not connected.
            shutdown(socket, Shutdown::Both).ok();
        }
    }
}

/// Sends ranges through this process's memory.
async fn read(
    (file, reads): (&Arc<File>, &Arc<Reads>),
    socket: &mut TcpStream,
    mut left: Ranges,
    patience: Duration,
    tell: &(impl Fn(u64) + Sync),
) -> io::Result<()> {
    while !left.is_empty() {
        let window = Arc::clone(reads).window(Arc::clone(file), left, Patches::default());
        let (mut read, rest) = window.await?;
        while !read.bytes.is_empty() {
            let taken = timeout(patience, socket.write_buf(&mut read.bytes)).await??;
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            tell(taken as u64);
        }
        left = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::Body;
    use crate::body::tests::file;
    use crate::sender::WINDOW_BYTES;

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(addr));
        (ours.expect("accepted").0, theirs.expect("connected"))
    }

    fn of(body: &Body) -> Transfer {
        body.transfer().expect("nothing was taken")
    }

    /// Returns a body of the first bytes of a file, whether it has as many or not.
    fn begin(bytes: &[u8], count: u64) -> Body {
        let whole = 0..count;
        Body::of("").followed_by(file(bytes), vec![whole])
    }

    /// Returns the bytes that a client receives.
    async fn received(body: &Body) -> Vec<u8> {
        let transfer = of(body);
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
        got
    }

    #[tokio::test]
    async fn a_client_gets_what_the_body_has() {
        let bytes: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (file, reads) = file(&bytes);
        let ranges = vec![3..4_000_000, 7..7, 10_000_000..20_000_000];
        let body = Body::of("head").followed_by((file, Arc::clone(&reads)), ranges);
        let got = received(&body).await;
        let (one, other) = (&bytes[3..4_000_000], &bytes[10_000_000..20_000_000]);
        let wanted = [b"head", one, other].concat();
        assert!(got == wanted);
        assert_eq!(reads.bytes.value(), wanted.len() as u64 - 4);
    }

    #[tokio::test]
    async fn small_pieces_are_read_together() {
        let bytes: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (file, reads) = file(&bytes);
        let ranges: Vec<_> = (0..20_000).map(|at| at * 200..at * 200 + 100).collect();
        let wanted = bytes.chunks(200).flat_map(|it| it[..100].to_vec());
        let wanted: Vec<u8> = wanted.collect();
        let body = Body::of("").followed_by((file, Arc::clone(&reads)), ranges);
        let got = received(&body).await;
        assert!(got == wanted, "{} bytes", got.len());
        assert_eq!(reads.bytes.value(), wanted.len() as u64);
    }

    #[tokio::test]
    async fn others_have_their_turn_while_a_socket_takes_all() {
        let bytes = 64 * WINDOW_BYTES;
        let (file, reads) = file(&vec![7; bytes as usize]);
        let whole = 0..bytes;
        let body = Body::of("").followed_by((file, Arc::clone(&reads)), vec![whole]);
        let (mut ours, theirs) = pair().await;
        // A client on a thread of its own empties the socket while it is filled.
        let mut theirs = theirs.into_std().expect("a socket");
        theirs.set_nonblocking(false).expect("it blocks");
        let client = std::thread::spawn(move || io::copy(&mut theirs, &mut io::sink()));
        let (mut before, mut longest) = (0, 0);
        let others = async {
            loop {
                longest = longest.max(reads.bytes.value() - before);
                before = reads.bytes.value();
                yield_now().await;
            }
        };
        tokio::select! {
            biased;
            sent = of(&body).send(&mut ours, PATIENCE) => sent.expect("sent"),
            () = others => {}
        }
        drop(ours);
        let taken = client.join().expect("a thread").expect("read");
        assert_eq!(taken, bytes);
        // Ranges that are not in the page cache are read, in larger windows.
        assert!(longest <= WINDOW_BYTES, "{longest} bytes in one go");
    }

    #[tokio::test]
    async fn a_file_that_was_cut_is_an_error() {
        let body = begin(&[0; 100], 200);
        let (mut ours, _theirs) = pair().await;
        let sent = of(&body).send(&mut ours, PATIENCE).await;
        let error = sent.expect_err("there are a hundred bytes");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up() {
        let body = begin(&vec![0; 64 << 20], 64 << 20);
        let (mut ours, _theirs) = pair().await;
        let sent = of(&body).send(&mut ours, Duration::from_millis(1)).await;
        let error = sent.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_is_hung_up_on_when_its_transfer_is_dropped() {
        let bytes = 2_000_000;
        let pace = Pace::of_audio(bytes as u64, Duration::from_secs(3_600));
        let body = begin(&vec![7; bytes], bytes as u64).paced(pace);
        let (mut ours, mut theirs) = pair().await;
        let transfer = of(&body);
        let sending = tokio::spawn(async move { transfer.send(&mut ours, PATIENCE).await });
        let mut first = [0];
        theirs.read_exact(&mut first).await.expect("the beginning");
        sending.abort();
        let mut rest = Vec::new();
        // The rest would take half an hour.
        theirs.read_to_end(&mut rest).await.expect("the end");
        assert!(rest.len() < bytes, "it was sent at once");
    }
}
