//! Events about recordings, for the rest of the server.

use std::sync::Arc;

use crate::Recording;
use media::StreamName;

use crate::archive::GapReason;

/// Receiver of events; those of one recording arrive in order. It must not block, because recorders wait for it.
pub type Tell = Box<dyn Fn(Event) + Send + Sync>;

/// Change of a recording, with its shelf entry at that time. There are no events for recordings that are not on the shelf
/// because it is full.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The recording has begun: the disk has accepted some of it.
    Started(Arc<Recording>),
    /// The recording no longer grows, and has its final name.
    Closed(Arc<Recording>),
    /// The recording will not change any more.
    Finalised(Arc<Recording>),
    /// The recording was left open by an earlier run of the server; it is closed now, and complete as far as it was on the
    /// disk.
    Recovered(Arc<Recording>),
    /// The recording's file is gone; if the operator has removed it, its copy is gone as well.
    Deleted {
        /// Entry before the removal.
        recording: Arc<Recording>,
        /// Reason of the removal.
        why: Removal,
    },
    /// Media is missing from a stream's recordings.
    Gap {
        /// Affected stream.
        stream: StreamName,
        /// Cause of the gap.
        reason: GapReason,
        /// Length of the gap in seconds, if known.
        seconds: Option<f64>,
    },
    /// A stream cannot be recorded now, or one of its files cannot be closed.
    Failed {
        /// Affected stream.
        stream: StreamName,
        /// Error of the disk.
        error: String,
    },
}

base::labels! {
    /// Reason of a removal.
    pub enum Removal {
        /// The operator removed it.
        Operator = "operator",
        /// It exceeded a limit of its rule.
        Retention = "retention",
        /// The disk had too little room.
        Space = "space",
        /// It had no playable media.
        Empty = "empty",
        /// Somebody else has moved or deleted its file.
        Missing = "missing",
    }
}
