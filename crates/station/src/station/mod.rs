//! One station: the task that drives a play-out with files, the clock and the operator's commands.
//!
//! All its state is its own; others see a [`Report`] and send [`Command`]s.

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
use crate::library::Catalogue;
use crate::programme::{Distances, Hours, Role, Rule};
use crate::report::{Change, Report, Stats};

/// The protocol of stations in the metrics and in [`fanout::Source::protocol`].
pub const PROTOCOL: &str = "station";

/// Commands that wait for a station, which takes them four times a second and oftener.
const COMMANDS_MAX: usize = 8;

/// What a station plays, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The stream that it publishes.
    pub stream: StreamName,
    /// Its files.
    pub lists: Vec<List>,
    /// It begins again at the end.
    pub is_looped: bool,
    /// How long tracks stay apart.
    pub distances: Distances,
    /// How long it waits after another publisher has left.
    pub linger: Duration,
}

/// Files of a station.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct List {
    /// Where they are.
    pub catalogue: Catalogue,
    /// Their order.
    pub order: Rule,
    /// How they take part in the programme.
    pub role: Role,
    /// When they do.
    pub hours: Hours,
}

/// Permits a station to publish until another publisher comes.
pub type Permit = Box<dyn Fn(&StreamName) -> Authorized<Publish> + Send + Sync>;

/// Is told what changes, by the station's own task: it must not wait.
pub type Tell = Box<dyn Fn(&StreamName, Change<'_>) + Send + Sync>;

/// What all stations share.
pub struct Context {
    /// The streams.
    pub registry: Arc<Registry>,
    /// See [`Permit`].
    pub permit: Permit,
    /// See [`Tell`].
    pub tell: Tell,
    /// The name of this program.
    pub agent: String,
    /// The counts.
    pub stats: Arc<Stats>,
}

/// A station that has yet to be run.
#[derive(Debug)]
pub struct Station {
    settings: Settings,
    commands: mpsc::Receiver<Message>,
    shown: watch::Sender<Arc<Report>>,
    seed: u64,
}

impl Station {
    /// A station, and what shows it. `seed` is for the order, and for the numbers of Ogg streams.
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

    /// Publishes for as long as it is polled.
    pub async fn run(self, context: Arc<Context>) {
        Driver::new(self, context).run().await;
    }
}

base::debug!(Context {});
