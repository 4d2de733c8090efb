//! The stations of the configuration, and their metrics.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, StationList, StationOrder, StationPlace, StationRule, WeekHours};
use media::StreamName;
use station::{
    Catalogue, Change, Distances, Handle, Hours, List, Outcome, Place, Role, Rule, Settings,
    Station, Stats, Tell,
};
use tokio::task::JoinSet;

use super::phase::{Phase, Shown};
use super::{Context, Encoder, Run, Service};
use crate::admin::metrics::Page;
use crate::admin::metrics::table::STATION_TRACKS;
use crate::hooks::Hooks;

/// How long files that are a fallback wait for a publisher that has left their stream, where none is expected.
const FILLER_LINGER: Duration = Duration::from_secs(1);

/// What shows and commands the stations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stations {
    pub(crate) handles: Arc<[Handle]>,
    pub(crate) stats: Arc<Stats>,
}

/// See the module's description.
pub(super) struct StationPlayers(Vec<Station>);

/// The stations of a configuration, and what shows them. `seed` decides their orders.
pub(crate) fn stations(config: &Config, seed: u64) -> (Vec<Station>, Stations) {
    let rules = config.stations.iter().map(settings);
    let fillers = config.fillers().map(|(stream, path)| filler(stream, path));
    let made = rules.chain(fillers).zip(0_u64..).map(|(settings, number)| {
        let seed = seed.wrapping_add(number.wrapping_mul(0x0001_0000_0001));
        Station::new(settings, seed)
    });
    let (stations, handles): (Vec<_>, Vec<_>) = made.unzip();
    let shown = Stations {
        handles: handles.into(),
        stats: Arc::default(),
    };
    (stations, shown)
}

fn settings(rule: &StationRule) -> Settings {
    Settings {
        stream: rule.stream.clone(),
        lists: rule.lists.iter().map(list).collect(),
        is_looped: rule.is_looped,
        distances: Distances {
            repeat: rule.no_repeat,
            request: rule.request_after,
        },
        linger: rule.linger,
    }
}

/// A station of the files that are the fallback of other streams.
fn filler(stream: StreamName, path: &Path) -> Settings {
    let path = path.to_owned();
    let place = match path.is_dir() {
        true => Place::Folder(path),
        false => Place::File(path),
    };
    Settings {
        stream,
        lists: vec![List {
            catalogue: Catalogue {
                place,
                anywhere: false,
            },
            order: Rule::Sequential,
            role: Role::Rotation { weight: 1 },
            hours: Hours::default(),
        }],
        is_looped: true,
        distances: Distances {
            repeat: Duration::ZERO,
            request: Duration::ZERO,
        },
        linger: FILLER_LINGER,
    }
}

fn list(list: &StationList) -> List {
    let place = match &list.place {
        StationPlace::Folder(folder) => Place::Folder(folder.clone()),
        StationPlace::Playlist(file) => Place::Playlist(file.clone()),
    };
    let hours = list.hours.iter().flat_map(WeekHours::minutes);
    List {
        hours: Hours(hours.cloned().collect()),
        catalogue: Catalogue {
            place,
            anywhere: list.absolute_paths,
        },
        order: match list.order {
            StationOrder::Sequential => Rule::Sequential,
            StationOrder::Shuffle => Rule::Shuffle,
        },
        role: match list.every {
            0 => Role::Rotation {
                weight: list.weight,
            },
            every => Role::Every(every),
        },
    }
}

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
    let tracks = Outcome::ALL.map(|one| (one.label(), stats.tracks(one) as f64));
    page.counters(STATION_TRACKS, tracks)
}
