//! A body that the kernel sends from its page cache to a socket.
//!
//! A client on a plain connection is sent windows of a file, and no byte of them comes through this process: at a pace by
//! the [thread](crate::sender) of the folder, and as fast as it takes them by the task of its connection. What is not in
//! the page cache is [read](Reads) first and written by that task, as for every other client, because no thread that
//! sends to others must wait for a disk; and so are many small pieces, which are cheaper read together than sent one by
//! one. Others have their turn after each window.

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
use crate::ranges::Ranges;
use crate::reads::Reads;
use crate::sender::{Job, Outcome};

/// See the module's description. Made of a [`Body`](crate::Body) that nothing was taken from.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub(crate) ready: Bytes,
    pub(crate) file: Arc<File>,
    pub(crate) reads: Arc<Reads>,
    pub(crate) ranges: Ranges,
    pub(crate) pace: Option<Pace>,
    pub(crate) count: Option<Count>,
}

/// Is told of bytes that were sent, on whichever thread sends them.
#[derive(Clone)]
pub struct Count(Arc<dyn Fn(u64) + Send + Sync>);

impl Count {
    /// Calls `count` with each number of bytes.
    pub fn new(count: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    pub(crate) fn tell(&self, bytes: u64) {
        (self.0)(bytes);
    }
}

base::debug!(Count {});

impl Transfer {
    /// Has what is sent counted.
    #[must_use]
    pub fn counted(self, count: Count) -> Self {
        Self {
            count: Some(count),
            ..self
        }
    }

    /// Sends it all. `patience` is for the client to take something. Takes another descriptor for as long as it lasts.
    ///
    /// # Errors
    /// When the client is gone or takes nothing, or the file cannot be read.
    pub async fn send(self, socket: &mut TcpStream, patience: Duration) -> io::Result<()> {
        timeout(patience, socket.write_all(&self.ready)).await??;
        let tell = |bytes| {
            if let Some(count) = &self.count {
                count.tell(bytes);
            }
        };
        tell(self.ready.len() as u64);
        if self.ranges.is_scattered() {
            return read(
                &self.file,
                &self.reads,
                socket,
                self.ranges,
                patience,
                &tell,
            )
            .await;
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
                    read(
                        &job.file,
                        &self.reads,
                        socket,
                        window.into(),
                        patience,
                        &|_| {},
                    )
                    .await?;
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
        // A socket that takes all would keep the thread, and the runtime would not see what comes in.
        yield_now().await;
    }
}

/// Ends the connection when a transfer is dropped while the thread has its socket, too.
struct HangsUp<'a>(Option<&'a TcpStream>);

impl Drop for HangsUp<'_> {
    fn drop(&mut self) {
        if let Some(socket) = self.0 {
            // A client that has gone is not connected.
            shutdown(socket, Shutdown::Both).ok();
        }
    }
}

/// Sends ranges through this process's memory.
async fn read(
    file: &Arc<File>,
    reads: &Arc<Reads>,
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
    use std::os::unix::fs::FileExt;

    use net::holdings::Holdings;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::Body;
    use crate::sender::WINDOW_BYTES;

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
        (Arc::new(file), Arc::new(Reads::new(&Holdings::new(0))))
    }

    fn of(body: &Body) -> Transfer {
        body.transfer().expect("nothing was taken")
    }

    /// What a client gets of it.
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
        let wanted = [
            b"head",
            &bytes[3..4_000_000],
            &bytes[10_000_000..20_000_000],
        ]
        .concat();
        assert!(got == wanted);
        assert_eq!(reads.bytes.value(), wanted.len() as u64 - 4);
    }

    #[tokio::test]
    async fn small_pieces_are_read_together() {
        let bytes: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (file, reads) = file(&bytes);
        let ranges: Vec<_> = (0..20_000).map(|at| at * 200..at * 200 + 100).collect();
        let wanted: Vec<u8> = bytes
            .chunks(200)
            .flat_map(|it| it[..100].to_vec())
            .collect();
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
        // What is not in the page cache is read, in larger windows.
        assert!(longest <= WINDOW_BYTES, "{longest} bytes in one go");
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

    #[tokio::test]
    async fn a_client_is_hung_up_on_when_its_transfer_is_dropped() {
        let bytes = 2_000_000;
        let (file, reads) = file(&vec![7; bytes]);
        let whole = 0..bytes as u64;
        let pace = Pace::of_sound(bytes as u64, Duration::from_secs(3_600));
        let body = Body::of("")
            .followed_by((file, reads), vec![whole])
            .paced(pace);
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
