//! Section `[fanout]`, with `[fanout.audio]` and `[fanout.video]`.

use fanout::{Class, Policy};

use super::WORKERS_MAX;
use crate::read::Section;

/// Largest subgroup. A visit should stay near 2 ms, which is about 500 sends.
const SUBGROUP_MAX: usize = 10_000;

/// Largest log budget: 1 TiB in MiB, beyond any memory this will run in.
const LOG_MIB_MAX: usize = 1 << 20;

/// Bytes that players need before they begin: mplayer 64 KiB, browsers half of that. Icecast has the same default.
const BURST_BYTES: u32 = 64 * 1024;

/// Largest burst, in bytes: 26 s at 1.28 Mb/s, for lossless audio.
const BURST_BYTES_MAX: u32 = 4 * 1024 * 1024;

/// Section `[fanout]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fanout {
    /// Number of worker threads; 0 is one per core.
    pub workers: usize,
    /// Mechanism that drives the sockets.
    pub backend: Backend,
    /// Share of a core that visits may take before messages grow, from 0.001 to 0.9.
    pub target_utilisation: f64,
    /// MiB that the logs of all lanes may hold together; at least 1.
    pub log_mib: usize,
    /// Policy for streams with audio only.
    pub audio: Policy,
    /// Policy for streams with video.
    pub video: Policy,
}

/// Mechanism that drives the sockets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    /// The best mechanism that this host has.
    Auto,
    /// io_uring: batches of sends and direct descriptors; the server does not start if that is impossible.
    IoUring,
    /// Non-blocking sends and epoll.
    Epoll,
}

impl Default for Fanout {
    fn default() -> Self {
        Self {
            workers: 0,
            backend: Backend::Auto,
            target_utilisation: 0.02,
            log_mib: 1024,
            audio: Policy {
                burst_bytes: BURST_BYTES,
                ..Policy::default_for(Class::Audio)
            },
            video: Policy::default_for(Class::Video),
        }
    }
}

impl Fanout {
    /// Returns the policy of a class.
    pub fn policy(&self, class: Class) -> Policy {
        match class {
            Class::Audio => self.audio,
            Class::Video => self.video,
        }
    }

    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("workers", &mut self.workers);
        s.require("workers", self.workers <= WORKERS_MAX, "is above 1024");
        s.set("backend", &mut self.backend);
        s.set("target_utilisation", &mut self.target_utilisation);
        s.require(
            "target_utilisation",
            (0.001..=0.9).contains(&self.target_utilisation),
            "is not from 0.001 to 0.9",
        );
        s.set("log_mib", &mut self.log_mib);
        s.require(
            "log_mib",
            (1..=LOG_MIB_MAX).contains(&self.log_mib),
            "is not from 1 to 1048576",
        );
        s.section("audio", |s| {
            read_policy(s, &mut self.audio);
            s.set("burst", &mut self.audio.burst);
            s.set("burst_bytes", &mut self.audio.burst_bytes);
            require_burst_bytes(s, self.audio.burst_bytes);
        });
        // Video starts at the newest keyframe, so a burst of the past has no key here.
        s.section("video", |s| read_policy(s, &mut self.video));
    }
}

/// Limits the bytes of a burst, which is stored for each stream, twice if the stream has listeners.
pub(super) fn require_burst_bytes(s: &mut Section<'_, '_>, bytes: u32) {
    s.require("burst_bytes", bytes <= BURST_BYTES_MAX, "is above 4 MiB");
}

fn read_policy(s: &mut Section<'_, '_>, policy: &mut Policy) {
    s.set("subgroup", &mut policy.subgroup);
    s.require(
        "subgroup",
        (1..=SUBGROUP_MAX).contains(&policy.subgroup),
        "is not from 1 to 10000",
    );
    s.set("max_samples", &mut policy.max_samples);
    s.set("min_wait", &mut policy.min_wait);
    s.set("max_wait", &mut policy.max_wait);
    s.set("skip_after", &mut policy.skip_after);
    s.set("drop_after", &mut policy.drop_after);
}
