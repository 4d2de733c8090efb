//! `tests/mutations.toml`: faults of one line each, and the tests that should notice them.

use serde::Deserialize;

use crate::run::{Failure, Workspace};

const FILE: &str = "tests/mutations.toml";

/// A fault of one line.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutation {
    /// Name, which says what the fault breaks.
    pub(crate) name: String,
    /// Source file, from the repository's root.
    pub(crate) file: String,
    /// Line number at the time it was chosen, from 1; the line is found by its text.
    pub(crate) line: usize,
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) noticed_by: String,
    /// Consequence for a user.
    #[allow(dead_code, reason = "for those who read the file")]
    why: String,
}

/// Tests that should notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Witness {
    /// Unit tests of a package, by a part of their names.
    Unit { package: String, filter: String },
    /// Scenarios by a part of their names.
    Scenario { filter: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutation: Vec<Mutation>,
}

/// Reads the list, and checks that every line can be found.
pub(crate) fn read(workspace: &Workspace) -> Result<Vec<Mutation>, Failure> {
    let text = std::fs::read_to_string(workspace.root.join(FILE))?;
    let list: List = toml::from_str(&text).map_err(|error| Failure(format!("{FILE}: {error}")))?;
    for (index, mutation) in list.mutation.iter().enumerate() {
        let is_named_before = list.mutation[..index]
            .iter()
            .any(|other| other.name == mutation.name);
        if is_named_before {
            return Err(Failure(format!(
                "{FILE}: two faults are named {}",
                mutation.name
            )));
        }
        mutation.witness()?;
        let text = std::fs::read_to_string(workspace.root.join(&mutation.file))?;
        mutation.apply(&text)?;
    }
    Ok(list.mutation)
}

impl Mutation {
    pub(crate) fn witness(&self) -> Result<Witness, Failure> {
        let words: Vec<&str> = self.noticed_by.split_whitespace().collect();
        match *words {
            ["unit", package, filter] => Ok(Witness::Unit {
                package: format!("carillon-{package}"),
                filter: filter.to_owned(),
            }),
            ["scenario", filter] => Ok(Witness::Scenario {
                filter: filter.to_owned(),
            }),
            _ => Err(Failure(format!(
                "{FILE}: {}: `noticed_by` is `unit PACKAGE FILTER` or `scenario FILTER`",
                self.name
            ))),
        }
    }

    /// Returns the file's text with the fault, in the line with that text nearest to where it was.
    pub(crate) fn apply(&self, text: &str) -> Result<String, Failure> {
        let mut lines: Vec<&str> = text.lines().collect();
        let same = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| **line == self.old);
        let nearest = same.min_by_key(|(index, _)| index.abs_diff(self.line.saturating_sub(1)));
        let Some((index, _)) = nearest else {
            return Err(Failure(format!(
                "{FILE}: {}: {} has no such line any more: choose another, or have it follow the code",
                self.name, self.file
            )));
        };
        lines[index] = &self.new;
        Ok(lines.join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation(line: usize) -> Mutation {
        Mutation {
            name: "a".to_owned(),
            file: "a.rs".to_owned(),
            line,
            old: "    yes()".to_owned(),
            new: "    no()".to_owned(),
            noticed_by: "unit net shares".to_owned(),
            why: String::new(),
        }
    }

    #[test]
    fn the_nearest_of_equal_lines_is_changed() {
        let text = "    yes()\na\nb\n    yes()\n";
        assert_eq!(
            mutation(3).apply(text).ok(),
            Some("    yes()\na\nb\n    no()\n".into())
        );
        assert_eq!(
            mutation(1).apply(text).ok(),
            Some("    no()\na\nb\n    yes()\n".into())
        );
        assert!(mutation(1).apply("gone\n").is_err());
    }

    #[test]
    fn witnesses_are_read() {
        let unit = Witness::Unit {
            package: "carillon-net".to_owned(),
            filter: "shares".to_owned(),
        };
        assert_eq!(mutation(1).witness().ok(), Some(unit));
        let vague = Mutation {
            noticed_by: "somebody".to_owned(),
            ..mutation(1)
        };
        assert!(vague.witness().is_err());
    }

    #[test]
    fn the_committed_list_fits_the_sources() {
        let list = read(&Workspace::locate()).expect("it fits");
        assert!(list.len() >= 20);
    }
}
