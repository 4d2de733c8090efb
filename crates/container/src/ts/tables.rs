//! What is in the stream: program association and program map (ISO/IEC 13818-1 §2.4.4).

use media::{Span, Timestamp};

use super::Sink;
use super::packet::{Counters, Pid, write_section};
use crate::crc::crc32;

/// The longest interval between tables. Listeners start at joins, which have them, so these are for
/// recordings that are cut elsewhere: half a second is where ETSI TR 101 290 (§5.2.1, 1.3 and 1.5) calls
/// their lack an error. The tenth of a second that DVB recommends would cost every listener 30 kb/s: half of
/// a 64 kb/s radio stream.
pub(super) const TABLES_EVERY: Span = Span::from_millis(400);

const TABLE_PROGRAMS: u8 = 0;
const TABLE_MAP: u8 = 2;

/// There is one transport stream and one program in it.
const TRANSPORT_STREAM: u16 = 1;
const PROGRAM: u16 = 1;

/// Versions count in five bits.
const VERSION_MASK: u8 = 0x1F;

/// One line of the program map.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapEntry<'a> {
    pub(super) stream_type: u8,
    pub(super) pid: Pid,
    pub(super) descriptors: &'a [u8],
}

/// Both tables as sections, and when they are due.
#[derive(Debug)]
pub(super) struct Tables {
    programs: Vec<u8>,
    map: Vec<u8>,
    version: u8,
    clock_pid: Pid,
    /// When these were written last; `None` before the first time.
    written_at: Option<Timestamp>,
    /// They are due whenever they were written last.
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
    /// The streams have changed, or come from another publisher. The map's version rises, unless no reader
    /// has seen it. `descriptors` are the program's.
    pub(super) fn renew<'a>(
        &mut self,
        clock_pid: Option<Pid>,
        descriptors: &[u8],
        mut streams: impl Iterator<Item = MapEntry<'a>>,
    ) {
        if self.written_at.take().is_some() {
            self.version = (self.version + 1) & VERSION_MASK;
        }
        self.clock_pid = clock_pid.unwrap_or(Pid::NONE);
        self.map = self.map_of(descriptors, &mut streams);
    }

    /// The next unit is to begin with them.
    pub(super) fn want(&mut self) {
        self.are_wanted = true;
    }

    /// Whether they are to be written into a unit of the time `at`.
    pub(super) fn are_due(&self, at: Timestamp) -> bool {
        self.are_wanted
            || self
                .written_at
                .is_none_or(|written| at - written >= TABLES_EVERY)
    }

    /// The PID that carries the clock.
    pub(super) const fn clock_pid(&self) -> Pid {
        self.clock_pid
    }

    pub(super) fn write<S: Sink>(&mut self, at: Timestamp, counters: &mut Counters, sink: &mut S) {
        write_section(&self.programs, Pid::PAT, counters, sink);
        write_section(&self.map, Pid::PMT, counters, sink);
        self.written_at = Some(at);
        self.are_wanted = false;
    }

    /// §2.4.4.8: the clock's PID, the descriptors of the program, and the streams.
    fn map_of(
        &self,
        descriptors: &[u8],
        streams: &mut dyn Iterator<Item = MapEntry<'_>>,
    ) -> Vec<u8> {
        let mut body = thirteen_bits(self.clock_pid.0).to_vec();
        body.extend_from_slice(&twelve_bits(descriptors.len() as u16));
        body.extend_from_slice(descriptors);
        for stream in streams {
            body.push(stream.stream_type);
            body.extend_from_slice(&thirteen_bits(stream.pid.0));
            body.extend_from_slice(&twelve_bits(stream.descriptors.len() as u16));
            body.extend_from_slice(stream.descriptors);
        }
        section(TABLE_MAP, PROGRAM, self.version, &body)
    }
}

/// §2.4.4.3: the program and where its map is.
fn programs() -> Vec<u8> {
    let mut body = PROGRAM.to_be_bytes().to_vec();
    body.extend_from_slice(&thirteen_bits(Pid::PMT.0));
    section(TABLE_PROGRAMS, TRANSPORT_STREAM, 0, &body)
}

/// A section that is the only one of its table, and in force.
fn section(table: u8, id: u16, version: u8, body: &[u8]) -> Vec<u8> {
    // Behind the length field: five bytes of head and four of checksum.
    let length = 5 + body.len() + 4;
    let mut section = vec![table];
    let [high, low] = (length as u16).to_be_bytes();
    section.extend_from_slice(&[0xB0 | high & 0x0F, low]);
    section.extend_from_slice(&id.to_be_bytes());
    section.extend_from_slice(&[0xC1 | version << 1, 0, 0]);
    section.extend_from_slice(body);
    let checksum = crc32(&section);
    section.extend_from_slice(&checksum.to_be_bytes());
    section
}

/// A PID after three reserved bits.
const fn thirteen_bits(pid: u16) -> [u8; 2] {
    (0xE000 | pid).to_be_bytes()
}

/// A length after four reserved bits.
const fn twelve_bits(length: u16) -> [u8; 2] {
    (0xF000 | length).to_be_bytes()
}
