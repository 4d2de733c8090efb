//! Tables of the stream's contents: program association and program map (ISO/IEC 13818-1 §2.4.4).

use media::{Span, Timestamp};

use super::PacketSink;
use super::packet::{Counters, Pid, write_section};
use crate::crc::{self, crc32};

/// Longest interval between tables. Listeners start at joins, which have tables, so these are for recordings that are
/// cut elsewhere: ETSI TR 101 290 (§5.2.1, 1.3 and 1.5) calls their lack for half a second an error. The tenth of a
/// second that DVB recommends would cost every listener 30 kb/s: half of a 64 kb/s radio stream.
pub(super) const TABLES_EVERY: Span = Span::from_millis(400);

const TABLE_PROGRAMS: u8 = 0;
const TABLE_MAP: u8 = 2;

/// Numbers of the only transport stream and of the only program in it.
const TRANSPORT_STREAM: u16 = 1;
const PROGRAM: u16 = 1;

/// Mask of versions, which have five bits.
const VERSION_MASK: u8 = 0x1F;

/// Both tables as sections, and the time at which they are due.
#[derive(Debug)]
pub(super) struct Tables {
    programs: Vec<u8>,
    map: Vec<u8>,
    version: u8,
    clock_pid: Pid,
    /// Time at which these tables were written last; `None` before the first time.
    written_at: Option<Timestamp>,
    /// The tables are due regardless of `written_at`.
    are_wanted: bool,
}

impl Default for Tables {
    fn default() -> Self {
        let mut tables = Self {
            programs: programs(),
            map: Vec::new(),
            version: 0,
            clock_pid: Pid::NONE,
            written_at: None,
            are_wanted: false,
        };
        tables.map = tables.map_of(&[], &mut std::iter::empty());
        tables
    }
}

impl Tables {
    /// Renews the tables, since the streams have changed or come from another publisher. The map's version increases,
    /// unless no reader has received it. `descriptors` are the program's.
    pub(super) fn renew(
        &mut self,
        clock_pid: Option<Pid>,
        descriptors: &[u8],
        mut streams: impl Iterator<Item = Entry>,
    ) {
        if self.written_at.take().is_some() {
            self.version = (self.version + 1) & VERSION_MASK;
        }
        self.clock_pid = clock_pid.unwrap_or(Pid::NONE);
        self.map = self.map_of(descriptors, &mut streams);
    }

    /// Makes the next unit begin with the tables.
    pub(super) fn want(&mut self) {
        self.are_wanted = true;
    }

    /// Returns whether the tables must be written into a unit with time `at`.
    pub(super) fn are_due(&self, at: Timestamp) -> bool {
        self.are_wanted
            || self
                .written_at
                .is_none_or(|written| at - written >= TABLES_EVERY)
    }

    /// Returns the PID that carries the clock.
    pub(super) const fn clock_pid(&self) -> Pid {
        self.clock_pid
    }

    pub(super) fn write<S: PacketSink>(
        &mut self,
        at: Timestamp,
        counters: &mut Counters,
        sink: &mut S,
    ) {
        write_section(&self.programs, Pid::PAT, counters, sink);
        write_section(&self.map, Pid::PMT, counters, sink);
        self.written_at = Some(at);
        self.are_wanted = false;
    }

    /// Creates the program map (§2.4.4.8): the clock's PID, the descriptors of the program, and the streams.
    fn map_of(&self, descriptors: &[u8], streams: &mut dyn Iterator<Item = Entry>) -> Vec<u8> {
        let mut body = thirteen_bits(self.clock_pid.0).to_vec();
        body.extend_from_slice(&twelve_bits(descriptors.len() as u16));
        body.extend_from_slice(descriptors);
        for stream in streams {
            body.push(stream.stream_type);
            body.extend_from_slice(&thirteen_bits(stream.pid.0));
            body.extend_from_slice(&twelve_bits(stream.descriptors.len() as u16));
            body.extend_from_slice(&stream.descriptors);
        }
        section(TABLE_MAP, PROGRAM, self.version, &body)
    }
}

/// Creates the program association table (§2.4.4.3): the program and the PID of its map.
fn programs() -> Vec<u8> {
    let mut body = PROGRAM.to_be_bytes().to_vec();
    body.extend_from_slice(&thirteen_bits(Pid::PMT.0));
    section(TABLE_PROGRAMS, TRANSPORT_STREAM, 0, &body)
}

/// Creates a section that is the only one of its table, and in force.
fn section(table: u8, id: u16, version: u8, body: &[u8]) -> Vec<u8> {
    // Bytes after the length field: five bytes of head and four of checksum.
    let length = 5 + body.len() + 4;
    let mut section = vec![table];
    let [high, low] = (length as u16).to_be_bytes();
    section.extend_from_slice(&[0xB0 | high & 0x0F, low]);
    section.extend_from_slice(&id.to_be_bytes());
    section.extend_from_slice(&[0xC1 | version << 1, 0, 0]);
    section.extend_from_slice(body);
    crc::seal(&mut section);
    section
}

/// Encodes a PID after three reserved bits.
const fn thirteen_bits(pid: u16) -> [u8; 2] {
    (0xE000 | pid).to_be_bytes()
}

/// Encodes a length after four reserved bits.
const fn twelve_bits(length: u16) -> [u8; 2] {
    (0xF000 | length).to_be_bytes()
}

/// Upper bound on the bytes of a section of either table (§2.4.4.3).
pub(super) const SECTION_BYTES_MAX: usize = 1_024;

/// Bytes of a section before its table's content, and bytes of its checksum.
const SECTION_HEAD_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;

/// Entry of the program map.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) stream_type: u8,
    pub(super) pid: Pid,
    pub(super) descriptors: Vec<u8>,
}

impl Entry {
    /// Returns whether the stream is video.
    pub(super) const fn is_picture(&self) -> bool {
        matches!(self.stream_type, 0x1B | 0x24)
    }

    /// Returns whether the stream is not media: metadata, or splice information.
    pub(super) const fn is_events(&self) -> bool {
        matches!(self.stream_type, 0x15 | 0x86)
    }
}

/// Returns the PID of the first program's map, from a payload that begins with the association table.
pub(super) fn map_pid(payload: &[u8]) -> Option<Pid> {
    let body = content(payload, TABLE_PROGRAMS)?;
    let mut programs = body.chunks_exact(4).filter(|it| it[..2] != [0, 0]);
    let program = programs.next()?;
    Some(Pid(u16::from_be_bytes([program[2] & 0x1F, program[3]])))
}

/// Returns the entries of the map at the start of a payload; `None` if there is none, or it is cut.
pub(super) fn entries(payload: &[u8]) -> Option<Vec<Entry>> {
    let body = content(payload, TABLE_MAP)?;
    let of_program = twelve(body.get(2..4)?);
    let mut rest = body.get(4 + of_program..)?;
    let mut entries = Vec::new();
    while let [stream_type, high, low, long @ ..] = rest {
        let descriptors = long.get(2..2 + twelve(long.get(..2)?))?;
        rest = &long[2 + descriptors.len()..];
        entries.push(Entry {
            stream_type: *stream_type,
            pid: Pid(u16::from_be_bytes([high & 0x1F, *low])),
            descriptors: descriptors.to_vec(),
        });
    }
    Some(entries)
}

/// Returns the content of the section at the start of a payload, after its pointer.
fn content(payload: &[u8], table: u8) -> Option<&[u8]> {
    let (pointer, rest) = payload.split_first()?;
    let section = rest.get(usize::from(*pointer)..)?;
    let length = 3 + twelve(section.get(1..3)?);
    let section = section.get(..length).filter(|it| it[0] == table)?;
    if !(SECTION_HEAD_BYTES + CHECKSUM_BYTES..=SECTION_BYTES_MAX).contains(&length) {
        return None;
    }
    let (section, sum) = section.split_at(length - CHECKSUM_BYTES);
    (crc32(section).to_be_bytes() == *sum).then(|| &section[SECTION_HEAD_BYTES..])
}

fn twelve(bytes: &[u8]) -> usize {
    match bytes {
        [high, low, ..] => usize::from(u16::from_be_bytes([high & 0x0F, *low])),
        _ => 0,
    }
}
