//! The dialects of hooks: one module for each server whose hooks are understood. No IO.
//!
//! A further one is a module and its row in [`DIALECTS`].

mod carillon;
mod icecast;
mod mediamtx;
mod nginx_rtmp;
mod ome;
mod srs;
#[cfg(test)]
mod tests;

use std::fmt;

use super::{Dialect, HookFeature, Speaks};

/// All dialects, in the order in which they are listed; the first is the default.
const DIALECTS: &[&dyn Speaks] = &[
    &carillon::Carillon,
    &nginx_rtmp::NginxRtmp,
    &srs::Srs,
    &mediamtx::MediaMtx,
    &icecast::Icecast,
    &ome::Ome,
];

impl Dialect {
    /// The names of all, as they are listed.
    pub const NAMES: &str =
        "\"carillon\", \"nginx-rtmp\", \"srs\", \"mediamtx\", \"icecast\" or \"ome\"";

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        DIALECTS.iter().copied().map(Self)
    }

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns whether it has a feature.
    pub fn has(self, feature: HookFeature) -> bool {
        self.0.features().contains(&feature)
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self(DIALECTS[0])
    }
}

/// No two have one name.
impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Dialect {}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
