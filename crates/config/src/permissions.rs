//! What the gate asks of a configuration.

use std::path::Path;
use std::time::Duration;

use auth::{AccessRule, Auth, Key, KeyRule, Permissions, PlayAccess, Scope};
use media::StreamName;

use crate::{Config, read_keys};

impl Permissions for Config {
    fn auth(&self) -> &Auth {
        &self.auth
    }

    fn access(&self) -> &[AccessRule] {
        &self.access
    }

    fn knows_countries(&self) -> bool {
        !self.http.trusted_proxies.is_empty()
    }

    fn keys_for<'a>(
        &'a self,
        scope: Scope,
        stream: &'a StreamName,
        further: &'a [KeyRule],
    ) -> Box<dyn Iterator<Item = Key<'a>> + Send + 'a> {
        Box::new(Self::keys_for(self, scope, stream, further))
    }

    fn play_access(&self, stream: &StreamName) -> PlayAccess {
        Self::play_access(self, stream)
    }

    fn asks_hook(&self, scope: Scope, stream: &StreamName) -> bool {
        Self::asks_hook(self, scope, stream)
    }

    fn listen_duration_max(&self, stream: &StreamName) -> Option<Duration> {
        Self::listen_duration_max(self, stream)
    }

    fn read_keys(&self, path: &Path) -> Result<Vec<KeyRule>, String> {
        read_keys(path, &self.auth).map_err(|why| why.to_string())
    }
}
