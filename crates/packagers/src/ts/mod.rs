//! MPEG transport stream, as one long body or as segments.
//!
//! In the body a unit is a run of packets. Everything that a joiner needs first (tables, parameter sets) is in the log at every
//! join point, so preambles are empty. [`ts::Muxer`] decides which packets are written and where listeners may join.

mod segments;

use std::sync::Arc;

use container::ts::{self, Muxer, PACKET_BYTES};
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::{Item, Timestamp};

pub use segments::{SegmentCipher, TsSegments};

/// Packager of transport stream packets.
#[derive(Debug, Default)]
pub struct Ts {
    muxer: Muxer,
    join: Arc<Preamble>,
}

impl Packager for Ts {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        let join = &self.join;
        self.muxer.push(item, &mut Packets { sink, join });
    }

    fn end(&mut self, sink: &mut LaneSink<'_>) {
        let join = &self.join;
        self.muxer.flush(&mut Packets { sink, join });
    }
}

/// Writer of packets into the lane's log.
struct Packets<'a, 'b> {
    sink: &'a mut LaneSink<'b>,
    join: &'a Arc<Preamble>,
}

impl ts::PacketSink for Packets<'_, '_> {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        self.sink.put(packet);
    }

    fn end_unit(&mut self, at: Timestamp, is_join: bool) {
        let entry = match is_join {
            true => Entry::Join(Arc::clone(self.join)),
            false => Entry::None,
        };
        self.sink.end_unit(at, entry);
    }
}

#[cfg(test)]
mod tests;
