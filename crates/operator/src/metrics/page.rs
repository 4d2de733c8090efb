//! Writing metrics in the OpenMetrics text format.

use std::fmt;

use fanout::stats::HistogramValue;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};

use super::table::Metric;

/// A value of a metric.
pub trait Amount {
    /// Converts the value to the number in the metric.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($kind:ty),*) => {
        $(impl Amount for $kind {
            fn amount(self) -> f64 {
                self as f64
            }
        })*
    };
}

amounts!(u64, usize);

impl Amount for f64 {
    fn amount(self) -> f64 {
        self
    }
}

/// True is 1, false is 0.
impl Amount for bool {
    fn amount(self) -> f64 {
        f64::from(u8::from(self))
    }
}

/// Writes metrics by their table entries.
pub struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    /// Creates a page that writes to `encoder`.
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    fn descriptor(&mut self, metric: Metric) -> Result<MetricEncoder<'_>, fmt::Error> {
        self.0
            .encode_descriptor(metric.name, metric.help, None, metric.kind)
    }

    /// Writes a gauge without labels.
    pub fn gauge(&mut self, metric: Metric, value: impl Amount) -> fmt::Result {
        self.descriptor(metric)?.encode_gauge(&value.amount())
    }

    /// Writes a counter without labels.
    pub fn counter(&mut self, metric: Metric, value: impl Amount) -> fmt::Result {
        self.descriptor(metric)?
            .encode_counter::<NoLabelSet, _, f64>(&value.amount(), None)
    }

    /// Writes a histogram without labels.
    pub fn histogram(&mut self, metric: Metric, value: &HistogramValue) -> fmt::Result {
        encode_histogram(&mut self.descriptor(metric)?, value)
    }

    /// Writes a gauge for each value of its label.
    pub fn gauges<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, impl Amount)>,
    ) -> fmt::Result {
        self.family(metric, values, |mut encoder, value| {
            encoder.encode_gauge(&value.amount())
        })
    }

    /// Writes a counter for each value of its label.
    pub fn counters<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, impl Amount)>,
    ) -> fmt::Result {
        self.family(metric, values, |mut encoder, value| {
            encoder.encode_counter::<NoLabelSet, _, f64>(&value.amount(), None)
        })
    }

    /// Writes a histogram for each value of its label.
    pub fn histograms<L: AsRef<str>>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, HistogramValue)>,
    ) -> fmt::Result {
        self.family(metric, values, |mut encoder, value| {
            encode_histogram(&mut encoder, &value)
        })
    }

    /// Writes each value under its label, using `write`.
    fn family<L: AsRef<str>, V>(
        &mut self,
        metric: Metric,
        values: impl IntoIterator<Item = (L, V)>,
        write: impl Fn(MetricEncoder<'_>, V) -> fmt::Result,
    ) -> fmt::Result {
        let mut encoder = self.descriptor(metric)?;
        values.into_iter().try_for_each(|(label, value)| {
            let labels = [(metric.labels[0], label.as_ref())];
            write(encoder.encode_family(&labels)?, value)
        })
    }
}

fn encode_histogram(encoder: &mut MetricEncoder<'_>, value: &HistogramValue) -> fmt::Result {
    let bounds = value.bounds.iter().copied().chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(value.counts.iter().copied()).collect();
    encoder.encode_histogram::<NoLabelSet>(value.sum, value.counts.iter().sum(), &buckets, None)
}
