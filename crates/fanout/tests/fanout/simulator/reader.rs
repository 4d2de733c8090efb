//! Check of the bytes that a listener receives.
//!
//! Its byte stream must be whole units in the log's order, each once. It may continue elsewhere only at a join point,
//! forward, not between pieces that belong together, and with the headers that are in force there.

use std::fmt;
use std::io::IoSlice;

use super::wire::{HEADER, Kind, Style, Unit, fill};

/// Reads the bytes that one listener receives and reports faults in them.
#[derive(Clone, Default)]
pub(crate) struct Reader {
    lane: u16,
    expects_head: bool,
    expects_preamble: bool,
    /// Number of the unit of the log that must come next, unless the listener was moved.
    pub(crate) next: Option<u64>,
    /// Time of the newest whole unit, in ticks.
    pub(crate) at: i64,
    pub(crate) skips: u32,
    pub(crate) words: u32,
    generation: u32,
    has_file: bool,
    preamble: Option<u32>,
    /// Whether the next piece belongs to the last.
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
            ..Self::default()
        }
    }

    /// Whether it stands between two units.
    pub(crate) fn is_between(&self) -> bool {
        self.header_len == 0 && self.body_left == 0
    }

    /// Whether its bytes so far could be the end of a connection that was not cut.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_between() && self.preamble.is_none()
    }

    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let (body, rest) = bytes.split_at(self.body_left.min(bytes.len()));
                if !is_filled(body, self.filler) {
                    return Err("a unit has another's body".to_owned());
                }
                self.body_left -= body.len();
                bytes = rest;
                continue;
            }
            if self.header_len == 0
                && let Some((header, rest)) = bytes.split_first_chunk()
            {
                self.head(header)?;
                bytes = rest;
                continue;
            }
            let (part, rest) = bytes.split_at((HEADER - self.header_len).min(bytes.len()));
            self.header[self.header_len..][..part.len()].copy_from_slice(part);
            self.header_len += part.len();
            bytes = rest;
            if self.header_len == HEADER {
                self.header_len = 0;
                let header = self.header;
                self.head(&header)?;
            }
        }
        Ok(())
    }

    fn head(&mut self, header: &[u8; HEADER]) -> Result<(), String> {
        let unit = Unit::parse(header)?;
        self.begin(&unit)
            .map_err(|what| format!("{what}: {unit:?} to {self:?}"))?;
        self.body_left = unit.len as usize - HEADER;
        self.filler = fill(unit.number);
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
            // A listener that was moved forward twice before it took a byte has two of them.
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
            if !unit.is_join() {
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
        self.is_owed = unit.has_more();
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

/// Whether all bytes are the same one: the first, and each the same as the one before.
fn is_filled(bytes: &[u8], filler: u8) -> bool {
    match bytes {
        [] => true,
        [first, rest @ ..] => *first == filler && *rest == bytes[..rest.len()],
    }
}

/// A run of whole units that many listeners receive: read once, and trusted for the others.
///
/// It holds as long as nothing is written to the log: within one step of a worker.
#[derive(Debug)]
pub(crate) struct Run {
    /// Address of its first byte, for comparison only.
    from: usize,
    len: usize,
    /// First unit, which a reader must expect in order to take the run unread.
    first: Unit,
    after: Reader,
}

impl Run {
    pub(crate) fn is_of(&self, slices: &[IoSlice<'_>], len: usize) -> bool {
        self.len == len
            && slices
                .first()
                .is_some_and(|slice| slice.as_ptr().addr() == self.from)
    }

    /// Reads a message of whole units; `None` for any other.
    pub(crate) fn of(slices: &[IoSlice<'_>], len: usize) -> Option<Self> {
        let begin: &[u8; HEADER] = slices.first()?.first_chunk()?;
        let first = Unit::parse(begin).ok()?;
        if first.kind != Kind::Media {
            return None;
        }
        let mut after = Reader {
            next: Some(first.number),
            at: first.at,
            generation: first.generation,
            ..Reader::new(first.lane, Style::PLAIN, false)
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

    /// Passes the run to a reader; returns `false` when the reader has to check the bytes itself.
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
