//! Rules for doc comments that a machine can check: how they begin, and which words they avoid.
//!
//! A doc comment begins with a noun phrase or a third-person verb and names its thing. `CONTRIBUTING.md` says why.

use crate::source;

/// Beginnings that name nothing. A comment that begins so leaves the reader to find out what it is about.
const BEGINNINGS: [&str; 12] = [
    "Has it ",
    "How ",
    "Likewise",
    "Of ",
    "See the module's description",
    "The same",
    "What ",
    "Where ",
    "Which ",
    "Who ",
    "Whom ",
    "Whose ",
];

/// Everyday words that stand for a term of the field, the term, and how often the repository may use them in comments and
/// identifiers: a few are right, as for a sound card.
const EVERYDAY: [(&str, &str, usize); 3] = [
    ("sound", "audio", 20),
    ("told", "notify, report or request", 20),
    ("goes on", "continue", 20),
];

/// Beginning that promises a boolean.
const QUESTION: &str = "Whether ";

/// Lines of an item that are read for its type: the longest signature has fewer.
const ITEM_LINES: usize = 16;

/// Returns an error for each everyday word that these files have too often, in comments and identifiers.
pub(super) fn too_often<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts = [0; EVERYDAY.len()];
    for text in texts {
        let text = source::without_literals(text).to_lowercase();
        for (count, (word, ..)) in counts.iter_mut().zip(EVERYDAY) {
            *count += text.matches(word).count();
        }
    }
    let counted = counts.into_iter().zip(EVERYDAY);
    let too_many = counted.filter(|(count, (.., max))| count > max);
    too_many
        .map(|(count, (word, term, max))| {
            format!("`{word}` occurs {count} times, of {max} that are allowed: the word is {term}")
        })
        .collect()
}

/// Returns the errors of one file, each with its line.
pub(super) fn errors(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut errors = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let is_first = index == 0 || !lines[index - 1].starts_with("///");
        let Some(words) = line.strip_prefix("/// ").filter(|_| is_first) else {
            continue;
        };
        let beginning = BEGINNINGS.iter().find(|it| words.starts_with(**it));
        if let Some(beginning) = beginning {
            let words = beginning.trim_end();
            errors.push((index + 1, format!("a doc comment begins with `{words}`")));
        }
        if words.starts_with(QUESTION) && !is_of_boolean(&lines[index..]) {
            let error = "a doc comment begins with `Whether`, and its item is no boolean";
            errors.push((index + 1, error.to_owned()));
        }
    }
    errors
}

/// Whether the item behind a doc comment is, holds or returns a boolean.
fn is_of_boolean(lines: &[&str]) -> bool {
    let item = lines
        .iter()
        .skip_while(|line| line.starts_with("//") || line.starts_with('#'));
    let mut item = item.take(ITEM_LINES).peekable();
    let Some(first) = item.peek() else {
        return false;
    };
    // A field or a constant ends with its line, a signature with its body.
    let is_signature = first.contains("fn ");
    let mut has_ended = false;
    item.take_while(|line| {
        let continues = !has_ended;
        has_ended = !is_signature || line.ends_with(['{', ';', '}']);
        continues
    })
    .any(|line| line.to_lowercase().contains("bool"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        errors(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn comments_name_their_thing() {
        let text = "/// What it is.\nstruct A;\n/// Value.\n/// What follows.\nstruct B;\n    /// Likewise.\n    c: u8,\n";
        assert_eq!(lines(text), [1, 6]);
        assert!(lines("/// Offset of the last byte.\nx: u8,\n/// Whatever.\n").is_empty());
    }

    #[test]
    fn whether_is_of_booleans() {
        let field = "/// Whether it is.\n#[serde(default)]\nis: bool,\n";
        let function = "/// Whether it is.\nfn is(\n    &self,\n) -> bool {\n";
        let number = "/// Whether it is.\ncount: u8,\nis: bool,\n";
        let shared = "/// Whether it is.\nis: AtomicBool,\n";
        assert_eq!([field, function, shared].map(lines), [[0; 0]; 3]);
        assert_eq!(lines(number), [1]);
    }
}
