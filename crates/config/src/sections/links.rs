//! `[[push]]` and `[[pull]]`: streams that are forwarded to other servers, and fetched from them.

use crate::read::Section;
use crate::{PullRule, PushUrl};
use media::Glob;

/// Largest number of further addresses of a pull: each that fails delays the next attempt of the first.
const ALTERNATES_MAX: usize = 8;

/// One `[[push]]`: streams that are forwarded to another server while they are live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushRule {
    /// Streams that are pushed.
    pub pattern: Glob,
    /// Address to push to.
    pub url: PushUrl,
    /// Key of the rule in reports: `push.0`, `push.1`, ….
    pub(crate) key: String,
}

impl PushRule {
    /// Reads one rule; `None` if its pattern or its address is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say which streams are sent on, such as match = \"live/*\"";
        let pattern = s.needed("match", help);
        let help = "say where to, such as url = \"rtmp://host/{stream}\"";
        let url = s.needed("url", help);
        Some(Self {
            pattern: pattern?,
            url: url?,
            key: s.path(),
        })
    }
}

impl PullRule {
    /// Reads one rule; `None` if its stream or its address is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say what it is called here, such as stream = \"live/show\"";
        let stream = s.needed("stream", help);
        let help = "say where from, such as url = \"rtmp://host/live/show\"";
        let url = s.needed("url", help);
        let alternates: Vec<_> = s.read("alternates").unwrap_or_default();
        let is_bounded = alternates.len() <= ALTERNATES_MAX;
        s.require("alternates", is_bounded, "are more than eight");
        let on_demand = s.read("on_demand").unwrap_or_default();
        Some(Self {
            stream: stream?,
            url: url?,
            alternates,
            on_demand,
            key: s.path(),
        })
    }
}
