//! Limits for waiting requests and for silent viewers; all follow from the bounds of segments.

use std::time::Duration;

use fanout::Segmentation;

use crate::playlist;

/// Longest wait of any request: the server answers pages within 30 s.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// Time granted beyond the duration of the media.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// Returns how long a request for a part that is due waits: three target durations (RFC 8216bis §6.2.5.2), and at most
/// [`WAIT_MAX`].
pub(crate) fn patience(segmentation: &Segmentation) -> Duration {
    WAIT_MAX.min(3 * target(segmentation))
}

/// Returns how long a request for the current playlist waits for a first segment: at most until one is complete.
/// Players without support for parts give up on a playlist without segments.
pub(crate) fn start(segmentation: &Segmentation) -> Duration {
    WAIT_MAX.min(target(segmentation) + ROUND_TRIP)
}

/// Returns how long a viewer may go without a request before it counts as gone. A player that still plays sends a
/// request at least once in a target duration, or in three after a stall.
pub(crate) fn silence(segmentation: &Segmentation) -> Duration {
    3 * target(segmentation) + ROUND_TRIP
}

/// Returns the target duration.
fn target(segmentation: &Segmentation) -> Duration {
    Duration::from_secs(playlist::target_seconds(segmentation).unsigned_abs())
}
