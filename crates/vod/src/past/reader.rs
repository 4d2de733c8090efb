//! Reader of a recording as items, from any keyframe, also while the recording grows: for every use other than sending
//! the file unchanged.
//!
//! For Ogg and WebM the items are the headers, pages and clusters of the file; they can be continued in a body of that
//! kind, and in no other.

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

/// Reader of one recording for one player; it holds some seconds of media at most. Call [`seek`](Self::seek), then
/// [`next`](Self::next).
#[derive(Debug)]
pub(crate) struct RecordingReader {
    past: Past,
    /// Recording as it was when it was opened.
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

/// Result of a read.
#[derive(Debug)]
pub(crate) enum Next {
    /// Items that follow.
    Items(Vec<Item>),
    /// No items until the recording has grown.
    Later,
    /// End of the recording.
    End,
}

/// Returns whether recordings in a container yield samples of codecs, from which other forms can be made.
pub(super) const fn is_bare(container: Container) -> bool {
    !matches!(container, Container::Ogg | Container::WebM)
}

impl RecordingReader {
    /// Opens a recording at its beginning.
    ///
    /// # Errors
    /// `NotFound` if it is no longer there, or is still empty.
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

    /// Returns the recording as it was when it was opened.
    pub(super) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// Returns its duration when it was opened.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Returns whether it has tracks that cannot be extracted.
    pub(super) fn is_partial(&self) -> bool {
        match &self.source {
            Source::Fragments(fragments) => fragments.is_partial(),
            Source::Demuxed(demuxed) => demuxed.is_partial(),
            Source::Flv(_) | Source::Frames(_) => false,
        }
    }

    /// Returns metadata and tracks at the current place; for pages and clusters, their header and tracks. `length` is
    /// `None` for a body that has no end yet.
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
        let reported = metadata::item(tracks.iter(), dimensions, length);
        let tracks = tracks.into_iter().map(Item::Track);
        std::iter::once(reported).chain(tracks).collect()
    }

    /// Continues from the last keyframe at or before a time.
    ///
    /// # Errors
    /// If the disk does not deliver it.
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

    /// Returns the next items.
    ///
    /// # Errors
    /// If the disk does not deliver them, or the file is damaged there. `NotFound` if the recording was removed.
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

    /// Returns the items left at the end.
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

/// Returns the tracks among some items.
pub(super) fn tracks_of(items: &[Item]) -> impl Iterator<Item = &Arc<Track>> {
    items.iter().filter_map(|item| match item {
        Item::Track(track) => Some(track),
        _ => None,
    })
}
