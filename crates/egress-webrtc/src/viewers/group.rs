//! One lane of a worker: its log, and the viewers that follow it, visited in turn.
//!
//! A *round* visits every viewer once and starts where the last one ended, so that none is always last. It
//! may be spread over several calls, between which the port serves its sockets. A round begins for a picture;
//! for sound whose window has passed; for a viewer that is being paced or found the socket full.

use std::task::Waker;
use std::time::{Duration, Instant};

use fanout::books::CHECKUP_INTERVAL as LAG_INTERVAL;
use fanout::{LaneGuard, LaneId, Reason};
use media::Span;
use webrtc::ice::Transport;

use super::context::{GroupContext, ViewerPosition};
use super::feed::{Feed, News};
use super::report::send_report;
use super::viewer::{Viewer, Visit};
use crate::out::ViewerOutbox;
use formats::rtp::codes::PICTURE;

/// After a picture sound waits for the next one to go with, but no longer than this: a little more than the
/// interval of 25 pictures a second.
const SOUND_WAIT_MAX: Duration = Duration::from_millis(45);

/// For a large audience sound waits as long as this although the picture is overdue: that interval. A picture that comes
/// late by less takes its sound along.
const LATE_PICTURE_WAIT: Duration = Duration::from_millis(40);

/// A viewer that found the socket full is tried again after this, unless the socket reports space before.
pub(super) const BLOCKED_RETRY: Duration = Duration::from_millis(10);

/// How often viewers are checked for changes other than media.
const CHECKUP_INTERVAL: Duration = Duration::from_millis(250);

/// A message later than this counts as late. Up to [`SOUND_WAIT_MAX`] of it may be sound's wait for a
/// picture; the rest is three pictures' time, which a player's jitter buffer hides; a longer gap shows as a
/// pause.
const LATE_AFTER: Duration = Duration::from_millis(150);

/// Sends in a row that find no space before a worker takes its socket to be full.
pub(super) const BLOCKED_MAX: u32 = 4;

/// See the module's description.
#[derive(Debug)]
pub(super) struct ViewerGroup {
    /// Its index among the worker's groups.
    index: u32,
    id: LaneId,
    feed: Feed,
    bell: Waker,
    /// The most sound in one packet that all its viewers take.
    packet_time: Duration,
    viewers: Vec<Viewer>,
    round: Round,
    /// When the next round begins at the latest, with or without news.
    again: Option<Instant>,
    checkup: Instant,
    /// When lags are sampled next.
    lags_sampled: Instant,
    /// When it is in the worker's schedule.
    pub(super) scheduled: Option<Instant>,
    /// It waits in the worker's queue.
    pub(super) is_queued: bool,
}

/// A round, or the time between two.
#[derive(Debug)]
struct Round {
    /// The next viewer to visit, and how many are still to be visited.
    cursor: usize,
    left: usize,
    began: Option<Instant>,
}

/// What is left to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    /// Viewers are still to be visited.
    Unfinished,
    /// Nothing until this time, unless the bell rings.
    Until(Instant),
    /// The lane has ended and all viewers are gone.
    Over,
}

impl ViewerGroup {
    pub(super) fn new(index: u32, guard: &LaneGuard, bell: Waker, now: Instant) -> Self {
        Self {
            index,
            id: guard.id(),
            feed: Feed::new(guard, now),
            bell,
            packet_time: Duration::MAX,
            viewers: Vec::new(),
            round: Round {
                cursor: 0,
                left: 0,
                began: None,
            },
            again: None,
            checkup: now,
            lags_sampled: now,
            scheduled: None,
            is_queued: false,
        }
    }

    pub(super) const fn id(&self) -> LaneId {
        self.id
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.viewers.is_empty()
    }

    pub(super) fn viewer(&mut self, index: usize) -> Option<&mut Viewer> {
        self.viewers.get_mut(index)
    }

    /// Adds a viewer and sends it what it may have at once.
    pub(super) fn enter<O: ViewerOutbox>(
        &mut self,
        viewer: Viewer,
        context: &mut GroupContext,
        now: Instant,
        out: &mut O,
    ) {
        let place = ViewerPosition {
            generation: viewer.session.generation,
            group: self.index,
            viewer: self.viewers.len() as u32,
        };
        context.set(viewer.session, Some(place));
        self.packet_time = self.packet_time.min(viewer.books.packet_time);
        self.viewers.push(viewer);
        context.viewers += 1;
        self.declare(context);
        self.visit(self.viewers.len() - 1, context, now, out);
    }

    /// Removes a viewer.
    pub(super) fn remove(&mut self, index: usize, reason: Reason, context: &mut GroupContext) {
        let mut viewer = self.viewers.swap_remove(index);
        context.set(viewer.session, None);
        context.viewers -= 1;
        viewer.settle_books();
        viewer.books.handle.ends_by(reason);
        if let Some(moved) = self.viewers.get(index) {
            let place = ViewerPosition {
                generation: moved.session.generation,
                group: self.index,
                viewer: index as u32,
            };
            context.set(moved.session, Some(place));
            if self.round.left > 0 {
                // It may have moved from those still to be visited to those already visited.
                self.round.left = self.viewers.len();
            }
        }
        self.round.left = self.round.left.min(self.viewers.len());
    }

    /// Removes all viewers.
    pub(super) fn clear(&mut self, reason: Reason, context: &mut GroupContext) {
        while let Some(last) = self.viewers.len().checked_sub(1) {
            self.remove(last, reason, context);
        }
    }

    /// Does what is due, in at most `quota` visits.
    pub(super) fn work<O: ViewerOutbox>(
        &mut self,
        context: &mut GroupContext,
        quota: &mut u32,
        now: Instant,
        out: &mut O,
    ) -> Work {
        let news = self.feed.absorb();
        if self.wants_round(news, context, now) {
            self.begin_round(now);
        }
        while self.round.left > 0 && *quota > 0 && context.blocked_in_a_row < BLOCKED_MAX {
            *quota -= 1;
            self.round.left -= 1;
            if self.round.cursor >= self.viewers.len() {
                self.round.cursor = 0;
            }
            if self.visit(self.round.cursor, context, now, out) {
                self.round.cursor += 1;
            }
        }
        // Also while rounds follow one another without a pause.
        if now >= self.checkup {
            self.check_up(context, now, out);
        }
        if self.round.left > 0 {
            return Work::Unfinished;
        }
        if self.feed.is_over() {
            for viewer in &self.viewers {
                out.close(viewer.session);
            }
            self.clear(Reason::Ended, context);
            return Work::Over;
        }
        if !self.feed.follower.arm(&self.bell) {
            return Work::Unfinished;
        }
        Work::Until(
            self.again
                .map_or(self.checkup, |again| again.min(self.checkup)),
        )
    }

    /// Whether a round is due. Sound waits for a picture within the window, which widens with the audience.
    fn wants_round(&mut self, news: News, context: &GroupContext, now: Instant) -> bool {
        if news.has_picture {
            return true;
        }
        if news.has_any {
            let due = self.sound_due(context, now);
            self.come_again(due);
        }
        self.again.is_some_and(|again| again <= now)
    }

    /// How long sound that came `now` waits for a picture. Where there is none, the lane has combined what may wait.
    fn sound_due(&self, context: &GroupContext, now: Instant) -> Instant {
        let (Some(_), Some(began)) = (self.feed.formats[PICTURE], self.round.began) else {
            return now;
        };
        let window = self.window(context);
        if window < SOUND_WAIT_MAX {
            return began + window;
        }
        (began + SOUND_WAIT_MAX).max(now + LATE_PICTURE_WAIT)
    }

    /// The time between two visits of a viewer that the worker can spend on sound.
    fn window(&self, context: &GroupContext) -> Duration {
        self.feed.follower.policy().window(
            context.turn_cost(),
            context.rules.target_utilisation,
            Span::ZERO,
        )
    }

    /// Tells the lane how much sound its viewers take in one packet.
    fn declare(&mut self, context: &GroupContext) {
        self.feed
            .follower
            .declare(self.window(context), self.packet_time);
    }

    fn begin_round(&mut self, now: Instant) {
        self.round.left = self.viewers.len();
        self.round.began = Some(now);
        self.again = None;
    }

    /// Starts a round at `due` at the latest.
    fn come_again(&mut self, due: Instant) {
        self.again = Some(self.again.map_or(due, |again| again.min(due)));
    }

    /// Visits one viewer. Returns whether it is still there.
    fn visit<O: ViewerOutbox>(
        &mut self,
        index: usize,
        context: &mut GroupContext,
        now: Instant,
        out: &mut O,
    ) -> bool {
        let lane = self.feed.lane();
        let Some(viewer) = self.viewers.get_mut(index) else {
            return false;
        };
        let packets = context.counters.packets;
        let oldest = viewer.oldest_unsent(lane.tracks);
        let visit = viewer.visit(lane, now, out, &mut context.scratch, &mut context.counters);
        if context.counters.packets > packets {
            context.blocked_in_a_row = 0;
            if let Some(oldest) = oldest {
                let delay = self.feed.age(oldest, now);
                context.books.forwarded(delay, LATE_AFTER, 1);
            }
        }
        if viewer.is_due_for_report(now) {
            send_report(viewer, &self.feed.clock, context, now, out);
        }
        match visit {
            Visit::Settled => {}
            Visit::Again(due) => self.come_again(due),
            Visit::Blocked => {
                // A full connection concerns its viewer alone, a full UDP socket all viewers.
                let is_shared = viewer.path().transport == Transport::Udp;
                context.blocked_in_a_row += u32::from(is_shared);
                self.come_again(now + BLOCKED_RETRY);
            }
            Visit::Leave(reason) => {
                out.close(viewer.session);
                self.remove(index, reason, context);
                return false;
            }
        }
        true
    }

    /// Removes viewers that were kicked or were promised another codec, and keeps the books.
    fn check_up<O: ViewerOutbox>(&mut self, context: &mut GroupContext, now: Instant, out: &mut O) {
        self.checkup = now + CHECKUP_INTERVAL;
        let limits = self.viewers.iter().map(|viewer| viewer.books.packet_time);
        self.packet_time = limits.min().unwrap_or(Duration::MAX);
        self.declare(context);
        let samples_lags = now >= self.lags_sampled;
        if samples_lags {
            self.lags_sampled = now + LAG_INTERVAL;
        }
        let mut index = 0;
        while index < self.viewers.len() {
            if let Some(reason) = self.must_leave(index) {
                out.close(self.viewers[index].session);
                self.remove(index, reason, context);
                continue;
            }
            let lane = self.feed.lane();
            let viewer = &mut self.viewers[index];
            let lag = viewer.tell(lane, now);
            if samples_lags {
                context.books.sampled_lag(lag, 1);
            }
            if viewer.is_due_for_report(now) {
                send_report(viewer, &self.feed.clock, context, now, out);
            }
            index += 1;
        }
    }

    fn must_leave(&self, index: usize) -> Option<Reason> {
        let viewer = &self.viewers[index];
        if viewer.books.handle.is_kicked() {
            return Some(Reason::Kicked);
        }
        // The stream's codec has changed: a viewer that asks again learns the new one.
        let agreed = viewer.lines[PICTURE].as_ref()?.format as usize;
        let present = self.feed.formats[PICTURE]?;
        (present != agreed).then_some(Reason::Ended)
    }

    /// A viewer cannot go on without a keyframe.
    pub(super) fn lost_picture(&mut self, index: usize, now: Instant) {
        let lane = self.feed.lane();
        if let Some(viewer) = self.viewers.get_mut(index) {
            viewer.lost_picture(lane, now);
        }
    }

    /// Sends a viewer the packets again that it lost.
    pub(super) fn repeat<O: ViewerOutbox>(
        &mut self,
        index: usize,
        media: u32,
        lost: impl Iterator<Item = u16>,
        context: &mut GroupContext,
        now: Instant,
        out: &mut O,
    ) {
        let lane = self.feed.lane();
        let Some(viewer) = self.viewers.get_mut(index) else {
            return;
        };
        let Some(kind) = viewer.kind_of(media) else {
            return;
        };
        let (millis, scratch) = (context.wall.millis(now), &mut context.scratch);
        viewer.repeat(
            kind,
            lost,
            lane,
            millis,
            out,
            scratch,
            &mut context.counters,
        );
    }
}
