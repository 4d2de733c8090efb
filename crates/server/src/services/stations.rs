//! The stations of the configuration, and their metrics.

use std::fmt;
use std::sync::Arc;

use media::StreamName;
use station::{Change, Station, Stats, Tell};
use tokio::task::JoinSet;

use super::phase::{Phase, Shown};
use super::{Context, Encoder, Run, Service};
use crate::admin::metrics::Page;
use crate::admin::metrics::table::STATION_TRACKS;
use crate::hooks::Hooks;

/// See the module's description.
pub(super) struct StationPlayers(Vec<Station>);

impl StationPlayers {
    pub(super) fn new(stations: Vec<Station>) -> Self {
        Self(stations)
    }
}

impl Service for StationPlayers {
    fn until(&self) -> Phase {
        Phase::Drained
    }

    fn metrics(&self, context: &Context) -> Option<Encoder> {
        let stats = Arc::clone(&context.stations.stats);
        Some(Box::new(move |page| encode(&stats, page)))
    }

    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run {
        let gate = Arc::clone(&context.node.gate);
        let shared = Arc::new(station::Context {
            registry: Arc::clone(&context.node.registry),
            permit: Box::new(move |stream: &StreamName| gate.publish_until_replaced(stream)),
            tell: tell(context.hooks.clone()),
            agent: format!("Carillon/{}", env!("CARGO_PKG_VERSION")),
            stats: Arc::clone(&context.stations.stats),
        });
        Box::pin(phase.cut(Phase::Drained, async move {
            let mut playing = JoinSet::new();
            for station in self.0 {
                playing.spawn(station.run(Arc::clone(&shared)));
            }
            // They end with this task; one that ends before has failed.
            while let Some(ended) = playing.join_next().await {
                if let Err(error) = ended {
                    tracing::error!(%error, "a station has failed");
                }
            }
        }))
    }
}

/// What is called for each change at a station.
fn tell(hooks: Hooks) -> Tell {
    Box::new(move |stream, change| {
        let Change::Began(track) = change else {
            return;
        };
        tracing::info!(%stream, name = ?track.name, title = ?track.title, "a track begins");
        hooks.tell_of_track(stream, track);
    })
}

fn encode(stats: &Stats, page: &mut Page<'_>) -> fmt::Result {
    page.counters(STATION_TRACKS, stats.tracks.values())
}
