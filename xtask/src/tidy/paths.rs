//! Files that the architecture names as stations of a path through the code: each has to exist.

use std::path::Path;

use crate::document::{DOCUMENT, below};
use crate::run::Failure;

/// The heading above them.
const HEADING: &str = "## Paths through the code";

/// All that is wrong.
pub(super) fn errors(root: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(root.join(DOCUMENT))?;
    let named = named(&text);
    if named.is_empty() {
        return Ok(vec![format!("{DOCUMENT}: no file below `{HEADING}`")]);
    }
    let missing = named.into_iter().filter(|path| !root.join(path).is_file());
    let errors = missing.map(|path| format!("{DOCUMENT}: `{path}`: there is no such file"));
    Ok(errors.collect())
}

/// The paths between backticks below the heading, up to the next one of its rank.
fn named(text: &str) -> Vec<&str> {
    let quoted = below(text, HEADING).flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted
        .filter(|text| text.contains('/') && !text.contains(' '))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_between_backticks_below_the_heading() {
        let text = format!(
            "`a/other.rs`\n{HEADING}\n\n1. `a/b.rs` and `Word`, `a/c.rs`\n### More\n`a/d.rs`, `cargo x/y`\n## Next\n`a/e.rs`\n"
        );
        assert_eq!(named(&text), ["a/b.rs", "a/c.rs", "a/d.rs"]);
        assert!(named("`a/b.rs`").is_empty());
    }
}
