//! A recording as items, from any keyframe, also while it grows: for what is sent otherwise than as it was recorded.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use media::{Item, Track};
use recordings::{Container, Recording, State};

use super::Past;
use super::fragments::Fragments;
use super::frames::Frames;
use crate::film::{Flv, metadata};

/// See the module's description. It belongs to one player, and holds some seconds of media at most.
#[derive(Debug)]
pub(crate) struct RecordingReader {
    past: Past,
    /// As it was when it was opened.
    recording: Arc<Recording>,
    source: Source,
    length: Duration,
}

#[derive(Debug)]
enum Source {
    Fragments(Box<Fragments>),
    Flv(Box<Flv>),
    Frames(Box<Frames>),
}

/// What a reader has.
#[derive(Debug)]
pub(crate) enum Next {
    /// Some items.
    Items(Vec<Item>),
    /// Nothing before the recording has grown.
    Later,
    /// Nothing any more.
    End,
}

/// Whether recordings of a kind can be read so.
pub(super) const fn can_read(container: Container) -> bool {
    match container {
        Container::Mp4 | Container::M4a | Container::Flv | Container::Mp3 => true,
        Container::Ogg | Container::Ts | Container::WebM => false,
    }
}

impl RecordingReader {
    /// Opens a recording, at its beginning.
    ///
    /// # Errors
    /// `NotFound` when it is there no more, or is empty yet; `Unsupported` when its kind cannot be read.
    pub(super) async fn open(past: &Past, recording: Arc<Recording>) -> io::Result<Self> {
        let (recording, opened) = past.open(recording).await?;
        let (plays, file) = (recording.duration, (&opened.file, &past.reads));
        let (source, length) = match recording.container {
            Container::Mp4 | Container::M4a => {
                let fragments = Fragments::open(past, Arc::clone(&recording), opened.file);
                let (fragments, length) = fragments.await?;
                (Source::Fragments(Box::new(fragments)), length)
            }
            Container::Flv => {
                let (flv, _) = Flv::open(file, opened.length).await?;
                (Source::Flv(Box::new(flv)), plays)
            }
            Container::Mp3 => {
                let frames = Frames::open(file, opened.length, plays).await?;
                (Source::Frames(Box::new(frames)), plays)
            }
            Container::Ogg | Container::Ts | Container::WebM => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        };
        Ok(Self {
            past: past.clone(),
            recording,
            source,
            length,
        })
    }

    /// As it was when it was opened.
    pub(super) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// How long it played then.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Whether it has tracks that cannot be had so.
    pub(super) fn is_partial(&self) -> bool {
        match &self.source {
            Source::Fragments(fragments) => fragments.is_partial(),
            Source::Flv(_) | Source::Frames(_) => false,
        }
    }

    /// Metadata and tracks. What has no end yet has no length in it.
    pub(crate) fn opening(&self, length: Option<Duration>) -> Vec<Item> {
        let (tracks, dimensions): (Vec<Arc<Track>>, _) = match &self.source {
            Source::Fragments(it) => (it.tracks().cloned().collect(), it.dimensions()),
            Source::Flv(flv) => {
                let tracks = flv.opening().iter().filter_map(|item| match item {
                    Item::Track(track) => Some(Arc::clone(track)),
                    _ => None,
                });
                (tracks.collect(), None)
            }
            Source::Frames(frames) => (vec![Arc::clone(frames.track())], None),
        };
        let told = metadata::item(tracks.iter(), dimensions, length);
        let tracks = tracks.into_iter().map(Item::Track);
        std::iter::once(told).chain(tracks).collect()
    }

    /// Goes on from the last keyframe at or before a time.
    ///
    /// # Errors
    /// When the disk does not give it.
    pub(crate) async fn seek(&mut self, to: Duration) -> io::Result<()> {
        match &mut self.source {
            Source::Fragments(fragments) => {
                let recording = Arc::clone(&self.recording);
                fragments.seek((&self.past, recording), to).await
            }
            Source::Flv(flv) => {
                let millis = u32::try_from(to.as_millis()).unwrap_or(u32::MAX);
                flv.seek(millis).await
            }
            Source::Frames(frames) => {
                frames.seek(to);
                Ok(())
            }
        }
    }

    /// What follows.
    ///
    /// # Errors
    /// When the disk does not give it, or the file is damaged there. `NotFound` when the recording was removed.
    pub(crate) async fn next(&mut self) -> io::Result<Next> {
        let (stream, id) = (&self.recording.stream, self.recording.id);
        let (past, known) = (&self.past, || self.past.recording(stream, id));
        loop {
            let items = match &mut self.source {
                Source::Fragments(fragments) => return fragments.next(past, known).await,
                Source::Flv(flv) => flv.next().await?,
                Source::Frames(frames) => frames.next().await?,
            };
            if !items.is_empty() {
                return Ok(Next::Items(items));
            }
            let (recording, opened) = past.open(known()?).await?;
            let has_grown = match &mut self.source {
                Source::Fragments(_) => false,
                Source::Flv(flv) => flv.grow(opened.length),
                Source::Frames(frames) => frames.grow(opened.length),
            };
            match recording.state {
                _ if has_grown => {}
                State::Open => return Ok(Next::Later),
                State::Closed | State::Finalised => return Ok(Next::End),
            }
        }
    }
}
