//! One monotonic timeline over all epochs of a stream.
//!
//! Each publisher counts from any origin. The first sample of an epoch is placed at the end of the previous epoch, and
//! all tracks of the epoch move by the same distance, so that audio and video keep their offset. A publisher that
//! restarts its clock in mid-epoch is treated the same way, track by track as each of them jumps: back, or forward by
//! more than the time that has passed since. So media times advance as real time does, and a pause shows only if
//! nothing arrived. If times stand still while samples arrive, the times of arrival are used.

use std::time::{Duration, Instant};

use media::{Sample, Script, Span, TimedEvent, Timestamp, TrackId};

/// Step back beyond which a clock counts as restarted; a smaller one is jitter and is held at the last value.
const BACKWARD_MAX: Span = Span::from_millis(500);

/// Largest step forward, beyond all tracks and beyond the time that has passed, that is no restarted clock: encoders
/// skip some frames, and deliver others late.
const FORWARD_MAX: Span = Span::from_millis(500);

/// Largest step forward of a track's second sample: the distance of its samples is not known yet.
const FIRST_STEP_MAX: Span = Span::from_millis(10_000);

/// Largest step forward of a track with rare samples that is no restarted clock, as a multiple of its last step: media
/// that is not live may arrive faster than it plays.
const STEPS_MAX: i64 = 4;

/// Upper bound on the recorded step of a track: no step is longer than a pause of the media.
const STEP_MAX: Span = Span::from_millis(2_000);

/// Largest distance of a further track's first sample from the newest sample of the others: tracks begin within the
/// first seconds, and some that begin later count from zero.
const TRACK_SKEW_MAX: Span = Span::from_millis(5_000);

/// Divisor of the media's progress that gives the amount by which the lag is reduced: a publisher's clock may be slow
/// by this share and its jumps are still detected.
const FORGOTTEN_SHARE: i64 = 16;

/// Time that a track's times may stand still while samples arrive before the time of arrival is used: bursts and jitter
/// last less.
const STUCK_MAX: Duration = Duration::from_secs(1);

/// Number of samples that have to arrive in that time: the first after a pause of the network may repeat a time.
const STUCK_SAMPLES: u32 = 8;

/// Largest distance of an event from the newest sample; an event further away takes effect now, for many publishers
/// give data messages the time zero.
const EVENT_SKEW_MAX: Span = Span::from_millis(10_000);

/// Upper bound on the tracks of one stream. Others share the last one's state here, which only matters at a jump.
pub(super) const TRACKS_MAX: usize = 16;

/// State of a stream's timeline: places the samples, data messages and events of each epoch.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// End of the newest sample of all tracks, on the stream's timeline.
    end: Timestamp,
    /// End of the newest sample that lanes have received: less than `end` while the rest of a batch is due.
    written: Timestamp,
    /// Start of the epoch; none of its media lies before.
    epoch_start: Timestamp,
    /// Distance from the publisher's clock to the stream's, as of the last (re)start.
    shift: Option<Span>,
    /// Whether samples arrive with times on this timeline.
    follows: bool,
    tracks: Vec<TrackTime>,
    passage: Passage,
}

#[derive(Debug)]
struct TrackTime {
    id: TrackId,
    shift: Span,
    last_dts: Timestamp,
    /// Arrival time of the last sample that was placed after the one before it.
    came: Instant,
    /// Last step forward, of [`STEP_MAX`] at the most; zero before the first.
    step: Span,
    /// Latest time by the publisher's clock, and the arrival of the first sample with it. `held` counts the samples
    /// since that are not later.
    own: (Timestamp, Instant),
    held: u32,
}

/// Real time that has passed and that the media has not yet covered.
#[derive(Debug, Default)]
struct Passage {
    /// Arrival time of the last sample, and the end of the media at that time.
    last: Option<(Instant, Timestamp)>,
    behind: Span,
}

impl Passage {
    /// Records a sample that arrives `now`, before which the media ends at `end`; returns the distance by which the
    /// sample may lie beyond that.
    fn behind(&mut self, now: Instant, end: Timestamp) -> Span {
        let (came, ended) = self.last.replace((now, end)).unwrap_or((now, end));
        let passed = Span::from(now.saturating_duration_since(came)).ticks();
        let advanced = (end - ended).ticks().max(0);
        let forgotten = advanced / FORGOTTEN_SHARE;
        let behind = self.behind.ticks().saturating_sub(forgotten).max(0);
        let behind = behind.saturating_sub(advanced).max(0);
        self.behind = Span::from_ticks(behind.saturating_add(passed));
        self.behind
    }
}

impl Timeline {
    /// Sets the beginning of a stream that has no sample yet.
    pub(super) fn begin_at(&mut self, start: Timestamp) {
        self.end = start;
        self.written = start;
    }

    /// Begins an epoch: samples that follow come from another publisher.
    pub(super) fn begin_epoch(&mut self) {
        self.epoch_start = self.end;
        self.shift = None;
        self.follows = false;
        self.tracks.clear();
        self.passage = Passage::default();
    }

    /// Declares that samples of the epoch that has just begun arrive with times on this timeline, and keep them.
    pub(super) fn follow(&mut self) {
        self.shift = Some(Span::ZERO);
        self.follows = true;
    }

    /// Returns the end of the newest sample of all tracks.
    pub(super) fn end(&self) -> Timestamp {
        self.end
    }

    /// Returns the span of media in the epoch so far.
    pub(super) fn since_epoch(&self) -> Span {
        self.end - self.epoch_start
    }

    /// Returns the end of the newest sample that was [written](Self::wrote). It does not depend on the batches in which
    /// samples arrived.
    pub(super) fn written(&self) -> Timestamp {
        self.written
    }

    /// Records that a placed sample goes to the lanes.
    pub(super) fn wrote(&mut self, sample: &Sample) {
        self.written = self.written.max(sample.dts + sample.duration);
    }

    /// Moves a sample that arrived `now` onto the stream's timeline.
    pub(super) fn place(&mut self, sample: &mut Sample, now: Instant) {
        let dts = self.place_dts(sample.track, sample.dts, now);
        sample.pts = dts + (sample.pts - sample.dts);
        sample.dts = dts;
        self.end = self.end.max(dts + sample.duration);
    }

    /// Moves a data message onto the stream's timeline.
    pub(super) fn place_script(&self, script: &mut Script) {
        script.at = match self.shift {
            Some(shift) => (script.at + shift).max(Timestamp::ZERO),
            None => self.end,
        };
    }

    /// Moves an event onto the stream's timeline.
    pub(super) fn place_event(&self, event: &mut TimedEvent) {
        let at = self.shift.map_or(self.end, |shift| event.at + shift);
        let is_near = at - self.end <= EVENT_SKEW_MAX && self.end - at <= EVENT_SKEW_MAX;
        event.at = if is_near { at } else { self.end }.max(Timestamp::ZERO);
    }

    fn place_dts(&mut self, id: TrackId, dts: Timestamp, now: Instant) -> Timestamp {
        let end = self.end;
        let current = *self.shift.get_or_insert(end - dts);
        let beyond = end + self.passage.behind(now, end);
        let index = match self.tracks.iter().position(|track| track.id == id) {
            Some(index) => index,
            None if self.tracks.len() < TRACKS_MAX => {
                self.begin_track(id, dts, beyond, now);
                self.tracks.len() - 1
            }
            None => TRACKS_MAX - 1,
        };
        let follows = self.follows;
        let track = &mut self.tracks[index];
        let is_left_behind = end - (dts + track.shift) > FORWARD_MAX
            && track.shift != current
            && !track.is_apart(dts + current, beyond);
        let has_jumped = is_left_behind || track.jumps_to(dts + track.shift, beyond, current);
        if !follows && has_jumped {
            // Another track may have jumped by the same distance already.
            if track.is_apart(dts + current, beyond) {
                self.shift = Some(end.max(track.last_dts + track.step) - dts);
            }
            track.shift = self.shift.unwrap_or(current);
            if track.own.0 - dts > BACKWARD_MAX {
                (track.own, track.held) = ((dts, now), 0);
            }
        } else if !follows && track.is_stuck(dts, now) {
            let passed = Span::from(now.saturating_duration_since(track.came));
            track.shift = (track.last_dts + passed) - dts;
            self.shift = Some(track.shift);
        }
        track.advance(dts, now);
        track.last_dts
    }

    /// Begins a track with its first sample, which may lie a little before the epoch's first one.
    fn begin_track(&mut self, id: TrackId, dts: Timestamp, beyond: Timestamp, now: Instant) {
        let current = self.shift.unwrap_or_default();
        let at = dts + current;
        let is_apart = at - beyond > TRACK_SKEW_MAX || self.end - at > TRACK_SKEW_MAX;
        let shift = match is_apart && !self.follows && !self.tracks.is_empty() {
            true => self.end - dts,
            false => current,
        };
        self.tracks.push(TrackTime {
            id,
            shift,
            last_dts: (dts + shift).max(self.epoch_start),
            came: now,
            step: Span::ZERO,
            own: (dts, now),
            held: 0,
        });
    }
}

impl TrackTime {
    /// Whether a sample at `next` shows another clock, if media may reach `beyond`; `current` is the shift of the track
    /// that has changed its clock last.
    fn jumps_to(&self, next: Timestamp, beyond: Timestamp, current: Span) -> bool {
        let is_alone = self.shift == current;
        let most = match self.step {
            _ if !is_alone => FORWARD_MAX,
            Span::ZERO => FIRST_STEP_MAX,
            step => FORWARD_MAX.max(Span::from_ticks(step.ticks().saturating_mul(STEPS_MAX))),
        };
        self.last_dts - next > BACKWARD_MAX || next - beyond > most
    }

    /// Whether `next` is too far away for the next sample.
    fn is_apart(&self, next: Timestamp, beyond: Timestamp) -> bool {
        self.last_dts - next > BACKWARD_MAX || next - beyond > FORWARD_MAX
    }

    /// Whether its times stand still.
    fn is_stuck(&self, dts: Timestamp, now: Instant) -> bool {
        let (latest, since) = self.own;
        let is_late = now.saturating_duration_since(since) >= STUCK_MAX;
        dts <= latest && is_late && self.held >= STUCK_SAMPLES
    }

    fn advance(&mut self, dts: Timestamp, now: Instant) {
        let next = dts + self.shift;
        if next > self.last_dts {
            self.step = (next - self.last_dts).min(STEP_MAX);
            self.last_dts = next;
            self.came = now;
        }
        self.held = self.held.saturating_add(1);
        if dts > self.own.0 {
            (self.own, self.held) = ((dts, now), 0);
        }
    }
}

#[cfg(test)]
mod tests;
