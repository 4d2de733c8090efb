//! A recording as items, from any keyframe, also while it grows: for what is not sent as the file that it is.
//!
//! Of Ogg and WebM the items are the headers, pages and clusters of the file: these can go on in a body of that kind, and in
//! no other.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use media::{Item, Track};
use recordings::{Container, Recording, State};

use super::Past;
use super::demuxed::{Demuxed, Syntax};
use super::fragments::Fragments;
use super::frames::Frames;
use crate::film::{Flv, metadata};
use crate::reads::Reads;

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
    Demuxed(Box<Demuxed>),
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

/// Whether the items of recordings in a container are samples of codecs, of which other forms can be made.
pub(super) const fn is_bare(container: Container) -> bool {
    !matches!(container, Container::Ogg | Container::WebM)
}

impl RecordingReader {
    /// Opens a recording, at its beginning.
    ///
    /// # Errors
    /// `NotFound` when it is there no more, or is empty yet.
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
            Container::Ogg => (
                Self::demuxed(file, opened.length, Syntax::Ogg).await?,
                plays,
            ),
            Container::Ts => (Self::demuxed(file, opened.length, Syntax::Ts).await?, plays),
            Container::WebM => (
                Self::demuxed(file, opened.length, Syntax::WebM).await?,
                plays,
            ),
        };
        Ok(Self {
            past: past.clone(),
            recording,
            source,
            length,
        })
    }

    async fn demuxed(
        file: (&Arc<File>, &Arc<Reads>),
        length: u64,
        syntax: Syntax,
    ) -> io::Result<Source> {
        let demuxed = Demuxed::open(file, length, syntax).await?;
        Ok(Source::Demuxed(Box::new(demuxed)))
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
            Source::Demuxed(demuxed) => demuxed.is_partial(),
            Source::Flv(_) | Source::Frames(_) => false,
        }
    }

    /// Metadata and tracks as they are where it goes on; of pages and clusters their header and tracks. What has no end yet
    /// has no length in it.
    pub(crate) fn opening(&self, length: Option<Duration>) -> Vec<Item> {
        let (items, dimensions): (Vec<Item>, _) = match &self.source {
            Source::Fragments(it) => {
                let tracks = it.tracks().cloned().map(Item::Track);
                (tracks.collect(), it.dimensions())
            }
            Source::Flv(flv) => (flv.opening().to_vec(), None),
            Source::Frames(frames) => (vec![Item::Track(Arc::clone(frames.track()))], None),
            Source::Demuxed(demuxed) if !demuxed.is_bare() => return demuxed.opening().to_vec(),
            Source::Demuxed(demuxed) => (demuxed.opening().to_vec(), None),
        };
        let tracks: Vec<Arc<Track>> = tracks_of(&items).cloned().collect();
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
            Source::Demuxed(demuxed) => demuxed.seek(to).await,
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
                Source::Demuxed(demuxed) => demuxed.next().await?,
            };
            if !items.is_empty() {
                return Ok(Next::Items(items));
            }
            let (recording, opened) = past.open(known()?).await?;
            let has_grown = match &mut self.source {
                Source::Fragments(_) => false,
                Source::Flv(flv) => flv.grow(opened.length),
                Source::Frames(frames) => frames.grow(opened.length),
                Source::Demuxed(demuxed) => demuxed.grow(opened.length),
            };
            match recording.state {
                _ if has_grown => {}
                State::Open => return Ok(Next::Later),
                State::Closed | State::Finalised => return Ok(self.end()),
            }
        }
    }

    /// What is left at the end.
    fn end(&mut self) -> Next {
        let rest = match &mut self.source {
            Source::Demuxed(demuxed) => demuxed.finish(),
            Source::Fragments(_) | Source::Flv(_) | Source::Frames(_) => Vec::new(),
        };
        match rest.is_empty() {
            true => Next::End,
            false => Next::Items(rest),
        }
    }
}

/// The tracks among some items.
pub(super) fn tracks_of(items: &[Item]) -> impl Iterator<Item = &Arc<Track>> {
    items.iter().filter_map(|item| match item {
        Item::Track(track) => Some(track),
        _ => None,
    })
}
