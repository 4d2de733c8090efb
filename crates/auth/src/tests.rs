//! An operator's configuration, for tests.

use std::fs::{self, Permissions as Rights};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fanout::gate::{Denied, Identity};
use media::{Glob, StreamName};

use crate::authority::{Guesses, Tried};
use crate::files::{is_private, read_file};
use crate::proof::{Scope, Scopes};
use crate::secret::Secret;
use crate::settings::{AccessRule, Auth, Key, KeyRule, KeySecret, Permissions, PlayAccess};

pub(crate) fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

/// Writes as editors do: another file in its place, which is its owner's alone.
pub(crate) fn write(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).expect("written");
    fs::set_permissions(&new, Rights::from_mode(0o600)).expect("set");
    fs::rename(&new, path).expect("renamed");
}

/// A listener's attempt.
pub(crate) fn by(guesses: &Guesses) -> Tried<'_> {
    Tried {
        peer: IpAddr::from([192, 0, 2, 1]),
        scope: Scope::Play,
        guesses,
    }
}

/// Has that listener guess until it has no guess left.
pub(crate) fn use_up(guesses: &Guesses) {
    while !by(guesses).is_limited() {
        let wrong = guesses.believe(Scope::Play, by(guesses).peer, Err(Denied::Wrong));
        wrong.expect_err("wrong");
    }
}

#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) auth: Auth,
    pub(crate) access: Vec<AccessRule>,
}

impl Decided {
    /// With a file of keys, a line each: name, secret, pattern.
    pub(crate) fn with_keys(path: &Path) -> Arc<dyn Permissions> {
        let auth = Auth {
            keys_file: Some(path.to_owned()),
            ..Auth::default()
        };
        Arc::new(Self {
            auth,
            access: Vec::new(),
        })
    }
}

impl Permissions for Decided {
    fn auth(&self) -> &Auth {
        &self.auth
    }

    fn access(&self) -> &[AccessRule] {
        &self.access
    }

    fn knows_countries(&self) -> bool {
        true
    }

    fn keys_for<'a>(
        &'a self,
        scope: Scope,
        stream: &'a StreamName,
        further: &'a [KeyRule],
    ) -> Box<dyn Iterator<Item = Key<'a>> + Send + 'a> {
        let fitting = further.iter();
        Box::new(fitting.filter_map(move |key| key.for_stream(scope, stream)))
    }

    fn play_access(&self, _: &StreamName) -> PlayAccess {
        self.auth.play
    }

    fn asks_hook(&self, _: Scope, _: &StreamName) -> bool {
        false
    }

    fn listen_duration_max(&self, _: &StreamName) -> Option<Duration> {
        None
    }

    fn read_keys(&self, path: &Path) -> Result<Vec<KeyRule>, String> {
        is_private(path)?;
        let text = read_file(path)?;
        let keys = text.lines().map(|line| {
            let mut words = line.split(' ');
            let mut word = || words.next().ok_or("a word is missing");
            Ok(KeyRule {
                name: Identity::new(word()?).ok_or("no name")?,
                secret: Some(KeySecret::Plain(Secret::new(word()?))),
                pattern: Glob::parse(word()?)?,
                scopes: Scopes::OF_PUBLISHERS.with(Scope::Play),
                expires: None,
                key: String::new(),
            })
        });
        keys.collect::<Result<_, &str>>().map_err(str::to_owned)
    }
}
