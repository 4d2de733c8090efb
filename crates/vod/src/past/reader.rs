//! Reader of a recording as items, from any keyframe, also while the recording grows: for every use other than sending
//! the file unchanged.
//!
//! For Ogg and WebM the items are the headers, pages and clusters of the file; they can be continued in a body of that
//! kind, and in no other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use container::mp4_file::Point;
use files::{Format, Reader, Syntax};
use media::{Item, Track};
use recordings::{Container, Recording, State};

use super::Past;
use crate::film::metadata;
use crate::media_file::MediaFile;

/// Fragments whose positions are looked up at once: a minute.
const PLAN_MAX: usize = 60;

/// Reader of one recording for one player; it holds some seconds of media at most. Call [`seek`](Self::seek), then
/// [`next`](Self::next).
#[derive(Debug)]
pub(crate) struct RecordingReader {
    past: Past,
    /// Recording as it was when it was opened.
    recording: Arc<Recording>,
    file: MediaFile,
    /// Number of the first fragment that is not planned; of MP4.
    next: usize,
    length: Duration,
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
        let (length, plays) = (opened.length, recording.duration);
        let (reader, length) = match recording.container {
            Container::Mp4 | Container::M4a => {
                let (_, timeline) = past.timeline(Arc::clone(&recording)).await?;
                let init = timeline.init().ok_or(io::ErrorKind::NotFound)?;
                let plays = timeline.points().last().map(Point::until);
                (Reader::fragments(init), plays.unwrap_or_default())
            }
            Container::Flv => (Reader::flv(length), plays),
            Container::Mp3 => {
                let format = Format::Frames(Syntax::MpegAudio, 0, plays);
                (Reader::stream(format, length), plays)
            }
            Container::Ogg => (Reader::stream(Format::Ogg, length), plays),
            Container::Ts => (Reader::stream(Format::Ts, length), plays),
            Container::WebM => (Reader::stream(Format::WebM, length), plays),
        };
        Ok(Self {
            file: MediaFile::open((&opened.file, &past.reads), reader).await?,
            past: past.clone(),
            recording,
            next: 0,
            length,
        })
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
        self.file.reader().is_partial()
    }

    /// Returns metadata and tracks at the current place; for pages and clusters, their header and tracks. `length` is
    /// `None` for a body that has no end yet.
    pub(crate) fn opening(&self, length: Option<Duration>) -> Vec<Item> {
        let reader = self.file.reader();
        match is_bare(self.recording.container) {
            true => metadata::opening(reader.opening(), reader.dimensions(), length),
            false => reader.opening().to_vec(),
        }
    }

    /// Continues from the last keyframe at or before a time.
    ///
    /// # Errors
    /// If the disk does not deliver it.
    pub(crate) async fn seek(&mut self, to: Duration) -> io::Result<()> {
        if self.recording.container.is_mp4() {
            let recording = Arc::clone(&self.recording);
            let (_, timeline) = self.past.timeline(recording).await?;
            self.next = timeline.at(to);
        }
        self.file.seek(to).await
    }

    /// Returns the next items.
    ///
    /// # Errors
    /// If the disk does not deliver them, or the file is damaged there. `NotFound` if the recording was removed.
    pub(crate) async fn next(&mut self) -> io::Result<Next> {
        loop {
            let items = self.file.next().await?;
            if !items.is_empty() {
                return Ok(Next::Items(items));
            }
            let (state, has_grown) = self.grow().await?;
            match state {
                _ if has_grown => {}
                State::Open => return Ok(Next::Later),
                State::Closed | State::Finalised => {
                    let rest = self.file.reader_mut().finish();
                    return Ok(match rest.is_empty() {
                        true => Next::End,
                        false => Next::Items(rest),
                    });
                }
            }
        }
    }

    /// Looks how far the recording has grown; returns its state, and whether there is more to read.
    async fn grow(&mut self) -> io::Result<(State, bool)> {
        let (past, recording) = (&self.past, &self.recording);
        let recording = past.recording(&recording.stream, recording.id)?;
        let reader = self.file.reader_mut();
        if !recording.container.is_mp4() {
            let (recording, opened) = past.open(recording).await?;
            return Ok((recording.state, reader.grow(opened.length)));
        }
        let (recording, timeline) = past.timeline(recording).await?;
        let rest = timeline.points().get(self.next..).unwrap_or_default();
        let planned = rest.iter().take(PLAN_MAX).map(Point::range);
        self.next += planned.len();
        reader.plan(planned);
        Ok((recording.state, !rest.is_empty()))
    }
}

/// Returns the tracks among some items.
pub(crate) fn tracks_of(items: &[Item]) -> impl Iterator<Item = &Arc<Track>> {
    items.iter().filter_map(|item| match item {
        Item::Track(track) => Some(track),
        _ => None,
    })
}
