//! Check of the files that the architecture documents name: each must exist.

use std::path::{Path, PathBuf};

use crate::document::{DOCUMENT, INTERNALS};
use crate::run::Failure;

/// Folders whose files are named by their path from the root.
const ROOTS: [&str; 5] = ["benches/", "crates/", "docs/", "tests/", "xtask/"];

/// Returns all errors.
pub(super) fn errors(root: &Path) -> Result<Vec<String>, Failure> {
    let mut errors = Vec::new();
    for document in documents(root)? {
        let text = std::fs::read_to_string(&document)?;
        let folder = document.parent().unwrap_or(root);
        let missing = named(&text)
            .filter(|path| !root.join(path).exists())
            .chain(linked(&text).filter(|path| !folder.join(path).exists()));
        let name = document.strip_prefix(root).unwrap_or(&document).display();
        errors.extend(missing.map(|path| format!("{name}: `{path}`: there is no such file")));
    }
    Ok(errors)
}

/// Returns the overview and the documents that go into detail.
fn documents(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all = vec![root.join(DOCUMENT)];
    for entry in std::fs::read_dir(root.join(INTERNALS))? {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

/// Returns the paths from the root that stand between backticks.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|text| {
        let is_path = ROOTS.iter().any(|folder| text.starts_with(folder));
        is_path && !text.contains([' ', '{', '*', '<'])
    })
}

/// Returns the targets of links to other files, from the document's own folder.
fn linked(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    targets.filter_map(|rest| {
        let target = rest.split([')', '#']).next()?;
        (!target.is_empty() && !target.contains("://")).then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_between_backticks_and_links_between_parentheses() {
        let text = "1. `crates/b.rs` and `Word`, `a/c.rs`, `crates/{x,y}.rs`\n\
                    `cargo x/y` [log](docs/log.md#a) [web](https://a/b) [here](#x)\n";
        assert_eq!(named(text).collect::<Vec<_>>(), ["crates/b.rs"]);
        assert_eq!(linked(text).collect::<Vec<_>>(), ["docs/log.md"]);
    }
}
