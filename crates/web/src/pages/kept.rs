//! State that pages keep between requests.

use std::time::Instant;

use super::icecast::watchers::Watchers;
use super::lists::Lists;
use super::playbacks::Playbacks;
use super::rendered::Rendered;
use super::shoutcast::audience::Audience;
use super::stills::Stills;
use super::title_clients::TitleClients;

/// State of all pages; call [`expire`](Self::expire) a few times a second.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) stills: Stills,
    pub(super) public: Rendered,
    pub(super) lists: Lists,
    /// Clients of Icecast's method `STATS`.
    pub watchers: Watchers,
    /// Clients that are sent titles.
    pub(super) titles: TitleClients,
    /// Listener figures for SHOUTcast's pages.
    pub(super) audience: Audience,
    /// Listeners of recordings.
    pub(super) playbacks: Playbacks,
}

impl Kept {
    /// Drops the listeners of recordings that have left. To be called a few times a second.
    pub fn expire(&self, is_draining: bool, now: Instant) {
        self.playbacks.expire(is_draining, now);
    }
}
