//! `/metrics`, in the OpenMetrics text format.
//!
//! Workers, doors and publishers' connections keep plain counts; nothing is gathered until somebody
//! scrapes. [`METRICS`] names every metric with its type, its labels and its meaning, and a test
//! holds `docs/metrics.md` and the page itself to that table.

mod process;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use fanout::stats::{Counter, Histogram, HistogramValue, WorkerStats};
use fanout::{Class, Info, Phase, Protocol, Reason};
use net::accept::Failure;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use self::process::Process;
use crate::door::limits::Rejected;
use crate::node::Node;
use crate::{demo, stamp};

/// Streams that have series of their own; the rest are added up under `_other`. Prometheus pays for
/// each series for as long as it keeps data.
const STREAM_SERIES_MAX: usize = 500;

/// The label under which streams beyond [`STREAM_SERIES_MAX`] are added up. `_` alone begins no
/// name that a publisher is likely to choose.
const OTHER: &str = "_other";

/// What OpenMetrics text is called.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One metric: its name without `_total`, its type, its labels, its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricType,
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
}

#[cfg(test)]
impl Metric {
    /// Its row in `docs/metrics.md`.
    pub(crate) fn documentation(&self) -> String {
        let suffix = if self.kind.as_str() == "counter" {
            "_total"
        } else {
            ""
        };
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (name, kind, labels) = (self.name, self.kind.as_str(), labels.join(", "));
        format!("| `{name}{suffix}` | {kind} | {labels} | {} |", self.help)
    }
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(const $constant: Metric = Metric {
            name: $name,
            kind: MetricType::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        /// Every metric there is.
        #[cfg(test)]
        pub(crate) const METRICS: &[Metric] = &[$($constant,)*];
    };
}

metrics! {
    BUILD_INFO Gauge "carillon_build_info" ["version"] "Always 1; its label tells the version";
    START_TIME Gauge "carillon_start_time_seconds" [] "When the server started, in seconds since 1970";
    DRAINING Gauge "carillon_draining" [] "1 from the signal to end until the end";
    STREAMS Gauge "carillon_streams" [] "Streams that are live or linger";
    PUBLISHERS Gauge "carillon_publishers" ["protocol"] "Publishers now";
    LISTENERS Gauge "carillon_listeners" ["protocol"] "Listeners now";
    EGRESS_BYTES Counter "carillon_egress_bytes" ["protocol"] "Bytes that listeners' sockets have taken";
    INGEST_BYTES Counter "carillon_ingest_bytes" ["protocol"] "Bytes received from publishers";
    SENDS Counter "carillon_sends" [] "Sends to listeners; each carries one message";
    MESSAGE_SAMPLES Histogram "carillon_message_samples" [] "Samples combined into one message";
    TURN Histogram "carillon_turn_seconds" ["worker"] "CPU time of one full turn over all listeners of a worker";
    WINDOW Histogram "carillon_window_seconds" ["class"] "Time between two visits of a listener, as chosen";
    FORWARD_DELAY Histogram "carillon_forward_delay_seconds" [] "From a sample's arrival to the send that carried it, for the oldest sample of each message";
    LISTENER_LAG Histogram "carillon_listener_lag_seconds" [] "How far behind the stream listeners are, sampled once a second";
    DEGRADED Gauge "carillon_degraded_listeners" [] "Listeners that were moved forward within the last seconds";
    DEGRADED_RATIO Gauge "carillon_degraded_listeners_ratio" [] "Their share of all listeners";
    SKIPS Counter "carillon_skips" [] "Times a listener was moved to a newer join point";
    DROPS Counter "carillon_drops" ["reason"] "Listeners that the server let go against their will";
    DEPARTURES Counter "carillon_departures" ["reason"] "Listeners gone, for every reason";
    JOIN Histogram "carillon_join_seconds" ["protocol"] "From a listener's request to the first byte of media";
    REJECTED Counter "carillon_rejected" ["reason"] "Connections and requests turned away";
    ACCEPT_FAILURES Counter "carillon_accept_failures" ["class"] "Connections that could not be accepted";
    CONNECTIONS Gauge "carillon_connections" ["door"] "Connections that a door or a publisher's driver serves now; listeners handed to a worker are not among them";
    ACCEPTED Counter "carillon_connections_accepted" ["door"] "Connections accepted";
    PENDING Gauge "carillon_pending_connections" [] "Connections that are neither sources nor listeners, yet";
    BUSY Gauge "carillon_worker_busy_ratio" ["worker"] "Share of a core that a worker spent on visits during the last second";
    BACKEND Gauge "carillon_worker_backend" ["backend"] "Always 1; its label tells how sockets are driven";
    LOG_BYTES Gauge "carillon_log_bytes" [] "Bytes that the logs of all lanes hold";
    STREAM_UP Gauge "carillon_stream_up" ["stream"] "1 while a publisher sends; for `_other` their number";
    STREAM_LISTENERS Gauge "carillon_stream_listeners" ["stream"] "Listeners of a stream now";
    STREAM_INGEST Counter "carillon_stream_ingest_bytes" ["stream"] "Media bytes received for a stream";
    STREAMS_FOLDED Gauge "carillon_streams_folded" [] "Streams that are added up under `_other`, because there are more than 500";
    CPU Counter "process_cpu_seconds" [] "CPU time of the process";
    RESIDENT Gauge "process_resident_memory_bytes" [] "Resident memory of the process";
    OPEN_FDS Gauge "process_open_fds" [] "Open file descriptors";
    MAX_FDS Gauge "process_max_fds" [] "File descriptors the process may have";
    PROCESS_START Gauge "process_start_time_seconds" [] "When the process started, in seconds since 1970";
}

/// The page's source.
pub(super) fn page(node: Arc<Node>) -> Arc<Registry> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Gather(node)));
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

/// Gathers what everybody has counted.
struct Gather(Arc<Node>);

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gather")
    }
}

impl Collector for Gather {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.server(&mut page)?;
        self.publishers(&mut page)?;
        self.listeners(&mut page)?;
        self.workers(&mut page)?;
        self.doors(&mut page)?;
        self.streams(&mut page)?;
        Process::now().encode(&mut page)
    }
}

impl Gather {
    fn sets(&self) -> Vec<&WorkerStats> {
        let fanout = self.0.registry.fanout();
        let workers = fanout.worker_stats().iter().map(AsRef::as_ref);
        workers.chain([fanout.reader_stats()]).collect()
    }

    fn sum(&self, counter: impl Fn(&WorkerStats) -> &Counter) -> u64 {
        self.sets()
            .into_iter()
            .map(|set| counter(set).value())
            .sum()
    }

    fn merged(&self, histogram: impl Fn(&WorkerStats) -> &Histogram) -> HistogramValue {
        let mut sets = self.sets().into_iter().map(|set| histogram(set).value());
        let mut total = sets.next().expect("there is at least one worker");
        sets.for_each(|value| total.merge(&value));
        total
    }

    fn server(&self, page: &mut Page<'_>) -> fmt::Result {
        let node = &self.0;
        page.gauges(BUILD_INFO, [(env!("CARGO_PKG_VERSION"), 1.0)])?;
        page.gauge(START_TIME, stamp::unix_seconds(node.started) as f64)?;
        page.gauge(DRAINING, f64::from(u8::from(node.is_draining())))?;
        let fanout = node.registry.fanout();
        page.gauge(LOG_BYTES, fanout.log_bytes() as f64)?;
        page.gauges(BACKEND, [(fanout.backend(), 1.0)])
    }

    fn publishers(&self, page: &mut Page<'_>) -> fmt::Result {
        let stats = &self.0.ingest.stats;
        let protocols = ingest::Protocol::ALL;
        let demo = self
            .0
            .registry
            .list()
            .iter()
            .map(|stream| stream.info())
            .any(is_demo);
        let now = protocols.map(|one| (one.label(), stats.publishers(one) as f64));
        let demo = [(demo::NAME, f64::from(u8::from(demo)))];
        page.gauges(PUBLISHERS, now.into_iter().chain(demo))?;
        let bytes = protocols.map(|one| (one.label(), stats.ingest_bytes(one) as f64));
        let demo = (demo::NAME, self.0.demo_bytes.load(Ordering::Relaxed) as f64);
        page.counters(INGEST_BYTES, bytes.into_iter().chain([demo]))
    }

    fn listeners(&self, page: &mut Page<'_>) -> fmt::Result {
        let by_protocol = |counts: fn(&WorkerStats) -> &[Counter]| {
            Protocol::ALL.map(|protocol| {
                let sum = self.sum(|set| &counts(set)[protocol as usize]);
                (protocol.label(), sum as f64)
            })
        };
        let listeners = by_protocol(|set| &set.listeners);
        page.gauges(LISTENERS, listeners)?;
        page.counters(EGRESS_BYTES, by_protocol(|set| &set.egress_bytes))?;
        page.counter(SENDS, self.sum(|set| &set.sends) as f64)?;
        let degraded = self.sum(|set| &set.degraded) as f64;
        page.gauge(DEGRADED, degraded)?;
        let total: f64 = listeners.iter().map(|(_, count)| count).sum();
        page.gauge(
            DEGRADED_RATIO,
            if total > 0.0 { degraded / total } else { 0.0 },
        )?;
        page.counter(SKIPS, self.sum(|set| &set.skips) as f64)?;
        let departures = Reason::ALL.map(|reason| {
            (
                reason,
                self.sum(|set| &set.departures[reason as usize]) as f64,
            )
        });
        let drops = departures
            .into_iter()
            .filter(|(reason, _)| !matches!(reason, Reason::Left | Reason::Ended))
            .map(|(reason, count)| (reason.label(), count));
        page.counters(DROPS, drops)?;
        page.counters(
            DEPARTURES,
            departures.map(|(reason, count)| (reason.label(), count)),
        )?;
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
        let workers = self.0.registry.fanout().worker_stats().iter().enumerate();
        let turns = workers.map(|(at, set)| (at.to_string(), set.turn_seconds.value()));
        page.histograms(TURN, turns)?;
        let busy = self.0.load.busy_ratios().enumerate();
        page.gauges(BUSY, busy.map(|(at, ratio)| (at.to_string(), ratio)))
    }

    fn doors(&self, page: &mut Page<'_>) -> fmt::Result {
        let node = &self.0;
        let (counts, stats) = (&node.counts, &node.ingest.stats);
        let at_doors = Rejected::ALL.map(|one| (one.label(), counts.rejected(one) as f64));
        let publishers =
            ingest::Rejection::ALL.map(|one| (one.label(), stats.rejected(one) as f64));
        page.counters(REJECTED, at_doors.into_iter().chain(publishers))?;
        let failures = Failure::ALL.map(|class| (class.label(), counts.failures(class) as f64));
        page.counters(ACCEPT_FAILURES, failures)?;
        let open = counts
            .connections()
            .map(|(door, _, open)| (door, open as f64));
        page.gauges(CONNECTIONS, open)?;
        let accepted = counts
            .connections()
            .map(|(door, accepted, _)| (door, accepted as f64));
        page.counters(ACCEPTED, accepted)?;
        page.gauge(PENDING, node.limits.pending() as f64)
    }

    fn streams(&self, page: &mut Page<'_>) -> fmt::Result {
        let infos: Vec<_> = self
            .0
            .registry
            .list()
            .iter()
            .map(|one| one.info())
            .collect();
        page.gauge(STREAMS, infos.len() as f64)?;
        page.gauge(
            STREAMS_FOLDED,
            infos.len().saturating_sub(STREAM_SERIES_MAX) as f64,
        )?;
        page.gauges(
            STREAM_UP,
            by_stream(&infos, |info| {
                f64::from(u8::from(info.phase == Phase::Live))
            }),
        )?;
        page.gauges(
            STREAM_LISTENERS,
            by_stream(&infos, |info| info.listeners as f64),
        )?;
        page.counters(
            STREAM_INGEST,
            by_stream(&infos, |info| info.ingest_bytes as f64),
        )
    }
}

fn is_demo(info: Info) -> bool {
    info.phase == Phase::Live && info.source.protocol == demo::NAME
}

/// One value per stream, those beyond the limit added up.
fn by_stream(infos: &[Info], value: impl Fn(&Info) -> f64) -> Vec<(String, f64)> {
    let mut rest = None;
    let mut all = Vec::new();
    for info in infos {
        // A stream that is called like the rest counts among it.
        if all.len() < STREAM_SERIES_MAX && info.name.as_str() != OTHER {
            all.push((info.name.to_string(), value(info)));
        } else {
            *rest.get_or_insert(0.0) += value(info);
        }
    }
    all.extend(rest.map(|sum| (OTHER.to_owned(), sum)));
    all
}

/// Writes metrics as the table says.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn descriptor(&mut self, metric: Metric) -> Result<MetricEncoder<'_>, fmt::Error> {
        self.0
            .encode_descriptor(metric.name, metric.help, None, metric.kind)
    }

    fn gauge(&mut self, metric: Metric, value: f64) -> fmt::Result {
        self.descriptor(metric)?.encode_gauge(&value)
    }

    fn counter(&mut self, metric: Metric, value: f64) -> fmt::Result {
        self.descriptor(metric)?
            .encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn histogram(&mut self, metric: Metric, value: &HistogramValue) -> fmt::Result {
        encode_histogram(&mut self.descriptor(metric)?, value)
    }

    fn gauges<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut encoder = self.descriptor(metric)?;
        values.into_iter().try_for_each(|(label, value)| {
            encoder
                .encode_family(&[(metric.labels[0], label.as_ref())])?
                .encode_gauge(&value)
        })
    }

    fn counters<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut encoder = self.descriptor(metric)?;
        values.into_iter().try_for_each(|(label, value)| {
            encoder
                .encode_family(&[(metric.labels[0], label.as_ref())])?
                .encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    fn histograms<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, HistogramValue)>,
    ) -> fmt::Result {
        let mut encoder = self.descriptor(metric)?;
        values.into_iter().try_for_each(|(label, value)| {
            let labels = [(metric.labels[0], label.as_ref())];
            encode_histogram(&mut encoder.encode_family(&labels)?, &value)
        })
    }
}

fn encode_histogram(encoder: &mut MetricEncoder<'_>, value: &HistogramValue) -> fmt::Result {
    let bounds = value.bounds.iter().copied().chain([f64::MAX]);
    let buckets: Vec<_> = bounds.zip(value.counts.iter().copied()).collect();
    encoder.encode_histogram::<NoLabelSet>(value.sum, value.counts.iter().sum(), &buckets, None)
}
