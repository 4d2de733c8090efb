//! Access to the core's internals for benches. Not part of the interface.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use log::{Account, Entry, Limits, Preamble, View, Writer};
use media::{Item, Span, Timestamp};
use net::tls::RecordLayer;
use net::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot, Waker};

use crate::books::{Books, Plane};
use crate::cursor;
use crate::format::{Format, Protocol};
use crate::lane::{LaneGuard, LaneWriter};
use crate::packager::{LaneSink, Packager};
use crate::policy::{Class, Policy};
use crate::retention::Retention;
use crate::worker::{Joins, Visits, WorkerWaker};

/// A log with one reader.
#[derive(Debug)]
pub struct LogProbe {
    writer: Writer,
    view: View,
    at: Timestamp,
    join: Entry,
}

impl LogProbe {
    /// Creates an empty log with the retention of a radio stream.
    pub fn new() -> Self {
        let limits = Limits {
            page_bytes: 64 * 1024,
            page_units: 512,
            pages_max: 128,
            time_max: Span::from_millis(32_000),
            bytes_min: 0,
            bytes_time_max: Span::ZERO,
            lean_max: Span::from_millis(32_000),
            join_max: Span::from_millis(32_000),
        };
        let writer = Writer::new(limits, Account::unlimited());
        let writer = writer.expect("memory is not limited");
        let view = View::new(Arc::clone(writer.shared()));
        let join = Entry::Join(Arc::new(Preamble::default()));
        Self {
            writer,
            view,
            at: Timestamp::ZERO,
            join,
        }
    }

    /// Appends one frame that may be joined and makes it readable.
    pub fn append(&mut self, frame: &[u8]) {
        self.at += Span::from_samples(1152, 44_100);
        self.writer.put(frame);
        self.writer
            .end_unit(self.at, Instant::now(), self.join.clone());
        self.writer.commit();
    }

    /// Finds the start of a joiner that is given `burst`.
    pub fn join(&mut self, burst: Span) -> Option<u64> {
        self.view.refresh();
        let reach = Span::from_ticks(i64::MAX);
        cursor::start(&self.view, burst, reach, reach, None).map(|start| start.offset)
    }
}

impl Default for LogProbe {
    fn default() -> Self {
        Self::new()
    }
}

/// A lane with an audience, and nothing else of a worker.
pub struct VisitProbe {
    lane: ProbeLane,
    visits: Visits,
    books: Books,
}

impl VisitProbe {
    /// Creates a lane of audio with this many listeners, all caught up, whose sockets take everything at once: only our
    /// own work remains.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub fn new(listeners: usize) -> io::Result<Self> {
        let backend = Box::new(Bottomless::new()?);
        Ok(Self::with(Class::Audio, listeners, backend))
    }

    /// Creates a lane whose listeners have the sockets of `backend` in the slots 0 to `listeners` of first use, all
    /// caught up.
    pub fn with(class: Class, listeners: usize, backend: Box<dyn Backend>) -> Self {
        let lane = ProbeLane::open(class, Arc::new([]));
        let visits = Visits::new(&lane.guard(), listeners, backend);
        let mut probe = Self {
            lane,
            visits,
            books: Books::new(Plane::Worker, 0),
        };
        probe.turn(&[0; 418]);
        probe
    }

    /// Puts the first listeners behind TLS.
    pub fn secure(&mut self, records: impl IntoIterator<Item = Box<RecordLayer>>) {
        self.visits.secure(records);
    }

    /// Appends a unit to the lane's log.
    pub fn append(&mut self, unit: &[u8]) {
        self.lane.append(unit, Instant::now());
    }

    /// Visits every listener. Returns the number of sends.
    pub fn visit(&mut self) -> u64 {
        let before = self.books.sends.value();
        self.visits.turn(&self.books, Instant::now());
        self.books.sends.value() - before
    }

    /// Appends a unit and visits every listener with it. Returns the number of sends.
    pub fn turn(&mut self, unit: &[u8]) -> u64 {
        self.append(unit);
        self.visit()
    }

    /// Makes exactly the listeners whose number `sits_out` accepts sit out from here on, as if their sockets were full.
    pub fn pause(&mut self, sits_out: impl Fn(usize) -> bool) {
        self.visits.pause(sits_out);
    }
}

base::debug!(VisitProbe { visits });

/// A lane that workers sleep for.
#[derive(Debug)]
pub struct BellProbe {
    lane: ProbeLane,
}

impl BellProbe {
    /// Creates a lane of audio for this many workers.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub fn new(workers: usize) -> io::Result<Self> {
        let wakers: io::Result<_> = (0..workers)
            .map(|_| Ok(WorkerWaker::new(Waker::new()?)))
            .collect();
        let lane = ProbeLane::open(Class::Audio, wakers?);
        Ok(Self { lane })
    }

    /// Puts every worker to sleep until the lane has news.
    pub fn sleep(&self) {
        for bell in &self.lane.writer.lane.bells {
            bell.arm(0);
        }
    }

    /// Appends a unit, which wakes the sleeping workers.
    pub fn append(&mut self, unit: &[u8]) {
        self.lane.append(unit, Instant::now());
    }
}

/// A lane that listeners join, with enough in its log for a full burst.
pub struct JoinProbe {
    joins: Joins,
    head: Bytes,
    _lane: ProbeLane,
}

impl JoinProbe {
    /// Creates a lane with enough in its log for a full burst. Joiners get copies of `socket`, and nothing is sent to
    /// them.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub fn new(socket: TcpStream) -> io::Result<Self> {
        let backend = Bottomless::new()?;
        let waker = WorkerWaker::new(backend.waker());
        let mut lane = ProbeLane::open(Class::Audio, Arc::new([waker.clone()]));
        for _ in 0..500 {
            lane.append(&[0x55; 418], Instant::now());
        }
        Ok(Self {
            joins: Joins::new(lane.guard(), Box::new(backend), waker, socket),
            head: Bytes::from_static(&[b'x'; 300]),
            _lane: lane,
        })
    }

    /// Adds a listener, up to its first send. Returns the number of sends.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub fn join(&mut self) -> io::Result<u64> {
        let before = self.joins.sends();
        self.joins.join(self.head.clone())?;
        Ok(self.joins.sends() - before)
    }
}

base::debug!(JoinProbe {});

/// A lane without a stream, and the time of its newest unit.
#[derive(Debug)]
pub(crate) struct ProbeLane {
    pub(crate) writer: LaneWriter,
    at: Timestamp,
}

impl ProbeLane {
    pub(crate) fn open(class: Class, wakers: Arc<[WorkerWaker]>) -> Self {
        Self::with(class, Policy::default_for(class), wakers)
    }

    pub(crate) fn with(class: Class, policy: Policy, wakers: Arc<[WorkerWaker]>) -> Self {
        let format = Format {
            name: "probe",
            protocol: Protocol::Http,
            retention: Retention::Live,
        };
        let writer = LaneWriter::open(
            format,
            class,
            policy,
            Box::new(Verbatim),
            wakers,
            Account::unlimited(),
            Arc::default(),
        );
        Self {
            writer: writer.expect("memory is not limited"),
            at: Timestamp::ZERO,
        }
    }

    pub(crate) fn guard(&self) -> LaneGuard {
        LaneGuard::new(Arc::clone(&self.writer.lane))
    }

    pub(crate) fn append(&mut self, unit: &[u8], arrived: Instant) {
        self.at += Span::from_samples(1152, 44_100);
        let script = media::Script {
            at: self.at,
            body: Bytes::copy_from_slice(unit),
        };
        self.writer.push(&Item::Script(script), arrived);
        self.writer.publish();
    }
}

/// Packager that turns each script item into a unit.
struct Verbatim;

impl Packager for Verbatim {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        if let Item::Script(script) = item {
            sink.put(&script.body);
            sink.end_unit(script.at, Entry::Join(Arc::new(Preamble::default())));
        }
    }
}

/// A back-end whose sockets take everything.
#[derive(Debug)]
pub struct Bottomless {
    waker: Waker,
}

impl Bottomless {
    /// Creates a back-end.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            waker: Waker::new()?,
        })
    }
}

impl Backend for Bottomless {
    fn name(&self) -> &'static str {
        "none"
    }

    fn attach(&mut self, _: Slot, _: TcpStream, _: Inbound) -> io::Result<()> {
        Ok(())
    }

    fn detach(&mut self, _: Slot) {}

    fn release(&mut self, _: Slot) -> Option<TcpStream> {
        None
    }

    fn receive(&mut self, _: Slot, _: &mut [u8]) -> Received {
        Received::Nothing
    }

    fn send_batch(&mut self, batch: &[SendOp<'_>], outcomes: &mut [SendOutcome]) {
        for (op, outcome) in batch.iter().zip(outcomes) {
            *outcome = SendOutcome::Sent(op.slices.iter().map(|slice| slice.len()).sum());
        }
    }

    fn wait(&mut self, _: Option<Duration>, _: &mut Vec<Event>) -> io::Result<()> {
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::LATE_AFTER;

    #[test]
    fn messages_long_after_their_window_are_late() {
        const LISTENERS: usize = 3;
        let mut probe = VisitProbe::new(LISTENERS).expect("a waker");
        let window = Policy::default_for(Class::Audio).max_wait;
        let mut late_by = |delay: Duration| {
            let before = probe.books.late_messages.value();
            probe.append(&[0; 100]);
            let now = Instant::now() + delay;
            probe.visits.turn(&probe.books, now);
            probe.books.late_messages.value() - before
        };
        assert_eq!(late_by(window + LATE_AFTER / 2), 0);
        let late = late_by(window + LATE_AFTER + Duration::from_millis(1));
        assert_eq!(late, LISTENERS as u64);
        assert_eq!(late_by(Duration::ZERO), 0);
    }
}
