//! List and removal of listeners, for operators over the API and Icecast's administration.
//!
//! All functions wait for locks that workers hold too, or for the workers themselves, and so run on threads that may block.

use std::collections::HashMap;
use std::sync::Arc;

use fanout::{Fanout, ListenerId, ListenerRecord, ListenerReport};
use media::StreamName;
use tokio::task::{JoinError, spawn_blocking};

/// Lists all listeners, the oldest first.
///
/// # Errors
/// If the server ends.
pub async fn list(fanout: &Arc<Fanout>) -> Result<Vec<Arc<ListenerRecord>>, JoinError> {
    let fanout = Arc::clone(fanout);
    spawn_blocking(move || fanout.directory().list()).await
}

/// Lists all listeners, the oldest first, each with the report of its worker; `None` for a listener that is just joining or has
/// no worker. Listeners that have yet to connect, and may never do so, are left out. Workers answer within a round of visits.
///
/// # Errors
/// If the server ends.
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

/// Removes a listener, of any stream or only of `of`. Returns whether such a listener exists.
///
/// # Errors
/// If the server ends.
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
