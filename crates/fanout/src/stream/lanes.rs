//! Opening the lanes of a stream: the first listener of a format opens its lane, and later ones share it.

use std::sync::Arc;
use std::time::Instant;

use log::Account;
use media::Span;

use super::core::Core;
use super::{Deriver, Phase, Stream};
use crate::format::Format;
use crate::gate::{Authorized, Play};
use crate::lane::{LaneGuard, LaneWriter};
use crate::packager::Packager;

/// Upper bound on the lanes of one stream. Each is a format; there are fewer formats than this.
const LANES_MAX: usize = 32;

/// Age of a keyframe from which a joiner that gets it causes a request for a new one: a longer delay is noticed.
const JOIN_AGE_WISHED: Span = Span::from_millis(2_000);

/// Reasons why a lane could not be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaneRefused {
    /// The stream has ended.
    #[error("the stream has ended")]
    Ended,
    /// Logs hold as much memory as they may.
    #[error("the memory for streams is used up")]
    Memory,
    /// The derived track that the lane needs cannot be produced now.
    #[error("the server transcodes the audio of as many streams as it may")]
    Derivation,
    /// The stream has more lanes than there are formats: a defect of the caller.
    #[error("the stream has too many lanes")]
    TooMany,
}

impl Stream {
    /// Returns the lane of a format, opened with a packager from `make` if it is not open. The lane stays open while
    /// the guard, or a listener it was passed on to, lives. If the newest keyframe, at which a listener would start, is
    /// old, the publisher is asked for a new one, if possible.
    ///
    /// # Errors
    /// Returns [`LaneRefused`] if the lane cannot be opened.
    pub fn lane(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        self.lane_for(permission, format, make, now, |guard| guard)
    }

    /// Returns the lane of a format; `holder` converts its guard.
    pub(super) fn lane_for(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
        holder: impl FnOnce(LaneGuard) -> LaneGuard,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, takes_derived) = {
            let mut core = self.core.lock();
            let (guard, takes_derived) = self.open_lane(&mut core, format, make, now)?;
            let guard = holder(guard);
            core.outputs.listeners();
            (guard, takes_derived)
        };
        match !takes_derived || self.want_derived() {
            true => Ok(guard),
            false => Err(LaneRefused::Derivation),
        }
    }

    /// Returns the lane of a format for a listener that has yet to connect, and may never: no track is derived for it
    /// before [`ListenerHandle::connected`](crate::ListenerHandle::connected).
    ///
    /// # Errors
    /// Returns [`LaneRefused`] if the lane cannot be opened. A lack of room for the derived track is an error only if
    /// there is no other track.
    pub fn reserve_lane(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, needs_derived) = {
            let mut core = self.core.lock();
            let (guard, takes_derived) = self.open_lane(&mut core, format, make, now)?;
            let guard = guard.reserved();
            core.outputs.listeners();
            let is_all = takes_derived && core.announced.video().is_none();
            (guard, is_all && core.derived.lacks_writer())
        };
        let has_room = |deriver: &Arc<dyn Deriver>| deriver.has_room(self);
        match needs_derived && !self.commons.deriver.get().is_none_or(has_room) {
            false => Ok(guard),
            true => Err(LaneRefused::Derivation),
        }
    }

    /// Opens or finds the lane of a format; also returns whether it takes the derived track.
    fn open_lane(
        &self,
        core: &mut Core,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<(LaneGuard, bool), LaneRefused> {
        if core.phase == Phase::Ended {
            return Err(LaneRefused::Ended);
        }
        if core.observed.groups.lack_keyframe_since(JOIN_AGE_WISHED) {
            self.wish.set();
        }
        if let Some(open) = core
            .outputs
            .lanes
            .iter()
            .find(|open| open.lane.format == format)
        {
            return Ok((LaneGuard::new(Arc::clone(&open.lane)), open.takes_derived));
        }
        if core.outputs.lanes.len() >= LANES_MAX {
            return Err(LaneRefused::TooMany);
        }
        let class = core.class(now);
        let policy = core.incumbent.settings.policy(class);
        let floor = LaneWriter::floor(format, class, &policy);
        if self
            .commons
            .budget
            .refuses(floor, core.outputs.lanes.is_empty())
        {
            return Err(LaneRefused::Memory);
        }
        let lane = LaneWriter::open(
            format,
            class,
            policy,
            make(),
            Arc::clone(&self.commons.wakers),
            Account::new(&self.commons.budget, &self.log_bytes),
            Arc::clone(&self.wish),
        );
        let mut lane = lane.ok_or(LaneRefused::Memory)?;
        lane.set_epoch(core.epoch);
        core.replay(&mut lane, now);
        if lane.has_failed() {
            return Err(LaneRefused::Memory);
        }
        let opened = (LaneGuard::new(Arc::clone(&lane.lane)), lane.takes_derived);
        core.outputs.lanes.push(lane);
        Ok(opened)
    }
}
