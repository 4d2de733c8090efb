//! Active sessions by keys of the file, so that they end when the file is reread and their key is gone, or no longer for that
//! scope or stream.
//!
//! A key is identified by its secret or hash: with another name or a later end it is still the same key. Publishers and
//! listeners of other credentials have no entries.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use base::Lock;
use fanout::Permit;
use fanout::gate::{Action, Ongoing, Request, Witness};
use media::StreamName;

use crate::authority::{Ender, Fingerprints};
use crate::proof::Scope;
use crate::settings::{KeyRule, KeySecretRef, Permissions};
use crate::watched::Watched;

/// Digest that stands for the secret of a key.
pub(super) type KeyId = [u8; 32];

/// File of further keys, with the active sessions of each.
#[derive(Debug)]
pub(super) struct Holders {
    file: Watched<Vec<KeyRule>>,
    fingerprints: Fingerprints,
    ender: Ender,
    table: Lock<Table>,
}

#[derive(Debug)]
struct Table {
    /// Keys of the file at the last check of all entries.
    listed: Arc<Listed>,
    going_on: HashMap<Held, HashMap<u64, Ongoing>>,
    /// Number of the next entry.
    next: u64,
}

/// Keys of one reading of the file, indexed by a digest of their secrets. The digest is computed once for each key, not for
/// each key whenever a client presents one.
#[derive(Debug)]
struct Listed {
    keys: Arc<Vec<KeyRule>>,
    places: HashMap<KeyId, Vec<usize>>,
}

/// Use of a key: the scope and stream in use.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Held {
    key: KeyId,
    scope: Scope,
    stream: StreamName,
}

impl Listed {
    fn new(keys: Arc<Vec<KeyRule>>, fingerprints: &Fingerprints) -> Self {
        let mut places: HashMap<KeyId, Vec<usize>> = HashMap::new();
        for (place, rule) in keys.iter().enumerate() {
            let of = |scope| rule.for_scope(scope);
            if let Some(key) = of(Scope::Publish).or_else(|| of(Scope::Play)) {
                let id = fingerprints.of_key(key.secret);
                places.entry(id).or_default().push(place);
            }
        }
        Self { keys, places }
    }

    /// Returns the keys with this secret; several may share it.
    fn of(&self, key: &KeyId) -> impl Iterator<Item = &KeyRule> {
        let places = self.places.get(key).into_iter().flatten();
        places.filter_map(|place| self.keys.get(*place))
    }

    /// Whether the keys still permit a use.
    fn permit(&self, held: &Held, now: SystemTime) -> bool {
        self.of(&held.key).any(|rule| {
            let key = rule.for_stream(held.scope, &held.stream);
            key.is_some_and(|key| key.expires.is_none_or(|end| end > now))
        })
    }
}

impl Holders {
    /// Reads the file for the first time. `ender` ends sessions of revoked keys.
    pub(super) fn new(
        permissions: &Arc<dyn Permissions>,
        fingerprints: Fingerprints,
        ender: Ender,
    ) -> Self {
        let of_file = Arc::clone(permissions);
        let read = move |path: &_| of_file.read_keys(path);
        let file = Watched::new(permissions.auth().keys_file.as_deref(), "keys", read);
        let table = Table {
            listed: Arc::new(Listed::new(file.content(), &fingerprints)),
            going_on: HashMap::new(),
            next: 0,
        };
        Self {
            file,
            fingerprints,
            ender,
            table: Lock::new(table),
        }
    }

    /// Returns the keys of the file.
    pub(super) fn keys(&self) -> Arc<Vec<KeyRule>> {
        self.file.content()
    }

    /// Rereads the file if it has changed, and ends sessions whose keys are gone. May wait for a disk.
    pub(super) fn look(&self) {
        self.file.look();
        self.end_revoked();
    }

    /// Rereads the file, ends sessions whose keys are gone, and describes the result of the reading.
    pub(super) fn read_again(&self) -> Option<String> {
        let reported = self.file.read_again();
        self.end_revoked();
        reported
    }

    /// Returns a witness for sessions of a key, if the key is one of the file.
    pub(super) fn witness(
        self: &Arc<Self>,
        key: KeyId,
        action: Action,
        request: &Request<'_>,
    ) -> Option<Arc<dyn Witness>> {
        let scope = match action {
            Action::Publish => Scope::Publish,
            Action::Play => Scope::Play,
            // Setting a title is over at once.
            Action::UpdateMetadata => return None,
        };
        let listed = self.listed();
        let is_of_file = listed.of(&key).any(|rule| rule.for_scope(scope).is_some());
        is_of_file.then(|| -> Arc<dyn Witness> {
            Arc::new(Holder {
                holders: Arc::clone(self),
                held: Held {
                    key,
                    scope,
                    stream: request.stream.clone(),
                },
                granted_by: listed,
            })
        })
    }

    /// Returns the current keys: those of the table, unless the file has just been reread.
    fn listed(&self) -> Arc<Listed> {
        let keys = self.keys();
        let known = Arc::clone(&self.table.lock().listed);
        match Arc::ptr_eq(&known.keys, &keys) {
            true => known,
            false => Arc::new(Listed::new(keys, &self.fingerprints)),
        }
    }

    fn end_revoked(&self) {
        let listed = self.listed();
        let now = SystemTime::now();
        let revoked: Vec<Ongoing> = {
            let mut table = self.table.lock();
            if Arc::ptr_eq(&table.listed.keys, &listed.keys) {
                return;
            }
            table.listed = Arc::clone(&listed);
            let revoked = table
                .going_on
                .extract_if(|held, _| !listed.permit(held, now));
            revoked.flat_map(|(_, all)| all.into_values()).collect()
        };
        if !revoked.is_empty() {
            tracing::info!(
                count = revoked.len(),
                "what was permitted by keys that are no longer in the file ends"
            );
        }
        // Without the lock: ending a session takes it.
        for ongoing in revoked {
            self.ender.end(ongoing);
        }
    }
}

impl Fingerprints {
    /// Returns the digest that stands for the secret of a key.
    pub(super) fn of_key(&self, secret: KeySecretRef<'_>) -> KeyId {
        match secret {
            KeySecretRef::Plain(secret) => self.of_pair("plain", secret.reveal()),
            KeySecretRef::Hash(hash) => self.of_pair("hash", hash.reveal()),
        }
    }
}

/// Client that has presented a key of the file.
#[derive(Debug)]
struct Holder {
    holders: Arc<Holders>,
    held: Held,
    /// Keys of the file at that time.
    granted_by: Arc<Listed>,
}

impl Witness for Holder {
    fn begin(&self, ongoing: Ongoing) -> Permit {
        let holders = &self.holders;
        let (number, listed) = {
            let mut table = holders.table.lock();
            let number = table.next;
            table.next += 1;
            let all = table.going_on.entry(self.held.clone()).or_default();
            all.insert(number, ongoing.clone());
            (number, Arc::clone(&table.listed))
        };
        // The file may have been reread since the key was checked, before this entry existed.
        let is_same = Arc::ptr_eq(&listed.keys, &self.granted_by.keys);
        if !is_same && !listed.permit(&self.held, SystemTime::now()) {
            holders.ender.end(ongoing);
        }
        Permit::new(GoingOn {
            holders: Arc::clone(holders),
            held: self.held.clone(),
            number,
        })
    }
}

/// Entry of the table, removed on drop.
struct GoingOn {
    holders: Arc<Holders>,
    held: Held,
    number: u64,
}

impl Drop for GoingOn {
    fn drop(&mut self) {
        let mut table = self.holders.table.lock();
        let Some(all) = table.going_on.get_mut(&self.held) else {
            return;
        };
        all.remove(&self.number);
        if all.is_empty() {
            table.going_on.remove(&self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::SocketAddr;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, sync_channel};

    use fanout::ListenerId;
    use fanout::gate::Revocation;

    use super::*;
    use crate::secret::Secret;
    use crate::tests::{Decided, name, write};

    struct World {
        folder: tempfile::TempDir,
        holders: Arc<Holders>,
        ended: Receiver<ListenerId>,
    }

    impl World {
        fn new(keys: &str) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            write(&Self::path(&folder), keys);
            let decided = Decided::with_keys(&Self::path(&folder));
            let (end, ended) = sync_channel(64);
            let ender = Ender::new(move |listener| end.send(listener).expect("the test listens"));
            let fingerprints = Fingerprints::new().expect("randomness");
            Self {
                holders: Arc::new(Holders::new(&decided, fingerprints, ender)),
                folder,
                ended,
            }
        }

        fn path(folder: &tempfile::TempDir) -> PathBuf {
            folder.path().join("keys")
        }

        fn rewrite(&self, keys: &str) {
            write(&Self::path(&self.folder), keys);
            self.holders.look();
        }

        fn witness(&self, secret: &str, action: Action, stream: &str) -> Option<Arc<dyn Witness>> {
            let stream = name(stream);
            let secret = Secret::new(secret);
            let key = KeySecretRef::Plain(&secret);
            let key = self.holders.fingerprints.of_key(key);
            let peer = SocketAddr::from(([127, 0, 0, 1], 5));
            let request = Request::new(&stream, "test", peer);
            self.holders.witness(key, action, &request)
        }

        /// A publication of `live/show` by a key.
        fn publish(&self, secret: &str) -> (Revocation, Permit) {
            let revocation = Revocation::default();
            let witness = self.witness(secret, Action::Publish, "live/show");
            let begun = Ongoing::Publication(revocation.clone());
            (revocation, witness.expect("a key of the file").begin(begun))
        }
    }

    fn key(name: &str, secret: &str, pattern: &str) -> String {
        format!("{name} {secret} {pattern}\n")
    }

    const ANN: &str = "of-ann-k3y-7741";
    const BOB: &str = "of-bob-k3y-7742";
    const ALL: &str = "live/*";

    #[test]
    fn one_that_every_user_can_read_is_of_no_use() {
        let world = World::new(&key("ann", ANN, ALL));
        let path = World::path(&world.folder);
        write(&path, &key("bob", BOB, ALL));
        for (mode, name) in [(0o644, "ann"), (0o640, "bob")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            world.holders.look();
            assert_eq!(world.holders.keys()[0].name.as_str(), name, "{mode:o}");
        }
    }

    #[test]
    fn what_a_key_has_permitted_ends_when_it_is_removed() {
        let world = World::new(&(key("ann", ANN, ALL) + &key("bob", BOB, ALL)));
        let (ann, _ann) = world.publish(ANN);
        let (bob, _bob) = world.publish(BOB);
        let listen = world.witness(ANN, Action::Play, "live/show");
        let _listens = listen.expect("one").begin(Ongoing::Listener(ListenerId(7)));
        world.rewrite(&key("bob", BOB, ALL));
        assert!(ann.is_revoked() && !bob.is_revoked());
        assert_eq!(world.ended.try_iter().collect::<Vec<_>>(), [ListenerId(7)]);
        world.rewrite("");
        assert!(bob.is_revoked());
    }

    #[test]
    fn a_key_that_still_permits_it_ends_nothing() {
        let world = World::new(&key("ann", ANN, ALL));
        let (ann, permit) = world.publish(ANN);
        for same in [
            key("anna", ANN, "**"),
            key("ann", ANN, "live/show"),
            "no keys".to_owned(),
        ] {
            world.rewrite(&same);
            assert!(!ann.is_revoked(), "{same}");
        }
        world.rewrite(&key("ann", ANN, "live/other"));
        assert!(ann.is_revoked(), "it is for another stream");
        drop(permit);
        assert!(world.holders.table.lock().going_on.is_empty());
    }

    #[test]
    fn a_key_that_was_removed_before_it_was_used_permits_nothing() {
        let world = World::new(&key("ann", ANN, ALL));
        let witness = world.witness(ANN, Action::Publish, "live/show");
        world.rewrite(&key("bob", BOB, ALL));
        let revocation = Revocation::default();
        let begun = Ongoing::Publication(revocation.clone());
        let _permit = witness.expect("it was one").begin(begun);
        assert!(revocation.is_revoked());
    }

    #[test]
    fn other_keys_are_not_followed() {
        let world = World::new(&key("ann", ANN, ALL));
        assert!(world.witness(BOB, Action::Publish, "live/show").is_none());
        let title = world.witness(ANN, Action::UpdateMetadata, "live/show");
        assert!(title.is_none());
    }
}
