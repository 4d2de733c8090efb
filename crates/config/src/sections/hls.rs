//! Section `[hls]`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ::fanout::Segmentation;
use media::Span;

use crate::read::Section;
use auth::Secret;

/// Range of part durations. Shorter parts cost a request each and contain few video frames; longer ones do not give low
/// latency.
const PARTS: RangeInclusive<Span> = Span::from_millis(200)..=Span::from_millis(2_000);

/// Range of segment durations. Shorter segments do not contain a usual group of pictures; with longer ones a playlist lists
/// more than a minute.
const SEGMENTS: RangeInclusive<Span> = Span::from_millis(1_000)..=Span::from_millis(10_000);

/// Longest window; the playlist of a longer one is larger than players read without trouble.
const DVR_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Default time for which a key is used: a player requests six in an hour.
const KEY_PERIOD: Duration = Duration::from_secs(600);

/// Range of key periods. The shortest is one key for each segment. Within the longest, one key opens whatever any viewer has
/// kept of a day.
const KEY_PERIODS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(24 * 3_600);

/// Section `[hls]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hls {
    /// Duration of the longest part.
    pub part: Span,
    /// Distance of segments; not shorter than a part.
    pub segment: Span,
    /// Length of the past that can be watched; zero is what the live playlist lists.
    pub dvr: Duration,
    /// Directory of that past. Set if any stream has such a window.
    pub dvr_directory: Option<PathBuf>,
    /// Whether streams are encrypted.
    pub encryption: bool,
    /// Time for which a key is used.
    pub key_period: Duration,
    /// Secret that keys are derived from; `None` means that one is generated at start.
    pub encryption_secret: Option<Secret>,
}

impl Default for Hls {
    fn default() -> Self {
        let Segmentation { part_max, segment } = Segmentation::DEFAULT;
        Self {
            part: part_max,
            segment,
            dvr: Duration::ZERO,
            dvr_directory: None,
            encryption: false,
            key_period: KEY_PERIOD,
            encryption_secret: None,
        }
    }
}

impl Hls {
    /// Returns the segmentation for the packagers.
    pub fn segmentation(&self) -> Segmentation {
        Segmentation {
            part_max: self.part,
            segment: self.segment,
        }
    }

    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("part", &mut self.part);
        let is_fit = PARTS.contains(&self.part);
        s.require("part", is_fit, "is not from 200ms to 2s");
        s.set("segment", &mut self.segment);
        let is_fit = SEGMENTS.contains(&self.segment);
        s.require("segment", is_fit, "is not from 1s to 10s");
        s.set("dvr", &mut self.dvr);
        require_window(s, self.dvr);
        s.set("dvr_directory", &mut self.dvr_directory);
        s.set("encryption", &mut self.encryption);
        s.set("key_period", &mut self.key_period);
        let is_fit = KEY_PERIODS.contains(&self.key_period);
        s.require("key_period", is_fit, "is not from 1s to 24h");
        s.set("encryption_secret", &mut self.encryption_secret);
    }
}

/// Requires a window that players can use.
pub(super) fn require_window(s: &mut Section<'_, '_>, dvr: Duration) {
    s.require("dvr", dvr <= DVR_MAX, "is above 24h");
}
