//! Common part of H.264 and HEVC: single units, several units in a packet, and one unit in several packets.
//!
//! Units are returned with lengths of four bytes. Parameter sets are moved to the track's configuration, where decoders
//! of such samples look for them.

use std::fmt::Debug;
use std::marker::PhantomData;

use super::buffer::Buffer;
use super::parameter_sets::ParameterSets;
use super::{Assembly, Frame, Malformed};
use media::Span;
use media::codec::nal::take_prefixed;

const LENGTH_BYTES: usize = 4;

/// Bytes of the length before each unit of a shared packet.
pub(in crate::rtp) const SHARED_LENGTH_BYTES: usize = 2;

/// Flags of a fragment header, which both codecs share.
pub(in crate::rtp) const FRAGMENT_START: u8 = 0x80;
pub(in crate::rtp) const FRAGMENT_END: u8 = 0x40;

/// Content of a payload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Payload<'a> {
    /// One unit.
    Single,
    /// Several units, each after its length in two bytes.
    Shared(&'a [u8]),
    /// A piece of a unit.
    Fragment {
        /// First bytes of the unit itself.
        head: [u8; 2],
        flags: u8,
        piece: &'a [u8],
    },
}

/// Treatment of a unit by a depacketizer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// Part of the sample.
    Keep,
    /// Part of a frame at which decoders can start.
    KeepKey,
    /// A parameter set: its kind and its number.
    Set(u8, u32),
    /// Delimiters and filler.
    Drop,
}

/// Differences between the codecs.
pub(super) trait Syntax: Debug + Send {
    /// Bytes that begin each unit.
    const HEAD_BYTES: usize;

    fn payload(payload: &[u8]) -> Option<Payload<'_>>;
    fn class(unit: &[u8]) -> Class;
    /// Returns whether a unit with these first bytes may be the first of its sample. A slice may be if it begins the
    /// frame.
    fn begins_sample(head: [u8; 2], piece: &[u8]) -> bool;
    fn record(sets: &ParameterSets) -> Option<Vec<u8>>;
    fn dimensions(sets: &ParameterSets) -> Option<(u32, u32)>;
}

/// Units of the current sample.
#[derive(Debug, Default)]
pub(super) struct Units<S> {
    buffer: Buffer,
    /// Offset of the length of the fragmented unit.
    fragmented: Option<usize>,
    keyframe: bool,
    sets: ParameterSets,
    syntax: PhantomData<S>,
}

impl<S: Syntax> Units<S> {
    fn whole(&mut self, unit: &[u8]) -> Result<(), Malformed> {
        if unit.len() < S::HEAD_BYTES {
            return Err(Malformed);
        }
        let start = self.open()?;
        self.buffer.put(unit)?;
        self.close(start);
        Ok(())
    }

    /// Begins a unit with its length, which is filled in at the end.
    fn open(&mut self) -> Result<usize, Malformed> {
        let start = self.buffer.len();
        self.buffer.put(&[0; LENGTH_BYTES])?;
        Ok(start)
    }

    /// Completes the unit that begins at `start`: keeps it in the sample, or removes it.
    fn close(&mut self, start: usize) {
        let unit = self.buffer.since(start + LENGTH_BYTES);
        let length = unit.len() as u32;
        match S::class(unit) {
            Class::Keep => self.buffer.set(start, length.to_be_bytes()),
            Class::KeepKey => {
                self.keyframe = true;
                self.buffer.set(start, length.to_be_bytes());
            }
            Class::Set(kind, id) => {
                self.sets.put(kind, id, unit);
                self.buffer.truncate(start);
            }
            Class::Drop => self.buffer.truncate(start),
        }
    }

    fn fragment(&mut self, head: [u8; 2], flags: u8, piece: &[u8]) -> Result<(), Malformed> {
        let start = match (flags & FRAGMENT_START != 0, self.fragmented) {
            (true, None) => {
                let start = self.open()?;
                self.buffer.put(&head[..S::HEAD_BYTES])?;
                start
            }
            (false, Some(start)) => start,
            _ => return Err(Malformed),
        };
        self.buffer.put(piece)?;
        self.fragmented = Some(start);
        if flags & FRAGMENT_END != 0 {
            self.fragmented = None;
            self.close(start);
        }
        Ok(())
    }
}

impl<S: Syntax> Assembly for Units<S> {
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let parsed = S::payload(payload).ok_or(Malformed)?;
        let is_fragment = matches!(parsed, Payload::Fragment { .. });
        if self.fragmented.is_some() && !is_fragment {
            return Err(Malformed);
        }
        match parsed {
            Payload::Single => self.whole(payload),
            Payload::Shared(mut units) => {
                while !units.is_empty() {
                    self.whole(take_prefixed(&mut units, SHARED_LENGTH_BYTES).ok_or(Malformed)?)?;
                }
                Ok(())
            }
            Payload::Fragment { head, flags, piece } => self.fragment(head, flags, piece),
        }
    }

    fn begins_frame(&self, payload: &[u8]) -> bool {
        let begins = |unit: &[u8]| {
            let head = unit.first_chunk().copied();
            let body = unit.get(S::HEAD_BYTES..);
            head.zip(body)
                .is_some_and(|(head, body)| S::begins_sample(head, body))
        };
        match S::payload(payload) {
            Some(Payload::Single) => begins(payload),
            Some(Payload::Shared(mut units)) => {
                take_prefixed(&mut units, SHARED_LENGTH_BYTES).is_some_and(begins)
            }
            Some(Payload::Fragment { head, flags, piece }) => {
                flags & FRAGMENT_START != 0 && S::begins_sample(head, piece)
            }
            None => false,
        }
    }

    fn finish(&mut self) -> Result<Option<Frame>, Malformed> {
        let keyframe = std::mem::take(&mut self.keyframe);
        if self.fragmented.take().is_some() {
            self.buffer.clear();
            return Err(Malformed);
        }
        let Some(data) = self.buffer.take() else {
            return Ok(None);
        };
        // Sets take effect with a keyframe, and so does their record.
        let config = (keyframe && self.sets.take_changed()).then(|| S::record(&self.sets));
        Ok(Some(Frame {
            data,
            keyframe,
            duration: Span::ZERO,
            config: config.flatten().map(Into::into),
        }))
    }

    fn discard(&mut self) {
        self.buffer.clear();
        self.fragmented = None;
        self.keyframe = false;
    }

    fn dimensions(&self) -> Option<(u32, u32)> {
        S::dimensions(&self.sets)
    }

    fn learn(&mut self, unit: &[u8]) {
        if let Class::Set(kind, id) = S::class(unit) {
            self.sets.put(kind, id, unit);
        }
    }
}
