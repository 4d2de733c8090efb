//! Comparison of the list of long cycles in `docs/internals/cycles.md` with the existing cycles.

use crate::document::{below, cells};

/// Number of lines from which a cycle must be listed, with the reason for it: shorter ones are read in passing.
pub(super) const LINES_MIN: usize = 1_000;

/// The list, from the root of the repository.
pub(super) const LIST: &str = "docs/internals/cycles.md";

const SECTION: &str = "# Cycles of modules";

/// Returns the missing and the superfluous entries of the list. A cycle is identified by its crate and its first module.
pub(super) fn differences(document: &str, there: &[(String, String)]) -> Vec<String> {
    let listed = rows(document);
    let absent = there.iter().filter(|cycle| !listed.contains(cycle));
    let absent = absent
        .map(|(name, module)| format!("{LIST}: the cycle of `{module}` in `{name}` is missing"));
    let gone = listed.iter().filter(|cycle| !there.contains(cycle));
    let gone = gone.map(|(name, module)| {
        format!("{LIST}: `{name}` has no cycle of `{module}` of {LINES_MIN} lines")
    });
    absent.chain(gone).collect()
}

fn rows(document: &str) -> Vec<(String, String)> {
    let row = |line| {
        let [name, _, modules, _] = cells(line)?[..] else {
            return None;
        };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let first = modules.split(',').next()?.trim_matches('`');
        Some((name.to_owned(), first.to_owned()))
    };
    below(document, SECTION).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_cycles_that_there_are() {
        let document = "# Cycles of modules\n\n| crate | lines | modules | why |\n|---|---|---|---|\n\
                        | `a` | 1,000 | `x`, `y` | z |\n\n## Next\n| `b` | 1 | `x` | z |\n";
        let cycle = |name: &str, module: &str| (name.to_owned(), module.to_owned());
        assert!(differences(document, &[cycle("a", "x")]).is_empty());
        let reported = differences(document, &[cycle("a", "y")]);
        assert_eq!(reported.len(), 2, "{reported:?}");
    }
}
