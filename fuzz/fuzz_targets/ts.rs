//! MPEG-TS for listeners: whatever a stream contains, a strict demuxer can read the output, from the start and from every join,
//! and the output is no longer than its input allows.

#![no_main]

#[allow(dead_code, reason = "the muxer's own tests ask it for more")]
#[path = "../../crates/container/src/ts/tests/demuxer.rs"]
mod demuxer;
#[path = "../shared/script.rs"]
mod script;

use container::ts::{Muxer, PACKET_BYTES, PacketSink};
use demuxer::demux;
use libfuzzer_sys::fuzz_target;
use media::Timestamp;

/// Maximum number of bytes that each byte of a sample becomes: a NAL unit of one byte behind a length of one byte gets a start
/// code of four.
const GROWTH: usize = 6;

/// Cost of an item in addition to its bytes: tables, clock, parameter sets, and headers of the audio of all tracks.
const ITEM_BYTES: usize = 16 * 1024;

/// Number of joins that are read from, of many.
const JOINS: usize = 8;

#[derive(Default)]
struct Log {
    bytes: Vec<u8>,
    units: usize,
    /// Positions of units at which listeners may start.
    joins: Vec<usize>,
    /// Position at which the open unit begins.
    open: usize,
    at: Option<Timestamp>,
}

impl PacketSink for Log {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        self.bytes.extend_from_slice(packet);
    }

    fn end_unit(&mut self, at: Timestamp, is_join: bool) {
        assert!(self.open < self.bytes.len(), "a unit has bytes");
        assert!(
            self.at.replace(at).is_none_or(|last| last <= at),
            "units go forward"
        );
        assert!(self.units > 0 || is_join, "the first is a join");
        if is_join {
            self.joins.push(self.open);
        }
        self.units += 1;
        self.open = self.bytes.len();
    }
}

fuzz_target!(|data: &[u8]| {
    let mut log = Log::default();
    let mut muxer = Muxer::default();
    let mut allowed = ITEM_BYTES;
    for item in script::items(data) {
        allowed += GROWTH * script::bytes_of(&item) + ITEM_BYTES;
        muxer.push(&item, &mut log);
        assert!(log.bytes.len() <= allowed);
    }
    muxer.flush(&mut log);
    assert_eq!(log.open, log.bytes.len(), "every unit ends");
    let read = demux(&log.bytes);
    assert_eq!(read.packets.len(), log.units, "each unit is one PES packet");
    let step = log.joins.len().div_ceil(JOINS).max(1);
    for join in log.joins.iter().step_by(step) {
        demux(&log.bytes[*join..]);
    }
});
