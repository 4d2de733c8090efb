//! Lists of names that are used outside of this repository, in `tests/golden`. With `CARILLON_GOLDEN=1` they are written anew:
//! each line that disappears breaks somebody's script, encoder or dashboard.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Environment variable that makes the tests write the lists.
const WRITE: &str = "CARILLON_GOLDEN";

/// Returns whether these are the lines of a list, in any order.
pub(crate) fn is_kept(list: &str, lines: &BTreeSet<String>) -> bool {
    let known = fs::read_to_string(path_of(list)).unwrap_or_default();
    *lines == known.lines().map(str::to_owned).collect()
}

fn path_of(list: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{list}.txt"))
}

/// Asserts that these are the lines of a list, in any order.
pub(crate) fn assert_kept(list: &str, lines: impl IntoIterator<Item = String>) {
    let path = path_of(list);
    let lines: BTreeSet<_> = lines.into_iter().collect();
    assert!(!lines.is_empty());
    if std::env::var_os(WRITE).is_some() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{list}: {error}"));
    let known: BTreeSet<_> = known.lines().map(str::to_owned).collect();
    let gone: Vec<_> = known.difference(&lines).collect();
    let new: Vec<_> = lines.difference(&known).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "{list}: no longer there: {gone:#?}, not listed: {new:#?}"
    );
}
