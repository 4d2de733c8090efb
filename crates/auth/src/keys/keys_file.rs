//! File of further keys.

use std::sync::Arc;

use crate::settings::{KeyRule, Permissions};
use crate::watched::Watched;

/// Reads the file for the first time; without one there are no further keys.
pub(super) fn watch(permissions: &Arc<dyn Permissions>) -> Watched<Vec<KeyRule>> {
    let of_file = Arc::clone(permissions);
    let read = move |path: &_| of_file.read_keys(path);
    Watched::new(permissions.auth().keys_file.as_deref(), "keys", read)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use crate::tests::{Decided, write};

    fn key(name: &str) -> String {
        format!("{name} {name}-k3y-7741 live/*\n")
    }

    fn names(file: &Watched<Vec<KeyRule>>) -> Vec<String> {
        let keys = file.content();
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    fn at(path: &Path) -> Watched<Vec<KeyRule>> {
        watch(&Decided::with_keys(path))
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
        file.look();
        assert_eq!(names(&file), ["ann"], "its group may");
    }
}
