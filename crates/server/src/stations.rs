//! The stations of the configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, StationList, StationOrder, StationPlace, StationRule, WeekHours};
use media::StreamName;
use programme::station::{
    Catalogue, Distances, Hours, List, Place, Role, Rule, Settings, Station, Stations,
};

/// Time for which a fallback station waits after the last publisher has left its stream, where none is expected.
const FILLER_LINGER: Duration = Duration::from_secs(1);

/// Creates the stations of a configuration, and the list that shows them. `seed` determines their shuffle orders.
pub(crate) fn open(config: &Config, seed: u64) -> (Vec<Station>, Stations) {
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

/// Returns a station that plays the fallback files of other streams.
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
