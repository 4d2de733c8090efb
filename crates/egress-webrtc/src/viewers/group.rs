//! One lane of a worker: its log, and the viewers that follow it, visited in turn.
//!
//! A *round* visits every viewer once and starts where the last one ended, so that no viewer is always last. A round may be
//! spread over several calls, between which the port serves its sockets. A round begins for a video frame, for audio whose
//! window has passed, and for a viewer that is paced or found the socket full.

use std::task::Waker;
use std::time::{Duration, Instant};

use fanout::books::CHECKUP_INTERVAL as LAG_INTERVAL;
use fanout::{LaneGuard, LaneId, Reason};
use media::Span;
use webrtc::ice::Transport;

use super::context::GroupContext;
use super::feed::{Feed, News};
use super::report::send_report;
use super::viewer::{Viewer, Visit};
use crate::out::ViewerOutbox;
use packagers::rtp::codes::PICTURE;

/// Longest time that audio waits after a video frame for the next one, in order to be sent together: slightly more than the
/// frame interval at 25 frames a second.
const AUDIO_WAIT_MAX: Duration = Duration::from_millis(45);

/// Time that audio for a large audience waits although the video frame is overdue: the frame interval. A frame that is late by
/// less than this is sent together with its audio.
const LATE_PICTURE_WAIT: Duration = Duration::from_millis(40);

/// Pause before a viewer that found the socket full is tried again, unless the socket reports space earlier.
pub(super) const BLOCKED_RETRY: Duration = Duration::from_millis(10);

/// Interval at which viewers are checked for changes other than media.
const CHECKUP_INTERVAL: Duration = Duration::from_millis(250);

/// Delay beyond which a message counts as late. Up to [`AUDIO_WAIT_MAX`] of it may be the wait of audio for a video frame; the
/// rest is the time of three video frames, which a player's jitter buffer hides. A longer gap shows as a pause.
const LATE_AFTER: Duration = Duration::from_millis(150);

/// Consecutive sends without space after which a worker considers its socket full.
pub(super) const BLOCKED_MAX: u32 = 4;

/// Log and viewers of one lane of a worker; call [`work`](Self::work) until it returns [`Work::Over`].
#[derive(Debug)]
pub(super) struct ViewerGroup {
    /// Index among the worker's groups.
    index: u32,
    id: LaneId,
    feed: Feed,
    bell: Waker,
    /// Longest audio in one packet that all its viewers accept.
    packet_time: Duration,
    viewers: Vec<Viewer>,
    round: Round,
    /// Latest start of the next round, with or without news.
    again: Option<Instant>,
    checkup: Instant,
    /// Time of the next sampling of lags.
    lags_sampled: Instant,
    /// Time of the group's entry in the worker's schedule.
    pub(super) scheduled: Option<Instant>,
    /// Whether the group waits in the worker's queue.
    pub(super) is_queued: bool,
}

/// State of a round, or of the time between two.
#[derive(Debug)]
struct Round {
    /// Index of the next viewer to visit, and number of viewers still to be visited.
    cursor: usize,
    left: usize,
    began: Option<Instant>,
}

/// Work that remains after a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    /// Viewers are still to be visited.
    Unfinished,
    /// Nothing to do until this time, unless the bell rings.
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

    /// Adds a viewer and sends it everything that it may have at once.
    pub(super) fn enter<O: ViewerOutbox>(
        &mut self,
        viewer: Viewer,
        context: &mut GroupContext,
        now: Instant,
        out: &mut O,
    ) {
        context.set(viewer.session, Some((self.index, self.viewers.len())));
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
            context.set(moved.session, Some((self.index, index)));
            if self.round.left > 0 {
                // The moved viewer may have changed from those still to be visited to those already visited.
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
        // Check-ups also happen while rounds follow one another without a pause.
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

    /// Whether a round is due. Audio waits for a video frame within the window, which widens with the audience.
    fn wants_round(&mut self, news: News, context: &GroupContext, now: Instant) -> bool {
        if news.has_picture {
            return true;
        }
        if news.has_any {
            let due = self.audio_due(context, now);
            self.come_again(due);
        }
        self.again.is_some_and(|again| again <= now)
    }

    /// Returns the time until which audio that arrived `now` waits for a video frame. In a stream without video, the lane has
    /// already combined audio that may wait.
    fn audio_due(&self, context: &GroupContext, now: Instant) -> Instant {
        let (Some(_), Some(began)) = (self.feed.formats[PICTURE], self.round.began) else {
            return now;
        };
        let window = self.window(context);
        if window < AUDIO_WAIT_MAX {
            return began + window;
        }
        (began + AUDIO_WAIT_MAX).max(now + LATE_PICTURE_WAIT)
    }

    /// Returns the time between two visits of a viewer that the worker can spend on audio.
    fn window(&self, context: &GroupContext) -> Duration {
        self.feed.follower.policy().window(
            context.turn_cost(),
            context.target_utilisation,
            Span::ZERO,
        )
    }

    /// Declares to the lane how much audio its viewers accept in one packet.
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

    /// Ensures that a round starts at `due` at the latest.
    fn come_again(&mut self, due: Instant) {
        self.again = Some(self.again.map_or(due, |again| again.min(due)));
    }

    /// Visits one viewer; returns whether the viewer is still present.
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
                // A full connection concerns its viewer alone; a full UDP socket concerns all viewers.
                let is_shared = viewer.path.transport == Transport::Udp;
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

    /// Removes viewers that were kicked or whose agreed codec has changed, and updates the books.
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
        // The stream's codec has changed: a viewer that connects again learns the new one.
        let agreed = viewer.lines[PICTURE].as_ref()?.format as usize;
        let present = self.feed.formats[PICTURE]?;
        (present != agreed).then_some(Reason::Ended)
    }

    /// Handles a viewer's report that it cannot continue without a keyframe.
    pub(super) fn lost_picture(&mut self, index: usize, now: Instant) {
        let lane = self.feed.lane();
        if let Some(viewer) = self.viewers.get_mut(index) {
            viewer.lost_picture(lane, now);
        }
    }

    /// Retransmits packets that a viewer lost.
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
