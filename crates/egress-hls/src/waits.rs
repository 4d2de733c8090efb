//! How long requests wait and viewers may be silent: all follows from the bounds of segments.

use std::time::Duration;

use fanout::Segmentation;

use crate::playlist;

/// How long any request waits: the server answers pages within 30 s.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// What is granted beyond the times that media takes.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// How long a request for what is about to come waits: three target durations (RFC 8216bis §6.2.5.2), and no longer
/// than [`WAIT_MAX`].
pub(crate) fn patience(segmentation: &Segmentation) -> Duration {
    WAIT_MAX.min(3 * target(segmentation))
}

/// How long a player that asks for the present waits for a first segment: what it takes until one is complete at
/// most. Players that know no parts give up on a playlist without segments.
pub(crate) fn start(segmentation: &Segmentation) -> Duration {
    WAIT_MAX.min(target(segmentation) + ROUND_TRIP)
}

/// How long a viewer that has not left may request nothing: a player that still plays requests something at least
/// once in a target duration, and after a stall in three.
pub(crate) fn silence(segmentation: &Segmentation) -> Duration {
    3 * target(segmentation) + ROUND_TRIP
}

/// The target duration.
fn target(segmentation: &Segmentation) -> Duration {
    Duration::from_secs(playlist::target_seconds(segmentation).unsigned_abs())
}
