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
    /// Where it is asked.
    pub url: Url,
    /// Which streams are there, if they are public.
    pub pattern: Glob,
    /// What the addresses of streams begin with that it is told.
    pub base_url: BaseUrl,
    /// How long a stream is on the air before it is there.
    pub after: Duration,
    /// How often it is told of if the directory does not say so.
    pub interval: Duration,
    /// `directory.0`, `directory.1`, …, for problems with it.
    pub(crate) key: String,
}

impl DirectoryRule {
    /// Reads one; `None` when it does not say which directory, or where listeners are sent.
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
