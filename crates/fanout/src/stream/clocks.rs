//! Times of a stream: the timeline of its media, and the times at which its current publisher began, took over or left.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use media::{Item, Span, TrackId};

use super::timeline::Timeline;
use crate::takeover::TAKEOVER_INTERVAL;

/// Time after the beginning of an epoch from which a stream without a video track counts as audio only: publishers
/// announce both tracks within the first packets.
const VIDEO_TRACK_AWAITED: Duration = Duration::from_secs(2);

/// Span of audio that a publisher may send before the video that it announces: encoders whose camera takes its time
/// begin with audio.
const PICTURES_AWAITED: Span = Span::from_millis(15_000);

/// Timeline of a stream, and the times of its current publisher.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) timeline: Timeline,
    /// Time from which the current publisher has been sending.
    pub(super) since: SystemTime,
    began: Instant,
    /// Time at which the current epoch began, if it began by a takeover.
    taken_over: Option<Instant>,
    /// Time at which a lingering stream ends; `None` between the departure of its publisher and the next
    /// [look](super::Stream::is_over) at it.
    linger_until: Option<Instant>,
}

impl Clocks {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            timeline: Timeline::default(),
            since: SystemTime::now(),
            began: now,
            taken_over: None,
            linger_until: None,
        }
    }

    /// Begins an epoch, perhaps by a takeover.
    pub(super) fn begin_epoch(&mut self, is_takeover: bool, now: Instant) {
        self.timeline.begin_epoch();
        self.taken_over = is_takeover.then_some(now);
        self.began_to_send(now);
    }

    /// Records the arrival of the first track. A handshake may lie between a publisher's admission and its first track;
    /// the wait for the other tracks is counted from here.
    pub(super) fn began_to_send(&mut self, now: Instant) {
        self.began = now;
        self.since = SystemTime::now();
    }

    /// Permits a takeover at once: the current epoch began by itself.
    pub(super) fn forget_takeover(&mut self) {
        self.taken_over = None;
    }

    /// Whether the last takeover is too recent for another.
    pub(super) fn was_just_taken_over(&self, now: Instant) -> bool {
        let since = |at| now.saturating_duration_since(at);
        self.taken_over
            .is_some_and(|at| since(at) < TAKEOVER_INTERVAL)
    }

    /// Whether a video track may yet be announced.
    pub(super) fn may_announce_video(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < VIDEO_TRACK_AWAITED
    }

    /// Whether announced video may yet arrive.
    pub(super) fn may_bring_pictures(&self) -> bool {
        self.timeline.since_epoch() < PICTURES_AWAITED
    }

    /// Records that the publisher has left.
    pub(super) fn publisher_left(&mut self) {
        self.linger_until = None;
    }

    /// Whether a stream without a publisher has lingered for `linger`, which counts from the first look.
    pub(super) fn has_lingered(&mut self, linger: Duration, now: Instant) -> bool {
        now >= *self.linger_until.get_or_insert(now + linger)
    }

    /// Moves items that arrived `now` onto the stream's timeline.
    pub(super) fn place(&mut self, items: &mut [Item], now: Instant) {
        for item in items {
            match item {
                Item::Sample(sample) if sample.track == TrackId::DERIVED => {}
                Item::Sample(sample) => self.timeline.place(sample, now),
                Item::Metadata(script) | Item::Script(script) => {
                    self.timeline.place_script(script);
                }
                Item::Event(event) => self.timeline.place_event(Arc::make_mut(event)),
                Item::Epoch | Item::Header(_) | Item::Title(_) | Item::Track(_) => {}
            }
        }
    }
}
