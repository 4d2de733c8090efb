//! Interface through which the gate reads a configuration.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use media::StreamName;

use super::{AccessRule, Auth, Key, KeyRule, PlayAccess};
use crate::proof::Scope;

/// Configuration, as far as permissions depend on it. All secrets are set.
pub trait Permissions: fmt::Debug + Send + Sync {
    /// Returns section `[auth]`.
    fn auth(&self) -> &Auth;

    /// Returns the access rules, all of which must let a client in.
    fn access(&self) -> &[AccessRule];

    /// Whether the country of a client may be known.
    fn knows_countries(&self) -> bool;

    /// Returns the keys that permit a scope on a stream. For publishing and setting titles these are the stream's own key, or
    /// else the common one; in addition each matching named key, including those of `further`. Some may have expired.
    fn keys_for<'a>(
        &'a self,
        scope: Scope,
        stream: &'a StreamName,
        further: &'a [KeyRule],
    ) -> Box<dyn Iterator<Item = Key<'a>> + Send + 'a>;

    /// Returns which clients may listen to a stream.
    fn play_access(&self, stream: &StreamName) -> PlayAccess;

    /// Returns whether a client needs a credential for a scope on a stream.
    fn needs_credential(&self, scope: Scope, stream: &StreamName) -> bool {
        scope != Scope::Play || self.play_access(stream) == PlayAccess::Key
    }

    /// Whether the hook is asked about clients that nothing else permits a scope on a stream.
    fn asks_hook(&self, scope: Scope, stream: &StreamName) -> bool;

    /// Returns the longest time that a listener may listen to a stream; `None` for no limit.
    fn listen_duration_max(&self, stream: &StreamName) -> Option<Duration>;

    /// Reads a file of further keys, which must differ from those of [`auth`](Self::auth).
    ///
    /// # Errors
    /// Fails when the file cannot be read or is invalid.
    fn read_keys(&self, path: &Path) -> Result<Vec<KeyRule>, String>;
}
