//! The file of further keys.

use std::sync::Arc;

use config::{Auth, KeyRule};

use super::watched::Watched;

/// See the module's description.
#[derive(Debug)]
pub(super) struct KeysFile(Watched<Vec<KeyRule>>);

impl KeysFile {
    /// Reads it for the first time.
    pub(super) fn new(auth: &Auth) -> Self {
        // Its keys must differ from those of the configuration.
        let (path, auth) = (auth.keys_file.clone(), auth.clone());
        let read = move |path: &_| config::read_keys(path, &auth).map_err(|why| why.to_string());
        Self(Watched::new(path.as_deref(), "keys", read))
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

    use super::*;

    fn key(name: &str) -> String {
        format!("[[key]]\nname = \"{name}\"\nkey = \"{name}-k3y-7741\"\nmatch = \"live/*\"\n")
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
        let keys_file = Some(path.to_path_buf());
        KeysFile::new(&Auth {
            keys_file,
            ..Auth::default()
        })
    }

    #[test]
    fn keys_are_handed_out_and_revoked_while_the_server_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys.toml");
        write(&path, &key("ann"));
        let file = at(&path);
        assert_eq!(names(&file), ["ann"]);
        write(&path, &(key("ann") + &key("bob")));
        file.file().look();
        assert_eq!(names(&file), ["ann", "bob"]);
        let broken = [
            "[[key]]\nname = \"eve\"\n".to_owned(),
            "[[kye]]\n".to_owned(),
            key("ann") + &key("ann"),
            "[[key]]\nname = \"eve\"\nmatch = \"a\"\n".to_owned(),
            "no TOML".to_owned(),
        ];
        for broken in broken {
            write(&path, &broken);
            file.file().look();
            assert_eq!(names(&file), ["ann", "bob"], "{broken}");
        }
        write(&path, "");
        file.file().look();
        assert!(names(&file).is_empty(), "all are revoked");
    }

    #[test]
    fn one_that_every_user_can_read_is_of_no_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys.toml");
        write(&path, &key("ann"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        let file = at(&path);
        assert!(names(&file).is_empty());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        file.file().look();
        assert_eq!(names(&file), ["ann"], "its group may");
    }
}
