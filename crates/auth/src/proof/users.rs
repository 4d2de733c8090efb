//! Files of users in the format of Apache's and Icecast's `htpasswd`: one `NAME:HASH` per line.

use std::collections::HashMap;

use crate::proof::{HashRejected, KeyHash};

/// Most users of a file: some megabytes of memory.
const USERS_MAX: usize = 100_000;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Users with the hashes of their passwords.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Users {
    hashes: HashMap<String, KeyHash>,
    /// The most expensive of these hashes.
    dearest: Option<KeyHash>,
}

/// Reason why a text is not a file of users. It repeats nothing of the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UsersRejected {
    /// A line, counted from 1, has no name or no colon.
    #[error("line {0} is not NAME:HASH")]
    Line(usize),
    /// The hash of a line cannot be used.
    #[error("line {0}: the hash {1}")]
    Hash(usize, HashRejected),
    /// A name appears in more than one line.
    #[error("line {0} has a name that stands in an earlier one")]
    Twice(usize),
    /// There are too many users.
    #[error("has more than {USERS_MAX} users")]
    TooMany,
}

impl Users {
    /// Parses a file. Empty lines, and lines that begin with `#`, are skipped.
    ///
    /// # Errors
    /// See [`UsersRejected`].
    pub fn parse(text: &str) -> Result<Self, UsersRejected> {
        let mut users = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = line.split_once(':').ok_or(UsersRejected::Line(number))?;
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                return Err(UsersRejected::Line(number));
            }
            // Some programs write further fields after the hash.
            let hash = hash.split(':').next().unwrap_or(hash);
            let hash = KeyHash::parse_of_user(hash);
            let hash = hash.map_err(|why| UsersRejected::Hash(number, why))?;
            if users.insert(name.to_owned(), hash).is_some() {
                return Err(UsersRejected::Twice(number));
            }
            if users.len() > USERS_MAX {
                return Err(UsersRejected::TooMany);
            }
        }
        let dearest = users.values().max_by_key(|hash| hash.cost()).cloned();
        Ok(Self {
            hashes: users,
            dearest,
        })
    }

    /// Returns the hash of a user's password.
    pub fn find(&self, name: &str) -> Option<&KeyHash> {
        self.hashes.get(name)
    }

    /// Returns the most expensive hash. It is compared for unknown users, so that the time does not reveal which names exist.
    pub fn dearest(&self) -> Option<&KeyHash> {
        self.dearest.as_ref()
    }

    /// Returns the number of users.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One user for each kind of hash, all with one password: by libxcrypt, `openssl passwd -apr1` and md5sum; and one of
    /// argon2-cffi's behind them.
    const FILE: &str = "# listeners\n\n\
        ann:$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.\n\
        bob:$apr1$qHDFfhPC$oG4cngSfCoO6B9U1qwA8g1\r\n\
        cat:8b1421223b1f1f46825bc05d0063923a:further\n  dan:";

    fn file() -> String {
        FILE.to_owned() + include_str!("hash.phc")
    }

    #[test]
    fn users_of_each_kind_have_their_password() {
        let users = Users::parse(&file()).expect("users");
        assert_eq!(users.len(), 4);
        for name in ["ann", "bob", "cat", "dan"] {
            let hash = users.find(name).expect(name);
            assert!(hash.verifies("open-sesame-41"), "{name}");
            assert!(!hash.verifies("open-sesame-42"), "{name}");
        }
        assert!(users.find("Ann").is_none());
        // bcrypt of the least cost takes longer than argon2id of one MiB.
        assert_eq!(users.dearest(), users.find("ann"));
        assert_eq!(Users::default().dearest(), None);
        assert!(!format!("{users:?}").contains("apr1"));
    }

    #[test]
    fn lines_that_are_of_no_use_are_reported_by_their_number() {
        let none = UsersRejected::Hash(1, HashRejected::OfUser);
        for (text, expected) in [
            ("ann", UsersRejected::Line(1)),
            (":0cc175b9c0f1b6a831c399e269772661", UsersRejected::Line(1)),
            ("ann:secret", none),
            ("ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", none),
            ("ann:$2y$04$tooshort", none),
            ("ann:$1$salt$aaaaaaaaaaaaaaaaaaaaaa", none),
            ("ann:0cc175b9c0f1b6a831c399e26977266x", none),
        ] {
            assert_eq!(Users::parse(text), Err(expected), "{text}");
        }
        let file = file();
        let dear = file.lines().nth(2).expect("a line").replace("$05$", "$13$");
        let cost = Err(UsersRejected::Hash(1, HashRejected::Cost));
        assert_eq!(Users::parse(&dear), cost);
        let twice = format!("{file}bob:0cc175b9c0f1b6a831c399e269772661");
        assert_eq!(Users::parse(&twice), Err(UsersRejected::Twice(7)));
    }
}
