//! Properties of one recording.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::StreamName;

use crate::RecordingId;

/// One recording: one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recording {
    /// Unique identifier.
    pub id: RecordingId,
    /// Recorded stream.
    pub stream: StreamName,
    /// Current path. While the recording is open, its name ends in `.part`; closing changes the name, so a reader that does not
    /// find the file should ask the shelf once more.
    pub path: PathBuf,
    /// Whether the local file exists. If not, only the copy in object storage is left.
    pub is_local: bool,
    /// Start, to the second.
    pub started: SystemTime,
    /// Duration of its media.
    pub duration: Duration,
    /// Bytes of its complete part, which can be read and decoded. Grows while the recording is open.
    pub bytes: u64,
    /// Progress of the recording.
    pub state: State,
    /// File format.
    pub container: Container,
    /// State of its copy in object storage.
    pub upload: Upload,
    /// Whether the operator has exempted it from removal by rules.
    pub is_pinned: bool,
}

impl Recording {
    /// Returns the end of its media.
    pub fn ended(&self) -> SystemTime {
        self.started + self.duration
    }

    /// Whether retention rules count its file: the recording is complete, not pinned, and its file need not stay for ever
    /// because no copy can be made.
    pub fn is_counted(&self) -> bool {
        let stays = self.is_pinned || self.upload == Upload::Taken;
        self.is_local && !stays && self.state != State::Open
    }

    /// Whether retention rules may remove its file: no copy of it is still to be made.
    pub fn is_removable(&self) -> bool {
        self.is_counted() && self.upload != Upload::Pending
    }
}

/// State of a recording's copy in object storage.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Upload {
    /// No copy is made.
    #[default]
    Never,
    /// A copy is to be made once the recording is complete. The file must stay until then.
    Pending,
    /// No copy can be made, because another object has the name. The file must stay.
    Taken,
    /// A copy exists.
    Stored {
        /// Name of the object in the bucket.
        key: Arc<str>,
        /// Whether the file is no longer needed.
        is_spare: bool,
    },
}

impl Upload {
    /// Whether there is a copy.
    pub const fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// Returns the state's name in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Pending => "pending",
            Self::Taken => "taken",
            Self::Stored { .. } => "stored",
        }
    }
}

base::labels! {
    /// Progress of a recording.
    #[derive(Ord, PartialOrd)]
    pub enum State {
        /// The recording is growing.
        Open = "open",
        /// The recording no longer grows. An MP4 file is still fragmented, and will be finalised.
        Closed = "closed",
        /// The recording will not change any more.
        Finalised = "finalised",
    }
}

/// Format of a recording's file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Container {
    /// MP4 with video: fragmented until it is finalised.
    Mp4,
    /// MP4 with audio only.
    M4a,
    /// MP3 frames.
    Mp3,
    /// Ogg.
    Ogg,
    /// FLV.
    Flv,
    /// MPEG transport stream.
    Ts,
    /// WebM.
    WebM,
}

impl Container {
    /// All containers.
    pub const ALL: [Self; 7] = [
        Self::Mp4,
        Self::M4a,
        Self::Mp3,
        Self::Ogg,
        Self::Flv,
        Self::Ts,
        Self::WebM,
    ];

    /// Returns the extension of its files, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::M4a => "m4a",
            Self::Mp3 => "mp3",
            Self::Ogg => "ogg",
            Self::Flv => "flv",
            Self::Ts => "ts",
            Self::WebM => "webm",
        }
    }

    /// Returns the container of files with this extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|container| container.extension() == extension)
    }

    /// Returns the media type of its files.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Mp4 => "video/mp4",
            Self::M4a => "audio/mp4",
            Self::Mp3 => "audio/mpeg",
            Self::Ogg => "audio/ogg",
            Self::Flv => "video/x-flv",
            Self::Ts => "video/mp2t",
            Self::WebM => "video/webm",
        }
    }

    /// Whether its files consist of MP4 boxes.
    pub const fn is_mp4(self) -> bool {
        matches!(self, Self::Mp4 | Self::M4a)
    }
}
