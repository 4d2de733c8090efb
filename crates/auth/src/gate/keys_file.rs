//! The file of further keys.

use std::sync::Arc;

use super::watched::Watched;
use crate::settings::{KeyRule, Permissions};

/// See the module's description.
#[derive(Debug)]
pub(super) struct KeysFile(Watched<Vec<KeyRule>>);

impl KeysFile {
    /// Reads it for the first time.
    pub(super) fn new(permissions: &Arc<dyn Permissions>) -> Self {
        let of_file = Arc::clone(permissions);
        let read = move |path: &_| of_file.read_keys(path);
        let path = permissions.auth().keys_file.as_deref();
        Self(Watched::new(path, "keys", read))
    }

    /// Its keys, of the last time that it was of use.
    pub(super) fn keys(&self) -> Arc<Vec<KeyRule>> {
        self.0.content()
    }

    /// The file itself.
    pub(super) const fn file(&self) -> &Watched<Vec<KeyRule>> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::super::testing::Decided;
    use super::*;

    fn key(name: &str) -> String {
        format!("{name} {name}-k3y-7741 live/*\n")
    }

    /// Writes as editors do: another file in its place.
    fn write(path: &Path, text: &str) {
        let new = path.with_extension("new");
        fs::write(&new, text).expect("written");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("set");
        fs::rename(&new, path).expect("renamed");
    }

    fn names(file: &KeysFile) -> Vec<String> {
        let keys = file.keys();
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    fn at(path: &Path) -> KeysFile {
        KeysFile::new(&Decided::with_keys(path))
    }

    #[test]
    fn keys_are_handed_out_and_revoked_while_the_server_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        write(&path, &key("ann"));
        let file = at(&path);
        assert_eq!(names(&file), ["ann"]);
        write(&path, &(key("ann") + &key("bob")));
        file.file().look();
        assert_eq!(names(&file), ["ann", "bob"]);
        write(&path, "eve\n");
        file.file().look();
        assert_eq!(names(&file), ["ann", "bob"], "a broken one changes nothing");
        write(&path, "");
        file.file().look();
        assert!(names(&file).is_empty(), "all are revoked");
    }

    #[test]
    fn one_that_every_user_can_read_is_of_no_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        write(&path, &key("ann"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        let file = at(&path);
        assert!(names(&file).is_empty());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        file.file().look();
        assert_eq!(names(&file), ["ann"], "its group may");
    }
}
