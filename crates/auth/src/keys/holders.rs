//! What goes on by the keys of the file, so that it ends when the file is read and its key is no longer there, or no longer
//! for that.
//!
//! A key is known by its secret, or its hash: one that has another name now, or a later end, is the same. Publishers and
//! listeners of other credentials have no entries.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use base::Lock;
use fanout::Permit;
use fanout::gate::{Action, Ongoing, Request, Witness};
use media::StreamName;

use super::keys_file;
use crate::authority::{Ender, Fingerprints};
use crate::proof::Scope;
use crate::settings::{KeyRule, KeySecretRef, Permissions};
use crate::watched::Watched;

/// Stands for the secret of a key.
pub(super) type KeyId = [u8; 32];

/// File of further keys, with what goes on by each of them.
#[derive(Debug)]
pub(super) struct Holders {
    file: Watched<Vec<KeyRule>>,
    fingerprints: Fingerprints,
    ender: Ender,
    table: Lock<Table>,
}

#[derive(Debug)]
struct Table {
    /// The keys of the file that all entries have.
    listed: Arc<Listed>,
    going_on: HashMap<Held, HashMap<u64, Ongoing>>,
    /// The number of the next entry.
    next: u64,
}

/// The keys of the file as it was read once, found by what stands for their secrets: that is computed once for each key, and
/// not for each key whenever somebody presents one.
#[derive(Debug)]
struct Listed {
    keys: Arc<Vec<KeyRule>>,
    places: HashMap<KeyId, Vec<usize>>,
}

/// What a key permits, of that which somebody uses.
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

    /// The keys with that secret, one after the other: several may have it.
    fn of(&self, key: &KeyId) -> impl Iterator<Item = &KeyRule> {
        let places = self.places.get(key).into_iter().flatten();
        places.filter_map(|place| self.keys.get(*place))
    }

    /// Whether a key permits what it has permitted.
    fn permit(&self, held: &Held, now: SystemTime) -> bool {
        self.of(&held.key).any(|rule| {
            let key = rule.for_stream(held.scope, &held.stream);
            key.is_some_and(|key| key.expires.is_none_or(|end| end > now))
        })
    }
}

impl Holders {
    /// Reads the file for the first time. Permissions of listeners are ended by `ender`.
    pub(super) fn new(
        permissions: &Arc<dyn Permissions>,
        fingerprints: Fingerprints,
        ender: Ender,
    ) -> Self {
        let file = keys_file::watch(permissions);
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

    /// The keys of the file.
    pub(super) fn keys(&self) -> Arc<Vec<KeyRule>> {
        self.file.content()
    }

    /// Reads the file if it has changed, and ends what goes on by keys that are gone. It may wait for a disk.
    pub(super) fn look(&self) {
        self.file.look();
        self.end_revoked();
    }

    /// Reads the file, and says what has become of it; ends what goes on by keys that are gone.
    pub(super) fn read_again(&self) -> Option<String> {
        let told = self.file.read_again();
        self.end_revoked();
        told
    }

    /// What is told of that which a key permits, if it is one of the file.
    pub(super) fn witness(
        self: &Arc<Self>,
        key: KeyId,
        action: Action,
        request: &Request<'_>,
    ) -> Option<Arc<dyn Witness>> {
        let scope = match action {
            Action::Publish => Scope::Publish,
            Action::Play => Scope::Play,
            // It is over at once.
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

    /// The keys as they are now: those of the table, unless the file has just been read.
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
        // Without the lock: what ends takes it.
        for ongoing in revoked {
            self.ender.end(ongoing);
        }
    }
}

impl Fingerprints {
    /// Stands for the secret of a key.
    pub(super) fn of_key(&self, secret: KeySecretRef<'_>) -> KeyId {
        match secret {
            KeySecretRef::Plain(secret) => self.of_pair("plain", secret.reveal()),
            KeySecretRef::Hash(hash) => self.of_pair("hash", hash.reveal()),
        }
    }
}

/// Somebody who has presented a key of the file.
#[derive(Debug)]
struct Holder {
    holders: Arc<Holders>,
    held: Held,
    /// The file as it was then.
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
        // The file may have been read since the key was looked at, when there was no entry yet.
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

/// An entry of the table.
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
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Receiver, sync_channel};

    use fanout::ListenerId;
    use fanout::gate::Revocation;

    use super::*;
    use crate::secret::Secret;
    use crate::tests::Decided;

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
            let stream = StreamName::parse(stream).expect("a name");
            let peer = SocketAddr::from(([127, 0, 0, 1], 5));
            let secret = Secret::new(secret);
            let key = KeySecretRef::Plain(&secret);
            let key = self.holders.fingerprints.of_key(key);
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

    fn write(path: &Path, text: &str) {
        let new = path.with_extension("new");
        fs::write(&new, text).expect("written");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("set");
        fs::rename(&new, path).expect("renamed");
    }

    fn key(name: &str, secret: &str, pattern: &str) -> String {
        format!("{name} {secret} {pattern}\n")
    }

    const ANN: &str = "of-ann-k3y-7741";
    const BOB: &str = "of-bob-k3y-7742";
    const ALL: &str = "live/*";

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
