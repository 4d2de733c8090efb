//! Judges users with their passwords, which stand in files.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use authority::{KeyHash, Scope, Users};
use config::{Auth, UsersRule};
use fanout::gate::Request;
use media::StreamName;

use super::watched::Watched;

/// See the module's description.
#[derive(Debug)]
pub(super) struct UserFiles(Vec<(UsersRule, Watched<Users>)>);

impl UserFiles {
    /// Reads them for the first time.
    pub(super) fn new(auth: &Auth) -> Self {
        let read = |path: &Path| config::read_users(path);
        let files = auth.users.iter().map(|rule| {
            let file = Watched::new(Some(&rule.file), "users", read);
            (rule.clone(), file)
        });
        Self(files.collect())
    }

    /// The files themselves.
    pub(super) fn files(&self) -> impl Iterator<Item = &Watched<Users>> {
        self.0.iter().map(|(_, file)| file)
    }

    /// The hashes of a user's password, one for each file that has the user and is for the stream.
    pub(super) fn hashes(&self, user: &str, scope: Scope, stream: &StreamName) -> Vec<KeyHash> {
        let files = self.0.iter().filter(|(rule, _)| rule.is_for(scope, stream));
        let contents = files.map(|(_, file)| file.content());
        contents
            .filter_map(|users: Arc<Users>| users.find(user).cloned())
            .collect()
    }
}

/// The name and the password that a request presents: where its protocol has them, or in the address, for players over RTMP
/// name no user unless they are asked in a way that takes the password itself.
pub(super) fn presented<'a>(request: &Request<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    if let (Some(user), Some(password)) = (request.user, request.password) {
        return Some((user.into(), password.into()));
    }
    let query = http1::Query::new(request.query.as_bytes());
    Some((query.get("user")?.into(), query.get("pass")?.into()))
}
