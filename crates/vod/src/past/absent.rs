//! Reasons for which a resource of a recording is not here.

use std::io;
use std::sync::Arc;

use http::StatusCode;
use media::StreamName;
use recordings::Recording;

use super::refused;
use crate::Answer;
use crate::answer::{busy, later};
use crate::counts::Outcome;

/// Reason for a missing resource; [`answer`](Self::answer) turns it into a refusal.
#[derive(Debug)]
pub(super) enum Absent {
    /// Recording whose copy in object storage is all that is left.
    Remote(Arc<Recording>),
    /// Resource that does not exist (`NotFound`), or that the disk does not deliver.
    Disk(io::Error),
}

impl From<io::Error> for Absent {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// Conversion for readers of recordings as media: to them, a file that is not on the disk does not exist.
impl From<Absent> for io::Error {
    fn from(absent: Absent) -> Self {
        match absent {
            Absent::Remote(_) => io::ErrorKind::NotFound.into(),
            Absent::Disk(error) => error,
        }
    }
}

impl Absent {
    /// Makes the reason for a resource that does not exist.
    pub(super) fn unknown() -> Self {
        Self::Disk(io::ErrorKind::NotFound.into())
    }

    /// Returns whether the resource does not exist.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Disk(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether it may have been here, or may be soon: a playlist of several recordings is made without it.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_unknown() || matches!(self, Self::Remote(_))
    }

    /// Returns the answer for the client.
    pub(super) fn answer(self, stream: &StreamName) -> (Outcome, Answer) {
        let error = match self {
            Self::Remote(_) => {
                let text = "This recording is in object storage alone, and has no playlist any more: \
                            its file is at the address in recordings.json.";
                return refused(StatusCode::GONE, text);
            }
            Self::Disk(error) if error.kind() == io::ErrorKind::NotFound => {
                return refused(StatusCode::NOT_FOUND, "There is no such recording.");
            }
            Self::Disk(error) if error.kind() == io::ErrorKind::ResourceBusy => return busy(),
            Self::Disk(error) => error,
        };
        tracing::warn!(%stream, %error, "a recording could not be read");
        later("The recording cannot be read now.\n")
    }
}

/// Returns a recording if its file is here.
pub(super) fn if_local(recording: Arc<Recording>) -> Result<Arc<Recording>, Absent> {
    match recording.is_local {
        true => Ok(recording),
        false => Err(Absent::Remote(recording)),
    }
}
