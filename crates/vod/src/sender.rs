//! Thread that sends a folder's files from the page cache to sockets, at their pace.
//!
//! The thread schedules its clients: in steps of [`STEP`], each client that is due is sent the amount that its
//! [pace](Pace) allows, by one `sendfile`. One thread serves thousands of clients, because the kernel does nearly all
//! of the work. Spread over the threads of the runtime, the same work costs a fifth more, and a page that has to be
//! read from a hanging disk after all would delay their other tasks. A range that is not in the page cache goes back to
//! the client's [`Transfer`](crate::Transfer), which has it [read](crate::reads::Reads).
//!
//! A socket that takes nothing is tried again at growing intervals, until the client's patience is over. A job whose
//! transfer was dropped ends at its next turn.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::fs::sendfile;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::net::sockopt::set_tcp_cork;
use tokio::sync::{mpsc, oneshot};

use crate::pace::Pace;
use crate::reads::Reads;
use crate::transfer::Count;
use files::Ranges;

/// Interval of turns: clients whose pace allows more within this time are served in one go. Steps of a tenth of a
/// second cost an eighth more for a thousand clients, and longer steps save nothing. Clients have seconds of media
/// buffered.
const STEP: Duration = Duration::from_millis(250);

/// Longest window in bytes: the amount that a client may be ahead of its pace, and that is sent to it before another
/// client's turn.
pub(crate) const WINDOW_BYTES: u64 = 1 << 20;

/// Longest window in bytes for a client without a pace, which a task of the runtime serves: a tenth of a millisecond.
const TURN_BYTES: u64 = 256 << 10;

/// Distance in bytes of the probes that check whether a window is in the page cache: the kernel reads ahead at least
/// this much.
const PROBE_BYTES: u64 = 128 << 10;

/// Least wait before a socket that takes nothing is tried again; the wait is a quarter of the time for which it has
/// taken nothing. This step leaves a fast client most of its line.
const AGAIN_STEP: Duration = Duration::from_millis(100);

/// Longest such wait.
const AGAIN_MAX: Duration = Duration::from_secs(1);

/// Most clients waiting to be accepted: more than arrive within one turn of a busy thread.
const JOBS_MAX: usize = 1_024;

/// Time for which a thread without clients waits for one.
const IDLE: Duration = Duration::from_secs(60);

/// Remaining data for one client.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) file: Arc<File>,
    /// Account of the bytes.
    pub(crate) reads: Arc<Reads>,
    /// Duplicate of the client's socket.
    pub(crate) socket: OwnedFd,
    pub(crate) ranges: Ranges,
    /// Pace; without one all is due at once.
    pub(crate) pace: Option<Pace>,
    /// Bytes sent so far, and the time of the beginning; both determine the amount that is due.
    pub(crate) sent: u64,
    pub(crate) began: Instant,
    /// Time for which the client may take nothing.
    pub(crate) patience: Duration,
    /// Counter to which sent bytes are reported.
    pub(crate) count: Option<Count>,
}

/// Reason for which a job came back.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it is sent.
    Sent,
    /// Next range, which is due and not in the page cache.
    NotCached(Range<u64>),
    /// The client is gone or takes nothing, or the file has become shorter.
    Failed(io::Error),
}

/// Handle of the thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sender {
    jobs: mpsc::Sender<Order>,
    thread: Thread,
}

#[derive(Debug)]
struct Order {
    job: Job,
    /// Time since which the client has taken nothing.
    stalled: Option<Instant>,
    back: oneshot::Sender<(Job, Outcome)>,
}

impl Sender {
    /// Starts the thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start() -> io::Result<Self> {
        let (jobs, orders) = mpsc::channel(JOBS_MAX);
        let run = move || run(orders);
        let thread = thread::Builder::new().name("files".to_owned()).spawn(run)?;
        Ok(Self {
            jobs,
            thread: thread.thread().clone(),
        })
    }

    /// Passes a job to the thread, until the job ends or needs a read.
    ///
    /// # Errors
    /// If the thread has ended.
    pub(crate) async fn send(&self, job: Job) -> io::Result<(Job, Outcome)> {
        let (back, answer) = oneshot::channel();
        let order = Order {
            job,
            stalled: None,
            back,
        };
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.jobs.send(order).await.map_err(|_| gone(()))?;
        self.thread.unpark();
        answer.await.map_err(|_| gone(()))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The thread wakes and sees that nobody can send orders any more.
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.jobs, closed));
        self.thread.unpark();
    }
}

/// Serves orders until nobody can send any more.
fn run(mut orders: mpsc::Receiver<Order>) {
    let began = Instant::now();
    let mut turns = BTreeMap::new();
    let mut number = 0_u64;
    loop {
        loop {
            match orders.try_recv() {
                Ok(order) => turns.insert((order.due(began, Instant::now()), number), order),
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => return,
            };
            number += 1;
        }
        let now = Instant::now();
        while let Some(first) = turns.first_entry().filter(|first| first.key().0 <= now) {
            if let Some((again, order)) = first.remove().turn(began, Instant::now()) {
                turns.insert((again, number), order);
                number += 1;
            }
        }
        let next = turns.first_key_value().map(|((due, _), _)| *due);
        let now = Instant::now();
        let wait = next.map_or(IDLE, |due| due.saturating_duration_since(now));
        if !wait.is_zero() {
            thread::park_timeout(wait);
        }
    }
}

/// Returns the first step at or after a time; steps count from `began`.
fn step_after(began: Instant, step: Duration, at: Instant) -> Instant {
    let steps = at.saturating_duration_since(began).as_nanos();
    let steps = steps.div_ceil(step.as_nanos());
    began + step * u32::try_from(steps).unwrap_or(u32::MAX)
}

impl Order {
    /// Returns the time of its next turn by its pace: now, or at a step.
    fn due(&self, began: Instant, now: Instant) -> Instant {
        let due = self.job.due();
        match due <= now {
            true => now,
            false => step_after(began, STEP, due),
        }
    }

    /// Sends the amount that is due. Returns the time of its next turn, unless it has ended.
    fn turn(mut self, began: Instant, now: Instant) -> Option<(Instant, Self)> {
        if self.back.is_closed() {
            return None;
        }
        let outcome = match self.job.send() {
            Ok(Some(outcome)) => outcome,
            Ok(None) => {
                self.stalled = None;
                return Some((self.due(began, now), self));
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                let stalled = now - *self.stalled.get_or_insert(now);
                if stalled < self.job.patience {
                    let again = now + (stalled / 4).clamp(AGAIN_STEP, AGAIN_MAX);
                    return Some((step_after(began, AGAIN_STEP, again), self));
                }
                Outcome::Failed(io::ErrorKind::TimedOut.into())
            }
            Err(error) => Outcome::Failed(error.into()),
        };
        // The receiver may be gone.
        self.back.send((self.job, outcome)).ok();
        None
    }
}

impl Job {
    fn due(&self) -> Instant {
        let after = self.pace.map_or(Duration::ZERO, |pace| pace.due(self.sent));
        self.began + after
    }

    /// Sends one window, or as much of it as the socket takes. Returns an outcome at the end, and `AGAIN` if the socket
    /// takes nothing.
    pub(crate) fn send(&mut self) -> Result<Option<Outcome>, Errno> {
        let Some(range) = self.ranges.first() else {
            return Ok(Some(Outcome::Sent));
        };
        let paced = self.pace.map(|pace| pace.window(self.sent));
        let unread = paced.map_or(WINDOW_BYTES, |most| most.min(WINDOW_BYTES));
        let turn = paced.map_or(TURN_BYTES, |_| unread);
        let [window, unread] = [turn, unread].map(|most| {
            let end = range.start.saturating_add(most);
            range.start..range.end.min(end)
        });
        if !is_cached(&self.file, &window)? {
            return Ok(Some(Outcome::NotCached(unread)));
        }
        // The kernel takes a window from the page cache in pieces, and would send a short packet after each.
        set_tcp_cork(&self.socket, true)?;
        let mut at = window.start;
        let count = (window.end - window.start) as usize;
        let sent = sendfile(&self.socket, &*self.file, Some(&mut at), count);
        set_tcp_cork(&self.socket, false)?;
        match sent? {
            0 => Ok(Some(Outcome::Failed(io::ErrorKind::UnexpectedEof.into()))),
            sent => {
                self.reads.bytes.add(sent as u64);
                self.advance(sent as u64);
                Ok(None)
            }
        }
    }

    /// Records that `bytes` bytes of the first range were sent.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.sent += bytes;
        if let Some(count) = &self.count {
            count.tell(bytes);
        }
        self.ranges.advance(bytes);
    }
}

/// Returns whether a window is in the page cache, judged by some of its bytes. A file system that cannot say counts as
/// having nothing cached.
fn is_cached(file: &File, window: &Range<u64>) -> Result<bool, Errno> {
    let last = window.end - 1;
    let probes = (window.start..last).step_by(PROBE_BYTES as usize);
    for at in probes.chain([last]) {
        let mut byte = [0];
        let mut pieces = [IoSliceMut::new(&mut byte)];
        match preadv2(file, &mut pieces, at, ReadWriteFlags::NOWAIT) {
            // The probe lies after the end of a truncated file: sending will report that.
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_at_steps() {
        let began = Instant::now();
        let step = Duration::from_millis(10);
        assert_eq!(step_after(began, step, began), began);
        let soon = began + Duration::from_millis(1);
        assert_eq!(step_after(began, step, soon), began + step);
        assert_eq!(step_after(began, step, began + step), began + step);
    }

    #[tokio::test]
    async fn a_thread_ends_with_its_last_owner() {
        let (jobs, orders) = mpsc::channel(1);
        let thread = thread::spawn(move || run(orders));
        let sender = Sender {
            jobs,
            thread: thread.thread().clone(),
        };
        drop(sender);
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        joined.expect("a task").expect("it ended by itself");
    }
}
