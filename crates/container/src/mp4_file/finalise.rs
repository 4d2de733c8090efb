//! From fragments to the index of a plain file.

use std::time::Duration;

use super::walk::{Child, children, find, u32_at};
use super::{Fragment, Init, InitTrack, PLACEHOLDER_BYTES, Run};
use crate::fmp4::boxes::Boxes;

/// Samples of one file at most: six hours of 240 pictures a second and of sound. They take some five bytes each.
const SAMPLES_MAX: usize = 8 << 20;

/// Units of the presentation's clock in one second. 32 bits of them last for five days.
const MOVIE_TIMESCALE: u32 = 10_000;

/// Why a file stays as it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotFinalised {
    /// It has no placeholder before its fragments.
    #[error("there is no room for the header")]
    NoPlaceholder,
    /// It has no samples.
    #[error("there is no media in it")]
    Empty,
    /// It has more samples than an index is made of.
    #[error("it has more than {SAMPLES_MAX} samples")]
    TooLarge,
}

/// What makes a file of fragments a plain one. First `moov` is appended to it, and is to be safe on the disk; then the
/// header replaces the placeholder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finished {
    /// The index.
    pub moov: Vec<u8>,
    /// Where the placeholder is.
    pub header_at: u64,
    /// What replaces it: the header of an `mdat` with everything up to the index.
    pub header: [u8; PLACEHOLDER_BYTES],
    /// How long the file lasts.
    pub duration: Duration,
}

/// See the module's description.
#[derive(Debug)]
pub struct Finaliser {
    init: Init,
    /// In the order of the tracks.
    tables: Vec<Table>,
    samples: usize,
}

impl Finaliser {
    /// For the fragments that follow `init`.
    pub fn new(init: Init) -> Self {
        let tables = init.tracks().iter().map(|_| Table::default()).collect();
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

    /// How long what was added lasts, in whole units of the presentation's clock.
    pub fn duration(&self) -> Duration {
        let ends = self.used().map(|(track, table)| {
            let begin = table.begins(track) - self.begins();
            begin + seconds(table.duration(), track.timescale)
        });
        let units = movie_units(ends.fold(0.0, f64::max));
        movie_time(units.into(), MOVIE_TIMESCALE)
    }

    /// Makes the index, to be appended to a file whose whole part ends at `end`.
    ///
    /// # Errors
    /// See [`NotFinalised`].
    pub fn finish(self, end: u64) -> Result<Finished, NotFinalised> {
        let header_at = self.init.placeholder.ok_or(NotFinalised::NoPlaceholder)?;
        if self.used().next().is_none() {
            return Err(NotFinalised::Empty);
        }
        if self.samples > SAMPLES_MAX {
            return Err(NotFinalised::TooLarge);
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

    /// Tracks with samples.
    fn used(&self) -> impl Iterator<Item = (&InitTrack, &Table)> {
        let all = self.init.tracks().iter().zip(&self.tables);
        all.filter(|(_, table)| !table.sizes.is_empty())
    }

    /// When the first sample of all is presented.
    fn begins(&self) -> f64 {
        let begins = self.used().map(|(track, table)| table.begins(track));
        let first = begins.fold(f64::INFINITY, f64::min);
        if first.is_finite() { first } else { 0.0 }
    }

    fn moov(&self, duration: Duration) -> Vec<u8> {
        let begins = self.begins();
        let next = self.used().map(|(track, _)| track.id).max().unwrap_or(0);
        let mut boxes = Boxes::default();
        boxes.put_box(b"moov", |moov| {
            moov.put_full_box(b"mvhd", 0, 0, |mvhd| {
                mvhd.put_zeros(8);
                mvhd.put_u32(MOVIE_TIMESCALE);
                mvhd.put_u32(movie_units(duration.as_secs_f64()));
                mvhd.put_u32(0x0001_0000); // rate 1
                mvhd.put_u16(0x0100); // volume 1
                mvhd.put_zeros(10);
                for value in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] {
                    mvhd.put_u32(value);
                }
                mvhd.put_zeros(24);
                mvhd.put_u32(next.wrapping_add(1));
            });
            for (track, table) in self.used() {
                let delay = movie_units(table.begins(track) - begins);
                moov.put_box(b"trak", |trak| put_track(trak, track, table, delay));
            }
        });
        boxes.into_bytes()
    }
}

/// The duration that the beginning of a `moov` tells, which is the box with its header: its first 128 bytes suffice.
pub fn movie_duration(moov: &[u8]) -> Option<Duration> {
    let mvhd = moov.get(8..).and_then(|content| find(content, b"mvhd"))?;
    let timescale = u32_at(mvhd, 12).filter(|timescale| mvhd[0] == 0 && *timescale > 0)?;
    let units = u32_at(mvhd, 16)?;
    Some(movie_time(units.into(), timescale))
}

fn movie_time(units: u64, timescale: u32) -> Duration {
    // 32 bits of units, and of nanoseconds in one second.
    Duration::from_nanos(units * 1_000_000_000 / u64::from(timescale.max(1)))
}

fn seconds(units: u64, timescale: u32) -> f64 {
    units as f64 / f64::from(timescale.max(1))
}

/// Seconds on the presentation's clock; a conversion of floats saturates.
fn movie_units(seconds: f64) -> u32 {
    (seconds * f64::from(MOVIE_TIMESCALE)).round() as u32
}

/// The samples of one track.
#[derive(Debug, Default)]
struct Table {
    /// When the first is decoded.
    at: u64,
    /// When the last ends.
    end: u64,
    sizes: Vec<u32>,
    durations: RunLengths<u32>,
    compositions: RunLengths<i32>,
    /// The numbers of those that depend on no other, from 1.
    syncs: Vec<u32>,
    /// Where runs of them are in the file.
    chunks: Vec<u64>,
    /// How many are in each run.
    chunk_samples: RunLengths<u32>,
}

impl Table {
    fn add(&mut self, run: &Run) {
        if self.sizes.is_empty() {
            (self.at, self.end) = (run.at, run.at);
        } else if run.at != self.end
            && let Some(last) = self.durations.pop()
        {
            // The index knows no holes: the last sample lasts until the next, or ends earlier.
            let longer = i128::from(last) + i128::from(run.at) - i128::from(self.end);
            let longer = u32::try_from(longer.max(0)).unwrap_or(u32::MAX);
            self.durations.push(longer);
            self.end = self.end - u64::from(last) + u64::from(longer);
        }
        self.chunks.push(run.data);
        self.chunk_samples.push(run.rows.len() as u32);
        for row in &run.rows {
            self.sizes.push(row.size);
            self.durations.push(row.duration);
            self.compositions.push(row.composition);
            self.end = self.end.saturating_add(row.duration.into());
            if row.is_sync {
                self.syncs.push(self.sizes.len() as u32);
            }
        }
    }

    fn duration(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    fn first_composition(&self) -> i32 {
        self.compositions.0.first().map_or(0, |(_, first)| *first)
    }

    /// When its first sample is presented, in seconds of the file.
    fn begins(&self, track: &InitTrack) -> f64 {
        let composition = f64::from(self.first_composition()) / f64::from(track.timescale.max(1));
        seconds(self.at, track.timescale) + composition
    }
}

/// Values, most of which are like those before them.
#[derive(Debug)]
struct RunLengths<T>(Vec<(u32, T)>);

impl<T> Default for RunLengths<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Eq> RunLengths<T> {
    fn push(&mut self, value: T) {
        match self.0.last_mut() {
            Some((count, last)) if *last == value => *count += 1,
            _ => self.0.push((1, value)),
        }
    }

    fn pop(&mut self) -> Option<T> {
        let (count, value) = self.0.last_mut()?;
        let value = *value;
        *count -= 1;
        if *count == 0 {
            self.0.pop();
        }
        Some(value)
    }
}

/// Writes a track: what its `trak` has, with durations, edits and tables.
fn put_track(trak: &mut Boxes, track: &InitTrack, table: &Table, delay: u32) {
    let lasts = movie_units(seconds(table.duration(), track.timescale));
    for child in children(&track.trak) {
        match &child.kind {
            b"tkhd" => {
                put_with_duration(trak, child, 20, lasts.saturating_add(delay));
                put_edits(trak, table, lasts, delay);
            }
            b"edts" => {}
            b"mdia" => trak.put_box(b"mdia", |mdia| put_media(mdia, child, track, table)),
            _ => put_same(trak, child),
        }
    }
}

/// A track that begins later is preceded by nothing; one whose pictures are presented in another order begins at the
/// first presented.
fn put_edits(trak: &mut Boxes, table: &Table, lasts: u32, delay: u32) {
    let first = u32::try_from(table.first_composition()).unwrap_or(0);
    if delay == 0 && first == 0 {
        return;
    }
    trak.put_box(b"edts", |edts| {
        edts.put_full_box(b"elst", 0, 0, |elst| {
            let empty = (delay > 0).then_some((delay, u32::MAX));
            let edits = empty.into_iter().chain([(lasts, first)]);
            elst.put_u32(1 + u32::from(delay > 0));
            for (duration, media_time) in edits {
                elst.put_u32(duration);
                elst.put_u32(media_time);
                elst.put_u32(0x0001_0000); // rate 1
            }
        });
    });
}

fn put_media(mdia: &mut Boxes, whole: Child<'_>, track: &InitTrack, table: &Table) {
    for child in children(whole.content) {
        match &child.kind {
            b"mdhd" => put_media_header(mdia, child, track.timescale, table.duration()),
            b"minf" => mdia.put_box(b"minf", |minf| {
                for child in children(child.content) {
                    match &child.kind {
                        b"stbl" => minf.put_box(b"stbl", |stbl| {
                            let mut kept = children(child.content);
                            if let Some(stsd) = kept.find(|child| child.kind == *b"stsd") {
                                put_same(stbl, stsd);
                            }
                            put_tables(stbl, table);
                        }),
                        _ => put_same(minf, child),
                    }
                }
            }),
            _ => put_same(mdia, child),
        }
    }
}

fn put_media_header(mdia: &mut Boxes, old: Child<'_>, timescale: u32, duration: u64) {
    // Language and the two bytes behind it are the last.
    let tail = old.content.last_chunk::<4>().copied().unwrap_or_default();
    let short = u32::try_from(duration);
    mdia.put_full_box(b"mdhd", u8::from(short.is_err()), 0, |mdhd| {
        match short {
            Ok(short) => {
                mdhd.put_zeros(8);
                mdhd.put_u32(timescale);
                mdhd.put_u32(short);
            }
            Err(_) => {
                mdhd.put_zeros(16);
                mdhd.put_u32(timescale);
                mdhd.put_u64(duration);
            }
        }
        mdhd.put(&tail);
    });
}

fn put_tables(stbl: &mut Boxes, table: &Table) {
    stbl.put_full_box(b"stts", 0, 0, |stts| {
        stts.put_u32(table.durations.0.len() as u32);
        for (count, duration) in &table.durations.0 {
            stts.put_u32(*count);
            stts.put_u32(*duration);
        }
    });
    if table.syncs.len() < table.sizes.len() {
        stbl.put_full_box(b"stss", 0, 0, |stss| {
            stss.put_u32(table.syncs.len() as u32);
            table.syncs.iter().for_each(|number| stss.put_u32(*number));
        });
    }
    let compositions = &table.compositions.0;
    if compositions
        .iter()
        .any(|(_, composition)| *composition != 0)
    {
        let is_signed = compositions.iter().any(|(_, composition)| *composition < 0);
        stbl.put_full_box(b"ctts", u8::from(is_signed), 0, |ctts| {
            ctts.put_u32(compositions.len() as u32);
            for (count, composition) in compositions {
                ctts.put_u32(*count);
                ctts.put(&composition.to_be_bytes());
            }
        });
    }
    stbl.put_full_box(b"stsc", 0, 0, |stsc| {
        stsc.put_u32(table.chunk_samples.0.len() as u32);
        let mut chunk = 1;
        for (chunks, samples) in &table.chunk_samples.0 {
            stsc.put_u32(chunk);
            stsc.put_u32(*samples);
            stsc.put_u32(1); // sample description
            chunk += *chunks;
        }
    });
    stbl.put_full_box(b"stsz", 0, 0, |stsz| {
        stsz.put_u32(0);
        stsz.put_u32(table.sizes.len() as u32);
        table.sizes.iter().for_each(|size| stsz.put_u32(*size));
    });
    stbl.put_full_box(b"co64", 0, 0, |co64| {
        co64.put_u32(table.chunks.len() as u32);
        table.chunks.iter().for_each(|at| co64.put_u64(*at));
    });
}

/// Copies a box whose duration is 32 bits at `at`; one with longer times stays as it is.
fn put_with_duration(boxes: &mut Boxes, child: Child<'_>, at: usize, duration: u32) {
    let mut content = child.content.to_vec();
    if content.first() == Some(&0)
        && let Some(field) = content.get_mut(at..at + 4)
    {
        field.copy_from_slice(&duration.to_be_bytes());
    }
    boxes.put_box(&child.kind, |boxes| boxes.put(&content));
}

fn put_same(boxes: &mut Boxes, child: Child<'_>) {
    boxes.put_box(&child.kind, |boxes| boxes.put(child.content));
}
