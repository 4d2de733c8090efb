//! Implementation of the gate's view of a configuration.

use std::path::Path;
use std::time::Duration;

use auth::{AccessRule, Auth, Key, KeyRule, KeySecretRef, Permissions, PlayAccess, Scope, Scopes};
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
        let own = self.rule(stream).and_then(|rule| rule.publish_key.as_ref());
        let nameless = own.or(self.auth.publish_key.as_ref());
        let nameless = nameless.filter(|_| Scopes::OF_PUBLISHERS.contains(scope));
        let nameless = nameless.map(|secret| Key {
            name: None,
            secret: KeySecretRef::Plain(secret),
            expires: None,
        });
        let named = self.auth.keys.iter().chain(further);
        let named = named.filter_map(move |key| key.for_stream(scope, stream));
        Box::new(nameless.into_iter().chain(named))
    }

    fn play_access(&self, stream: &StreamName) -> PlayAccess {
        let rule = self.rule(stream);
        rule.and_then(|rule| rule.play).unwrap_or(self.auth.play)
    }

    /// Whether a hook is queried. If clients must be listed in a file of users, the hook is not queried, unless the file's rule
    /// says so: a hook that permits all unknown clients would admit everyone.
    fn asks_hook(&self, scope: Scope, stream: &StreamName) -> bool {
        let mut patterns = self.auth.hook.patterns.iter();
        let files = self.auth.users.iter();
        let mut files = files.filter(|rule| rule.is_for(scope, stream));
        let leaves_to_files =
            self.needs_credential(scope, stream) && files.any(|rule| !rule.asks_hook);
        patterns.any(|pattern| pattern.fits(stream)) && !leaves_to_files
    }

    fn listen_duration_max(&self, stream: &StreamName) -> Option<Duration> {
        let rule = self.rule(stream)?;
        Some(rule.mount.listen_duration_max).filter(|time| !time.is_zero())
    }

    fn read_keys(&self, path: &Path) -> Result<Vec<KeyRule>, String> {
        read_keys(path, &self.auth).map_err(|why| why.to_string())
    }
}
