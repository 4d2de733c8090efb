//! Listeners' requests for a keyframe, on their way to the publisher that can pass them to its encoder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A pending keyframe request: set by any number of listeners, taken by the publisher; many requests count as one.
#[derive(Debug, Default)]
pub(crate) struct KeyframeWish {
    is_set: AtomicBool,
    /// Whether the current publisher's encoder accepts requests.
    is_heeded: AtomicBool,
}

impl KeyframeWish {
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Clears the request: it was passed on, or a keyframe arrived.
    pub(crate) fn clear(&self) {
        self.is_set.store(false, Ordering::Relaxed);
    }

    /// Whether a keyframe can be had on request.
    pub(crate) fn is_heeded(&self) -> bool {
        self.is_heeded.load(Ordering::Relaxed)
    }

    pub(crate) fn set_heeded(&self, is_heeded: bool) {
        self.is_heeded.store(is_heeded, Ordering::Relaxed);
    }
}

/// Shortest time between two requests to one encoder: a round trip and a frame.
const INTERVAL: Duration = Duration::from_millis(500);

/// Time between two requests to one encoder in the long run. A keyframe costs as much as ten other frames, and
/// strangers can request one at any rate: the whole audience pays for a loss that one of them claims.
const SUSTAINED: Duration = Duration::from_secs(2);

/// Number of requests that may come sooner after a quiet time: a loss is repaired at once, and a keyframe that did not
/// arrive is requested again.
const AT_ONCE: u32 = 3;

/// Rate limit on keyframe requests to an encoder.
#[derive(Debug, Default)]
pub(crate) struct RequestRate {
    asked: Option<Instant>,
    /// Time at which all requests that may come at once are available again.
    full_at: Option<Instant>,
}

impl RequestRate {
    /// Whether a request may be sent now; counts it if so.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let full_at = self.full_at.map_or(now, |at| at.max(now));
        let is_spent = full_at.saturating_duration_since(now) > SUSTAINED * (AT_ONCE - 1);
        let is_soon = |asked| now.saturating_duration_since(asked) < INTERVAL;
        if is_spent || self.asked.is_some_and(is_soon) {
            return false;
        }
        self.asked = Some(now);
        self.full_at = Some(full_at + SUSTAINED);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_mended_at_once_and_endless_wishes_wait() {
        let start = Instant::now();
        let mut rate = RequestRate::default();
        let times = (0..20_000u64).step_by(100);
        let asked: Vec<_> = times
            .filter(|at| rate.take(start + Duration::from_millis(*at)))
            .collect();
        assert_eq!(asked[..5], [0, 500, 1_000, 2_000, 4_000]);
        assert_eq!(asked.len(), 12);
    }
}
