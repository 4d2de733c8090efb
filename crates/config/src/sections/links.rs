//! `[[push]]` and `[[pull]]`: streams that are sent on to other servers, and fetched from them.

use crate::read::Section;
use crate::{PullRule, PushUrl};
use media::Glob;

/// Most further addresses of a pull: each that fails delays the next try of the first.
const ALTERNATES_MAX: usize = 8;

/// One `[[push]]`: streams that are sent on to another server while they are live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushRule {
    /// Which streams.
    pub pattern: Glob,
    /// Where to.
    pub url: PushUrl,
    /// `push.0`, `push.1`, …, for problems with it.
    pub(crate) key: String,
}

impl PushRule {
    /// Reads one; `None` when it does not say what to push where.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut pattern = None::<Glob>;
        let mut url = None;
        s.set_some("match", &mut pattern);
        s.set_some("url", &mut url);
        if pattern.is_none() {
            s.missing(
                "match",
                "say which streams are sent on, such as match = \"live/*\"",
            );
        }
        if url.is_none() {
            s.missing(
                "url",
                "say where to, such as url = \"rtmp://host/{stream}\"",
            );
        }
        let key = s.path();
        Some(Self {
            pattern: pattern?,
            url: url?,
            key,
        })
    }
}

impl PullRule {
    /// Reads one; `None` when it does not say what to pull from where.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut stream = None;
        let mut url = None;
        let mut alternates = Vec::new();
        let mut on_demand = false;
        s.set_some("stream", &mut stream);
        s.set_some("url", &mut url);
        s.set("alternates", &mut alternates);
        s.require(
            "alternates",
            alternates.len() <= ALTERNATES_MAX,
            "are more than eight",
        );
        s.set("on_demand", &mut on_demand);
        if stream.is_none() {
            s.missing(
                "stream",
                "say what it is called here, such as stream = \"live/show\"",
            );
        }
        if url.is_none() {
            s.missing(
                "url",
                "say where from, such as url = \"rtmp://host/live/show\"",
            );
        }
        let key = s.path();
        Some(Self {
            stream: stream?,
            url: url?,
            alternates,
            on_demand,
            key,
        })
    }
}
