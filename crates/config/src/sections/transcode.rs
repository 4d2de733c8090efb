//! Section `[transcode]`.

use std::time::Duration;

use super::WORKERS_MAX;
use crate::read::Section;

/// Section `[transcode]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transcode {
    /// Whether AAC and MP3 are transcoded to Opus for listeners that need it.
    pub enabled: bool,
    /// kbit/s for stereo, within the encoder's limits.
    pub bitrate_kbps: u32,
    /// Number of transcoding threads; 0 is one for four cores.
    pub threads: usize,
    /// Number of streams at a time; 0 is as many as the threads have time for.
    pub streams_max: usize,
    /// Time for which transcoding continues after the last listener has left.
    pub linger: Duration,
}

impl Default for Transcode {
    fn default() -> Self {
        Self {
            enabled: true,
            bitrate_kbps: 128,
            threads: 0,
            streams_max: 0,
            linger: Duration::from_secs(15),
        }
    }
}

impl Transcode {
    /// Returns the options for the encoder.
    pub fn options(&self) -> audio::transcode::Options {
        audio::transcode::Options {
            bitrate: self.bitrate_kbps.saturating_mul(1_000),
            ..Default::default()
        }
    }

    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("enabled", &mut self.enabled);
        s.set("bitrate_kbps", &mut self.bitrate_kbps);
        let is_valid = self.options().is_valid();
        s.require("bitrate_kbps", is_valid, "is not from 32 to 256");
        s.set("threads", &mut self.threads);
        s.require("threads", self.threads <= WORKERS_MAX, "is above 1024");
        s.set("streams_max", &mut self.streams_max);
        s.set("linger", &mut self.linger);
    }
}
