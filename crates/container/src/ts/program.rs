//! One unit after another: tables, clock, and the packets of a PES packet.

use media::Timestamp;

use super::Sink;
use super::clock::Clock;
use super::packet::{Counters, Field, Payload, Pid, write_field};
use super::pes::Header;
use super::stream::Stream;
use super::tables::Tables;

/// A PES packet that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// The time of the unit in the log.
    pub(super) at: Timestamp,
    pub(super) dts: Timestamp,
    pub(super) pts: Timestamp,
    /// Bytes of the payload.
    pub(super) bytes: usize,
    /// A decoder can start here.
    pub(super) is_entry: bool,
    /// A listener can.
    pub(super) is_join: bool,
}

/// The one program of the stream.
#[derive(Debug, Default)]
pub(super) struct Program {
    counters: Counters,
    tables: Tables,
    clock: Clock,
}

impl Program {
    /// The program has other streams, of which `clock_pid` carries the clock.
    pub(super) fn renew<'a>(
        &mut self,
        clock_pid: Option<Pid>,
        streams: impl Iterator<Item = &'a Stream>,
    ) {
        self.tables.renew(clock_pid, streams);
    }

    /// What follows is another publisher's.
    pub(super) fn break_off(&mut self) {
        self.clock.break_off();
    }

    /// The next unit begins with the tables.
    pub(super) fn want_tables(&mut self) {
        self.tables.want();
    }

    /// Whether a unit of the time `at` is to begin with the tables.
    pub(super) fn wants_tables(&self, at: Timestamp) -> bool {
        self.tables.are_due(at)
    }

    /// Writes a unit of `stream`, whose payload `fill` puts.
    pub(super) fn write<S: Sink>(
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
        if stream.pid == tables.clock_pid() {
            field.reference = Some(clock.set(dts));
        } else if let Some(reference) = clock.pass(dts, at, unit.is_join) {
            let alone = Field {
                random_access: false,
                reference: Some(reference),
            };
            write_field(&alone, tables.clock_pid(), counters, sink);
        }
        let header = Header::new(stream.coding.stream_id(), dts, pts, unit.bytes);
        let header = header.as_slice();
        let bytes = header.len() + unit.bytes;
        let mut payload = Payload::new(sink, counters, stream.pid, field, bytes);
        payload.put(header);
        fill(&mut payload);
        debug_assert!(payload.is_complete(), "the payload is as long as was said");
    }
}
