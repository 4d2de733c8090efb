//! `[[directory]]`: public directories of radio stations.

use std::time::Duration;

use net::url::Url;

use super::require_some_time;
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
        let mut url = None;
        let mut pattern = Glob::parse("**").ok();
        let mut base_url = None;
        let mut after = Duration::from_secs(60);
        let mut interval = Duration::from_secs(600);
        s.set_some("url", &mut url);
        s.set_some("match", &mut pattern);
        s.set_some("base_url", &mut base_url);
        s.set("after", &mut after);
        s.set("interval", &mut interval);
        require_some_time(s, "interval", interval);
        if url.is_none() {
            let help = "say which one, such as url = \"http://dir.xiph.org/cgi-bin/yp-cgi\"";
            s.missing("url", help);
        }
        if base_url.is_none() {
            let help = "say where listeners are sent, such as base_url = \"http://radio.example.com:8000\"";
            s.missing("base_url", help);
        }
        let key = s.path();
        Some(Self {
            url: url?,
            pattern: pattern?,
            base_url: base_url?,
            after,
            interval,
            key,
        })
    }
}
