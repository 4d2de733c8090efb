//! Recordings of Ogg, WebM or MPEG-TS as items, from any place where a listener may begin. Pages and clusters are
//! passed on unchanged; MPEG-TS is demuxed into samples.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::{Place, Search, ogg, ts, webm};
use media::{Item, Span};

use super::reader::tracks_of;
use crate::patches::Patches;
use crate::reads::{PIECE_BYTES, Reads};

/// Most bytes read until every track is known: headers of Ogg and WebM are at most half as long, and a track in MPEG-TS
/// is described by its first audio frame or keyframe.
const OPENING_BYTES_MAX: u64 = 2 << 20;

/// Probes of a search in one turn: two MiB.
const LOOKS_MAX: usize = 16;

/// Reader of one file; call [`seek`](Self::seek), then [`next`](Self::next) until it returns nothing, then
/// [`finish`](Self::finish).
#[derive(Debug)]
pub(super) struct Demuxed {
    file: Arc<File>,
    reads: Arc<Reads>,
    length: u64,
    syntax: Syntax,
    demuxer: Demuxer,
    /// Headers and tracks at the place where reading began.
    opening: Vec<Item>,
    /// Items read while the opening was collected.
    ready: Vec<Item>,
    /// Read position in bytes, and the playback time at which reading began.
    at: u64,
    from: Span,
}

/// Syntax of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    Ogg,
    Ts,
    WebM,
}

#[derive(Debug)]
enum Demuxer {
    Ogg(Box<ogg::Demuxer>),
    Ts(Box<ts::Demuxer>),
    WebM(Box<webm::Demuxer>),
}

impl Demuxed {
    /// Opens a file, of which `length` bytes are complete, at its beginning.
    ///
    /// # Errors
    /// `NotFound` if it contains no media, or not yet; other kinds if it cannot be read.
    pub(super) async fn open(
        (file, reads): (&Arc<File>, &Arc<Reads>),
        length: u64,
        syntax: Syntax,
    ) -> io::Result<Self> {
        let mut new = Self {
            file: Arc::clone(file),
            reads: Arc::clone(reads),
            length,
            syntax,
            demuxer: syntax.demuxer(),
            opening: Vec::new(),
            ready: Vec::new(),
            at: 0,
            from: Span::ZERO,
        };
        new.begin(Place::default()).await?;
        Ok(new)
    }

    /// Returns its header, if it has one, and its tracks.
    pub(super) fn opening(&self) -> &[Item] {
        &self.opening
    }

    /// Returns whether its items are samples of a codec, rather than pieces of the file.
    pub(super) fn is_bare(&self) -> bool {
        self.syntax == Syntax::Ts
    }

    /// Returns whether it has tracks that cannot be extracted.
    pub(super) fn is_partial(&self) -> bool {
        match &self.demuxer {
            Demuxer::Ogg(_) | Demuxer::WebM(_) => false,
            Demuxer::Ts(demuxer) => demuxer.leaves_out(),
        }
    }

    /// Updates the readable length; returns whether it grew.
    pub(super) fn grow(&mut self, length: u64) -> bool {
        let has_grown = length > self.length;
        self.length = self.length.max(length);
        has_grown
    }

    /// Continues from the last place at or before a time where a listener may begin.
    pub(super) async fn seek(&mut self, to: Duration) -> io::Result<()> {
        let mut search = self.syntax.search(Span::from(to), self.length);
        while search.wants().is_some() {
            let file = Arc::clone(&self.file);
            let look = move || {
                look(&file, &mut *search)?;
                Ok(search)
            };
            search = self.reads.blocking(look).await?;
        }
        let place = search.place();
        self.begin(place.ok_or(io::ErrorKind::NotFound)?).await
    }

    /// Continues from a place.
    async fn begin(&mut self, place: Place) -> io::Result<()> {
        self.demuxer = self.syntax.demuxer();
        (self.at, self.from) = (place.at, place.began);
        let mut items = Vec::new();
        self.demuxer.push(&place.header, &mut items);
        let end = self.at.saturating_add(OPENING_BYTES_MAX);
        while self.at < end && !self.demuxer.has_begun(&items) && self.read(&mut items).await? {}
        (self.opening, self.ready) = parted(items);
        match self.opening.is_empty() {
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(()),
        }
    }

    /// Returns the next items; none at the end of the complete part.
    pub(super) async fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = std::mem::take(&mut self.ready);
        while items.is_empty() && self.read(&mut items).await? {}
        Ok(self.timed(items))
    }

    /// Returns the items left at the end of the recording.
    pub(super) fn finish(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        self.demuxer.finish(&mut items);
        self.timed(items)
    }

    /// Reads a piece; returns false if there is none.
    async fn read(&mut self, items: &mut Vec<Item>) -> io::Result<bool> {
        let piece = self.at..self.length.min(self.at.saturating_add(PIECE_BYTES));
        if piece.is_empty() {
            return Ok(false);
        }
        let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
        let window = reads.window(file, piece.into(), Patches::default());
        let (read, _) = window.await?;
        self.at += read.bytes.len() as u64;
        self.demuxer.push(&read.bytes, items);
        Ok(true)
    }

    /// Shifts the items to the time at which reading began, because demuxers count from there.
    fn timed(&self, mut items: Vec<Item>) -> Vec<Item> {
        for item in &mut items {
            if let Item::Sample(sample) = item {
                sample.dts += self.from;
                sample.pts += self.from;
            }
        }
        items
    }
}

/// Splits items into those that open the stream, and the rest. A repeated header or track describes only the items
/// after it, so it belongs to the rest.
fn parted(items: Vec<Item>) -> (Vec<Item>, Vec<Item>) {
    let (mut opening, mut rest) = (Vec::new(), Vec::new());
    for item in items {
        let opens = match &item {
            Item::Header(_) => !opening.iter().any(|it| matches!(it, Item::Header(_))),
            Item::Track(track) => !tracks_of(&opening).any(|it| it.id == track.id),
            _ => false,
        };
        if opens {
            opening.push(item);
        } else {
            rest.push(item);
        }
    }
    (opening, rest)
}

/// Runs some probes of a search. Blocks.
fn look(file: &File, search: &mut dyn Search) -> io::Result<()> {
    for _ in 0..LOOKS_MAX {
        let Some(wants) = search.wants() else { break };
        let mut bytes = vec![0; (wants.end - wants.start) as usize];
        file.read_exact_at(&mut bytes, wants.start)?;
        search.take(&Bytes::from(bytes));
    }
    Ok(())
}

impl Syntax {
    fn demuxer(self) -> Demuxer {
        match self {
            Self::Ogg => Demuxer::Ogg(Box::default()),
            Self::Ts => Demuxer::Ts(Box::default()),
            Self::WebM => Demuxer::WebM(Box::default()),
        }
    }

    fn search(self, to: Span, length: u64) -> Box<dyn Search> {
        match self {
            Self::Ogg => Box::new(ogg::file::search(to, length)),
            Self::Ts => Box::new(ts::file::search(to, length)),
            Self::WebM => Box::new(webm::file::search(to, length)),
        }
    }
}

impl Demuxer {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        match self {
            Self::Ogg(demuxer) => demuxer.push(bytes, out),
            Self::Ts(demuxer) => demuxer.push(bytes, out),
            Self::WebM(demuxer) => demuxer.push(bytes, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<Item>) {
        match self {
            Self::Ogg(demuxer) => demuxer.finish(out),
            Self::Ts(demuxer) => demuxer.finish(out),
            Self::WebM(demuxer) => demuxer.finish(out),
        }
    }

    /// Returns whether these items describe every track.
    fn has_begun(&self, items: &[Item]) -> bool {
        match self {
            Self::Ogg(_) | Self::WebM(_) => {
                items.iter().any(|item| matches!(item, Item::Header(_)))
            }
            Self::Ts(demuxer) => demuxer.is_complete(),
        }
    }
}
