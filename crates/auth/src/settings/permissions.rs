//! What the gate asks of a configuration.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use media::StreamName;

use super::{AccessRule, Auth, Key, KeyRule, PlayAccess};
use crate::proof::Scope;

/// A configuration, as far as permissions depend on it. All secrets are set.
pub trait Permissions: fmt::Debug + Send + Sync {
    /// Section `[auth]`.
    fn auth(&self) -> &Auth;

    /// The lists of clients, all of which have to let one in.
    fn access(&self) -> &[AccessRule];

    /// Whether the country of a client may be known.
    fn knows_countries(&self) -> bool;

    /// The keys that permit something with a stream: to publish it and to set its titles, its own key, else the one for all;
    /// and each named one, of `further` as well, that is for it. Some may have expired.
    fn keys_for<'a>(
        &'a self,
        scope: Scope,
        stream: &'a StreamName,
        further: &'a [KeyRule],
    ) -> Box<dyn Iterator<Item = Key<'a>> + Send + 'a>;

    /// Who may listen to a stream.
    fn play_access(&self, stream: &StreamName) -> PlayAccess;

    /// Returns whether a client has to present something to be permitted that of a stream.
    fn needs_credential(&self, scope: Scope, stream: &StreamName) -> bool {
        scope != Scope::Play || self.play_access(stream) == PlayAccess::Key
    }

    /// Whether the hook is asked about clients that want that of a stream and are permitted it by nothing else.
    fn asks_hook(&self, scope: Scope, stream: &StreamName) -> bool;

    /// How long a listener of a stream may listen; `None` for no limit.
    fn listen_duration_max(&self, stream: &StreamName) -> Option<Duration>;

    /// Reads a file of further keys, which differ from those of [`auth`](Self::auth).
    ///
    /// # Errors
    /// What is wrong with it, or that it cannot be read.
    fn read_keys(&self, path: &Path) -> Result<Vec<KeyRule>, String>;
}
