//! The threads that write: each visits its recordings in turn, once a second, and never all at once.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use media::StreamName;

use crate::recorder::{Next, Recorder};
use crate::shared::Shared;

/// How often a recording is written: a fragment of video lasts as long.
const PERIOD: Duration = Duration::from_secs(1);

/// Visits that are due within this time are made together, which saves wake-ups. A thread that writes many in a row has a
/// processor to itself meanwhile: with 20 ms instead, the delay of live viewers beside 1,000 recordings is a third longer
/// (p99, two processors).
const TOGETHER: Duration = Duration::from_millis(2);

/// Orders that wait at most. The archive tries again later when there are more.
pub(crate) const ORDERS_MAX: usize = 1_024;

/// How long a thread without recordings waits for an order.
const IDLE: Duration = Duration::from_secs(60);

/// What a thread is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// Record this.
    Begin(Box<Recorder>),
    /// Begin another file of a stream at its next join point.
    Split(StreamName),
    /// Record a stream no longer.
    Stop(StreamName),
    /// Close everything, and end.
    Finish,
}

/// Recordings in the order of their visits.
#[derive(Debug, Default)]
struct Turn {
    due: BTreeMap<(Instant, u64), Box<Recorder>>,
    /// Tells apart what is due at the same moment.
    next: u64,
}

impl Turn {
    fn add(&mut self, at: Instant, recorder: Box<Recorder>) {
        self.due.insert((at, self.next), recorder);
        self.next += 1;
    }

    /// Where in the second the next recording is visited: far from the others, however many there are (the golden
    /// ratio).
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

    /// Visits what is due, and says when the next is.
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
            // The time of the visit, and not of the turn: those before it may have taken long.
            match recorder.visit(shared, Instant::now()) {
                Next::Again => self.add(now, recorder),
                // One that is late keeps its phase, and skips what it has missed.
                Next::Turn => self.add((at + PERIOD).max(now), recorder),
                Next::Ended => shared.forget(recorder.stream()),
            }
        }
    }
}

/// Writes until it is told to finish.
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
