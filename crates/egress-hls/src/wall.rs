//! Times of day of a stream's timestamps: `EXT-X-PROGRAM-DATE-TIME`.
//!
//! Within an epoch the two clocks differ by a constant, fixed when the first segment of the epoch is listed, so the
//! times of segments are as continuous as their media.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fanout::{Segment, TitleChange};
use media::{TICKS_PER_SECOND, Timestamp};

/// Ticks of the stream's clock per millisecond.
const TICKS_PER_MILLI: i64 = TICKS_PER_SECOND / 1_000;

/// Times of day of the listed epochs: for each epoch, the ticks to add to the stream's for ticks since 1970.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wall(Vec<(u32, i64)>);

impl Wall {
    /// Records the epochs of `segments`; the newest media arrived just `now`.
    pub(crate) fn observe(&mut self, segments: &[Arc<Segment>], now: SystemTime) {
        self.0
            .retain(|(epoch, _)| segments.iter().any(|segment| segment.epoch == *epoch));
        let since_unix = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        for segment in segments.iter().rev() {
            if self.0.iter().any(|(epoch, _)| *epoch == segment.epoch) {
                continue;
            }
            // The first segment of each epoch that this loop meets is the newest of that epoch.
            let end = segment.start + segment.duration;
            let millis = i64::try_from(since_unix.as_millis()).unwrap_or_default();
            let offset = millis.saturating_mul(TICKS_PER_MILLI) - (end - Timestamp::ZERO).ticks();
            self.0.push((segment.epoch, offset));
        }
    }

    /// Converts a timestamp of the stream to milliseconds since 1970, in the epoch of the segment that contains it, or
    /// else in that of the first segment.
    pub(crate) fn moment(&self, segments: &[Arc<Segment>], at: Timestamp) -> Option<i64> {
        let around = segments.iter().rev().find(|segment| segment.start <= at);
        let epoch = around.or_else(|| segments.first())?.epoch;
        Some(self.epoch(epoch)?.moment(at))
    }

    /// Returns the time at which a title began, in milliseconds since 1970; `None` before its epoch has a segment.
    pub(crate) fn title(&self, change: &TitleChange) -> Option<i64> {
        Some(self.epoch(change.epoch)?.moment(change.at))
    }

    /// Returns the times of an epoch; `None` if the epoch was not recorded.
    pub(crate) fn epoch(&self, epoch: u32) -> Option<EpochWall> {
        let (_, offset) = self.0.iter().find(|(known, _)| *known == epoch)?;
        Some(EpochWall {
            epoch,
            offset: *offset,
        })
    }

    /// Returns the time at which a segment began, in milliseconds since 1970; `None` for an epoch that was not
    /// recorded.
    pub(crate) fn began(&self, segment: &Segment) -> Option<i64> {
        Some(self.epoch(segment.epoch)?.moment(segment.start))
    }
}

/// Times of day of one epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochWall {
    pub(crate) epoch: u32,
    /// Ticks to add to the stream's for ticks since 1970.
    offset: i64,
}

impl EpochWall {
    /// Converts a timestamp of the stream to milliseconds since 1970.
    pub(crate) fn moment(self, at: Timestamp) -> i64 {
        (at.ticks() + self.offset).div_euclid(TICKS_PER_MILLI)
    }
}

/// Formats a time in UTC by ISO 8601: `2026-11-23T04:05:06.789Z`. A time before 1970 becomes the start of 1970.
pub(crate) fn iso8601(millis: i64) -> String {
    let millis = u64::try_from(millis).unwrap_or(0);
    base::date::rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis))
}
