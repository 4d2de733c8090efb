//! Readers of a stream's lanes that are not listeners.

use std::sync::Arc;
use std::time::Instant;

use log::SpoolShare;
use media::Kind;

use super::spool::{self, Spool, SpoolWriter};
use super::tap::{self, Tap, TapWriter};
use super::{LaneRefused, Phase, Stream};
use crate::archive::ArchiveReader;
use crate::format::Format;
use crate::gate::{Authorized, Play};
use crate::lane::LaneGuard;
use crate::packager::Packager;
use crate::ranges::RangeReader;

/// Upper bound on the taps of one stream: each stream that has it as its fallback may have one, besides the maker of
/// derived tracks. An item costs each of them a push of some words.
const TAPS_MAX: usize = 128;

/// Upper bound on the spools of one stream: it has one recorder, and another for a moment when rules change.
const SPOOLS_MAX: usize = 4;

impl Stream {
    /// Whether it has listeners or other readers.
    pub fn is_read(&self) -> bool {
        let core = self.core.lock();
        core.outputs.are_recorded()
            || core
                .outputs
                .lanes
                .iter()
                .any(|lane| lane.lane.listeners() > 0)
    }

    /// Returns a reader of the stream's items, for samples of `kind` or of every kind. It begins where a lane would
    /// begin. Returns `None` when the stream has ended, or has the maximum of taps.
    pub fn tap(&self, kind: Option<Kind>) -> Option<Tap> {
        let mut core = self.core.lock();
        core.outputs.taps.retain(TapWriter::is_read);
        if core.phase == Phase::Ended || core.outputs.taps.len() >= TAPS_MAX {
            return None;
        }
        let (writer, tap) = tap::tap(kind);
        core.recall(false, core.burst_begins(), |item, kind| {
            writer.push(item, kind)
        });
        core.outputs.taps.push(writer);
        Some(tap)
    }

    /// Opens the lane of a format for reading by ranges. The lane stays open as for a listener; but no listener is
    /// counted.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] if the lane cannot be opened.
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

    /// Opens the lane of a format for a reader that begins at its newest join point, and loses nothing while its lag is
    /// within the log and `bytes_max` bytes of pages, at most [`ARCHIVE_BYTES_MAX`](crate::ARCHIVE_BYTES_MAX). The lane
    /// stays open as for a listener; but no listener is counted.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] if the lane cannot be opened.
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

    /// Returns the stream's items for a recorder that writes a container of its own. They begin where a lane would
    /// begin, and end with the stream, or when another publisher sends another kind of container. Returns `None` when
    /// the stream has ended, or has the maximum of such readers.
    pub fn spool(&self, permission: &Authorized<Play>, now: Instant) -> Option<Spool> {
        debug_assert_eq!(permission.action().stream, *self.name());
        let mut core = self.core.lock();
        core.outputs.spools.retain(SpoolWriter::is_read);
        if core.phase == Phase::Ended || core.outputs.spools.len() >= SPOOLS_MAX {
            return None;
        }
        let (writer, spool) = spool::spool(SpoolShare::new(&self.commons.budget));
        core.recall(false, core.burst_begins(), |item, _| writer.push(item, now));
        if core.phase == Phase::Lingering {
            writer.pause();
        }
        core.outputs.spools.push(writer);
        Some(spool)
    }
}
