//! MPEG audio and ADTS streams: runs of frames that carry their own headers.
//!
//! A single sync word is no proof, since eleven set bits are frequent inside frames. The demuxer therefore *locks* only
//! where three headers follow each other at the distances they announce. Once locked, it trusts each frame to end where
//! the next begins, so that a frame is passed on as soon as its last byte arrives. Bytes between frames are dropped and
//! counted: ID3 and APE tags, garbage, and the Xing or Info frame of an encoder that thinks it writes a file.

pub(crate) mod head;
mod tag;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use media::{Container, Framing, Item, Sample, Span, Timestamp, Track, TrackId};

use self::head::Head;

/// Consecutive consistent headers required for a lock.
const LOCK_FRAMES: usize = 3;

/// Length of the longest frame of either syntax: the 13-bit length of ADTS.
const FRAME_BYTES_MAX: usize = 0x1FFF;

/// Input bytes taken in at once. This bounds the buffer, together with the look-ahead for locking.
const STEP_BYTES: usize = 16 * 1024;

/// Upper bound on the bytes held back: the frames of a lock, plus one step of input.
pub const BUFFERED_BYTES_MAX: usize = LOCK_FRAMES * FRAME_BYTES_MAX + STEP_BYTES;

/// Frame syntax of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Syntax {
    /// MPEG-1/2/2.5 audio, layers I to III.
    MpegAudio,
    /// AAC in ADTS.
    Adts,
}

/// Push demuxer for one run of frames. Every frame is one sample and a join point.
#[derive(Debug)]
pub struct Demuxer {
    syntax: Syntax,
    /// Bytes from the start of the next frame (or what may be one).
    buffer: BytesMut,
    /// Remaining bytes of a tag, to be dropped as they arrive.
    tag_bytes_left: usize,
    /// Header on which the lock was made.
    locked: Option<Head>,
    track: Option<Arc<Track>>,
    /// Time at which the current sample rate began, and samples counted since.
    rate_began: Timestamp,
    samples: u64,
    skipped_bytes: u64,
}

/// Classification of the bytes at the front of the buffer.
enum Front {
    /// Unknown until more bytes arrive.
    Unclear,
    /// A tag, or a frame that is not audio: this many bytes to drop.
    Foreign(usize),
    /// A frame of the stream.
    Frame(Head),
    /// Neither.
    Garbage,
}

impl Demuxer {
    /// Creates a demuxer that waits for the first lock.
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

    /// Returns the kind of byte stream that the samples form.
    pub const fn container(&self) -> Container {
        match self.syntax {
            Syntax::MpegAudio => Container::Mp3,
            Syntax::Adts => Container::Adts,
        }
    }

    /// Takes `bytes` and appends the frames that they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        for step in bytes.chunks(STEP_BYTES) {
            self.buffer.extend_from_slice(step);
            self.drain(out);
        }
    }

    /// Ends the input. A truncated frame is dropped.
    pub fn finish(&mut self, _out: &mut Vec<Item>) {
        self.skip(self.buffer.len());
        self.locked = None;
        self.tag_bytes_left = 0;
    }

    /// Returns the bytes so far that were not part of any frame.
    pub const fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
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

    /// Returns whether the headers of a lock follow each other from the front of the buffer; `None` while too little
    /// has arrived to decide.
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

    /// Counts the bytes, the first one included, before the next place where a frame or a tag may begin.
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

    /// Returns the time at which the next frame begins.
    fn now(&self) -> Timestamp {
        let rate = self.track.as_ref().map_or(0, |track| track.sample_rate);
        self.rate_began + Span::from_samples(self.samples, rate)
    }
}
