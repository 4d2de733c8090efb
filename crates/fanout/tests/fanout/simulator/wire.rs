//! A wire format whose every unit describes itself, for a [`Reader`](super::reader::Reader) that trusts none of them.
//!
//! A unit has a header of [`HEADER`] bytes and a body of one repeated byte. The units of a log are numbered from 0, so
//! that a reader knows which must follow; other bytes between them (a response head, a preamble, words of a
//! conversation) have other kinds.

use std::sync::Arc;

use base::Lock;
use bytes::Bytes;
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::{Item, Sample};

/// Bytes of a unit's header: kind, flags, lane, length, generation, zeros, number, time.
pub(crate) const HEADER: usize = 32;

/// Flag of a unit that a listener may start at.
const JOIN: u8 = 1;

/// Flag of a unit to which the next belongs: no listener may continue elsewhere in between.
const MORE: u8 = 2;

/// Kind of a unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A unit of the log.
    Media = b'U',
    /// New codec headers in the log.
    Headers = b'I',
    /// A file header: the first thing that a new listener gets of a lane, and only then.
    File = b'F',
    /// Codec headers before a join point.
    Preamble = b'P',
    /// The response head.
    Head = b'H',
    /// Bytes of a conversation.
    Words = b'W',
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        let all = [
            Self::Media,
            Self::Headers,
            Self::File,
            Self::Preamble,
            Self::Head,
            Self::Words,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A unit's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) kind: Kind,
    flags: u8,
    pub(crate) lane: u16,
    pub(crate) len: u32,
    pub(crate) generation: u32,
    pub(crate) number: u64,
    pub(crate) at: i64,
}

impl Unit {
    fn write(&self, bytes: &mut Vec<u8>) {
        let len = (self.len as usize).max(HEADER);
        bytes.extend([self.kind as u8, self.flags]);
        bytes.extend(self.lane.to_le_bytes());
        bytes.extend((len as u32).to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.at.to_le_bytes());
        bytes.resize(bytes.len() + len - HEADER, fill(self.number));
    }

    pub(crate) fn is_join(&self) -> bool {
        self.flags & JOIN != 0
    }

    /// Whether the next unit belongs to this one.
    pub(crate) fn has_more(&self) -> bool {
        self.flags & MORE != 0
    }

    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Result<Self, String> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let unit = Self {
            kind: Kind::from_byte(bytes[0]).ok_or("no unit begins here")?,
            flags: bytes[1],
            lane: u16::from_le_bytes([bytes[2], bytes[3]]),
            len: word(4),
            generation: word(8),
            number: long(16),
            at: long(24) as i64,
        };
        match unit.len as usize >= HEADER && word(12) == 0 {
            true => Ok(unit),
            false => Err("a unit is shorter than its header".to_owned()),
        }
    }
}

/// Returns the byte that fills the body of a unit.
pub(crate) const fn fill(number: u64) -> u8 {
    number as u8 ^ 0x5A
}

/// A unit outside the log.
pub(crate) fn aside(kind: Kind, len: usize) -> Bytes {
    outside(kind, 0, 0, len)
}

fn outside(kind: Kind, lane: u16, generation: u32, len: usize) -> Bytes {
    let mut bytes = Vec::new();
    let unit = Unit {
        kind,
        flags: 0,
        lane,
        len: len as u32,
        generation,
        number: 0,
        at: 0,
    };
    unit.write(&mut bytes);
    bytes.into()
}

/// Style of a format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Units that a sample becomes; all but the first are sealed to it.
    pub(crate) pieces: usize,
    /// Whether joiners get headers first.
    pub(crate) has_preamble: bool,
}

impl Style {
    pub(crate) const PLAIN: Self = Self::new(1, false);

    pub(crate) const fn new(pieces: usize, has_preamble: bool) -> Self {
        Self {
            pieces,
            has_preamble,
        }
    }
}

/// Record of the units written to a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Units so far.
    pub(crate) units: u64,
    /// Media time of the newest, in ticks.
    pub(crate) newest_at: i64,
    /// The newest unit that a listener may start at.
    pub(crate) newest_join: Option<u64>,
}

/// Packager of these units.
pub(crate) struct Stamper {
    style: Style,
    lane: u16,
    generation: u32,
    preamble: Arc<Preamble>,
    written: Arc<Lock<Written>>,
    scratch: Vec<u8>,
}

impl Stamper {
    pub(crate) fn new(style: Style, lane: u16) -> (Self, Arc<Lock<Written>>) {
        let written = Arc::<Lock<Written>>::default();
        let stamper = Self {
            style,
            lane,
            generation: 0,
            preamble: Arc::default(),
            written: Arc::clone(&written),
            scratch: Vec::new(),
        };
        (stamper, written)
    }

    /// Begins a generation: media from before cannot be decoded with the headers from here on.
    fn turn_generation(&mut self, sink: &mut LaneSink<'_>) {
        if !self.style.has_preamble {
            return;
        }
        self.generation += 1;
        let file = outside(Kind::File, self.lane, self.generation, 40);
        let headers = outside(Kind::Preamble, self.lane, self.generation, 50);
        self.preamble = Arc::new(Preamble {
            bytes: [&file[..], &headers].concat().into(),
            resume_from: file.len(),
            generation: self.generation,
            lead: None,
        });
        let written = *self.written.lock();
        if written.units > 0 {
            let time = media::Timestamp::from_ticks(written.newest_at);
            self.put(Kind::Headers, 0, 48, time, Entry::None, sink);
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut LaneSink<'_>) {
        let pieces = self.style.pieces;
        let len = (sample.data.len() / pieces).max(HEADER);
        for piece in 0..pieces {
            let more = if piece + 1 < pieces { MORE } else { 0 };
            let (join, entry) = match (piece, sample.keyframe) {
                (0, true) => (JOIN, Entry::Join(Arc::clone(&self.preamble))),
                (0, false) => (0, Entry::None),
                _ => (0, Entry::Sealed),
            };
            self.put(Kind::Media, more | join, len, sample.dts, entry, sink);
        }
    }

    fn put(
        &mut self,
        kind: Kind,
        flags: u8,
        len: usize,
        at: media::Timestamp,
        entry: Entry,
        sink: &mut LaneSink<'_>,
    ) {
        let mut written = self.written.lock();
        let unit = Unit {
            kind,
            flags,
            lane: self.lane,
            len: len as u32,
            generation: self.generation,
            number: written.units,
            at: at.ticks(),
        };
        if flags & JOIN != 0 {
            written.newest_join = Some(written.units);
        }
        written.units += 1;
        written.newest_at = at.ticks();
        self.scratch.clear();
        unit.write(&mut self.scratch);
        sink.put(&self.scratch);
        sink.end_unit(at, entry);
    }
}

impl Packager for Stamper {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Track(_) | Item::Epoch => self.turn_generation(sink),
            Item::Sample(sample) => self.sample(sample, sink),
            _ => {}
        }
    }
}
