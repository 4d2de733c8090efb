//! Films: files as media for players that are sent one sample at a time, from any keyframe.
//!
//! ```text
//! name ─► Files::film ─► Film: files::Reader of MP4 or FLV ─► items, a window at a time
//! ```
//!
//! A [`Film`] belongs to one player. It reads as the player takes, through the reads that all clients of the folder
//! share.

pub(crate) mod metadata;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use container::mp4_file::index::Purpose;
use files::Reader;
use media::{Item, StreamName};
use recordings::Container;

use crate::address::Resource;
use crate::counts::Outcome;
use crate::folder::Opened;
use crate::media_file::MediaFile;
use crate::past::{Next, RecordingReader};
use crate::reads::malformed;
use crate::{Address, Files, Served};

/// Kind of file that can be played as a film.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// ISO media files.
    Mp4,
    /// Flash video.
    Flv,
    /// MP3 frames; recordings only.
    Mp3,
}

impl Kind {
    /// Returns the extensions of the files of a kind.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Mp4 => &["mp4", "m4a"],
            Self::Flv => &["flv"],
            Self::Mp3 => &[],
        }
    }

    /// Returns the kind of recordings in this container.
    pub(crate) const fn of_recording(container: Container) -> Option<Self> {
        match container {
            Container::Mp4 | Container::M4a => Some(Self::Mp4),
            Container::Flv => Some(Self::Flv),
            Container::Mp3 => Some(Self::Mp3),
            Container::Ogg | Container::Ts | Container::WebM => None,
        }
    }

    fn of(address: &Address) -> Option<Self> {
        match address.media_type {
            "video/mp4" | "audio/mp4" => Some(Self::Mp4),
            "video/x-flv" => Some(Self::Flv),
            _ => None,
        }
    }
}

/// File being played: send [`opening`](Self::opening), then call [`next`](Self::next) until it returns nothing.
#[derive(Debug)]
pub struct Film {
    source: Source,
    opening: Vec<Item>,
    length: Duration,
}

#[derive(Debug)]
enum Source {
    File(Box<MediaFile>),
    Recording(Box<RecordingReader>),
}

impl Files {
    /// Returns the folder in which a file of this name would be, about which the gate decides. `None` if it is in none.
    pub fn folder_of_film(&self, name: &str) -> Option<&StreamName> {
        let address = self.addresses(name, None).into_iter().next()?;
        let folder = self.folder_of(&address)?;
        Some(&folder.name)
    }

    /// Opens the file with this name, `{folder}/{file}`, percent-decoded; the extension may be missing. If `kind` is
    /// `None`, FLV is tried first. `None` if there is no such file.
    ///
    /// # Errors
    /// If the disk does not deliver the file, or it cannot be played.
    pub async fn film(&self, name: &str, kind: Option<Kind>) -> io::Result<Option<Film>> {
        for address in self.addresses(name, kind) {
            let (Some(served), Some(kind)) = (self.folder_of(&address), Kind::of(&address)) else {
                continue;
            };
            match open(served, &address, kind).await {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => {
                    let outcome = match &opened {
                        Ok(_) => Outcome::Whole,
                        Err(_) => Outcome::Failed,
                    };
                    self.requests.count(outcome);
                    return opened.map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Returns the addresses that a name may mean, in the order in which they are tried.
    fn addresses(&self, name: &str, kind: Option<Kind>) -> Vec<Address> {
        let kinds = match kind {
            Some(kind) => vec![kind],
            None => vec![Kind::Flv, Kind::Mp4],
        };
        let extensions = kinds.into_iter().flat_map(Kind::extensions);
        let more = extensions.map(|extension| format!("/{name}.{extension}"));
        let names = std::iter::once(format!("/{name}")).chain(more);
        let addresses = names.filter_map(|path| self.find(&path));
        let is_film =
            |address: &Address| address.resource == Resource::File && Kind::of(address).is_some();
        addresses.filter(is_film).collect()
    }
}

async fn open(served: &Arc<Served>, address: &Address, kind: Kind) -> io::Result<Film> {
    let (name, folder) = (address.name.clone(), Arc::clone(served));
    let opened = served
        .reads
        .blocking(move || folder.folder.open(&name))
        .await?;
    let reader = match kind {
        Kind::Mp4 => mp4(served, &opened).await?,
        Kind::Flv => Reader::flv(opened.length),
        Kind::Mp3 => return Err(io::ErrorKind::NotFound.into()),
    };
    let file = MediaFile::open((&opened.file, &served.reads), reader).await?;
    let reader = file.reader();
    let length = reader.length().unwrap_or_default();
    let opening = match reader.states_length() {
        true => reader.opening().to_vec(),
        false => metadata::opening(reader.opening(), reader.dimensions(), Some(length)),
    };
    Ok(Film {
        source: Source::File(Box::new(file)),
        opening,
        length,
    })
}

async fn mp4(served: &Served, opened: &Opened) -> io::Result<Reader> {
    let wanted = (opened.tag.as_str(), Purpose::Samples);
    let file = (&opened.file, opened.length);
    let index = served.indexes.of(wanted, file, &served.reads).await?;
    let index = index.map_err(malformed)?;
    if index.tracks().next().is_none() {
        let why = "it has no track that can be played over RTMP";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let read = move || Ok(Reader::mp4(index)?);
    served.reads.blocking(read).await
}

impl Film {
    /// Makes a film of a recording. A recording that is still being written plays to the end it has when playback
    /// reaches it.
    pub(crate) fn of_recording(reader: RecordingReader) -> Self {
        let length = reader.length();
        let opening = reader.opening(Some(length));
        Self {
            source: Source::Recording(Box::new(reader)),
            opening,
            length,
        }
    }

    /// Returns its duration.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Returns the items that a player needs first: metadata and tracks.
    pub fn opening(&self) -> &[Item] {
        &self.opening
    }

    /// Continues from the last keyframe at or before a time.
    ///
    /// # Errors
    /// If the disk does not deliver it.
    pub async fn seek(&mut self, to: Duration) -> io::Result<()> {
        match &mut self.source {
            Source::File(file) => file.seek(to).await,
            Source::Recording(reader) => reader.seek(to).await,
        }
    }

    /// Returns the next items; none at the end.
    ///
    /// # Errors
    /// If the disk does not deliver them, or the file is damaged there.
    pub async fn next(&mut self) -> io::Result<Vec<Item>> {
        match &mut self.source {
            Source::File(file) => file.next().await,
            Source::Recording(reader) => match reader.next().await? {
                Next::Items(items) => Ok(items),
                Next::Later | Next::End => Ok(Vec::new()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
