//! A wire format whose every unit says what it is, and a reader that believes none of them.
//!
//! A unit has a header of [`HEADER`] bytes and a body of one repeated byte. The units of a log are
//! numbered from 0, so that a reader knows what must follow; what may stand between them (a response
//! head, a preamble, words of a conversation) has other kinds.

use std::fmt;
use std::io::IoSlice;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use fanout::{Entry, Packager, Preamble, Sink};
use media::{Item, Sample};

/// Bytes of a unit's header: kind, flags, lane, length, generation, zeros, number, time.
pub(crate) const HEADER: usize = 32;

/// A listener may start at this unit.
const JOIN: u8 = 1;

/// The next unit belongs to this one: nobody may go elsewhere in between.
const MORE: u8 = 2;

/// What a unit is.
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
    /// What a conversation has to say.
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
struct Unit {
    kind: Kind,
    flags: u8,
    lane: u16,
    len: u32,
    generation: u32,
    number: u64,
    at: i64,
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

    fn parse(bytes: &[u8; HEADER]) -> Result<Self, String> {
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

const fn fill(number: u64) -> u8 {
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

/// How a format looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Units that a sample becomes; all but the first are sealed to it.
    pub(crate) pieces: usize,
    /// Whether joiners get headers first.
    pub(crate) has_preamble: bool,
}

/// What was written to a lane.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Units so far.
    pub(crate) units: u64,
    /// Media time of the newest, in ticks.
    pub(crate) newest_at: i64,
    /// The newest unit that a listener may start at.
    pub(crate) newest_join: Option<u64>,
}

/// Writes units; see the module's description.
pub(crate) struct Stamper {
    style: Style,
    lane: u16,
    generation: u32,
    preamble: Arc<Preamble>,
    written: Arc<Mutex<Written>>,
    scratch: Vec<u8>,
}

impl Stamper {
    pub(crate) fn new(style: Style, lane: u16) -> (Self, Arc<Mutex<Written>>) {
        let written = Arc::<Mutex<Written>>::default();
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

    /// What came before cannot be decoded with what comes.
    fn turn_generation(&mut self, sink: &mut Sink<'_>) {
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
        let (units, at) = {
            let written = self.written.lock().unwrap();
            (written.units, written.newest_at)
        };
        if units > 0 {
            let time = media::Timestamp::from_ticks(at);
            self.put(Kind::Headers, 0, 48, time, Entry::None, sink);
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut Sink<'_>) {
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
        sink: &mut Sink<'_>,
    ) {
        let mut written = self.written.lock().unwrap();
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
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        match item {
            Item::Track(_) | Item::Epoch => self.turn_generation(sink),
            Item::Sample(sample) => self.sample(sample, sink),
            _ => {}
        }
    }
}

/// Reads what one listener receives and says what is wrong with it.
#[derive(Clone)]
pub(crate) struct Reader {
    lane: u16,
    expects_head: bool,
    expects_preamble: bool,
    /// The unit of the log that must come next, unless it was moved.
    pub(crate) next: Option<u64>,
    /// Time of the newest whole unit, in ticks.
    pub(crate) at: i64,
    pub(crate) skips: u32,
    pub(crate) words: u32,
    generation: u32,
    has_file: bool,
    preamble: Option<u32>,
    /// The next piece belongs to the last.
    is_owed: bool,
    header: [u8; HEADER],
    header_len: usize,
    body_left: usize,
    filler: u8,
}

impl Reader {
    pub(crate) fn new(lane: u16, style: Style, has_head: bool) -> Self {
        Self {
            lane,
            expects_head: has_head,
            expects_preamble: style.has_preamble,
            next: None,
            at: 0,
            skips: 0,
            words: 0,
            generation: 0,
            has_file: false,
            preamble: None,
            is_owed: false,
            header: [0; HEADER],
            header_len: 0,
            body_left: 0,
            filler: 0,
        }
    }

    /// Whether it stands between two units.
    pub(crate) fn is_between(&self) -> bool {
        self.header_len == 0 && self.body_left == 0
    }

    /// Whether what it had so far could be the end of a connection that was not cut.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_between() && self.preamble.is_none()
    }

    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let (body, rest) = bytes.split_at(self.body_left.min(bytes.len()));
                if body.iter().any(|byte| *byte != self.filler) {
                    return Err("a unit has another's body".to_owned());
                }
                self.body_left -= body.len();
                bytes = rest;
                continue;
            }
            let (part, rest) = bytes.split_at((HEADER - self.header_len).min(bytes.len()));
            self.header[self.header_len..][..part.len()].copy_from_slice(part);
            self.header_len += part.len();
            bytes = rest;
            if self.header_len == HEADER {
                self.header_len = 0;
                let unit = Unit::parse(&self.header)?;
                self.begin(&unit)
                    .map_err(|what| format!("{what}: {unit:?} to {self:?}"))?;
                self.body_left = unit.len as usize - HEADER;
                self.filler = fill(unit.number);
            }
        }
        Ok(())
    }

    fn begin(&mut self, unit: &Unit) -> Result<(), &'static str> {
        if std::mem::take(&mut self.expects_head) != (unit.kind == Kind::Head) {
            return Err("the head comes first, and once");
        }
        match unit.kind {
            Kind::Head => Ok(()),
            Kind::Words => {
                self.words += 1;
                Ok(())
            }
            _ if unit.lane != self.lane => Err("a unit of another lane"),
            Kind::File if self.has_file || self.next.is_some() || self.preamble.is_some() => {
                Err("a file header in mid-stream")
            }
            Kind::File => {
                self.has_file = true;
                Ok(())
            }
            Kind::Preamble if self.is_owed => Err("a unit's pieces are torn apart"),
            Kind::Preamble if self.next.is_none() != self.has_file => {
                Err("headers without the file header that belongs to them")
            }
            // One that was moved forward twice before it took a byte has two of them.
            Kind::Preamble => {
                self.preamble = Some(unit.generation);
                Ok(())
            }
            Kind::Media | Kind::Headers => self.follow(unit),
        }
    }

    /// A unit of the log.
    fn follow(&mut self, unit: &Unit) -> Result<(), &'static str> {
        self.has_file = false;
        let preamble = self.preamble.take();
        let is_next = self.next == Some(unit.number);
        if self.next.is_some_and(|next| unit.number < next) {
            return Err("a unit comes again");
        }
        if self.next.is_some() && unit.at < self.at {
            return Err("time steps back");
        }
        if is_next && preamble.is_none() {
            let is_same = unit.generation == self.generation || unit.kind == Kind::Headers;
            if !is_same {
                return Err("the headers have changed, and nothing said so");
            }
        } else {
            if unit.flags & JOIN == 0 {
                return Err("it goes on at no join point");
            }
            if self.is_owed {
                return Err("a unit's pieces are torn apart");
            }
            let had = preamble.unwrap_or(self.generation);
            let must_have = self.expects_preamble && self.next.is_none();
            if had != unit.generation || must_have && preamble.is_none() {
                return Err("the join point's headers are missing");
            }
            self.skips += u32::from(self.next.is_some());
        }
        self.generation = unit.generation;
        self.at = unit.at;
        self.is_owed = unit.flags & MORE != 0;
        self.next = Some(unit.number + 1);
        Ok(())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("lane", &self.lane)
            .field("next", &self.next)
            .field("at", &self.at)
            .field("generation", &self.generation)
            .field("preamble", &self.preamble)
            .field("is_owed", &self.is_owed)
            .finish_non_exhaustive()
    }
}

/// A run of whole units that many listeners are sent: read once, and believed for the others.
///
/// It holds as long as nothing is written to the log: within one step of a worker.
#[derive(Debug)]
pub(crate) struct Run {
    /// Where it lies: an address to compare.
    from: usize,
    len: usize,
    /// What a reader must expect to take it as it is.
    first: Unit,
    after: Reader,
}

impl Run {
    pub(crate) fn is_of(&self, slices: &[IoSlice<'_>], len: usize) -> bool {
        self.len == len && slices.first().is_some_and(|slice| slice.as_ptr().addr() == self.from)
    }

    /// Reads a message of whole units; `None` for any other.
    pub(crate) fn of(slices: &[IoSlice<'_>], len: usize) -> Option<Self> {
        let begin: &[u8; HEADER] = slices.first()?.first_chunk()?;
        let first = Unit::parse(begin).ok()?;
        if first.kind != Kind::Media {
            return None;
        }
        let style = Style {
            pieces: 1,
            has_preamble: false,
        };
        let mut after = Reader {
            next: Some(first.number),
            at: first.at,
            generation: first.generation,
            ..Reader::new(first.lane, style, false)
        };
        for slice in slices {
            after.read(slice).ok()?;
        }
        let from = slices.first()?.as_ptr().addr();
        after.is_whole().then_some(Self {
            from,
            len,
            first,
            after,
        })
    }

    /// Has a reader take it; false when it has to look for itself.
    pub(crate) fn give(&self, reader: &mut Reader) -> bool {
        let follows = reader.next == Some(self.first.number)
            && reader.is_whole()
            && reader.lane == self.first.lane
            && reader.generation == self.first.generation
            && reader.at <= self.first.at
            && !reader.expects_head;
        if follows {
            reader.next = self.after.next;
            reader.at = self.after.at;
            reader.generation = self.after.generation;
            reader.is_owed = self.after.is_owed;
        }
        follows
    }
}
