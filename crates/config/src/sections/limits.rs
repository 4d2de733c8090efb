//! Section `[limits]`.

use std::num::{NonZeroU32, NonZeroU64};

use crate::read::Section;

/// Section `[limits]`; `None` is no limit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Listeners at a time.
    pub listeners: Option<NonZeroU32>,
    /// Publishers at a time.
    pub publishers: Option<NonZeroU32>,
    /// New listeners in a second.
    pub joins_per_second: Option<NonZeroU32>,
    /// Connections from one address at a time.
    pub per_ip: Option<NonZeroU32>,
    /// Mbit/s sent to listeners beyond which no more listeners are admitted.
    pub egress_mbps: Option<NonZeroU64>,
}

impl Limits {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("listeners", &mut self.listeners);
        s.set("publishers", &mut self.publishers);
        s.set("joins_per_second", &mut self.joins_per_second);
        s.set("per_ip", &mut self.per_ip);
        s.set("egress_mbps", &mut self.egress_mbps);
    }
}
