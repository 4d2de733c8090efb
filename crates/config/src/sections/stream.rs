//! `[[stream]]`: exceptions for the streams of a pattern.

use std::num::NonZeroU32;
use std::time::Duration;

use fanout::{Policy, Takeover};
use media::Span;

use super::fanout::require_burst_bytes;
use super::hls::require_window;
use super::{MountRule, SoundRule};
use crate::read::Section;
use auth::PlayAccess;
use auth::Secret;
use media::Glob;

/// One `[[stream]]`: exceptions for the streams whose names fit a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRule {
    /// Which streams.
    pub pattern: Glob,
    /// The key to publish them; `None` leaves it to `auth.publish_key`.
    pub publish_key: Option<Secret>,
    /// Whether their listeners need a credential; `None` leaves it to `auth.play`.
    pub play: Option<PlayAccess>,
    /// Whether they are listed on `/`.
    pub public: bool,
    /// Its number for programs of SHOUTcast; `None` leaves it to the order of names.
    pub sid: Option<NonZeroU32>,
    /// How long listeners are kept while the publisher is away; `None` leaves it to `ingest.linger`.
    pub linger: Option<Duration>,
    /// Who may replace its publisher; `None` leaves it to `ingest.takeover`.
    pub takeover: Option<Takeover>,
    /// How much of the past can be watched; `None` leaves it to `hls.dvr`.
    pub dvr: Option<Duration>,
    /// Whether it is encrypted over HLS; `None` leaves it to `hls.encryption`.
    pub encryption: Option<bool>,
    /// What becomes of its listeners.
    pub mount: MountRule,
    /// What of its sound is an event.
    pub sound: SoundRule,
    /// What differs from `fanout.audio` or `fanout.video`.
    pub policy: PolicyOverrides,
    /// `stream.0`, `stream.1`, …, for problems with it.
    pub(crate) key: String,
}

/// The rules of a [`Policy`] that a stream has for itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PolicyOverrides {
    /// See [`Policy::max_samples`].
    pub max_samples: Option<u32>,
    /// See [`Policy::min_wait`].
    pub min_wait: Option<Duration>,
    /// See [`Policy::max_wait`].
    pub max_wait: Option<Duration>,
    /// See [`Policy::burst`].
    pub burst: Option<Span>,
    /// See [`Policy::burst_bytes`].
    pub burst_bytes: Option<u32>,
    /// See [`Policy::skip_after`].
    pub skip_after: Option<Span>,
    /// See [`Policy::drop_after`].
    pub drop_after: Option<Span>,
}

impl StreamRule {
    /// Reads one; `None` when it does not say which streams it is for.
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
        let sound = SoundRule::read(s);
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
            sound,
            policy,
            key: s.path(),
        })
    }
}

impl PolicyOverrides {
    /// A policy with these exceptions.
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
