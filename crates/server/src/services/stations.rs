//! The stations of the configuration, and their metrics.

use std::sync::Arc;

use media::StreamName;
use operator::metrics::table::STATION_TRACKS;
use programme::station::{Change, Station, Stats, Tell};
use reports::hooks::Hooks;
use tokio::task::JoinSet;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Service that plays the stations.
pub(super) struct StationPlayers {
    pub(super) front: Arc<FrontDoor>,
    pub(super) stations: Vec<Station>,
    pub(super) stats: Arc<Stats>,
    pub(super) hooks: Hooks,
}

impl Service for StationPlayers {
    fn metrics(&self) -> Option<Encoder> {
        let stats = Arc::clone(&self.stats);
        Some(Box::new(move |page| {
            page.counters(STATION_TRACKS, stats.tracks.values())
        }))
    }

    fn run(self: Box<Self>, phase: Shown) -> Run {
        let (stations, gate) = (self.stations, Arc::clone(&self.front.gate));
        let shared = Arc::new(programme::station::Context {
            registry: Arc::clone(&self.front.registry),
            permit: Box::new(move |stream: &StreamName| gate.publish_until_replaced(stream)),
            tell: tell(self.hooks),
            agent: format!("Carillon/{}", env!("CARGO_PKG_VERSION")),
            stats: self.stats,
        });
        Box::pin(phase.cut(Phase::Drained, async move {
            let mut playing = JoinSet::new();
            for station in stations {
                playing.spawn(station.run(Arc::clone(&shared)));
            }
            // Players end with this task; one that ends earlier has failed.
            while let Some(ended) = playing.join_next().await {
                if let Err(error) = ended {
                    tracing::error!(%error, "a station has failed");
                }
            }
        }))
    }
}

/// Returns the callback for each change at a station.
fn tell(hooks: Hooks) -> Tell {
    Box::new(move |stream, change| {
        let Change::Began(track) = change else {
            return;
        };
        tracing::info!(%stream, name = ?track.name, title = ?track.title, "a track begins");
        hooks.tell_of_track(stream, track);
    })
}
