//! What is known of one recording.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use media::StreamName;

use crate::RecordingId;

/// One recording: one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recording {
    /// Which.
    pub id: RecordingId,
    /// What was recorded.
    pub stream: StreamName,
    /// Where it is now. While it is open its name ends in `.part`; closing it changes the name, so a reader that does
    /// not find it asks the shelf once more.
    pub path: PathBuf,
    /// Whether the file is there. Else the copy in object storage is all that is left.
    pub is_local: bool,
    /// When it begins, to the second.
    pub started: SystemTime,
    /// How long its media lasts.
    pub duration: Duration,
    /// Its whole part: what can be read, and makes sense. It grows while the recording is open.
    pub bytes: u64,
    /// How far it is.
    pub state: State,
    /// What kind of file it is.
    pub container: Container,
    /// Its copy in object storage.
    pub upload: Upload,
    /// The operator has said that no rule removes it.
    pub is_pinned: bool,
}

impl Recording {
    /// When its media ends.
    pub fn ended(&self) -> SystemTime {
        self.started + self.duration
    }

    /// Whether the rules of what is kept count its file: it is complete, and neither pinned nor one that has to stay for
    /// ever because no copy can be made.
    pub fn is_counted(&self) -> bool {
        let stays = self.is_pinned || self.upload == Upload::Taken;
        self.is_local && !stays && self.state != State::Open
    }

    /// Whether they may also remove it: no copy of it is still to be made.
    pub fn is_removable(&self) -> bool {
        self.is_counted() && self.upload != Upload::Pending
    }
}

/// What is known of a recording's copy in object storage.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Upload {
    /// None is made.
    #[default]
    Never,
    /// One is to be made once the recording is complete. The file must stay until then.
    Pending,
    /// None can be made: another object has the name. The file must stay.
    Taken,
    /// There is one.
    Stored {
        /// Its name in the bucket.
        key: Arc<str>,
        /// The file is needed no more.
        is_spare: bool,
    },
}

impl Upload {
    /// Whether there is a copy.
    pub const fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// Its name in the API.
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
    /// How far a recording is.
    #[derive(Ord, PartialOrd)]
    pub enum State {
        /// It grows.
        Open = "open",
        /// It grows no more. A file of MP4 is fragmented still, and will be finalised.
        Closed = "closed",
        /// It will not change any more.
        Finalised = "finalised",
    }
}

/// The kind of a recording's file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Container {
    /// MP4 with pictures: fragmented until it is finalised.
    Mp4,
    /// MP4 with sound alone.
    M4a,
    /// Frames of MP3.
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
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Mp4,
        Self::M4a,
        Self::Mp3,
        Self::Ogg,
        Self::Flv,
        Self::Ts,
        Self::WebM,
    ];

    /// The extension of its files, without the dot.
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

    /// The container of files with this extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|container| container.extension() == extension)
    }

    /// The media type of its files.
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

    /// Whether files are made of MP4's boxes.
    pub const fn is_mp4(self) -> bool {
        matches!(self, Self::Mp4 | Self::M4a)
    }
}
