//! Handle of a station, for its report and its commands.

use std::sync::Arc;

use media::StreamName;
use tokio::sync::{mpsc, oneshot, watch};

use crate::station::programme::RequestRefused;
use crate::station::report::{Report, Stats};

/// Command of the operator to a station.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Command {
    /// Skip to the next track.
    Skip,
    /// Read the folder or playlist again. The current track is played to its end.
    Reload,
}

/// Message to a station.
#[derive(Debug)]
pub(super) enum Message {
    Command(Command),
    /// Request for a file, by its name. The answer is the number of requests before it.
    Request {
        name: String,
        answer: oneshot::Sender<Result<usize, RequestRefused>>,
    },
}

/// Error for a station with too many commands pending.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the station has not carried out the last commands yet")]
pub struct Overloaded;

/// Handle of one station: reads its [`report`](Self::report()) and sends it commands.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) stream: StreamName,
    pub(super) commands: mpsc::Sender<Message>,
    pub(super) report: watch::Receiver<Arc<Report>>,
}

impl Handle {
    /// Returns the name of the stream that the station publishes.
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }

    /// Returns the current report.
    pub fn report(&self) -> Arc<Report> {
        Arc::clone(&self.report.borrow())
    }

    /// Sends a command. It takes effect within a second, not counting the time of a scan.
    ///
    /// # Errors
    /// If the station has too many commands pending, or has ended with the server.
    pub fn send(&self, command: Command) -> Result<(), Overloaded> {
        let message = Message::Command(command);
        self.commands.try_send(message).map_err(|_| Overloaded)
    }

    /// Requests a file of the rotation, by its name in the folder or the playlist. Returns the number of requests
    /// before it.
    ///
    /// # Errors
    /// The reason for which it is not played.
    pub async fn request(&self, name: String) -> Result<usize, RequestRefused> {
        let (answer, answered) = oneshot::channel();
        let message = Message::Request { name, answer };
        let sent = self.commands.try_send(message);
        sent.map_err(|_| RequestRefused::Overloaded)?;
        answered.await.unwrap_or(Err(RequestRefused::Overloaded))
    }
}

/// Handles of all stations.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// Handle of each station.
    pub handles: Arc<[Handle]>,
    /// Counts of all stations.
    pub stats: Arc<Stats>,
}
