//! Section `[ingest]`.

use std::time::Duration;

use fanout::Takeover;

use super::require_some_time;
use crate::read::Section;

/// Section `[ingest]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ingest {
    /// Time for which listeners are kept while the publisher is away.
    pub linger: Duration,
    /// Longest silence of a publisher; never zero.
    pub source_timeout: Duration,
    /// Rule on who may replace a publisher.
    pub takeover: Takeover,
    /// Time for which a publisher that was replaced may not take the stream back.
    pub takeover_back: Duration,
}

impl Default for Ingest {
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(15),
            source_timeout: Duration::from_secs(10),
            takeover: Takeover::SameCredential,
            takeover_back: Duration::from_secs(30),
        }
    }
}

impl Ingest {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("linger", &mut self.linger);
        s.set("source_timeout", &mut self.source_timeout);
        s.set("takeover", &mut self.takeover);
        s.set("takeover_back", &mut self.takeover_back);
        require_some_time(s, "source_timeout", self.source_timeout);
    }
}
