//! Readers of a stream's lanes that are not listeners.

use std::sync::Arc;
use std::time::Instant;

use super::{LaneRefused, Stream};
use crate::archive::ArchiveReader;
use crate::gate::{Authorized, Play};
use crate::lane::{Format, LaneGuard};
use crate::packager::Packager;
use crate::ranges::RangeReader;

impl Stream {
    /// Whether it has listeners or other readers.
    pub fn is_read(&self) -> bool {
        let core = self.core();
        core.lanes.iter().any(|lane| lane.lane.listeners() > 0)
    }

    /// Reads the lane of a format by ranges. The lane is opened, and stays open, as for a listener; but no
    /// listener is counted.
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn ranges(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<RangeReader, LaneRefused> {
        let guard = self.lane_for(permission, format, make, now, LaneGuard::uncounted)?;
        Ok(RangeReader::new(guard))
    }

    /// Reads the lane of a format from its newest join point on, and loses nothing while it is behind by no
    /// more than what the log keeps and `bytes_max` bytes of pages, at most
    /// [`ARCHIVE_BYTES_MAX`](crate::ARCHIVE_BYTES_MAX). The lane is opened, and stays open, as for a listener;
    /// but no listener is counted.
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn archive(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        bytes_max: usize,
        now: Instant,
    ) -> Result<ArchiveReader, LaneRefused> {
        let guard = self.lane_for(permission, format, make, now, LaneGuard::uncounted)?;
        Ok(ArchiveReader::new(guard, bytes_max))
    }
}
