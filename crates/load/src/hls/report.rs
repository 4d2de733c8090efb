//! The section of a report that only players over HLS have.

use std::fmt::Write;

use serde::Serialize;

use super::record::{Counts, Record};
use crate::report::{Times, write_counts, write_reasons, write_times};
use crate::tally::Reasons;

/// Observations of players over HLS. Times are in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Hls {
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Requests that failed, by what was requested and the status.
    pub(crate) refused: Reasons,
    /// Rules of HLS that the server broke, each with the number of times that players noticed.
    pub(crate) violations: Reasons,
    /// Length of each stall of a playhead because nothing was buffered.
    pub(crate) stall: Times,
    /// Time from the first byte of the blocking response that lists a part to the last byte of that part.
    pub(crate) part_fetch: Times,
    /// Time from the end of a part, by the playlist's EXT-X-PROGRAM-DATE-TIME, to its last byte.
    pub(crate) part_age: Times,
    /// For checked players: time from the sending of a part's last synthetic frame to the part's last byte.
    pub(crate) part_delay: Times,
    /// For checked players: time from the completion of a part to its last byte. The first frame after a part completes it, so
    /// the time begins when the synthetic publisher sends that frame.
    pub(crate) part_served: Times,
}

impl Hls {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            counts: record.counts,
            refused: record.refused.clone(),
            violations: record.violations.clone(),
            stall: Times::of(&record.stall),
            part_fetch: Times::of(&record.fetch),
            part_age: Times::of(&record.age),
            part_delay: Times::of(&record.delay),
            part_served: Times::of(&record.served),
        }
    }

    /// Writes the section for people.
    pub(crate) fn write(&self, out: &mut String) -> std::fmt::Result {
        let Counts {
            playlists,
            deltas,
            maps,
            segments,
            parts,
            ..
        } = self.counts;
        let megabytes = self.counts.playlist_bytes as f64 / 1e6;
        writeln!(
            out,
            "playlists  {playlists} ({deltas} deltas), {megabytes:.1} MB"
        )?;
        write!(
            out,
            "media      {parts} parts, {segments} segments, {maps} maps"
        )?;
        let counts = &self.counts;
        write_counts(
            out,
            &[
                (counts.hinted, "parts by hints"),
                (counts.gaps, "gaps"),
                (counts.discontinuities, "discontinuities"),
                (counts.skipped, "given up"),
                (counts.jumps, "jumps"),
                (counts.ended, "saw the end"),
                (counts.reconnects, "reconnects"),
            ],
        )?;
        writeln!(out)?;
        write_reasons(out, "refused", &self.refused)?;
        write_reasons(out, "violation", &self.violations)?;
        writeln!(
            out,
            "stalls     {}; {}",
            self.stall.count,
            self.stall.text()
        )?;
        write_times(
            out,
            &[
                ("part fetch", &self.part_fetch),
                ("part age", &self.part_age),
                ("part delay", &self.part_delay),
                ("part served", &self.part_served),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::flaw::Flaw;
    use super::*;

    #[test]
    fn the_text_has_every_part_that_happened() {
        let mut record = Record::default();
        (
            record.counts.playlists,
            record.counts.parts,
            record.counts.jumps,
        ) = (7, 30, 2);
        record.refused.count(&"part: status 404");
        record.violations.count(&Flaw::Unheld);
        record.stall.record(40_000_000);
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
