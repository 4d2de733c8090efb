//! The keepers of DVR windows, and their metrics.

use std::fmt;
use std::sync::Arc;

use egress_hls::dvr::{Dvr, Sums};
use media::StreamName;

use super::phase::{Phase, Shown};
use super::{Context, Encoder, Run, Service};
use crate::admin::metrics::Page;
use crate::admin::metrics::table::*;

/// See the module's description.
pub(super) struct DvrKeepers;

impl Service for DvrKeepers {
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn metrics(&self, context: &Context) -> Option<Encoder> {
        let dvr = context.node.hls.dvr().cloned();
        Some(Box::new(move |page| {
            let sums = dvr.as_deref().map(Dvr::sums).unwrap_or_default();
            encode(sums, page)
        }))
    }

    fn run(self: Box<Self>, context: &Arc<Context>, mut phase: Shown) -> Run {
        let node = Arc::clone(&context.node);
        Box::pin(async move {
            let Some(dvr) = node.hls.dvr().cloned() else {
                return phase.reached(Phase::Drained).await;
            };
            let (registry, gate) = (Arc::clone(&node.registry), Arc::clone(&node.gate));
            let permit = Box::new(move |stream: &StreamName| gate.play_unasked(stream));
            phase.cut(Phase::Drained, dvr.keep(registry, permit)).await;
        })
    }
}

fn encode(sums: Sums, page: &mut Page<'_>) -> fmt::Result {
    page.gauge(HLS_DVR_BYTES, sums.bytes)?;
    page.counter(HLS_DVR_SEGMENTS, sums.segments)?;
    page.counter(HLS_DVR_FAILURES, sums.failures)?;
    page.counter(HLS_DVR_READS, sums.reads)
}
