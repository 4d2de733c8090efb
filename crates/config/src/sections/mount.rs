//! The keys of `[[stream]]` that say what becomes of listeners: what they hear while the publisher is away, how many there
//! may be and for how long, and what they are sent.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use media::{Charset, StreamName};

use crate::read::Section;

/// What becomes of a stream's listeners.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MountRule {
    /// What is heard while the publisher is away.
    pub fallback: Option<Fallback>,
    /// How long the publisher may be away before.
    pub fallback_after: Duration,
    /// A fallback of another sample rate or number of channels is heard, where each frame tells.
    pub fallback_any_format: bool,
    /// A publisher takes over from the fallback. Otherwise it is refused until that ends.
    pub fallback_override: bool,
    /// Listeners hear the fallback although they could not listen to it under its own name.
    pub fallback_open: bool,
    /// Listeners beyond the limit are sent the fallback.
    pub fallback_when_full: bool,
    /// How many listeners there may be.
    pub listeners_max: Option<NonZeroU32>,
    /// How long a listener may stay; zero is no limit.
    pub listen_duration_max: Duration,
    /// A file whose frames listeners are sent before the stream.
    pub intro: Option<PathBuf>,
    /// The links of an Ogg chain are one logical stream.
    pub unchain: bool,
    /// The character set of texts that are not UTF-8, and of titles that are sent between frames.
    pub charset: Charset,
}

/// What is heard while a publisher is away.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fallback {
    /// Another stream.
    Stream(StreamName),
    /// A file, or the files of a folder, played one after the other.
    Files(PathBuf),
}

impl Default for MountRule {
    fn default() -> Self {
        Self {
            fallback: None,
            fallback_after: Duration::from_millis(500),
            fallback_any_format: false,
            fallback_override: true,
            fallback_open: false,
            fallback_when_full: false,
            listeners_max: None,
            listen_duration_max: Duration::ZERO,
            intro: None,
            unchain: false,
            charset: Charset::UTF_8,
        }
    }
}

impl MountRule {
    /// Reads them.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let mut rule = Self::default();
        let stream = s.read("fallback");
        let files = s.read::<Option<PathBuf>>("fallback_file").flatten();
        s.set("fallback_after", &mut rule.fallback_after);
        s.set("fallback_any_format", &mut rule.fallback_any_format);
        s.set("fallback_override", &mut rule.fallback_override);
        s.set("fallback_open", &mut rule.fallback_open);
        s.set("fallback_when_full", &mut rule.fallback_when_full);
        s.set("listeners_max", &mut rule.listeners_max);
        s.set("listen_duration_max", &mut rule.listen_duration_max);
        s.set("intro", &mut rule.intro);
        s.set("unchain", &mut rule.unchain);
        s.set("charset", &mut rule.charset);
        s.require(
            "fallback_file",
            stream.is_none() || files.is_none(),
            "is set beside a fallback: a stream has one of both",
        );
        rule.fallback = match (stream, files) {
            (Some(stream), _) => Some(Fallback::Stream(stream)),
            (None, files) => files.map(Fallback::Files),
        };
        let has_stream = matches!(rule.fallback, Some(Fallback::Stream(_)));
        s.require(
            "fallback_when_full",
            !rule.fallback_when_full || has_stream,
            "needs a fallback, the stream that listeners beyond the limit are sent",
        );
        rule
    }
}
