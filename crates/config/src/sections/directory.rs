//! `[[directory]]`: public directories of radio stations.

use std::time::Duration;

use net::url::Url;

use super::{all, require_some_time};
use crate::BaseUrl;
use crate::read::Section;
use media::Glob;

/// One `[[directory]]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DirectoryRule {
    /// Address of the directory.
    pub url: Url,
    /// Streams that are listed there, if they are public.
    pub pattern: Glob,
    /// Start of the stream addresses that are sent to the directory.
    pub base_url: BaseUrl,
    /// Time for which a stream must be on the air before it is listed.
    pub after: Duration,
    /// Interval of updates to the directory, if the directory does not request another.
    pub interval: Duration,
    /// Key of the rule in reports: `directory.0`, `directory.1`, ….
    pub(crate) key: String,
}

impl DirectoryRule {
    /// Reads one rule; `None` if the directory's address or the base URL is missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say which one, such as url = \"http://dir.xiph.org/cgi-bin/yp-cgi\"";
        let url = s.needed("url", help);
        let pattern = s.read("match").or_else(all);
        let help =
            "say where listeners are sent, such as base_url = \"http://radio.example.com:8000\"";
        let base_url = s.needed("base_url", help);
        let after = s.read("after").unwrap_or(Duration::from_secs(60));
        let interval = s.read("interval").unwrap_or(Duration::from_secs(600));
        require_some_time(s, "interval", interval);
        Some(Self {
            url: url?,
            pattern: pattern?,
            base_url: base_url?,
            after,
            interval,
            key: s.path(),
        })
    }
}
