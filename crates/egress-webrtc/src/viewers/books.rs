//! State of a viewer that is needed now and then, and not in each visit.

use std::time::{Duration, Instant};

use fanout::ListenerHandle;
use media::Kind;

use super::link::Link;
use super::repair::Repair;
use super::start::Start;
use crate::agree::Agreed;

/// Between two requests of one viewer for a keyframe.
const KEYFRAME_INTERVAL: Duration = Duration::from_secs(1);

/// See the module's description.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) handle: ListenerHandle,
    pub(super) repair: Repair,
    pub(super) link: Link,
    pub(super) start: Start,
    /// Sender reports so far.
    pub(super) reports: u32,
    /// The most sound in one packet.
    pub(super) packet_time: Duration,
    pub(super) skipped_at: Option<Instant>,
    asked_for_keyframe: Option<Instant>,
}

impl Books {
    /// Of a viewer that has had nothing.
    pub(super) fn new(handle: ListenerHandle, agreed: &Agreed) -> Self {
        let sound = agreed.of(Kind::Audio);
        let packet_time = sound.and_then(|sound| sound.packet_time);
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

    /// Asks the publisher for a keyframe, again if the last request was in vain.
    pub(super) fn ask_for_keyframe(&mut self, now: Instant) {
        let is_due = |asked| now.saturating_duration_since(asked) >= KEYFRAME_INTERVAL;
        if self.asked_for_keyframe.is_none_or(is_due) {
            self.asked_for_keyframe = Some(now);
            self.handle.request_keyframe();
        }
    }
}
