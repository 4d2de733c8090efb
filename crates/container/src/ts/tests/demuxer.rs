//! A second reading of ISO/IEC 13818-1, which takes nothing for granted: anything that a player might fail on
//! is a panic. It shares no code with the muxer.

use std::collections::HashMap;

const PACKET: usize = 188;

/// One PES packet, put together.
#[derive(Clone, Debug)]
pub(super) struct Pes {
    pub(super) pid: u16,
    pub(super) stream_type: u8,
    pub(super) pts: u64,
    pub(super) dts: u64,
    pub(super) payload: Vec<u8>,
    pub(super) random_access: bool,
    /// The latest clock reference when it began, in 27 MHz.
    pub(super) clock: u64,
    /// Index of the packet of the stream in which it began.
    pub(super) began: usize,
}

/// One program clock reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) value: u64,
    pub(super) is_discontinuity: bool,
    pub(super) is_alone: bool,
}

/// A program map that was in force.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Map {
    pub(super) version: u8,
    pub(super) clock_pid: u16,
    pub(super) streams: Vec<(u16, u8, Vec<u8>)>,
}

/// Everything in a stream.
#[derive(Debug, Default)]
pub(super) struct Demuxed {
    pub(super) maps: Vec<Map>,
    pub(super) packets: Vec<Pes>,
    pub(super) references: Vec<Reference>,
    /// Bytes of adaptation fields that say nothing.
    pub(super) stuffing: usize,
    map_pid: Option<u16>,
    sections: HashMap<u16, Vec<u8>>,
    counters: HashMap<u16, u8>,
    open: HashMap<u16, Pes>,
    index: usize,
}

/// Reads a stream that begins where a listener might and ends at a unit's end.
pub(super) fn demux(stream: &[u8]) -> Demuxed {
    assert_eq!(stream.len() % PACKET, 0);
    let mut demuxed = Demuxed::default();
    for packet in stream.chunks_exact(PACKET) {
        demuxed.packet(packet);
        demuxed.index += 1;
    }
    let open = std::mem::take(&mut demuxed.open);
    for pes in open.into_values() {
        demuxed.finish(pes);
    }
    assert!(demuxed.sections.is_empty(), "a section that is cut");
    demuxed.packets.sort_by_key(|pes| pes.began);
    demuxed
}

struct Field {
    random_access: bool,
    reference: Option<(u64, bool)>,
}

impl Demuxed {
    /// PES packets of one stream type.
    pub(super) fn of(&self, stream_type: u8) -> Vec<&Pes> {
        let packets = self.packets.iter();
        packets.filter(|it| it.stream_type == stream_type).collect()
    }

    fn packet(&mut self, packet: &[u8]) {
        assert_eq!(packet[0], 0x47, "sync");
        assert_eq!(packet[1] & 0xA0, 0, "no error, no priority");
        assert_eq!(packet[3] & 0xC0, 0, "no scrambling");
        let starts = packet[1] & 0x40 != 0;
        let pid = u16::from_be_bytes([packet[1] & 0x1F, packet[2]]);
        let (has_field, has_payload) = (packet[3] & 0x20 != 0, packet[3] & 0x10 != 0);
        assert!(has_field || has_payload);
        self.count(pid, packet[3] & 0x0F, has_payload);
        let mut payload = &packet[4..];
        let mut field = None;
        if has_field {
            let length = usize::from(payload[0]);
            assert!(length <= 183 && has_payload == (length < 183));
            field = (length > 0).then(|| self.field(&payload[1..=length]));
            payload = &payload[1 + length..];
        }
        assert_eq!(payload.is_empty(), !has_payload);
        if let Some((value, is_discontinuity)) = field.as_ref().and_then(|field| field.reference) {
            let map = self.maps.last().expect("a map before the clock");
            assert_eq!(pid, map.clock_pid, "the clock's PID");
            self.check_clock(value, is_discontinuity);
            self.references.push(Reference {
                value,
                is_discontinuity,
                is_alone: !has_payload,
            });
        }
        if !has_payload {
            assert!(!starts);
        } else if pid == 0 || Some(pid) == self.map_pid {
            self.section(pid, starts, payload);
        } else {
            self.elementary(pid, starts, payload, field.as_ref());
        }
    }

    fn count(&mut self, pid: u16, counter: u8, has_payload: bool) {
        let step = u8::from(has_payload);
        if let Some(last) = self.counters.insert(pid, counter) {
            assert_eq!(counter, (last + step) & 0x0F, "continuity of {pid:#x}");
        }
    }

    /// References come in time, and never step back, except at an announced discontinuity.
    fn check_clock(&self, value: u64, is_discontinuity: bool) {
        if let Some(last) = self.references.last().filter(|_| !is_discontinuity) {
            let modulus = (1 << 33) * 300;
            let step = (value + modulus - last.value) % modulus;
            assert!(step <= 3 * 27_000_000, "the clock steps by {step}");
        }
    }

    fn field(&mut self, field: &[u8]) -> Field {
        let flags = field[0];
        assert_eq!(flags & !0xD0, 0, "flags {flags:#x}");
        let (reference, rest) = if flags & 0x10 != 0 {
            let [a, b, c, d, e, f] = *field[1..].first_chunk().expect("a reference");
            let base = u64::from(u32::from_be_bytes([a, b, c, d])) << 1 | u64::from(e >> 7);
            assert_eq!(e & 0x7E, 0x7E, "reserved bits");
            let extension = u64::from(e & 1) << 8 | u64::from(f);
            assert!(extension < 300);
            let value = base * 300 + extension;
            (Some((value, flags & 0x80 != 0)), &field[7..])
        } else {
            assert_eq!(flags & 0x80, 0);
            (None, &field[1..])
        };
        assert!(rest.iter().all(|byte| *byte == 0xFF), "stuffing");
        self.stuffing += rest.len();
        Field {
            random_access: flags & 0x40 != 0,
            reference,
        }
    }

    fn section(&mut self, pid: u16, starts: bool, payload: &[u8]) {
        let mut section = self.sections.remove(&pid).unwrap_or_default();
        assert_eq!(starts, section.is_empty(), "a section begins or goes on");
        if starts {
            assert_eq!(payload[0], 0, "the section begins at once");
            section.extend_from_slice(&payload[1..]);
        } else {
            section.extend_from_slice(payload);
        }
        let length = 3 + usize::from(u16::from_be_bytes([section[1] & 0x0F, section[2]]));
        assert!(length <= 1_024);
        if section.len() < length {
            self.sections.insert(pid, section);
            return;
        }
        assert!(section[length..].iter().all(|byte| *byte == 0xFF));
        section.truncate(length);
        assert_eq!(remainder(&section), 0, "checksum");
        assert_eq!(section[1] & 0xF0, 0xB0);
        assert_eq!(u16::from_be_bytes([section[3], section[4]]), 1);
        assert_eq!(section[5] & 0xC1, 0xC1, "in force");
        assert_eq!(section[6..8], [0, 0], "the only section");
        let version = section[5] >> 1 & 0x1F;
        let body = &section[8..length - 4];
        if pid == 0 {
            assert_eq!((section[0], version, body.len()), (0, 0, 4));
            assert_eq!(body[..2], [0, 1], "the program's number");
            self.map_pid = Some(thirteen_bits(&body[2..]));
        } else {
            assert_eq!(section[0], 2);
            self.map(version, body);
        }
    }

    fn map(&mut self, version: u8, body: &[u8]) {
        assert_eq!(body[2] & 0xF0, 0xF0);
        let of_program = usize::from(u16::from_be_bytes([body[2], body[3]]) & 0x0FFF);
        let mut map = Map {
            version,
            clock_pid: thirteen_bits(body),
            streams: Vec::new(),
        };
        let mut rest = &body[4 + of_program..];
        while !rest.is_empty() {
            let length = usize::from(u16::from_be_bytes([rest[3], rest[4]]) & 0x0FFF);
            assert_eq!(rest[3] & 0xF0, 0xF0);
            let (descriptors, after) = rest[5..].split_at(length);
            let pid = thirteen_bits(&rest[1..]);
            assert!(map.streams.iter().all(|stream| stream.0 != pid));
            map.streams.push((pid, rest[0], descriptors.to_vec()));
            rest = after;
        }
        assert!(map.streams.iter().any(|stream| stream.0 == map.clock_pid));
        match self.maps.last() {
            Some(last) if last.version == version => assert_eq!(*last, map, "the same version"),
            Some(last) => {
                assert_eq!(version, (last.version + 1) & 0x1F);
                self.maps.push(map);
            }
            None => self.maps.push(map),
        }
    }

    fn elementary(&mut self, pid: u16, starts: bool, payload: &[u8], field: Option<&Field>) {
        if !starts {
            let open = self.open.get_mut(&pid).expect("a PES packet that began");
            assert!(field.is_none_or(|field| !field.random_access));
            open.payload.extend_from_slice(payload);
            return;
        }
        if let Some(pes) = self.open.remove(&pid) {
            self.finish(pes);
        }
        let map = self.maps.last().expect("a map before media");
        let stream = map.streams.iter().find(|stream| stream.0 == pid);
        let stream_type = stream.expect("a PID of the map in force").1;
        let clock = self.references.last().expect("a clock before media").value;
        let pes = Pes {
            pid,
            stream_type,
            pts: 0,
            dts: 0,
            payload: payload.to_vec(),
            random_access: field.is_some_and(|field| field.random_access),
            clock,
            began: self.index,
        };
        self.open.insert(pid, pes);
    }

    /// Reads the header of a PES packet that has come whole.
    fn finish(&mut self, mut pes: Pes) {
        let packet = &pes.payload;
        assert_eq!(packet[..3], [0, 0, 1], "start code");
        let id = match pes.stream_type {
            0x1B | 0x24 => 0xE0,
            0x0F | 0x03 | 0x04 => 0xC0,
            _ => 0xBD,
        };
        assert_eq!(packet[3], id);
        let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        let open_end = id == 0xE0 && length == 0;
        assert!(open_end || length == packet.len() - 6, "length {length}");
        assert_eq!(packet[6], 0x84);
        let stamps = &packet[9..9 + usize::from(packet[8])];
        (pes.pts, pes.dts) = match packet[7] {
            0x80 => (stamp(stamps, 2, 5), stamp(stamps, 2, 5)),
            0xC0 => (stamp(stamps, 3, 10), stamp(&stamps[5..], 1, 5)),
            flags => panic!("flags {flags:#x}"),
        };
        pes.payload.drain(..9 + usize::from(packet[8]));
        assert!(!pes.payload.is_empty());
        self.packets.push(pes);
    }
}

fn stamp(bytes: &[u8], mark: u8, length: usize) -> u64 {
    assert_eq!(bytes.len(), length);
    assert_eq!(bytes[0] >> 4, mark);
    let markers = [0, 2, 4].map(|at: usize| bytes[at] & 1);
    assert_eq!(markers, [1; 3], "markers");
    u64::from(bytes[0] >> 1 & 7) << 30
        | u64::from(bytes[1]) << 22
        | u64::from(bytes[2] >> 1) << 15
        | u64::from(bytes[3]) << 7
        | u64::from(bytes[4] >> 1)
}

fn thirteen_bits(bytes: &[u8]) -> u16 {
    assert_eq!(bytes[0] & 0xE0, 0xE0);
    u16::from_be_bytes([bytes[0] & 0x1F, bytes[1]])
}

/// The remainder of the polynomial division, bit by bit as a shift register does it; 0 for what
/// ends in its own checksum.
fn remainder(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        for bit in (0..8).rev() {
            let out = register >> 31 & 1 ^ u32::from(byte >> bit & 1);
            register <<= 1;
            if out == 1 {
                register ^= 0x04C1_1DB7;
            }
        }
    }
    register
}
