//! Keys of `[[stream]]` for its listeners: what they hear while the publisher is away, their number and time limits, and what
//! they are sent.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use media::{Charset, StreamName};

use crate::read::Section;

/// Rules for the listeners of one stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MountRule {
    /// Media that listeners receive while the publisher is away.
    pub fallback: Option<Fallback>,
    /// Time for which the publisher may be away before the fallback starts.
    pub fallback_after: Duration,
    /// Whether a fallback of another sample rate or number of channels is played, in formats whose frames carry these values.
    pub fallback_any_format: bool,
    /// Whether a publisher takes over from the fallback. Otherwise it is refused until the fallback ends.
    pub fallback_override: bool,
    /// Whether listeners receive the fallback although they could not listen to it under its own name.
    pub fallback_open: bool,
    /// Whether listeners beyond the limit are sent the fallback.
    pub fallback_when_full: bool,
    /// Limit of the listeners; `None` is no limit.
    pub listeners_max: Option<NonZeroU32>,
    /// Longest stay of a listener; zero is no limit.
    pub listen_duration_max: Duration,
    /// File whose frames listeners are sent before the stream.
    pub intro: Option<PathBuf>,
    /// Whether the links of an Ogg chain are sent as one logical stream.
    pub unchain: bool,
    /// Character set of texts that are not UTF-8, and of titles that are sent between frames.
    pub charset: Charset,
}

/// Media that listeners receive while a publisher is away.
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
    /// Reads the keys.
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
