//! MPEG audio and ADTS streams: runs of frames that carry their own headers.
//!
//! A single sync word is no proof, since eleven set bits are frequent inside frames. The demuxer therefore
//! *locks* only where three headers follow each other at the distances they announce, and once locked trusts
//! each frame to end where the next begins, so that a frame is passed on as soon as its last byte arrives.
//! Bytes between frames are dropped and counted: ID3 and APE tags, garbage, and the Xing or Info frame of an
//! encoder that thinks it writes a file.

pub(crate) mod head;
mod tag;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use media::{Container, Framing, Item, Sample, Span, Timestamp, Track, TrackId};

use self::head::Head;

/// Consistent headers in a row that make a lock.
const LOCK_FRAMES: usize = 3;

/// The longest frame of either syntax: the 13-bit length of ADTS.
const FRAME_BYTES_MAX: usize = 0x1FFF;

/// Input taken in at once. It bounds the buffer, together with the look-ahead of locking.
const STEP_BYTES: usize = 16 * 1024;

/// The most that is ever held back: enough for the frames of a lock, plus one step of input.
pub const BUFFERED_BYTES_MAX: usize = LOCK_FRAMES * FRAME_BYTES_MAX + STEP_BYTES;

/// Which of the two frame syntaxes a stream uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Syntax {
    /// MPEG-1/2/2.5 audio, layers I to III.
    MpegAudio,
    /// AAC in ADTS.
    Adts,
}

/// A push demuxer for one run of frames. Every frame is one sample, and a join point.
#[derive(Debug)]
pub struct Demuxer {
    syntax: Syntax,
    /// Bytes from the next frame (or what may be one) on.
    buffer: BytesMut,
    /// Bytes of a tag that have yet to arrive and be dropped.
    tag_bytes_left: usize,
    /// The header that the lock was made on.
    locked: Option<Head>,
    track: Option<Arc<Track>>,
    /// Where the present sample rate began, and samples counted since.
    rate_began: Timestamp,
    samples: u64,
    skipped_bytes: u64,
}

/// What stands at the front of the buffer.
enum Front {
    /// Not known until more arrives.
    Unclear,
    /// A tag, or a frame that is no music: this many bytes to drop.
    Foreign(usize),
    /// A frame of the stream.
    Frame(Head),
    /// Neither.
    Garbage,
}

impl Demuxer {
    /// A demuxer that waits for the first lock.
    pub fn new(syntax: Syntax) -> Self {
        Self {
            syntax,
            buffer: BytesMut::new(),
            tag_bytes_left: 0,
            locked: None,
            track: None,
            rate_began: Timestamp::ZERO,
            samples: 0,
            skipped_bytes: 0,
        }
    }

    /// The kind of byte stream that the samples form.
    pub const fn container(&self) -> Container {
        match self.syntax {
            Syntax::MpegAudio => Container::Mp3,
            Syntax::Adts => Container::Adts,
        }
    }

    /// Takes `bytes`, appending to `out` the frames that they complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        for step in bytes.chunks(STEP_BYTES) {
            self.buffer.extend_from_slice(step);
            self.drain(out);
        }
    }

    /// The source has ended. A frame that was cut short is dropped.
    pub fn finish(&mut self, _out: &mut Vec<Item>) {
        self.skip(self.buffer.len());
        self.locked = None;
        self.tag_bytes_left = 0;
    }

    /// Bytes that were not part of any frame, so far.
    pub const fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Bytes held back; at most [`BUFFERED_BYTES_MAX`].
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn drain(&mut self, out: &mut Vec<Item>) {
        loop {
            let tag = self.tag_bytes_left.min(self.buffer.len());
            self.tag_bytes_left -= tag;
            self.skip(tag);
            match self.front() {
                Front::Unclear => return,
                Front::Foreign(bytes) => self.tag_bytes_left = bytes,
                Front::Frame(head) => {
                    self.locked = Some(head);
                    let frame = self.buffer.split_to(head.frame_bytes()).freeze();
                    self.emit(head, frame, out);
                }
                Front::Garbage => {
                    self.locked = None;
                    self.skip(1 + self.garbage_bytes());
                }
            }
        }
    }

    fn front(&self) -> Front {
        let bytes = &self.buffer[..];
        match tag::at_front(bytes) {
            tag::Found::Tag(bytes) => return Front::Foreign(bytes),
            tag::Found::Perhaps => return Front::Unclear,
            tag::Found::None => {}
        }
        if bytes.len() < Head::bytes(self.syntax) {
            return Front::Unclear;
        }
        let Some(head) = Head::parse(self.syntax, bytes) else {
            return Front::Garbage;
        };
        let is_expected = self
            .locked
            .is_some_and(|locked| head.is_consistent_with(&locked));
        if !is_expected {
            match self.chain(head) {
                None => return Front::Unclear,
                Some(false) => return Front::Garbage,
                Some(true) => {}
            }
        }
        match bytes.get(..head.frame_bytes()) {
            None => Front::Unclear,
            Some(frame) if head.is_info_frame(frame) => Front::Foreign(frame.len()),
            Some(_) => Front::Frame(head),
        }
    }

    /// Whether the headers of a lock follow each other from the front on; `None` while too little
    /// has arrived to tell.
    fn chain(&self, first: Head) -> Option<bool> {
        let mut at = first.frame_bytes();
        for _ in 1..LOCK_FRAMES {
            let bytes = self
                .buffer
                .get(at..)
                .filter(|bytes| bytes.len() >= Head::bytes(self.syntax))?;
            match Head::parse(self.syntax, bytes) {
                Some(head) if head.is_consistent_with(&first) => at += head.frame_bytes(),
                _ => return Some(false),
            }
        }
        Some(true)
    }

    /// How many bytes after the first neither begin a frame nor a tag.
    fn garbage_bytes(&self) -> usize {
        let rest = &self.buffer[1..];
        rest.iter()
            .position(|byte| *byte == 0xFF || tag::may_begin(*byte))
            .unwrap_or(rest.len())
    }

    fn skip(&mut self, bytes: usize) {
        self.buffer.advance(bytes);
        self.skipped_bytes += bytes as u64;
    }

    fn emit(&mut self, head: Head, frame: Bytes, out: &mut Vec<Item>) {
        let rate = head.sample_rate();
        let track = match &self.track {
            Some(track) if head.describes(track) => Arc::clone(track),
            known => {
                if known
                    .as_ref()
                    .is_some_and(|track| track.sample_rate != rate)
                {
                    self.rate_began = self.now();
                    self.samples = 0;
                }
                let track = Arc::new(head.track(TrackId::AUDIO, Framing::SelfFramed));
                out.push(Item::Track(Arc::clone(&track)));
                self.track = Some(Arc::clone(&track));
                track
            }
        };
        let began = self.now();
        self.samples += u64::from(head.samples());
        let duration = self.now() - began;
        out.push(Item::Sample(Sample::frame(
            track.id, began, duration, frame,
        )));
    }

    /// The time that the samples so far have taken.
    fn now(&self) -> Timestamp {
        let rate = self.track.as_ref().map_or(0, |track| track.sample_rate);
        self.rate_began + Span::from_samples(self.samples, rate)
    }
}
