//! The listeners, as operators list and remove them over the API and Icecast's administration.
//!
//! All of it waits for locks that workers hold, too, or for the workers themselves, and so runs on threads that may wait.

use std::collections::HashMap;
use std::sync::Arc;

use fanout::{Fanout, ListenerId, ListenerRecord, ListenerReport};
use media::StreamName;
use tokio::task::{JoinError, spawn_blocking};

/// Every listener, the oldest first.
///
/// # Errors
/// When the server ends.
pub async fn list(fanout: &Arc<Fanout>) -> Result<Vec<Arc<ListenerRecord>>, JoinError> {
    let fanout = Arc::clone(fanout);
    spawn_blocking(move || fanout.directory().list()).await
}

/// Every listener, the oldest first, and what its worker reports: nothing of one that is just joining or has no worker.
/// One that has yet to connect, and may never, is no listener. Workers answer within a round of visits.
///
/// # Errors
/// When the server ends.
pub async fn reported(
    fanout: &Arc<Fanout>,
) -> Result<Vec<(Arc<ListenerRecord>, Option<ListenerReport>)>, JoinError> {
    let fanout = Arc::clone(fanout);
    spawn_blocking(move || {
        let reports = fanout.report().into_iter();
        let mut reports: HashMap<_, _> = reports.map(|report| (report.id, report)).collect();
        let records = fanout.directory().list().into_iter();
        let pairs = records.map(|record| {
            let report = reports.remove(&record.id);
            (record, report)
        });
        let has_connected = |(_, report): &(_, Option<ListenerReport>)| {
            report.as_ref().is_none_or(|report| !report.is_waiting)
        };
        pairs.filter(has_connected).collect()
    })
    .await
}

/// Removes a listener, of any stream or of this one alone. Returns whether there is such a one.
///
/// # Errors
/// When the server ends.
pub async fn kick(
    fanout: &Arc<Fanout>,
    id: ListenerId,
    of: Option<StreamName>,
) -> Result<bool, JoinError> {
    let fanout = Arc::clone(fanout);
    spawn_blocking(move || {
        let record = fanout.directory().get(id);
        let is_there = record.is_some_and(|record| of.is_none_or(|name| record.stream == name));
        if is_there {
            fanout.kick(id);
        }
        is_there
    })
    .await
}
