//! The times of a stream: the timeline of its media, and when its present publisher came, took over or left.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use media::{Item, Span, TrackId};

use super::timeline::Timeline;
use crate::takeover::TAKEOVER_INTERVAL;

/// How long after an epoch began a stream without a video track counts as audio only: publishers announce both
/// tracks within the first packets.
const VIDEO_TRACK_AWAITED: Duration = Duration::from_secs(2);

/// How much sound a publisher may send before the pictures that it announces: encoders whose camera takes its time
/// begin with sound.
const PICTURES_AWAITED: Span = Span::from_millis(15_000);

/// See the module's description.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) timeline: Timeline,
    /// Since when the present publisher has been sending.
    pub(super) since: SystemTime,
    began: Instant,
    /// When the present epoch began, if it did by taking over from another publisher.
    taken_over: Option<Instant>,
    /// When a lingering stream ends; `None` from when its publisher leaves to the next
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

    /// An epoch begins, perhaps by a takeover.
    pub(super) fn begin_epoch(&mut self, is_takeover: bool, now: Instant) {
        self.timeline.begin_epoch();
        self.taken_over = is_takeover.then_some(now);
        self.began_to_send(now);
    }

    /// The first track has come. Between a publisher's admission and its first track may lie a handshake; the wait for the
    /// other tracks is counted from here.
    pub(super) fn began_to_send(&mut self, now: Instant) {
        self.began = now;
        self.since = SystemTime::now();
    }

    /// The present epoch began by itself, so that it may be taken over at once.
    pub(super) fn forget_takeover(&mut self) {
        self.taken_over = None;
    }

    /// Whether the last takeover is too short a time ago for another.
    pub(super) fn was_just_taken_over(&self, now: Instant) -> bool {
        let since = |at| now.saturating_duration_since(at);
        self.taken_over
            .is_some_and(|at| since(at) < TAKEOVER_INTERVAL)
    }

    /// Whether a track of pictures may yet be announced.
    pub(super) fn may_announce_video(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < VIDEO_TRACK_AWAITED
    }

    /// Whether pictures that were announced may yet come.
    pub(super) fn may_bring_pictures(&self) -> bool {
        self.timeline.since_epoch() < PICTURES_AWAITED
    }

    /// The publisher has left.
    pub(super) fn publisher_left(&mut self) {
        self.linger_until = None;
    }

    /// Whether a stream without a publisher has lingered for `linger`, which counts from the first look.
    pub(super) fn has_lingered(&mut self, linger: Duration, now: Instant) -> bool {
        now >= *self.linger_until.get_or_insert(now + linger)
    }

    /// Moves items that came `now` onto the stream's timeline.
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
