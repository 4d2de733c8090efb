//! Conversion of a fragmented file to a plain one: collects the fragments and writes the index.

use std::time::Duration;

use super::index::{self, time};
use super::table::Table;
use super::trak::put_track;
use super::walk::find;
use super::{Fragment, Init, InitTrack, PLACEHOLDER_BYTES, grid};
use crate::fmp4::boxes::Boxes;
use crate::fmp4::parts::put_movie_header;

/// Upper bound on the samples of one file: six hours of 240 frames a second plus audio. Each takes some five bytes.
const SAMPLES_MAX: usize = 8 << 20;

/// Units of the presentation's clock per second. 32 bits of them last for five days.
const MOVIE_TIMESCALE: u32 = 10_000;

/// Reason why a file stays fragmented.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotFinalised {
    /// The file has no placeholder before its fragments.
    #[error("there is no room for the header")]
    NoPlaceholder,
    /// The file has no samples.
    #[error("there is no media in it")]
    Empty,
    /// The file has more samples than an index can hold.
    #[error("it has more than {SAMPLES_MAX} samples")]
    TooLarge,
}

/// Bytes that turn a fragmented file into a plain one. First `moov` is appended, and must be safely on disk; then the
/// header replaces the placeholder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finished {
    /// Index to append.
    pub moov: Vec<u8>,
    /// Offset of the placeholder.
    pub header_at: u64,
    /// Replacement of the placeholder: the header of an `mdat` that contains everything up to the index.
    pub header: [u8; PLACEHOLDER_BYTES],
    /// Duration of the finalised file.
    pub duration: Duration,
}

/// Collector of a file's fragments; call [`add`](Self::add) for each, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Finaliser {
    init: Init,
    /// Tables in the order of the tracks.
    tables: Vec<Table>,
    samples: usize,
}

impl Finaliser {
    /// Creates a finaliser for the fragments that follow `init`.
    pub fn new(init: Init) -> Self {
        let tables = init.tracks().iter();
        let tables = tables.map(|track| Table::new(track.timescale)).collect();
        Self {
            init,
            tables,
            samples: 0,
        }
    }

    /// Adds the next fragment.
    pub fn add(&mut self, fragment: &Fragment) {
        for run in &fragment.runs {
            self.samples = self.samples.saturating_add(run.rows.len());
            let mut tracks = self.init.tracks().iter();
            let index = tracks.position(|track| track.id == run.track);
            if let Some(index) = index.filter(|_| self.samples <= SAMPLES_MAX) {
                self.tables[index].add(run);
            }
        }
    }

    /// Returns the duration of the fragments added, in whole units of the presentation's clock.
    pub fn duration(&self) -> Duration {
        let begins = self.begins();
        let ends = self.used();
        let ends = ends.map(|(_, table)| table.begins() - begins + table.seconds());
        let units = movie_units(ends.fold(0.0, f64::max));
        time(units.into(), MOVIE_TIMESCALE)
    }

    /// Writes the index, to be appended to a file whose whole part ends at `end`.
    ///
    /// # Errors
    /// See [`NotFinalised`].
    pub fn finish(mut self, end: u64) -> Result<Finished, NotFinalised> {
        let header_at = self.init.placeholder.ok_or(NotFinalised::NoPlaceholder)?;
        if self.used().next().is_none() {
            return Err(NotFinalised::Empty);
        }
        if self.samples > SAMPLES_MAX {
            return Err(NotFinalised::TooLarge);
        }
        for (track, table) in self.init.tracks().iter().zip(&mut self.tables) {
            if track.is_video {
                grid::align(table);
            }
        }
        let duration = self.duration();
        let mut header = [0; PLACEHOLDER_BYTES];
        header[..4].copy_from_slice(&1_u32.to_be_bytes());
        header[4..8].copy_from_slice(b"mdat");
        header[8..].copy_from_slice(&end.saturating_sub(header_at).to_be_bytes());
        Ok(Finished {
            moov: self.moov(duration),
            header_at,
            header,
            duration,
        })
    }

    /// Returns the tracks that have samples.
    fn used(&self) -> impl Iterator<Item = (&InitTrack, &Table)> {
        let all = self.init.tracks().iter().zip(&self.tables);
        all.filter(|(_, table)| !table.sizes.is_empty())
    }

    /// Returns the presentation time of the first sample of all tracks, in seconds.
    fn begins(&self) -> f64 {
        let begins = self.used().map(|(_, table)| table.begins());
        let first = begins.fold(f64::INFINITY, f64::min);
        if first.is_finite() { first } else { 0.0 }
    }

    fn moov(&self, duration: Duration) -> Vec<u8> {
        let begins = self.begins();
        let next = self.used().map(|(track, _)| track.id).max().unwrap_or(0);
        let mut boxes = Boxes::default();
        boxes.put_box(b"moov", |moov| {
            let lasts = movie_units(duration.as_secs_f64());
            put_movie_header(moov, MOVIE_TIMESCALE, lasts, next.wrapping_add(1));
            for (track, table) in self.used() {
                let delay = movie_units(table.begins() - begins);
                moov.put_box(b"trak", |trak| put_track(trak, track, table, delay));
            }
        });
        boxes.into_bytes()
    }
}

/// Reads the duration from the beginning of a `moov` box, header included: its first 128 bytes suffice.
pub fn movie_duration(moov: &[u8]) -> Option<Duration> {
    index::duration(find(moov.get(8..)?, b"mvhd")?)
}

/// Converts seconds to the presentation's clock; a conversion of floats saturates. All ones would mean an unknown
/// duration.
pub(super) fn movie_units(seconds: f64) -> u32 {
    let units = (seconds * f64::from(MOVIE_TIMESCALE)).round() as u32;
    units.min(u32::MAX - 1)
}
