//! `/metrics`, in the OpenMetrics text format.
//!
//! Workers, doors and publishers' connections keep plain counts; nothing is gathered until a scrape. A
//! [service](crate::Encoder) adds its own metrics. The [`table`] names every metric with its type, its labels
//! and its meaning, and a test holds `docs/metrics.md` and the page itself to it.

mod page;
mod process;
pub mod table;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::date;
use base::holdings::Kind;
use base::{Counter, Label, Labelled};
use fanout::stats::{Histogram, HistogramValue};
use fanout::{Books, Class, Protocol, Reason};
use net::intake::Intake;
use net::panics::Part;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

pub use self::page::{Amount, Page};

pub use self::table::METRICS;
use self::table::*;
use crate::console::{Console, DEMO};
use reports::log::{LineLog, MESSAGES};
use reports::view::StreamView;
use web::tls::Facts;

/// Maximum number of streams with series of their own; the rest are summed under `_other`. Prometheus pays for each series for
/// as long as it keeps data.
const STREAM_SERIES_MAX: usize = 500;

/// The label under which streams beyond [`STREAM_SERIES_MAX`] are summed. Publishers are unlikely to
/// choose a name that begins with `_`.
const OTHER: &str = "_other";

/// The media type of OpenMetrics text.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Creates the registry from which the page is rendered.
pub(super) fn page(console: Arc<Console>) -> Arc<Registry> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Gather(console)));
    Arc::new(registry)
}

/// `GET /metrics`.
pub(super) async fn scrape(registry: Arc<Registry>) -> Response {
    let mut out = String::new();
    match text::encode(&mut out, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], out).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Collects the counts of all parts.
struct Gather(Arc<Console>);

base::debug!(Gather {});

impl Collector for Gather {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page::new(encoder);
        self.server(&mut page)?;
        self.publishers(&mut page)?;
        self.listeners(&mut page)?;
        self.workers(&mut page)?;
        self.doors(&mut page)?;
        self.streams(&mut page)?;
        self.transcoding(&mut page)?;
        self.files(&mut page)?;
        for encode in &self.0.encoders {
            encode(&mut page)?;
        }
        process::encode(&mut page)
    }
}

impl Gather {
    /// Returns the books of all workers and tasks that serve listeners, of every protocol.
    fn books(&self) -> Vec<Arc<Books>> {
        self.0.front.registry.fanout().books()
    }

    fn sum(&self, counter: impl Fn(&Books) -> &Counter) -> u64 {
        let all = self.books();
        all.iter().map(|books| counter(books).value()).sum()
    }

    fn sums<E: Label>(
        &self,
        counters: impl Fn(&Books) -> &Labelled<E>,
    ) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<_> = Labelled::<E>::default().values().collect();
        for books in self.books() {
            for ((_, sum), count) in sums.iter_mut().zip(counters(&books).all()) {
                *sum += count;
            }
        }
        sums
    }

    fn merged(&self, histogram: impl Fn(&Books) -> &Histogram) -> HistogramValue {
        let all = self.books();
        let mut values = all.iter().map(|books| histogram(books).value());
        let mut total = values.next().expect("tasks have books");
        values.for_each(|value| total.merge(&value));
        total
    }

    fn server(&self, page: &mut Page<'_>) -> fmt::Result {
        let Console {
            front,
            session_log,
            log,
            certificate,
            ..
        } = &*self.0;
        page.gauges(BUILD_INFO, [(env!("CARGO_PKG_VERSION"), 1.0)])?;
        page.gauge(START_TIME, unix_time(front.started))?;
        page.gauge(DRAINING, front.drain.has_begun())?;
        page.counters(PANICS, Part::ALL.map(|part| (part.label(), part.panics())))?;
        let others = [front.access.lines(), session_log];
        let others = others.into_iter().filter_map(LineLog::lines_lost);
        let lost = std::iter::once((MESSAGES, log.lines_lost())).chain(others);
        page.counters(LOG_LINES_LOST, lost)?;
        let certificate = certificate.as_ref().map(|shown| shown.facts());
        let expires = certificate.map(|Facts { serial, expires }| (serial, unix_time(expires)));
        page.gauges(CERTIFICATE_EXPIRES, expires)?;
        let fanout = front.registry.fanout();
        page.gauge(LOG_BYTES, fanout.log_bytes())?;
        page.gauges(BACKEND, [(fanout.backend(), 1.0)])
    }

    fn publishers(&self, page: &mut Page<'_>) -> fmt::Result {
        let front = &self.0.front;
        let stats = &front.ingest.stats;
        let infos = front.registry.list().into_iter().map(|one| one.info());
        // The server's own publishers, which come through no port.
        let mut own = [
            (DEMO, 0),
            (programme::station::PROTOCOL, 0),
            (programme::fallback::PROTOCOL, 0),
        ];
        for info in infos {
            let view = StreamView::of(&info);
            let known = own.iter_mut().find(|(label, _)| *label == view.protocol);
            if let (true, Some((_, count))) = (view.state.has_publisher(), known) {
                *count += 1;
            }
        }
        page.gauges(PUBLISHERS, stats.publishers.values().chain(own))?;
        let own = [
            (DEMO, self.0.demo_bytes.value()),
            (
                programme::station::PROTOCOL,
                self.0.stations.stats.bytes.value(),
            ),
            (
                programme::fallback::PROTOCOL,
                self.0.fallbacks.stats.bytes.value(),
            ),
        ];
        page.counters(INGEST_BYTES, stats.bytes.values().chain(own))?;
        page.counters(INGEST_RECEIVES, stats.receives.values())?;
        page.counter(TAKEOVERS, front.registry.takeovers())?;
        let wakeups = front.ingest.intake.as_ref().map_or(0, Intake::wakeups);
        page.counter(INGEST_WAKEUPS, wakeups)
    }

    fn listeners(&self, page: &mut Page<'_>) -> fmt::Result {
        let listeners = self.sums(|set| &set.listeners);
        let total: u64 = listeners.iter().map(|(_, count)| count).sum();
        page.gauges(LISTENERS, listeners)?;
        page.counters(EGRESS_BYTES, self.sums(|set| &set.egress_bytes))?;
        page.counter(SENDS, self.sum(|set| &set.sends))?;
        let degraded = self.sum(|set| &set.degraded);
        page.gauge(DEGRADED, degraded)?;
        let ratio = match total {
            0 => 0.0,
            _ => degraded as f64 / total as f64,
        };
        page.gauge(DEGRADED_RATIO, ratio)?;
        page.counter(SKIPS, self.sum(|set| &set.skips))?;
        let departures = self.sums(|set| &set.departures);
        let by_themselves = [Reason::Left, Reason::Ended].map(Reason::label);
        let drops = departures
            .iter()
            .filter(|(reason, _)| !by_themselves.contains(reason));
        page.counters(DROPS, drops.copied())?;
        page.counters(DEPARTURES, departures)?;
        let joins = Protocol::ALL.map(|protocol| {
            (
                protocol.label(),
                self.merged(|set| &set.join_seconds[protocol as usize]),
            )
        });
        page.histograms(JOIN, joins)
    }

    fn workers(&self, page: &mut Page<'_>) -> fmt::Result {
        page.histogram(MESSAGE_SAMPLES, &self.merged(|set| &set.message_samples))?;
        page.histogram(
            FORWARD_DELAY,
            &self.merged(|set| &set.forward_delay_seconds),
        )?;
        page.histogram(LISTENER_LAG, &self.merged(|set| &set.lag_seconds))?;
        let windows = Class::ALL.map(|class| {
            (
                class.label(),
                self.merged(|set| &set.window_seconds[class as usize]),
            )
        });
        page.histograms(WINDOW, windows)?;
        let all = self.books();
        let turns = all
            .iter()
            .map(|books| (books.label(), books.turn_seconds.value()));
        page.histograms(TURN, turns)?;
        let busy = all.iter().map(|books| {
            let label = books.label();
            let ratio = self.0.overload.busy_ratio(&label);
            (label, ratio)
        });
        page.gauges(BUSY, busy)
    }

    fn doors(&self, page: &mut Page<'_>) -> fmt::Result {
        let front = &self.0.front;
        let (counts, stats) = (&front.counts, &front.ingest.stats);
        let fanout = front.registry.fanout();
        let workers = [
            ("log_memory", fanout.lanes_refused()),
            ("worker_inbox", fanout.listeners_refused()),
        ];
        let all = counts.rejected.values().chain(stats.rejected.values());
        page.counters(REJECTED, all.chain(workers))?;
        let signatures = front.gate.signature_counts().values();
        page.counters(TOKEN_SIGNATURES, signatures)?;
        let held = Kind::ALL.map(|kind| (kind.label(), front.holdings.bytes(kind)));
        page.gauges(HELD_BYTES, held)?;
        let levels = front.limits.pressure.levels();
        page.gauges(PRESSURE, levels.chain([("logs", fanout.log_pressure())]))?;
        page.counters(ACCEPT_FAILURES, counts.failures.values())?;
        page.gauges(CONNECTIONS, counts.open.values())?;
        page.counters(ACCEPTED, counts.accepted.values())?;
        page.gauge(PENDING, front.limits.pending())?;
        page.gauge(IDLE, front.limits.idle())?;
        page.gauge(PENDING_SESSIONS, front.limits.pending_sessions())
    }

    fn files(&self, page: &mut Page<'_>) -> fmt::Result {
        let front = &self.0.front;
        let sums = front.files.sums().with(&front.past.sums());
        let labels = vod::Outcome::ALL.map(vod::Outcome::label).into_iter();
        page.counter(FILE_BYTES, sums.bytes)?;
        page.counters(FILE_REQUESTS, labels.zip(sums.requests))?;
        page.counter(LATE_READS, sums.late_reads)
    }

    fn streams(&self, page: &mut Page<'_>) -> fmt::Result {
        let streams = self.0.front.registry.list();
        let infos: Vec<_> = streams.iter().map(|one| one.info()).collect();
        let views: Vec<_> = infos.iter().map(StreamView::of).collect();
        page.gauge(STREAMS, infos.len())?;
        let folded = infos.len().saturating_sub(STREAM_SERIES_MAX);
        page.gauge(STREAMS_FOLDED, folded)?;
        let up = by_stream(&views, |view| view.state.has_publisher().into());
        page.gauges(STREAM_UP, up)?;
        let listeners = by_stream(&views, |view| view.listeners as u64);
        page.gauges(STREAM_LISTENERS, listeners)?;
        page.counters(STREAM_INGEST, by_stream(&views, |view| view.ingest_bytes))
    }

    fn transcoding(&self, page: &mut Page<'_>) -> fmt::Result {
        let sums = self.0.audio.sums();
        page.gauge(TRANSCODED, sums.streams)?;
        page.counter(TRANSCODED_SECONDS, sums.audio.as_secs_f64())?;
        page.counter(TRANSCODE_CPU, sums.busy.as_secs_f64())?;
        page.counter(TRANSCODE_CONCEALED, sums.concealed)?;
        page.counter(TRANSCODE_DROPPED, sums.dropped)?;
        page.counters(TRANSCODE_REFUSED, sums.refused)
    }
}

fn unix_time(at: SystemTime) -> f64 {
    date::unix_seconds(at) as f64
}

/// Returns one value per stream; streams beyond the limit are summed.
fn by_stream(
    views: &[StreamView<'_>],
    value: impl Fn(&StreamView<'_>) -> u64,
) -> Vec<(String, u64)> {
    capped(views.iter().map(|view| (view.name, value(view))))
}

/// Returns the values of streams as shown: at most `STREAM_SERIES_MAX` streams, and the sum of the rest.
pub fn capped<'a>(values: impl Iterator<Item = (&'a str, u64)>) -> Vec<(String, u64)> {
    let mut rest = None;
    let mut all = Vec::new();
    for (name, value) in values {
        // A stream with the name of the sum is part of it.
        if all.len() < STREAM_SERIES_MAX && name != OTHER {
            all.push((name.to_owned(), value));
        } else {
            *rest.get_or_insert(0) += value;
        }
    }
    all.extend(rest.map(|sum| (OTHER.to_owned(), sum)));
    all
}
