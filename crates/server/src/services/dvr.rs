//! The keepers of DVR windows, and their metrics.

use std::sync::Arc;

use egress_hls::dvr::Dvr;
use media::StreamName;
use operator::metrics::table::*;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Service that reports the metrics of the DVR keepers, and ends the keepers.
pub(super) struct DvrKeepers(pub(super) Arc<FrontDoor>);

impl Service for DvrKeepers {
    fn metrics(&self) -> Option<Encoder> {
        let dvr = self.0.hls.dvr().cloned();
        Some(Box::new(move |page| {
            let sums = dvr.as_deref().map(Dvr::sums).unwrap_or_default();
            page.gauge(HLS_DVR_BYTES, sums.bytes)?;
            page.counter(HLS_DVR_SEGMENTS, sums.segments)?;
            page.counter(HLS_DVR_FAILURES, sums.failures)?;
            page.counter(HLS_DVR_READS, sums.reads)
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let front = self.0;
        Box::pin(async move {
            let Some(dvr) = front.hls.dvr().cloned() else {
                return phase.reached(Phase::Drained).await;
            };
            let (registry, gate) = (Arc::clone(&front.registry), Arc::clone(&front.gate));
            let permit = Box::new(move |stream: &StreamName| gate.play_unasked(stream));
            phase.cut(Phase::Drained, dvr.keep(registry, permit)).await;
        })
    }
}
