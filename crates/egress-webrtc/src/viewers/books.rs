//! Viewer state that only some visits need.

use std::time::{Duration, Instant};

use fanout::ListenerHandle;
use media::Kind;

use super::link::Link;
use super::repair::Repair;
use super::start::Start;
use crate::agree::Agreed;

/// Shortest time between two keyframe requests of one viewer.
const KEYFRAME_INTERVAL: Duration = Duration::from_secs(1);

/// State of one viewer that only some visits need; the viewer keeps it in a `Box`.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) handle: ListenerHandle,
    pub(super) repair: Repair,
    pub(super) link: Link,
    pub(super) start: Start,
    /// Sender reports sent so far.
    pub(super) reports: u32,
    /// Longest audio in one packet that the viewer accepts.
    pub(super) packet_time: Duration,
    pub(super) skipped_at: Option<Instant>,
    asked_for_keyframe: Option<Instant>,
}

impl Books {
    /// Creates the state of a viewer that has received nothing.
    pub(super) fn new(handle: ListenerHandle, agreed: &Agreed) -> Self {
        let audio = agreed.of(Kind::Audio);
        let packet_time = audio.and_then(|audio| audio.packet_time);
        Self {
            handle,
            repair: Repair::default(),
            link: Link::default(),
            start: Start::default(),
            reports: 0,
            packet_time: packet_time.unwrap_or(Duration::MAX),
            skipped_at: None,
            asked_for_keyframe: None,
        }
    }

    /// Requests a keyframe from the publisher, and repeats the request if it had no effect.
    pub(super) fn ask_for_keyframe(&mut self, now: Instant) {
        let is_due = |asked| now.saturating_duration_since(asked) >= KEYFRAME_INTERVAL;
        if self.asked_for_keyframe.is_none_or(is_due) {
            self.asked_for_keyframe = Some(now);
            self.handle.request_keyframe();
        }
    }
}
