//! Measurement of how close the server is to overload, four times a second: levels for admission
//! ([`Pressure`](limits::Pressure)), stopped threads for readiness, busy workers for metrics.
//!
//! It only reads what other parts count, and writes the levels. Its only caller is a task that runs it on a thread that may
//! block; the operator's port reads the results.

mod pulse;
mod workload;

use std::sync::Arc;
use std::time::Instant;

use fanout::Registry;
use limits::Limits;
use limits::host;
use limits::{Kind, Marks};
use net::intake::Intake;
use web::FrontDoor;
use web::signalling::Rtc;

use self::pulse::Pulses;
use self::workload::{Sample, Workload};

/// Overload measurement of one relay; call [`measure`](Self::measure) four times a second.
#[derive(Debug)]
pub struct Overload {
    registry: Arc<Registry>,
    ingest: Arc<ingest::Context>,
    rtc: Option<Arc<Rtc>>,
    limits: Arc<Limits>,
    /// Loads at which new listeners are refused.
    marks: Marks,
    workload: Workload,
    pulses: Pulses,
}

impl Overload {
    /// Creates the measurement of `front` by `marks`. Nothing is measured yet.
    pub fn new(front: &FrontDoor, marks: Marks) -> Self {
        Self {
            registry: Arc::clone(&front.registry),
            ingest: Arc::clone(&front.ingest),
            rtc: front.rtc.clone(),
            limits: Arc::clone(&front.limits),
            marks,
            workload: Workload::new(host::cores()),
            pulses: Pulses::default(),
        }
    }

    /// Measures, and reports to the limits. Call it four times a second from a thread that may block; the rates are per second,
    /// so three calls of four only check the clock.
    pub fn measure(&self, now: Instant) {
        let Some(rates) = self.workload.measure(now, || self.sample(now)) else {
            return;
        };
        self.limits
            .measured_egress(rates.egress_bits, rates.stream_bits);
        self.note_pulses(now);
        let (pressure, marks) = (&self.limits.pressure, &self.marks);
        let levels = [
            (Kind::Turn, Some(rates.core_share / marks.core_share)),
            (
                Kind::WebrtcTurn,
                rates.webrtc_share.map(|share| share / marks.webrtc_share),
            ),
            (Kind::Lateness, Some(rates.late_share / marks.late_share)),
        ];
        for (kind, level) in levels {
            pressure.note(kind, level, now);
        }
    }

    /// Returns the share of a core that the worker with this label recently spent on visits; 0 until it is known.
    pub fn busy_ratio(&self, label: &str) -> f64 {
        self.workload.busy_ratio(label)
    }

    /// Returns the purpose of a stopped thread, if there is one.
    pub fn stopped(&self) -> Option<&'static str> {
        self.pulses.stopped()
    }

    fn note_pulses(&self, now: Instant) {
        let note = |what, number, turns| self.pulses.note((what, number), turns, now);
        let intake = self.ingest.intake.iter().flat_map(Intake::turns);
        for (number, turns) in intake.enumerate() {
            note("reading publishers", number, Some(turns));
        }
        for (number, books) in self.registry.fanout().worker_books().iter().enumerate() {
            // A worker that has listeners checks once a second how far behind each listener is.
            let has_listeners = books.listeners_now() > 0;
            let turns = has_listeners.then(|| books.lag_seconds.value().counts.iter().sum());
            note("visiting listeners", number, turns);
        }
        let workers = self.rtc.iter().flat_map(|rtc| rtc.service.port().turns());
        for (number, turns) in workers.enumerate() {
            note("serving WebRTC", number, Some(turns));
        }
    }

    fn sample(&self, now: Instant) -> Sample {
        let stats = &self.ingest.stats;
        Sample {
            at: now,
            ingest_bytes: stats.bytes.sum(),
            publishers: stats.publishers.sum(),
            work: workload::work(&self.registry.fanout().books()),
        }
    }
}
