//! What pages keep between requests.

use std::time::Instant;

use super::icecast::watchers::Watchers;
use super::lists::Lists;
use super::playbacks::Playbacks;
use super::rendered::Rendered;
use super::shoutcast::audience::Audience;
use super::stills::Stills;
use super::title_clients::TitleClients;

/// See the module's description.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) stills: Stills,
    pub(super) public: Rendered,
    pub(super) lists: Lists,
    /// The clients of Icecast's method `STATS`.
    pub watchers: Watchers,
    /// The clients that are told titles.
    pub(super) titles: TitleClients,
    /// What SHOUTcast tells of listeners.
    pub(super) audience: Audience,
    /// The listeners of what was recorded.
    pub(super) playbacks: Playbacks,
}

impl Kept {
    /// Lets go of listeners of what was recorded that have left. To be called a few times a second.
    pub fn expire(&self, is_draining: bool, now: Instant) {
        self.playbacks.expire(is_draining, now);
    }
}
