//! What benches and fuzz targets may see of the core's insides. Not part of the interface.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use media::{Item, Span, Timestamp};
use net::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot, Waker};

use crate::budget::Budget;
use crate::cursor;
use crate::lane::{Format, LaneGuard, LaneWriter, Protocol};
use crate::log::{Entry, Preamble, Retention, View, Writer};
use crate::packager::{Packager, Sink};
use crate::policy::{Class, Policy};
use crate::stats::WorkerStats;
use crate::worker::Visits;

/// Runs the log against its oracle; see `log/model.rs`.
#[cfg(fuzzing)]
pub fn log_model(script: &[u8]) {
    crate::log::model::run(script);
}

/// A log with one reader.
#[derive(Debug)]
pub struct LogProbe {
    writer: Writer,
    view: View,
    at: Timestamp,
    join: Entry,
}

impl LogProbe {
    /// An empty log with the retention of a radio stream.
    pub fn new() -> Self {
        let retention = Retention {
            page_bytes: 64 * 1024,
            page_units: 512,
            pages_max: 128,
            time_max: Span::from_millis(32_000),
        };
        let writer = Writer::new(retention, Arc::new(Budget::new(usize::MAX)));
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

    /// Finds the place of a joiner that is given `burst`.
    pub fn join(&mut self, burst: Span) -> Option<u64> {
        self.view.refresh();
        cursor::start(&self.view, burst, None).map(|start| start.offset)
    }
}

impl Default for LogProbe {
    fn default() -> Self {
        Self::new()
    }
}

/// A lane with an audience whose sockets take everything at once: what is left is our own work.
#[derive(Debug)]
pub struct VisitProbe {
    lane: LaneWriter,
    visits: Visits,
    backend: Bottomless,
    stats: WorkerStats,
    at: Timestamp,
}

impl VisitProbe {
    /// A lane with that many listeners, all caught up.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(listeners: usize) -> io::Result<Self> {
        let policy = Policy::default_for(Class::Audio);
        let lane = LaneWriter::open(
            Format {
                name: "probe",
                protocol: Protocol::Http,
            },
            Class::Audio,
            policy,
            Box::new(Verbatim),
            Arc::new([]),
            Arc::new(Budget::new(usize::MAX)),
        );
        let visits = Visits::new(&LaneGuard::new(Arc::clone(&lane.lane)), listeners);
        let mut probe = Self {
            lane,
            visits,
            backend: Bottomless::new()?,
            stats: WorkerStats::new(),
            at: Timestamp::ZERO,
        };
        probe.turn(&[0; 418]);
        Ok(probe)
    }

    /// Appends a frame and visits every listener with it. Returns how many sends that took.
    pub fn turn(&mut self, frame: &[u8]) -> u64 {
        self.at += Span::from_samples(1152, 44_100);
        let now = Instant::now();
        let script = media::Script {
            at: self.at,
            body: Bytes::copy_from_slice(frame),
        };
        self.lane.push(&Item::Script(script), now);
        self.lane.publish();
        let before = self.stats.sends.value();
        self.visits.turn(&mut self.backend, &self.stats, now);
        self.stats.sends.value() - before
    }
}

/// Each script item is a unit.
pub(crate) struct Verbatim;

impl Packager for Verbatim {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        if let Item::Script(script) = item {
            sink.put(&script.body);
            sink.end_unit(script.at, Entry::Join(Arc::new(Preamble::default())));
        }
    }
}

/// A back-end whose sockets take everything.
#[derive(Debug)]
pub(crate) struct Bottomless {
    waker: Waker,
}

impl Bottomless {
    pub(crate) fn new() -> io::Result<Self> {
        let waker = Waker::new()?;
        Ok(Self { waker })
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
