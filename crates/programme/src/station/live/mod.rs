//! One station: the task that drives a play-out with files, the clock and the operator's commands.
//!
//! The task owns all its state; others see a [`Report`] and send [`Command`]s.

mod control;
mod driver;
mod file;
mod handle;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use fanout::Registry;
use fanout::gate::{Authorized, Publish};
use media::StreamName;
use tokio::sync::{mpsc, watch};

use self::driver::Driver;
use self::handle::Message;
pub use self::handle::{Command, Handle, Overloaded, Stations};
use crate::station::library::Catalogue;
use crate::station::programme::{Distances, Hours, Role, Rule};
use crate::station::report::{Change, Report, Stats};

/// Protocol of stations in the metrics and in [`fanout::Source::protocol`].
pub const PROTOCOL: &str = "station";

/// Most commands that wait for a station, which takes them at least four times a second.
const COMMANDS_MAX: usize = 8;

/// Settings of a station.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Name of the stream that it publishes.
    pub stream: StreamName,
    /// Lists of its files.
    pub lists: Vec<List>,
    /// Whether it begins again at the end.
    pub is_looped: bool,
    /// Least distances between two plays of a track.
    pub distances: Distances,
    /// Wait after another publisher has left.
    pub linger: Duration,
}

/// List of a station.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct List {
    /// Location of its files.
    pub catalogue: Catalogue,
    /// Order of its tracks.
    pub order: Rule,
    /// Part in the programme.
    pub role: Role,
    /// Times of the week at which it takes part.
    pub hours: Hours,
}

/// Source of permissions for a station to publish until another publisher comes.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Publish> + Send + Sync>;

/// Receiver of changes, called by the station's own task: it must not block.
pub type Tell = Box<dyn Fn(&StreamName, Change<'_>) + Send + Sync>;

/// State that all stations share.
pub struct Context {
    /// Registry of streams.
    pub registry: Arc<Registry>,
    /// Source of permissions to publish; see [`Permit`].
    pub permit: Permit,
    /// Receiver of changes; see [`Tell`].
    pub tell: Tell,
    /// Name of this program.
    pub agent: String,
    /// Counts of all stations.
    pub stats: Arc<Stats>,
}

/// Station that is not running yet; [`run`](Self::run) is its task.
#[derive(Debug)]
pub struct Station {
    settings: Settings,
    commands: mpsc::Receiver<Message>,
    shown: watch::Sender<Arc<Report>>,
    seed: u64,
}

impl Station {
    /// Makes a station and its handle. `seed` determines the order and the serial numbers of Ogg streams.
    pub fn new(settings: Settings, seed: u64) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let (shown, report) = watch::channel(Arc::default());
        let handle = Handle {
            stream: settings.stream.clone(),
            commands: sender,
            report,
        };
        let station = Self {
            settings,
            commands,
            shown,
            seed,
        };
        (station, handle)
    }

    /// Publishes for as long as the future is polled.
    pub async fn run(self, context: Arc<Context>) {
        Driver::new(self, context).run().await;
    }
}

base::debug!(Context {});
