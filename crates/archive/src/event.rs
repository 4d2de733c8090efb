//! What becomes of recordings, as the rest of the server is told.

use std::sync::Arc;

use media::StreamName;
use recordings::Recording;

use crate::GapReason;

/// Hears of events, one after another of one recording. It must not block: recorders wait for it.
pub type Tell = Box<dyn Fn(Event) + Send + Sync>;

/// What has become of a recording, each with what the shelf knows of it then. Of recordings that are not on the shelf,
/// because it is full, nothing is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It has begun: the disk has taken something of it.
    Started(Arc<Recording>),
    /// It grows no more, and has its name.
    Closed(Arc<Recording>),
    /// It will not change any more.
    Finalised(Arc<Recording>),
    /// An earlier run of the server has left it open; it is closed now, and whole as far as it was on the disk.
    Recovered(Arc<Recording>),
    /// Its file is gone; of one that the operator has removed, its copy as well.
    Deleted {
        /// As it was.
        recording: Arc<Recording>,
        /// Why.
        why: Removal,
    },
    /// Media is missing from a stream's recordings.
    Gap {
        /// Which stream.
        stream: StreamName,
        /// Why.
        reason: GapReason,
        /// How much, if that is known.
        seconds: Option<f64>,
    },
    /// A stream cannot be recorded now, or a file of it not be closed.
    Failed {
        /// Which stream.
        stream: StreamName,
        /// What the disk says.
        error: String,
    },
}

base::labels! {
    /// Why a recording was removed.
    pub enum Removal {
        /// The operator has said so.
        Operator = "operator",
        /// Its rule keeps no more.
        Retention = "retention",
        /// The disk had too little room.
        Space = "space",
        /// Nothing of it could be played.
        Empty = "empty",
        /// Somebody else has moved or deleted its file.
        Missing = "missing",
    }
}
