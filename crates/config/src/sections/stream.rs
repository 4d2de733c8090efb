//! `[[stream]]`: exceptions for the streams of a pattern.

use std::num::NonZeroU32;
use std::time::Duration;

use fanout::{Policy, Takeover};
use media::Span;

use super::fanout::require_burst_bytes;
use super::hls::require_window;
use super::{AudioRule, MountRule};
use crate::read::Section;
use auth::PlayAccess;
use auth::Secret;
use media::Glob;

/// One `[[stream]]`: exceptions for the streams whose names fit a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRule {
    /// Pattern of the streams' names.
    pub pattern: Glob,
    /// Key to publish them; `None` leaves it to `auth.publish_key`.
    pub publish_key: Option<Secret>,
    /// Credential that their listeners need; `None` leaves it to `auth.play`.
    pub play: Option<PlayAccess>,
    /// Whether they are listed on `/`.
    pub public: bool,
    /// Number of the stream for SHOUTcast programs; `None` leaves it to the order of names.
    pub sid: Option<NonZeroU32>,
    /// Time for which listeners are kept while the publisher is away; `None` leaves it to `ingest.linger`.
    pub linger: Option<Duration>,
    /// Rule on who may replace its publisher; `None` leaves it to `ingest.takeover`.
    pub takeover: Option<Takeover>,
    /// Length of the past that can be watched; `None` leaves it to `hls.dvr`.
    pub dvr: Option<Duration>,
    /// Whether it is encrypted over HLS; `None` leaves it to `hls.encryption`.
    pub encryption: Option<bool>,
    /// Rules for its listeners.
    pub mount: MountRule,
    /// Rule that selects its audio events.
    pub audio: AudioRule,
    /// Differences from `fanout.audio` or `fanout.video`.
    pub policy: PolicyOverrides,
    /// Key of the rule in reports: `stream.0`, `stream.1`, ….
    pub(crate) key: String,
}

/// Values of a [`Policy`] that a rule overrides.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PolicyOverrides {
    /// Override of [`Policy::max_samples`].
    pub max_samples: Option<u32>,
    /// Override of [`Policy::min_wait`].
    pub min_wait: Option<Duration>,
    /// Override of [`Policy::max_wait`].
    pub max_wait: Option<Duration>,
    /// Override of [`Policy::burst`].
    pub burst: Option<Span>,
    /// Override of [`Policy::burst_bytes`].
    pub burst_bytes: Option<u32>,
    /// Override of [`Policy::skip_after`].
    pub skip_after: Option<Span>,
    /// Override of [`Policy::drop_after`].
    pub drop_after: Option<Span>,
}

impl StreamRule {
    /// Reads one rule; `None` if its pattern is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say which streams are meant, such as match = \"live/*\"";
        let pattern = s.needed("match", help);
        let publish_key = s.read("publish_key").flatten();
        let play = s.read("play");
        let public = s.read("public").unwrap_or(true);
        let sid = s.read("sid").flatten();
        let linger = s.read("linger");
        let takeover = s.read("takeover");
        let dvr = s.read("dvr");
        require_window(s, dvr.unwrap_or_default());
        let encryption = s.read("encryption");
        let mount = MountRule::read(s);
        let audio = AudioRule::read(s);
        let policy = PolicyOverrides::read(s);
        Some(Self {
            pattern: pattern?,
            publish_key,
            play,
            public,
            sid,
            linger,
            takeover,
            dvr,
            encryption,
            mount,
            audio,
            policy,
            key: s.path(),
        })
    }
}

impl PolicyOverrides {
    /// Returns the policy `base` with these exceptions.
    pub fn applied_to(&self, base: Policy) -> Policy {
        Policy {
            subgroup: base.subgroup,
            max_samples: self.max_samples.unwrap_or(base.max_samples),
            min_wait: self.min_wait.unwrap_or(base.min_wait),
            max_wait: self.max_wait.unwrap_or(base.max_wait),
            burst: self.burst.unwrap_or(base.burst),
            burst_bytes: self.burst_bytes.unwrap_or(base.burst_bytes),
            skip_after: self.skip_after.unwrap_or(base.skip_after),
            drop_after: self.drop_after.unwrap_or(base.drop_after),
        }
    }

    fn read(s: &mut Section<'_, '_>) -> Self {
        let own = Self {
            max_samples: s.read("max_samples"),
            min_wait: s.read("min_wait"),
            max_wait: s.read("max_wait"),
            burst: s.read("burst"),
            burst_bytes: s.read("burst_bytes"),
            skip_after: s.read("skip_after"),
            drop_after: s.read("drop_after"),
        };
        require_burst_bytes(s, own.burst_bytes.unwrap_or_default());
        own
    }
}
