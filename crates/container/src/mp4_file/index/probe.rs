//! Duration of a file according to its `mvhd`: a few reads, without its samples.

use std::ops::Range;
use std::time::Duration;

use super::super::numbers::Numbers;
use super::super::walk::{Head, find};
use super::{Error, LOOK_BYTES, time};

/// Upper bound on the boxes before `moov`: a file has a handful.
const BOXES_MAX: usize = 64;

/// Search for the duration of a file: pass it the bytes that it [`wants`](Self::wants) until [`take`](Self::take)
/// returns it.
#[derive(Debug, Default)]
pub struct Probe {
    length: u64,
    at: u64,
    boxes: usize,
}

impl Probe {
    /// Creates a probe of a file of `length` bytes.
    pub fn new(length: u64) -> Self {
        Self {
            length,
            ..Self::default()
        }
    }

    /// Returns the range of the file to read next.
    pub fn wants(&self) -> Range<u64> {
        self.at..self.length.min(self.at.saturating_add(LOOK_BYTES))
    }

    /// Takes the wanted bytes. Returns the duration once it is found; zero if it is not known, as in a file that is
    /// still being written.
    ///
    /// # Errors
    /// If the file is not an MP4 file.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Duration>, Error> {
        self.boxes += 1;
        let head = Head::read(bytes, self.length - self.at);
        let head = head.filter(|_| self.boxes <= BOXES_MAX);
        let head = head.ok_or(Error::Malformed)?;
        if &head.kind != b"moov" {
            self.at += head.bytes;
            return Ok(None);
        }
        let body = bytes.get(head.header_bytes..).unwrap_or_default();
        let duration = find(body, b"mvhd").and_then(duration);
        duration.map(Some).ok_or(Error::Malformed)
    }
}

/// Reads the duration from `mvhd`; zero if it is not known.
pub(in super::super) fn duration(mvhd: &[u8]) -> Option<Duration> {
    let mut numbers = Numbers(mvhd);
    let version = numbers.times()?;
    let timescale = numbers.u32()?;
    let units = numbers.by_version(version)?;
    // All ones mean an unknown duration.
    let is_known = units < u64::from(u32::MAX);
    Some(time(if is_known { units } else { 0 }, timescale))
}
