//! Threads that run the transcoders of many streams.
//!
//! ```text
//!  tap ─► Feed ─► queue ─┐                      ┌─► OpusSink   (one per stream)
//!  tap ─► Feed ─► queue ─┼─► ready ─► thread ───┼─► OpusSink
//!  tap ─► Feed ─► queue ─┘     ▲        │       └─► OpusSink
//!                              └────────┘ more to do
//! ```
//!
//! A stream's queue is bounded and its feed never waits. A stream with input is in the ready queue once, runs for a bounded
//! number of samples, and moves to the queue's end, so that one stream's burst delays no other by more than that.

mod feed;
mod job;
mod report;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, PoisonError};
use std::thread::{self, JoinHandle};

use base::Lock;
use media::{Sample, Track};

pub use self::feed::Feed;
use self::job::Job;
pub use self::report::{Monitor, Report, State};
use crate::transcode::{Caveat, Options, Unsupported};

/// Destination of a stream's Opus. It is called on a thread of the pool and must not block, since other streams wait for that
/// thread.
pub trait OpusSink: Send {
    /// Announces the track that the following samples belong to. Called before the first of them, and again after the source
    /// was unusable.
    fn track(&mut self, track: &Arc<Track>);

    /// Takes one packet. Its time is the source's.
    fn sample(&mut self, sample: Sample);

    /// Reports that the source's track cannot be transcoded; its samples are ignored until it changes. For the log: once per
    /// track.
    fn unsupported(&mut self, reason: &Unsupported);

    /// Reports what is lost although the source's track can be transcoded. For the log: once per track.
    fn caveat(&mut self, caveat: &Caveat);
}

/// A fixed number of threads, and the streams they serve. Dropping the pool ends the threads; remaining feeds accept samples
/// without effect.
pub struct Pool {
    ready: Arc<Ready>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads. One thread serves tens of streams.
    pub fn start(threads: NonZeroUsize) -> io::Result<Self> {
        let mut pool = Self {
            ready: Arc::default(),
            threads: Vec::with_capacity(threads.get()),
        };
        for index in 0..threads.get() {
            let ready = Arc::clone(&pool.ready);
            let thread = thread::Builder::new()
                .name(format!("transcode-{index}"))
                .spawn(move || turn_streams(&ready))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Adds one stream. It lasts as long as the feed; samples that were queued by then are still transcoded, and the sink is
    /// dropped after the last packet.
    pub fn open(&self, options: Options, sink: Box<dyn OpusSink>) -> Feed {
        Feed::new(Arc::clone(&self.ready), Job::new(options, sink))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.ready.stop();
        for thread in self.threads.drain(..) {
            // A thread contains the panics of its jobs, so there is none to pass on.
            let _ended = thread.join();
        }
    }
}

fn turn_streams(ready: &Ready) {
    while let Some(job) = ready.next() {
        if job.turn() {
            ready.push(job);
        }
    }
}

/// Queue of streams with input. Each stream is in it at most once, so it has at most as many entries as there are feeds.
#[derive(Default)]
struct Ready {
    line: Lock<JobQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<Arc<Job>>,
    stopped: bool,
}

impl Ready {
    fn push(&self, job: Arc<Job>) {
        let mut line = self.line.lock();
        if !line.stopped {
            line.jobs.push_back(job);
            self.changed.notify_one();
        }
    }

    /// Waits for a job; returns `None` when the pool ends.
    fn next(&self) -> Option<Arc<Job>> {
        let mut line = self.line.lock();
        loop {
            if line.stopped {
                return None;
            }
            if let Some(job) = line.jobs.pop_front() {
                return Some(job);
            }
            line = self
                .changed
                .wait(line)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        let mut line = self.line.lock();
        line.stopped = true;
        line.jobs.clear();
        self.changed.notify_all();
    }
}
