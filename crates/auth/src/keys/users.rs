//! Verification of users by name and password, from files.

use std::sync::Arc;

use media::StreamName;

use super::{Hashed, Owner};
use crate::files::read_users;
use crate::proof::{Scope, Users};
use crate::settings::{Auth, UsersRule};
use crate::watched::Watched;

/// Files of users, each with the rule that names it.
#[derive(Debug)]
pub(super) struct UserFiles(Vec<(UsersRule, Watched<Users>)>);

impl UserFiles {
    /// Reads the files for the first time.
    pub(super) fn new(auth: &Auth) -> Self {
        let files = auth.users.iter().map(|rule| {
            let file = Watched::new(Some(&rule.file), "users", read_users);
            (rule.clone(), file)
        });
        Self(files.collect())
    }

    /// Returns the files themselves.
    pub(super) fn files(&self) -> impl Iterator<Item = &Watched<Users>> {
        self.0.iter().map(|(_, file)| file)
    }

    /// Returns the hashes to compare a user's password with: one for each file that applies to the stream. If a file does not
    /// have the user, its most expensive hash is used, so that the time does not reveal which names exist.
    pub(super) fn candidates<'a>(
        &self,
        user: &str,
        password: &str,
        scope: Scope,
        stream: &StreamName,
    ) -> Vec<Hashed<'a>> {
        let files = self.0.iter().filter(|(rule, _)| rule.is_for(scope, stream));
        let contents = files.map(|(_, file)| file.content());
        let of = |users: Arc<Users>| {
            let own = users.find(user);
            Some(Hashed {
                hash: own.or_else(|| users.dearest())?.clone(),
                secret: password.to_owned(),
                owner: own.map_or(Owner::Nobody, |_| Owner::User(user.to_owned())),
            })
        };
        contents.filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use media::Glob;

    use super::*;
    use crate::proof::Scopes;
    use crate::tests::{name, write};

    /// Hash of `open-sesame-41`, by libxcrypt.
    const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.";

    #[test]
    fn a_name_that_no_file_has_costs_as_much_as_one_that_it_has() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(file.path(), &format!("ann:{HASH}\n"));
        let rule = UsersRule {
            file: file.path().to_owned(),
            pattern: Glob::parse("**").expect("a pattern"),
            scopes: Scopes::NONE.with(Scope::Play),
            asks_hook: false,
            key: String::new(),
        };
        let files = UserFiles::new(&Auth {
            users: vec![rule],
            ..Auth::default()
        });
        let stream = name("live/a");
        let of = |user| files.candidates(user, "guess", Scope::Play, &stream);
        for (user, is_decoy) in [("ann", false), ("bob", true)] {
            let candidates = of(user);
            assert_eq!(candidates.len(), 1, "{user}");
            let is_other = matches!(candidates[0].owner, Owner::Nobody);
            assert_eq!(is_other, is_decoy, "{user}");
            assert_eq!(candidates[0].hash.reveal(), HASH);
        }
        let none = files.candidates("ann", "guess", Scope::Publish, &stream);
        assert!(none.is_empty(), "it is for listeners");
    }
}
