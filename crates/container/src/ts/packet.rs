//! Packets: a header, an optional adaptation field, and payload (ISO/IEC 13818-1 §2.4.3).
//!
//! ```text
//! 47 │ start:1 pid:13 │ what follows:2 counter:4 │ [ length:8 flags:8 [clock:48] FF … ] │ payload
//! └─────────── HEADER_BYTES ─────────────────────┴──────────── BODY_BYTES ─────────────────────┘
//! ```
//!
//! A payload that does not fill its last packet is preceded there by an adaptation field of the missing length; a PES
//! packet may have no other stuffing.

use super::PacketSink;
use super::clock::Reference;

/// Bytes of every packet.
pub const PACKET_BYTES: usize = 188;

const HEADER_BYTES: usize = 4;

/// Bytes of a packet after its header.
const BODY_BYTES: usize = PACKET_BYTES - HEADER_BYTES;

/// Packet without information (§2.4.1, Table 2-3), for a time without samples.
pub const NULL_PACKET: [u8; PACKET_BYTES] = {
    let mut packet = [0xFF; PACKET_BYTES];
    [packet[0], packet[1], packet[3]] = [SYNC, 0x1F, HAS_PAYLOAD];
    packet
};

pub(super) const SYNC: u8 = 0x47;
const UNIT_START: u8 = 0x40;
const HAS_FIELD: u8 = 0x20;
const HAS_PAYLOAD: u8 = 0x10;

const DISCONTINUITY: u8 = 0x80;
const RANDOM_ACCESS: u8 = 0x40;
const HAS_REFERENCE: u8 = 0x10;

/// Identifier of a packet's stream or table, below [`Pid::END`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pid(pub(super) u16);

impl Pid {
    /// Program association table.
    pub(super) const PAT: Self = Self(0);
    /// Program map table; the lowest number that neither DVB nor ATSC has taken.
    pub(super) const PMT: Self = Self(0x20);
    /// Marks the absence of a clock (§2.4.4.9).
    pub(super) const NONE: Self = Self(0x1FFF);
    /// Bound above all PIDs that are used.
    pub(super) const END: u16 = 0x900;
}

/// Parsed packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) pid: Pid,
    /// A section or a PES packet begins in the packet.
    pub(super) starts: bool,
    /// A decoder may start here.
    pub(super) random_access: bool,
    pub(super) payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses a packet; `None` if it is invalid or damaged.
    pub(super) fn of(packet: &'a [u8]) -> Option<Self> {
        let [SYNC, high, low, follows, body @ ..] = packet else {
            return None;
        };
        // An error, or scrambled.
        if packet.len() != PACKET_BYTES || high & 0x80 != 0 || follows & 0xC0 != 0 {
            return None;
        }
        let mut view = Self {
            pid: Pid(u16::from_be_bytes([high & 0x1F, *low])),
            starts: high & UNIT_START != 0,
            random_access: false,
            payload: body,
        };
        if follows & HAS_FIELD != 0 {
            let (length, rest) = body.split_first()?;
            let (field, payload) = rest.split_at_checked((*length).into())?;
            view.random_access = field
                .first()
                .is_some_and(|flags| flags & RANDOM_ACCESS != 0);
            view.payload = payload;
        }
        if follows & HAS_PAYLOAD == 0 {
            view.payload = &[];
        }
        Some(view)
    }
}

/// Last continuity counter of every PID (§2.4.3.3). The counters run for as long as the log does.
#[derive(Debug)]
pub(super) struct Counters(Vec<u8>);

impl Default for Counters {
    fn default() -> Self {
        Self(vec![0x0F; usize::from(Pid::END)])
    }
}

impl Counters {
    /// Returns the counter of a packet without payload.
    fn last(&self, pid: Pid) -> u8 {
        self.0.get(usize::from(pid.0)).copied().unwrap_or(0)
    }

    /// Returns the counter of the next packet with payload.
    fn next(&mut self, pid: Pid) -> u8 {
        let Some(counter) = self.0.get_mut(usize::from(pid.0)) else {
            return 0;
        };
        *counter = (*counter + 1) & 0x0F;
        *counter
    }
}

/// Adaptation field of a payload's first packet (§2.4.3.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field {
    /// A decoder may start here.
    pub(super) random_access: bool,
    /// Program clock reference.
    pub(super) reference: Option<Reference>,
}

impl Field {
    /// Returns the minimum length of the field, its length byte included.
    const fn bytes(&self) -> usize {
        match (self.reference, self.random_access) {
            (Some(_), _) => 2 + Reference::BYTES,
            (None, true) => 2,
            (None, false) => 0,
        }
    }

    /// Fills `area`, which has [`bytes`](Self::bytes) or more.
    fn write(&self, area: &mut [u8]) {
        area.fill(0xFF);
        let length = area.len().saturating_sub(1);
        if let Some(first) = area.first_mut() {
            *first = length as u8;
        }
        let Some(flags) = area.get_mut(1) else { return };
        *flags = if self.random_access { RANDOM_ACCESS } else { 0 };
        if let Some(reference) = &self.reference {
            *flags |= HAS_REFERENCE;
            if reference.is_discontinuity {
                *flags |= DISCONTINUITY;
            }
            area[2..2 + Reference::BYTES].copy_from_slice(&reference.to_bytes());
        }
    }
}

/// Payload being written into packets, each of which is passed on as soon as it is full.
#[derive(Debug)]
pub(super) struct Payload<'a, S> {
    sink: &'a mut S,
    counters: &'a mut Counters,
    pid: Pid,
    /// Adaptation field of the first packet; `None` once that packet is begun.
    first: Option<Field>,
    /// Bytes that have yet to be written.
    left: usize,
    packet: [u8; PACKET_BYTES],
    /// Offset in `packet` of the next byte; its end when no packet is begun.
    at: usize,
}

impl<'a, S: PacketSink> Payload<'a, S> {
    /// Creates a payload of exactly `bytes` bytes.
    pub(super) fn new(
        sink: &'a mut S,
        counters: &'a mut Counters,
        pid: Pid,
        field: Field,
        bytes: usize,
    ) -> Self {
        Self {
            sink,
            counters,
            pid,
            first: Some(field),
            left: bytes,
            packet: [0; PACKET_BYTES],
            at: PACKET_BYTES,
        }
    }

    /// Appends the next of the announced bytes; further bytes are ignored.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let mut rest = &bytes[..bytes.len().min(self.left)];
        while !rest.is_empty() {
            if self.at == PACKET_BYTES {
                self.begin_packet();
            }
            let (now, later) = rest.split_at(rest.len().min(PACKET_BYTES - self.at));
            self.packet[self.at..self.at + now.len()].copy_from_slice(now);
            self.at += now.len();
            self.left -= now.len();
            rest = later;
            if self.at == PACKET_BYTES {
                self.sink.packet(&self.packet);
            }
        }
    }

    /// Fills up with `FF`, as sections are.
    pub(super) fn pad(&mut self) {
        while self.left > 0 {
            self.put(&[0xFF; BODY_BYTES]);
        }
    }

    /// Returns whether all announced bytes have been written.
    pub(super) const fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Writes a header, and a field long enough that the remaining payload fills the packet.
    fn begin_packet(&mut self) {
        let first = self.first.take();
        let start = if first.is_some() { UNIT_START } else { 0 };
        let counter = self.counters.next(self.pid);
        let head = Head {
            pid: self.pid,
            start,
            counter,
        };
        self.at = head.write(&first.unwrap_or_default(), self.left, &mut self.packet);
    }
}

/// Writes a section (§2.4.4) in packets of its own.
pub(super) fn write_section<S: PacketSink>(
    section: &[u8],
    pid: Pid,
    counters: &mut Counters,
    sink: &mut S,
) {
    let bytes = (1 + section.len()).next_multiple_of(BODY_BYTES);
    let mut payload = Payload::new(sink, counters, pid, Field::default(), bytes);
    // The section begins right here.
    payload.put(&[0]);
    payload.put(section);
    payload.pad();
}

/// Writes a packet without payload.
pub(super) fn write_field<S: PacketSink>(
    field: &Field,
    pid: Pid,
    counters: &Counters,
    sink: &mut S,
) {
    let mut packet = [0; PACKET_BYTES];
    let head = Head {
        pid,
        start: 0,
        counter: counters.last(pid),
    };
    head.write(field, 0, &mut packet);
    sink.packet(&packet);
}

/// Header of a packet, before the adaptation field.
struct Head {
    pid: Pid,
    start: u8,
    counter: u8,
}

impl Head {
    /// Writes the header and the field of a packet that takes as much as fits of `left` bytes of payload. Returns the
    /// offset of the payload.
    fn write(&self, field: &Field, left: usize, packet: &mut [u8; PACKET_BYTES]) -> usize {
        let payload_bytes = left.min(BODY_BYTES - field.bytes());
        let field_bytes = BODY_BYTES - payload_bytes;
        let has_field = if field_bytes > 0 { HAS_FIELD } else { 0 };
        let has_payload = if payload_bytes > 0 { HAS_PAYLOAD } else { 0 };
        let [high, low] = self.pid.0.to_be_bytes();
        let follows = has_field | has_payload;
        packet[..HEADER_BYTES].copy_from_slice(&[
            SYNC,
            self.start | high,
            low,
            follows | self.counter,
        ]);
        field.write(&mut packet[HEADER_BYTES..HEADER_BYTES + field_bytes]);
        HEADER_BYTES + field_bytes
    }
}
