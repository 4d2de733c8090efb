//! Writer of a stream's units: tables, clock, and the packets of a PES packet.

use media::Timestamp;

use super::PacketSink;
use super::clock::Clock;
use super::packet::{Counters, Field, Payload, Pid, write_field, write_section};
use super::pes::{self, Header};
use super::stream::Stream;
use super::tables::Tables;

/// PES packet that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// Time of the unit in the log.
    pub(super) at: Timestamp,
    pub(super) dts: Timestamp,
    pub(super) pts: Timestamp,
    /// Bytes of the payload.
    pub(super) bytes: usize,
    /// A decoder can start here.
    pub(super) is_entry: bool,
    /// A listener can start here.
    pub(super) is_join: bool,
}

/// The only program of the stream.
#[derive(Debug, Default)]
pub(super) struct Program {
    counters: Counters,
    pub(super) tables: Tables,
    pub(super) clock: Clock,
}

impl Program {
    /// Writes an ID3 tag that takes effect at `pts`, in a unit with time `at`.
    pub(super) fn write_tag<S: PacketSink>(
        &mut self,
        (at, pts): (Timestamp, Timestamp),
        pid: Pid,
        tag: &[u8],
        sink: &mut S,
    ) {
        self.write_due_tables(at, sink);
        let header = Header::new(pes::PRIVATE, pts, pts, tag.len());
        let header = header.as_slice();
        let bytes = header.len() + tag.len();
        let counters = &mut self.counters;
        let mut payload = Payload::new(sink, counters, pid, Field::default(), bytes);
        payload.put(header);
        payload.put(tag);
    }

    /// Writes a section in a unit with time `at`.
    pub(super) fn write_event_section<S: PacketSink>(
        &mut self,
        at: Timestamp,
        pid: Pid,
        section: &[u8],
        sink: &mut S,
    ) {
        self.write_due_tables(at, sink);
        write_section(section, pid, &mut self.counters, sink);
    }

    fn write_due_tables<S: PacketSink>(&mut self, at: Timestamp, sink: &mut S) {
        if self.tables.are_due(at) {
            self.tables.write(at, &mut self.counters, sink);
        }
    }

    /// Writes a unit of `stream`; `fill` writes the payload.
    pub(super) fn write<S: PacketSink>(
        &mut self,
        unit: &Unit,
        stream: &Stream,
        sink: &mut S,
        fill: impl FnOnce(&mut Payload<'_, S>),
    ) {
        let Unit { at, dts, pts, .. } = *unit;
        let Self {
            counters,
            tables,
            clock,
        } = self;
        if unit.is_join || tables.are_due(at) {
            tables.write(at, counters, sink);
        }
        let mut field = Field {
            random_access: unit.is_entry,
            reference: None,
        };
        let clock_pid = tables.clock_pid();
        let mut tell = |reference| {
            let alone = Field {
                random_access: false,
                reference: Some(reference),
            };
            write_field(&alone, clock_pid, counters, sink);
        };
        if stream.entry.pid == clock_pid {
            clock.between(dts).for_each(&mut tell);
            field.reference = Some(clock.set(dts));
        } else if let Some(reference) = clock.pass(dts, at, unit.is_join) {
            tell(reference);
        }
        let header = Header::new(stream.coding.stream_id(), dts, pts, unit.bytes);
        let header = header.as_slice();
        let bytes = header.len() + unit.bytes;
        let mut payload = Payload::new(sink, counters, stream.entry.pid, field, bytes);
        payload.put(header);
        fill(&mut payload);
        debug_assert!(payload.is_complete(), "the payload is as long as was said");
    }
}
