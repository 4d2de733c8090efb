//! What shows a station and commands it.

use std::sync::Arc;

use media::StreamName;
use tokio::sync::{mpsc, oneshot, watch};

use crate::programme::RequestRefused;
use crate::report::{Report, Stats};

/// What the operator may tell a station.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Command {
    /// To go on to the next track.
    Skip,
    /// To look into its folder or playlist again. The present track is played to its end.
    Reload,
}

/// What a station is sent.
#[derive(Debug)]
pub(super) enum Message {
    Command(Command),
    /// A file is wanted, by its name. The answer is how many wait before it.
    Request {
        name: String,
        answer: oneshot::Sender<Result<usize, RequestRefused>>,
    },
}

/// A station has too many commands to carry out already.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the station has not carried out the last commands yet")]
pub struct Overloaded;

/// Shows a station, and commands it.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) stream: StreamName,
    pub(super) commands: mpsc::Sender<Message>,
    pub(super) report: watch::Receiver<Arc<Report>>,
}

impl Handle {
    /// The stream that the station publishes.
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }

    /// What it is doing.
    pub fn report(&self) -> Arc<Report> {
        Arc::clone(&self.report.borrow())
    }

    /// Tells it something. It is done within a second, but for the time that a scan takes.
    ///
    /// # Errors
    /// When it has too many commands to carry out, or has ended with the server.
    pub fn send(&self, command: Command) -> Result<(), Overloaded> {
        let message = Message::Command(command);
        self.commands.try_send(message).map_err(|_| Overloaded)
    }

    /// Asks for a file of the rotation, by its name in the folder or the playlist. Returns how many wait before it.
    ///
    /// # Errors
    /// Why it is not played.
    pub async fn request(&self, name: String) -> Result<usize, RequestRefused> {
        let (answer, answered) = oneshot::channel();
        let message = Message::Request { name, answer };
        let sent = self.commands.try_send(message);
        sent.map_err(|_| RequestRefused::Overloaded)?;
        answered.await.unwrap_or(Err(RequestRefused::Overloaded))
    }
}

/// What shows and commands the stations.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// One for each station.
    pub handles: Arc<[Handle]>,
    /// What all of them count.
    pub stats: Arc<Stats>,
}
