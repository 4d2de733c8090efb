//! One file being written: conversion of units into its format.

use std::path::PathBuf;
use std::time::Duration;
use std::{io, mem};

use bytes::Bytes;
use container::flv;
use container::mp3_file::{self, Reservoir};
use container::mp4_file::{self, Base, Fragment, Init};
use container::ogg::file::Rebase;
use fanout::LaneUnit;
use media::{Span, Timestamp};

use crate::archive::disk::Output;
use crate::archive::name::FileName;
use crate::archive::rope::{copy_front, drop_front};

/// Longest header before a fragment's media, in bytes. A usual one has some hundred; larger ones are taken as invalid.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// Longest MP3 frame, in bytes.
const FRAME_BYTES_MAX: usize = 2_881;

/// Bytes at the front of a tag that contain its time.
const TAG_FRONT_BYTES: usize = 11;

/// Bytes of a box's size and type.
const BOX_BYTES: usize = 8;

/// File being written. Its first `bytes` are complete units, and on the disk as far as the result of a write shows.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) name: FileName,
    /// Path after the file is closed.
    pub(crate) path: PathBuf,
    output: Box<dyn Output>,
    shape: Shape,
    pub(crate) bytes: u64,
    pub(crate) duration: Duration,
    /// Media time of the first unit.
    begins: Timestamp,
    /// Data to be written next.
    pending: Pending,
}

#[derive(Debug, Default)]
struct Pending {
    pieces: Vec<Bytes>,
    /// Duration of the file including these pieces.
    duration: Duration,
}

/// Conversion of units for a format.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Fragments, with the file's own times and numbers.
    Mp4 {
        init: Init,
        base: Option<Base>,
        fragments: u32,
    },
    /// Frames after a table that is filled when the file is closed.
    Mp3(Reservoir),
    /// Pages with the file's own positions and numbers.
    Ogg(Box<Rebase>),
    /// Tags with the file's own times, after metadata that is filled when the file is closed.
    Flv(flv::recorded::Rebase),
    /// Units unchanged.
    Raw,
}

/// Result of adding a unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pushed {
    /// The unit will be written.
    Media,
    /// The unit has other headers, and does not belong in this file.
    Headers,
}

impl Shape {
    /// Makes the shape and opening bytes of a file that begins with an initialization segment.
    pub(crate) fn mp4(segment: &[u8]) -> Option<(Self, Bytes)> {
        let shape = Self::Mp4 {
            init: Init::of_segment(segment)?,
            base: None,
            fragments: 0,
        };
        Some((shape, mp4_file::opening(segment)?.into()))
    }

    /// Makes the shape and opening bytes of a file whose first frame is `first`.
    pub(crate) fn mp3(first: &[Bytes]) -> (Self, Bytes) {
        let first = copy_front(first, FRAME_BYTES_MAX);
        // Only layer III has such a table.
        let opening = mp3_file::opening(&first).unwrap_or_default();
        (Self::Mp3(Reservoir::default()), opening.into())
    }

    /// Makes the shape and opening bytes of a file with these header pages.
    pub(crate) fn ogg(headers: &Bytes) -> (Self, Bytes) {
        let mut rebase = Box::<Rebase>::default();
        let opening = rebase.push(headers);
        (Self::Ogg(rebase), opening.into())
    }

    /// Makes the shape and opening bytes of a file that begins with a lane's preamble and this unit.
    pub(crate) fn flv(preamble: &[u8], first: &[Bytes]) -> Option<(Self, Bytes)> {
        let first = copy_front(first, TAG_FRONT_BYTES);
        let (rebase, opening) = flv::recorded::Rebase::begin(preamble, &first)?;
        Some((Self::Flv(rebase), opening.into()))
    }

    pub(crate) fn has_video(&self) -> bool {
        matches!(self, Self::Mp4 { init, .. } if init.has_video())
    }
}

impl OpenFile {
    /// Makes a file that is empty so far, and begins with `opening`.
    pub(crate) fn new(
        (name, path): (FileName, PathBuf),
        output: Box<dyn Output>,
        shape: Shape,
        opening: Bytes,
        begins: Timestamp,
    ) -> Self {
        Self {
            name,
            path,
            output,
            shape,
            bytes: 0,
            duration: Duration::ZERO,
            begins,
            pending: Pending {
                pieces: vec![opening],
                duration: Duration::ZERO,
            },
        }
    }

    /// Returns whether the file lasts at least `split` before a unit at `at`.
    pub(crate) fn has_lasted(&self, at: Timestamp, split: Duration) -> bool {
        at - self.begins >= Span::from(split)
    }

    /// Adds a unit to the data that [`flush`](Self::flush) writes.
    pub(crate) fn push(&mut self, unit: &LaneUnit, pieces: Vec<Bytes>) -> Pushed {
        match &mut self.shape {
            Shape::Raw => self.keep(unit, pieces),
            Shape::Mp3(reservoir) if reservoir.is_audio() => self.keep(unit, pieces),
            Shape::Mp3(reservoir) => {
                let mut frame = pieces.concat();
                reservoir.mend(&mut frame);
                self.keep(unit, vec![frame.into()])
            }
            Shape::Flv(rebase) => {
                let mut tags = pieces.concat();
                rebase.tags(&mut tags);
                self.keep(unit, vec![tags.into()])
            }
            Shape::Ogg(rebase) => {
                let pages = rebase.push(&pieces.concat().into());
                self.keep(unit, vec![pages.into()])
            }
            Shape::Mp4 {
                init,
                base,
                fragments,
            } => {
                let bytes = unit.range.end - unit.range.start;
                let Some(fragment) = Rebased::of(init, base, *fragments + 1, pieces, bytes) else {
                    return Pushed::Headers;
                };
                *fragments += 1;
                self.pending.duration = self.pending.duration.max(fragment.ends);
                self.pending.pieces.push(fragment.header);
                self.pending.pieces.extend(fragment.media);
                Pushed::Media
            }
        }
    }

    fn keep(&mut self, unit: &LaneUnit, pieces: Vec<Bytes>) -> Pushed {
        let lasts = unit.at - self.begins;
        self.pending.duration = self.pending.duration.max(to_duration(lasts));
        self.pending.pieces.extend(pieces);
        Pushed::Media
    }

    /// Marks the start of another publisher's media, which does not refer to anything before it.
    pub(crate) fn begin_epoch(&mut self) {
        if let Shape::Mp3(reservoir) = &mut self.shape {
            *reservoir = Reservoir::default();
        }
    }

    /// Writes the pending data and returns its length. If it cannot be written completely, none of it is in the file.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        let Pending { pieces, duration } = mem::take(&mut self.pending);
        self.pending.duration = duration;
        let slices: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
        let bytes: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        if bytes == 0 {
            return Ok(0);
        }
        if let Err(error) = self.output.write(&slices, self.bytes) {
            // If the file cannot be truncated now, that is done when it is finalised.
            self.output.cut(self.bytes).ok();
            return Err(error);
        }
        self.bytes += bytes;
        self.duration = duration;
        Ok(bytes)
    }

    /// Ends the file; unflushed data is lost.
    pub(crate) fn close(self) -> Closing {
        Closing {
            name: self.name,
            path: self.path,
            output: self.output,
            bytes: self.bytes,
            has_failed: false,
        }
    }
}

/// File that is complete, but still has the name of an open one.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) name: FileName,
    /// Path from now on.
    pub(crate) path: PathBuf,
    pub(crate) output: Box<dyn Output>,
    pub(crate) bytes: u64,
    /// Whether a failure to close the file has been reported.
    pub(crate) has_failed: bool,
}

/// Fragment as written to the file.
struct Rebased {
    header: Bytes,
    media: Vec<Bytes>,
    /// End of the fragment, relative to the start of the file.
    ends: Duration,
}

impl Rebased {
    /// Converts a fragment; `None` for anything else.
    fn of(
        init: &Init,
        base: &mut Option<Base>,
        number: u32,
        mut pieces: Vec<Bytes>,
        bytes: u64,
    ) -> Option<Self> {
        let head = copy_front(&pieces, BOX_BYTES);
        let size = u32::from_be_bytes(*head.first_chunk()?) as usize;
        if !head.ends_with(b"moof") || size > HEADER_BYTES_MAX {
            return None;
        }
        // Includes the header of the following `mdat` box.
        let mut header = copy_front(&pieces, size + BOX_BYTES);
        let fragment = Fragment::of_unit(init, &header, 0, bytes)?;
        header.truncate(size);
        let base = match *base {
            Some(base) => base,
            None => *base.insert(Base::of(&fragment, init)?),
        };
        if !mp4_file::rebase(&mut header, number, base, init) {
            return None;
        }
        drop_front(&mut pieces, size);
        let ends = fragment.runs.iter().filter_map(|run| {
            let timescale = init.track(run.track)?.timescale;
            let units = run.end().saturating_sub(base.units(timescale));
            Some(to_duration(Span::from_samples(units, timescale)))
        });
        Some(Self {
            ends: ends.max()?,
            header: header.into(),
            media: pieces,
        })
    }
}

fn to_duration(span: Span) -> Duration {
    Duration::from_millis(u64::try_from(span.millis()).unwrap_or(0))
}
