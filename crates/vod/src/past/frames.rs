//! Recordings of MP3 as samples, from any time. The position in the file is proportional to the time, which is exact
//! for a constant bit rate, and approximate for others.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use container::frames::{Demuxer, Syntax};
use media::{Item, Span, Track};

use crate::patches::Patches;
use crate::reads::{PIECE_BYTES, Reads, malformed};

/// Error for a file without frames.
#[derive(Debug, thiserror::Error)]
#[error("there are no frames of MP3")]
struct Frameless;

/// Reader of an MP3 file; call [`seek`](Self::seek), then [`next`](Self::next) until it returns nothing.
#[derive(Debug)]
pub(super) struct Frames {
    file: Arc<File>,
    reads: Arc<Reads>,
    length: u64,
    plays: Duration,
    track: Arc<Track>,
    demuxer: Demuxer,
    /// Read position in bytes, and the time of the first frame since the last seek.
    at: u64,
    from: Span,
}

impl Frames {
    /// Opens a file of which `length` bytes are complete, with the duration `plays`.
    pub(super) async fn open(
        (file, reads): (&Arc<File>, &Arc<Reads>),
        length: u64,
        plays: Duration,
    ) -> io::Result<Self> {
        let first = 0..length.min(PIECE_BYTES);
        let file_again = Arc::clone(file);
        let window = Arc::clone(reads).window(file_again, first.into(), Patches::default());
        let (read, _) = window.await?;
        let mut items = Vec::new();
        Demuxer::new(Syntax::MpegAudio).push(&read.bytes, &mut items);
        let track = items.into_iter().find_map(|item| match item {
            Item::Track(track) => Some(track),
            _ => None,
        });
        Ok(Self {
            file: Arc::clone(file),
            reads: Arc::clone(reads),
            length,
            plays,
            track: track.ok_or_else(|| malformed(Frameless))?,
            demuxer: Demuxer::new(Syntax::MpegAudio),
            at: 0,
            from: Span::ZERO,
        })
    }

    pub(super) fn track(&self) -> &Arc<Track> {
        &self.track
    }

    /// Updates the readable length; returns whether it grew.
    pub(super) fn grow(&mut self, length: u64) -> bool {
        let has_grown = length > self.length;
        self.length = self.length.max(length);
        has_grown
    }

    /// Continues from a time.
    pub(super) fn seek(&mut self, to: Duration) {
        let to = to.min(self.plays);
        let at = u128::from(self.length) * to.as_nanos() / self.plays.as_nanos().max(1);
        self.at = u64::try_from(at).unwrap_or(self.length);
        self.from = Span::from(to);
        self.demuxer = Demuxer::new(Syntax::MpegAudio);
    }

    /// Returns the next frames; none at the end of the complete part.
    pub(super) async fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        while items.is_empty() && self.at < self.length {
            let piece = self.at..self.length.min(self.at + PIECE_BYTES);
            self.at = piece.end;
            let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
            let window = reads.window(file, piece.into(), Patches::default());
            let (read, _) = window.await?;
            self.demuxer.push(&read.bytes, &mut items);
        }
        for item in &mut items {
            if let Item::Sample(sample) = item {
                sample.dts += self.from;
                sample.pts += self.from;
            }
        }
        Ok(items)
    }
}
