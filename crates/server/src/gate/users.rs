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

    /// What a user's password is compared with: one hash for each file that is for the stream. Where a file does not have the
    /// user, it is the dearest of the file's, so that the time does not tell which names there are.
    pub(super) fn candidates(
        &self,
        user: &str,
        scope: Scope,
        stream: &StreamName,
    ) -> Vec<Candidate> {
        let files = self.0.iter().filter(|(rule, _)| rule.is_for(scope, stream));
        let contents = files.map(|(_, file)| file.content());
        let of = |users: Arc<Users>| {
            let own = users.find(user);
            Some(Candidate {
                hash: own.or_else(|| users.dearest())?.clone(),
                is_decoy: own.is_none(),
            })
        };
        contents.filter_map(of).collect()
    }
}

/// A hash that a password is compared with.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) hash: KeyHash,
    /// It is another user's, and permits nothing.
    pub(super) is_decoy: bool,
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::net::SocketAddr;
    use std::os::unix::fs::PermissionsExt;

    use config::Config;
    use fanout::gate::{Denied, Gate};

    use super::super::tests::configured_by;
    use super::*;

    /// Of `open-sesame-41`, by libxcrypt.
    const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.";

    #[test]
    fn a_name_that_no_file_has_costs_as_much_as_one_that_it_has() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), format!("ann:{HASH}\n")).expect("written");
        fs::set_permissions(file.path(), Permissions::from_mode(0o600)).expect("set");
        let source = format!("[[auth.htpasswd]]\nfile = {:?}\n", file.path());
        let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
        let files = UserFiles::new(&config.auth);
        let stream = StreamName::parse("live/a").expect("a name");
        let of = |user| files.candidates(user, Scope::Play, &stream);
        for (user, is_decoy) in [("ann", false), ("bob", true)] {
            let candidates = of(user);
            assert_eq!(candidates.len(), 1, "{user}");
            assert_eq!(candidates[0].is_decoy, is_decoy, "{user}");
            assert_eq!(candidates[0].hash.reveal(), HASH);
        }
        let none = files.candidates("ann", Scope::Publish, &stream);
        assert!(none.is_empty(), "it is for listeners");
    }

    #[tokio::test]
    async fn the_password_of_another_permits_nothing() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), format!("ann:{HASH}\n")).expect("written");
        fs::set_permissions(file.path(), Permissions::from_mode(0o600)).expect("set");
        let source = format!(
            "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\nplay = \"key\"\n\
             [[auth.htpasswd]]\nfile = {:?}\n",
            file.path()
        );
        let gate = configured_by(&source, None);
        let stream = StreamName::parse("live/a").expect("a name");
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        for (user, expected) in [("ann", None), ("bob", Some(Denied::Wrong))] {
            let request = Request {
                user: Some(user),
                password: Some("open-sesame-41"),
                ..Request::new(&stream, "http", peer)
            };
            assert_eq!(gate.play(&request).await.err(), expected, "{user}");
        }
    }
}
