//! Writing threads: each visits its recordings in turn, once a second, spread over that second.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use media::StreamName;

use crate::archive::recorder::{Next, Recorder};
use crate::archive::shared::Shared;

/// Interval between visits of a recording: the duration of a video fragment.
const PERIOD: Duration = Duration::from_secs(1);

/// Visits due within this time are made together, which saves wake-ups. A thread that writes many in a row occupies a processor
/// meanwhile: with 20 ms instead, the delay of live viewers beside 1,000 recordings is a third longer (p99, two processors).
const TOGETHER: Duration = Duration::from_millis(2);

/// Most queued orders. When the queue is full, the archive tries again later.
pub(crate) const ORDERS_MAX: usize = 1_024;

/// Longest wait of a thread without recordings.
const IDLE: Duration = Duration::from_secs(60);

/// Order to a writing thread.
#[derive(Debug)]
pub(crate) enum Order {
    /// Record this stream.
    Begin(Box<Recorder>),
    /// Start a new file of a stream at its next join point.
    Split(StreamName),
    /// Stop recording a stream.
    Stop(StreamName),
    /// Close everything, and end.
    Finish,
}

/// Recordings in order of their next visits.
#[derive(Debug, Default)]
struct Turn {
    due: BTreeMap<(Instant, u64), Box<Recorder>>,
    /// Number that distinguishes visits due at the same moment.
    next: u64,
}

impl Turn {
    fn add(&mut self, at: Instant, recorder: Box<Recorder>) {
        self.due.insert((at, self.next), recorder);
        self.next += 1;
    }

    /// Returns the offset in the second for the next recording: far from the others, however many there are (the golden ratio).
    fn phase(&self) -> Duration {
        PERIOD.mul_f64((self.next as f64 * 0.618_033_988_749_895).fract())
    }

    fn of(&mut self, stream: &StreamName) -> impl Iterator<Item = &mut Box<Recorder>> {
        let all = self.due.values_mut();
        all.filter(move |recorder| recorder.stream() == stream)
    }

    fn take(&mut self, stream: &StreamName) -> Option<Box<Recorder>> {
        let mut keys = self.due.iter();
        let (key, _) = keys.find(|(_, recorder)| recorder.stream() == stream)?;
        let key = *key;
        self.due.remove(&key)
    }

    /// Visits what is due, and returns the time of the next visit.
    fn visit(&mut self, shared: &Shared, now: Instant) -> Instant {
        loop {
            let Some(first) = self.due.first_entry() else {
                return now + IDLE;
            };
            let (at, _) = *first.key();
            if at > now + TOGETHER {
                return at;
            }
            let mut recorder = first.remove();
            // The time of this visit, because the ones before it may have taken long.
            match recorder.visit(shared, Instant::now()) {
                Next::Again => self.add(now, recorder),
                // A late recording keeps its phase, unless it is late by more than a period: then the next visit is due now.
                Next::Turn => self.add((at + PERIOD).max(now), recorder),
                Next::Ended => shared.forget(recorder.stream()),
            }
        }
    }
}

/// Runs a writing thread until it receives an order to finish.
pub(crate) fn run(shared: &Shared, orders: &Receiver<Order>) {
    let mut turn = Turn::default();
    loop {
        let next = turn.visit(shared, Instant::now());
        let order = orders.recv_timeout(next.saturating_duration_since(Instant::now()));
        match order {
            Ok(Order::Begin(recorder)) => {
                let at = Instant::now() + turn.phase();
                turn.add(at, recorder);
            }
            Ok(Order::Split(stream)) => turn.of(&stream).for_each(|recorder| recorder.split()),
            Ok(Order::Stop(stream)) => {
                if let Some(mut recorder) = turn.take(&stream) {
                    recorder.visit(shared, Instant::now());
                    recorder.close(shared);
                    shared.forget(&stream);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    while let Some((_, mut recorder)) = turn.due.pop_first() {
        while recorder.visit(shared, Instant::now()) == Next::Again {}
        recorder.close(shared);
        shared.forget(recorder.stream());
    }
}
