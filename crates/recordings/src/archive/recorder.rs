//! One ongoing recording: the reader of a stream, and the file being written.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::{Container, Recording, State};
use bytes::Bytes;
use container::flv;
use fanout::{Archived, LaneUnit, Phase, Stream};
use media::StreamName;

use crate::archive::counts::GapReason;
use crate::archive::event::Event;
use crate::archive::file::{OpenFile, Pushed, Shape};
use crate::archive::jobs::Job;
use crate::archive::name::{FileName, part};
use crate::archive::reader::Reader;
use crate::archive::rope::Rope;
use crate::archive::shared::Shared;
use crate::archive::snapshot::Snapshots;

/// Time within which a returning publisher continues the same file, if its codecs are unchanged.
const REJOIN_AFTER: Duration = Duration::from_secs(10);

/// Pause before a recording retries a disk that has failed.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Most bytes written in one visit, so that other recordings get their turn.
const VISIT_BYTES_MAX: u64 = 16 << 20;

/// Most recordings of a stream that begin in one second.
const NUMBERS_MAX: u32 = 1_000;

/// Format of the bytes that are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    /// MP4 fragments.
    Mp4,
    /// Any other format, written unchanged or with small corrections.
    Raw(Container),
}

/// Recorder of one stream. It belongs to one thread; call [`visit`](Self::visit) until it returns `Ended`.
#[derive(Debug)]
pub(crate) struct Recorder {
    stream: Arc<Stream>,
    snapshots: Snapshots,
    reader: Reader,
    content: Content,
    rule: usize,
    /// Headers at the start of a file.
    preamble: Option<Bytes>,
    file: Option<OpenFile>,
    /// Whether the next join point starts a new file.
    splits: bool,
    /// Whether the last file ended because the headers changed, with no media since.
    has_new_headers: bool,
    /// Time of the next attempt after the disk has failed.
    retry: Option<Instant>,
    /// Whether the disk's failure was logged, and its recovery not yet.
    is_failing: bool,
    /// Time of the last media.
    last_media: Instant,
    /// Time of the last visit, in milliseconds since the archive began.
    visited: Arc<AtomicU64>,
}

/// Time of a recorder's next visit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// Immediately: there is more.
    Again,
    /// At its next turn.
    Turn,
    /// Never: the stream has ended.
    Ended,
}

impl Recorder {
    pub(crate) fn new(
        stream: Arc<Stream>,
        (reader, content): (Reader, Content),
        snapshots: Snapshots,
        rule: usize,
        visited: Arc<AtomicU64>,
        now: Instant,
    ) -> Self {
        Self {
            stream,
            snapshots,
            reader,
            content,
            rule,
            preamble: None,
            file: None,
            splits: false,
            has_new_headers: false,
            retry: None,
            is_failing: false,
            last_media: now,
            visited,
        }
    }

    pub(crate) fn stream(&self) -> &StreamName {
        self.stream.name()
    }

    /// Starts a new file at the next join point.
    pub(crate) fn split(&mut self) {
        self.splits = true;
    }

    /// Writes what is available.
    pub(crate) fn visit(&mut self, shared: &Shared, now: Instant) -> Next {
        if self.retry.is_some_and(|retry| now < retry) {
            // Meanwhile media waits, as long as there is memory for it.
            return Next::Turn;
        }
        let next = self.write(shared, now);
        self.visited.store(shared.millis(now), Ordering::Relaxed);
        if next == Next::Turn && self.is_abandoned(now) {
            self.close(shared);
        }
        let every = shared.settings.rules[self.rule].snapshot;
        if let (Some(every), Some(file)) = (every, &self.file) {
            let place = (&*file.path, file.duration);
            let disk = &*shared.disk;
            self.snapshots.visit(every, &self.stream, place, disk, now);
        }
        next
    }

    /// Closes the file. Media since the last visit is not in it.
    pub(crate) fn close(&mut self, shared: &Shared) {
        let Some(file) = self.file.take() else {
            return;
        };
        let closing = Box::new(file.close());
        if shared.jobs.send(Job::Close(closing)).is_err() {
            tracing::debug!("a recording is closed when the server starts again");
        }
    }

    fn is_abandoned(&self, now: Instant) -> bool {
        self.file.is_some()
            && now.saturating_duration_since(self.last_media) >= REJOIN_AFTER
            && self.stream.info().phase != Phase::Live
    }

    fn write(&mut self, shared: &Shared, now: Instant) -> Next {
        let mut written = 0;
        while written < VISIT_BYTES_MAX {
            let archived = match self.reader.at_hand() {
                Ok(Some(archived)) => archived,
                Ok(None) => {
                    self.close(shared);
                    return Next::Ended;
                }
                Err(_) => return Next::Turn,
            };
            match archived {
                Archived::Epoch(_) => match &mut self.file {
                    // The data before the first join point is the new headers.
                    Some(_) if self.content == Content::Raw(Container::WebM) => self.close(shared),
                    Some(file) => file.begin_epoch(),
                    None => {}
                },
                Archived::Preamble { bytes, .. } => self.begin_with(bytes, shared),
                Archived::Lost(lost) => {
                    let seconds = (lost.to - lost.from).seconds();
                    tracing::error!(stream = %self.stream(), seconds, "the disk is slower than the stream; its recording has a gap");
                    shared.gap(self.stream(), GapReason::Slow, Some(seconds));
                    self.close(shared);
                }
                Archived::Media { units, bytes } => {
                    self.last_media = now;
                    match self.media(&units, bytes, shared) {
                        Ok(bytes) => written += bytes,
                        Err(error) => {
                            self.fail(&error, shared, now);
                            return Next::Turn;
                        }
                    }
                }
            }
        }
        Next::Again
    }

    /// Sets the headers of the following media, and closes the file if they differ.
    fn begin_with(&mut self, preamble: Bytes, shared: &Shared) {
        let is_same = self
            .preamble
            .as_ref()
            .is_some_and(|before| match self.content {
                Content::Mp4 | Content::Raw(Container::Ts) => *before == preamble,
                Content::Raw(Container::Flv) => {
                    flv::recorded::Rebase::codecs(before)
                        == flv::recorded::Rebase::codecs(&preamble)
                }
                // One WebM stream cannot follow another in a file.
                Content::Raw(Container::WebM) => false,
                // The headers of a source's own container are also in its data.
                Content::Raw(_) => true,
            });
        if !is_same {
            self.close(shared);
        }
        self.preamble = Some(preamble);
    }

    /// Writes complete units, and returns the number of bytes.
    fn media(&mut self, units: &[LaneUnit], bytes: Vec<Bytes>, shared: &Shared) -> io::Result<u64> {
        let mut rope = Rope::new(bytes);
        let mut written = 0;
        for unit in units {
            let pieces = rope.take((unit.range.end - unit.range.start) as usize);
            let split = shared.settings.rules[self.rule].split;
            let is_due = |file: &OpenFile| self.splits || file.has_lasted(unit.at, split);
            if unit.is_join && self.file.as_ref().is_some_and(is_due) {
                written += self.flush(shared)?;
                self.close(shared);
            }
            if self.file.is_none() {
                if !unit.is_join {
                    if std::mem::take(&mut self.has_new_headers) {
                        shared.gap(self.stream(), GapReason::Headers, None);
                    }
                    continue;
                }
                self.open(unit, &pieces, shared)?;
            }
            let Some(file) = &mut self.file else {
                continue;
            };
            if file.push(unit, pieces) == Pushed::Headers {
                written += self.flush(shared)?;
                self.close(shared);
                self.has_new_headers = true;
            }
        }
        written += self.flush(shared)?;
        Ok(written)
    }

    /// Opens a file that begins with `unit`.
    fn open(&mut self, unit: &LaneUnit, first: &[Bytes], shared: &Shared) -> io::Result<()> {
        let preamble = self.preamble.clone().unwrap_or_default();
        let (shape, opening, container) = match self.content {
            Content::Raw(container) => {
                let (shape, opening) = match container {
                    Container::Mp3 => Shape::mp3(first),
                    Container::Ogg => Shape::ogg(&preamble),
                    Container::Flv => {
                        Shape::flv(&preamble, first).ok_or(io::ErrorKind::InvalidData)?
                    }
                    _ => (Shape::Raw, preamble),
                };
                (shape, opening, container)
            }
            Content::Mp4 => {
                let (shape, opening) = Shape::mp4(&preamble).ok_or(io::ErrorKind::InvalidData)?;
                let container = match shape.has_video() {
                    true => Container::Mp4,
                    false => Container::M4a,
                };
                (shape, opening, container)
            }
        };
        let started = SystemTime::now() - unit.arrived.elapsed();
        let mut name = FileName::new(self.stream().clone(), started, container);
        let root = &shared.settings.rules[self.rule].directory;
        let output = loop {
            match create(&name, root, shared) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    name.number += 1;
                    if name.number >= NUMBERS_MAX {
                        return Err(error);
                    }
                }
                created => break created?,
            }
        };
        let path = name.path(root);
        if !self.is_failing {
            tracing::info!(stream = %self.stream(), id = %name.id(), path = %path.display(), "a recording begins");
        }
        self.file = Some(OpenFile::new((name, path), output, shape, opening, unit.at));
        (self.splits, self.has_new_headers) = (false, false);
        Ok(())
    }

    /// Writes the pending data of the file.
    fn flush(&mut self, shared: &Shared) -> io::Result<u64> {
        let Some(file) = &mut self.file else {
            return Ok(0);
        };
        let bytes = file.flush()?;
        let (id, whole, duration) = (file.name.id(), file.bytes, file.duration);
        shared.counts.bytes.add(bytes);
        shared.shelf.update(id, |recording| {
            (recording.bytes, recording.duration) = (whole, duration);
        });
        // A full disk accepts names, but no data.
        if bytes > 0 && bytes == whole {
            shared.tell_of(id, Event::Started);
        }
        if bytes > 0 && std::mem::take(&mut self.is_failing) {
            let path = file.path.display();
            tracing::info!(stream = %self.stream.name(), %path, "the disk takes recordings again");
        }
        Ok(bytes)
    }

    /// Handles a disk error: closes the complete part, and continues in a new file later.
    fn fail(&mut self, error: &io::Error, shared: &Shared, now: Instant) {
        if !std::mem::replace(&mut self.is_failing, true) {
            shared.gap(self.stream(), GapReason::Disk, None);
            tracing::error!(stream = %self.stream(), %error, "the disk takes no recording; it is tried again every ten seconds");
            shared.failed(self.stream(), error);
        }
        self.close(shared);
        self.retry = Some(now + RETRY_AFTER);
    }
}

/// Creates a file, and adds it to the shelf.
fn create(
    name: &FileName,
    root: &std::path::Path,
    shared: &Shared,
) -> io::Result<Box<dyn crate::archive::disk::Output>> {
    let path = name.path(root);
    if shared.disk.exists(&path) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let id = name.id();
    // Before the file exists, so that it is not taken for one of an earlier run.
    let shelved = shared.shelf.insert(Recording {
        upload: shared.settings.upload(),
        ..name.recording(part(&path), State::Open)
    });
    match shelved {
        Ok(()) => {}
        Err(crate::NotShelved::Taken) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(full @ crate::NotShelved::Full) => {
            tracing::warn!(%full, path = %path.display(), "a recording is not listed");
        }
    }
    let output = shared.disk.create(&part(&path));
    if output.is_err() {
        shared.shelf.remove(id);
    }
    output
}
