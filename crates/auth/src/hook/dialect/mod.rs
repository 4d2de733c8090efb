//! Dialects of hooks: one module for each server whose hooks are supported. No IO.
//!
//! To add one, write a module and add its row to [`DIALECTS`].

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
    /// Names of all dialects, as they are listed.
    pub const NAMES: &str =
        "\"carillon\", \"nginx-rtmp\", \"srs\", \"mediamtx\", \"icecast\" or \"ome\"";

    /// Iterates over all dialects.
    pub fn all() -> impl Iterator<Item = Self> {
        DIALECTS.iter().copied().map(Self)
    }

    /// Returns the dialect's name in the configuration.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns whether the dialect has a feature.
    pub fn has(self, feature: HookFeature) -> bool {
        self.0.features().contains(&feature)
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self(DIALECTS[0])
    }
}

/// Dialects have unique names.
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
