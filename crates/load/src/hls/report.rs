//! The part of a report that only players over HLS have.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::record::Record;
use crate::report::{Times, table};

/// What players over HLS saw. Times are in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Hls {
    /// Requests made in the window, of all players.
    pub(crate) requests: u64,
    /// Media playlists fetched, deltas included.
    pub(crate) playlists: u64,
    /// Playlists that left out what the player knew.
    pub(crate) deltas: u64,
    /// Bytes of all playlists.
    pub(crate) playlist_bytes: u64,
    /// Initialization segments fetched.
    pub(crate) maps: u64,
    /// Whole segments fetched.
    pub(crate) segments: u64,
    /// Parts fetched.
    pub(crate) parts: u64,
    /// Of these, requested before they were listed.
    pub(crate) hinted: u64,
    /// Parts and segments that the playlist says are missing.
    pub(crate) gaps: u64,
    /// Discontinuities passed.
    pub(crate) discontinuities: u64,
    /// Parts and segments given up after several refusals.
    pub(crate) skipped: u64,
    /// Times that a player had to start anew, because its position was not listed.
    pub(crate) jumps: u64,
    /// Players that saw the end of the stream.
    pub(crate) ended: u64,
    /// Connections made again because the server had closed or broken them.
    pub(crate) reconnects: u64,
    /// Requests that failed, by what was requested and the status.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Rules of HLS that the server broke, each with the number of times that players noticed.
    pub(crate) violations: BTreeMap<String, u64>,
    /// Each time that a playhead stood still because nothing was buffered.
    pub(crate) stall: Times,
    /// From the first byte of the blocking answer that lists a part to the last byte of that part.
    pub(crate) part_fetch: Times,
    /// From the end of a part, by the playlist's EXT-X-PROGRAM-DATE-TIME, to its last byte.
    pub(crate) part_age: Times,
    /// Of checked players: from the sending of a part's last synthetic frame to the part's last byte.
    pub(crate) part_delay: Times,
    /// Of checked players: from the completion of a part to its last byte. The first frame after a part completes
    /// it, so the time begins when the synthetic publisher sends that frame.
    pub(crate) part_served: Times,
}

impl Hls {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            requests: record.requests,
            playlists: record.playlists,
            deltas: record.deltas,
            playlist_bytes: record.playlist_bytes,
            maps: record.maps,
            segments: record.segments,
            parts: record.parts,
            hinted: record.hinted,
            gaps: record.gaps,
            discontinuities: record.discontinuities,
            skipped: record.skipped,
            jumps: record.jumps,
            ended: record.ended,
            reconnects: record.reconnects,
            refused: table(&record.refused),
            violations: table(&record.violations),
            stall: Times::of(&record.stall),
            part_fetch: Times::of(&record.fetch),
            part_age: Times::of(&record.age),
            part_delay: Times::of(&record.delay),
            part_served: Times::of(&record.served),
        }
    }

    /// For people.
    pub(crate) fn write(&self, out: &mut String) -> std::fmt::Result {
        let Self {
            playlists,
            deltas,
            maps,
            segments,
            parts,
            ..
        } = self;
        let megabytes = self.playlist_bytes as f64 / 1e6;
        writeln!(
            out,
            "playlists  {playlists} ({deltas} deltas), {megabytes:.1} MB"
        )?;
        write!(
            out,
            "media      {parts} parts, {segments} segments, {maps} maps"
        )?;
        for (count, words) in [
            (self.hinted, "parts by hints"),
            (self.gaps, "gaps"),
            (self.discontinuities, "discontinuities"),
            (self.skipped, "given up"),
            (self.jumps, "jumps"),
            (self.ended, "saw the end"),
            (self.reconnects, "reconnects"),
        ] {
            if count > 0 {
                write!(out, ", {count} {words}")?;
            }
        }
        writeln!(out)?;
        for (word, reasons) in [("refused", &self.refused), ("violation", &self.violations)] {
            for (reason, count) in reasons {
                writeln!(out, "{word:<10} {count}: {reason}")?;
            }
        }
        writeln!(
            out,
            "stalls     {}; {}",
            self.stall.count,
            self.stall.text()
        )?;
        for (word, times) in [
            ("part fetch", &self.part_fetch),
            ("part age", &self.part_age),
            ("part delay", &self.part_delay),
            ("part served", &self.part_served),
        ] {
            if times.count > 0 {
                writeln!(out, "{word:<10} {}", times.text())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::flaw::Flaw;
    use super::*;

    #[test]
    fn the_text_has_every_part_that_happened() {
        let mut record = Record {
            playlists: 7,
            parts: 30,
            jumps: 2,
            ..Record::default()
        };
        record.refused.count(&"part: status 404");
        record.enter_flaw(Flaw::Unheld);
        record.enter_stall(40_000_000);
        record.delay.record(90_000_000);
        let mut text = String::new();
        Hls::of(&record).write(&mut text).expect("a string");
        for part in [
            "7 (0 deltas)",
            "30 parts",
            "2 jumps",
            "1: part: status 404",
            "violation  1: a blocking reload",
            "stalls     1; p50 40.0",
            "part delay p50 90.0",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            !text.contains("part age") && !text.contains("reconnects"),
            "{text}"
        );
    }
}
