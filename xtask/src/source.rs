//! Minimal reader of Rust text for the checks: comments and literals blanked, tests removed.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Returns `text` with comments, strings and character literals replaced by spaces; every line keeps its number and every
/// remaining byte its place.
pub(crate) fn code_only(text: &str) -> String {
    let is_left_out = |_: Kind| true;
    blanked(text, is_left_out)
}

/// Returns `text` with strings and character literals replaced by spaces.
pub(crate) fn without_literals(text: &str) -> String {
    blanked(text, |kind| kind == Kind::Literal)
}

/// Kinds of text that [`blanked`] may replace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Comment,
    Literal,
}

fn blanked(text: &str, is_left_out: impl Fn(Kind) -> bool) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let previous = at.checked_sub(1).map(|index| bytes[index]);
        let (kind, length) = if rest.starts_with(b"//") {
            (Kind::Comment, line_length(rest))
        } else if rest.starts_with(b"/*") {
            (Kind::Comment, block_comment_length(rest))
        } else if rest[0] == b'"' {
            (Kind::Literal, string_length(rest))
        } else if rest[0] == b'r' && !previous.is_some_and(is_word) {
            (Kind::Literal, raw_string_length(rest).unwrap_or(0))
        } else if rest[0] == b'\'' {
            (Kind::Literal, char_length(rest).unwrap_or(0))
        } else {
            (Kind::Literal, 0)
        };
        if is_left_out(kind) {
            blank(&mut out[at..at + length]);
        }
        at += length.max(1);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns `code` (from [`code_only`]) with every item under `#[cfg(test)]` or `#[cfg(all(test, …))]` replaced by spaces.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for range in test_items(code) {
        blank(&mut out[range]);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the ranges of the test items in `code`, from the attribute on.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for attribute in ["#[cfg(test)]", "#[cfg(all(test"] {
        let mut from = 0;
        while let Some(at) = code[from..].find(attribute) {
            let start = from + at;
            let end = start + item_length(&code.as_bytes()[start..]);
            found.push(start..end);
            from = end;
        }
    }
    found
}

/// Returns the number of lines of the file without those of test items: comments count, tests do not.
pub(crate) fn shipped_lines(text: &str) -> usize {
    let code = code_only(text);
    let shipped = without_tests(&code);
    let in_tests = code
        .lines()
        .zip(shipped.lines())
        .filter(|(before, after)| !before.trim().is_empty() && after.trim().is_empty())
        .count();
    text.lines().count() - in_tests
}

/// Lines of code, without lines that have only comments.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct CodeLines {
    pub(crate) shipped: usize,
    pub(crate) tests: usize,
}

impl CodeLines {
    /// Counts the lines of a file.
    pub(crate) fn of(text: &str) -> Self {
        let code = blanked(text, |kind| kind == Kind::Comment);
        let mut shipped = code.as_bytes().to_vec();
        for range in test_items(&code_only(text)) {
            blank(&mut shipped[range]);
        }
        let count = |bytes: &[u8]| {
            let lines = bytes.split(|byte| *byte == b'\n');
            lines.filter(|line| !line.trim_ascii().is_empty()).count()
        };
        let (all, shipped) = (count(code.as_bytes()), count(&shipped));
        Self {
            shipped,
            tests: all - shipped,
        }
    }
}

/// Returns the test functions of a file with their lines, counted from 1, from the attribute to the last brace.
pub(crate) fn tests(text: &str) -> Vec<(String, Range<usize>)> {
    let code = code_only(text);
    let mut found = Vec::new();
    for attribute in ["#[test]", "#[tokio::test"] {
        for (start, _) in code.match_indices(attribute) {
            let rest = &code[start..];
            let Some((_, named)) = rest.split_once("fn ") else {
                continue;
            };
            let name: String = named
                .chars()
                .take_while(|char| char.is_alphanumeric() || *char == '_')
                .collect();
            let end = start + item_length(rest.as_bytes());
            let line_of = |at: usize| code[..at].matches('\n').count() + 1;
            found.push((name, line_of(start)..line_of(end) + 1));
        }
    }
    found.sort_by_key(|(_, lines)| lines.start);
    found
}

/// Returns every `.rs` file below `folder`, sorted, without build output.
pub(crate) fn rust_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns whether a file, named from the workspace's root, has nothing but tests.
pub(crate) fn is_test_file(name: &str) -> bool {
    let is_named =
        |word: &str| name.ends_with(&format!("/{word}.rs")) || name.contains(&format!("/{word}/"));
    is_named("tests") || is_named("testing") || name.starts_with("tests/")
}

/// Returns whether `word` occurs in `line` with no identifier character on either side.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).map(|index| line.as_bytes()[index]);
        let after = line.as_bytes().get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(rest.len())
}

fn block_comment_length(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string_length(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(1 + hashes, b'#');
    let body = 2 + hashes;
    let end = rest[body..]
        .windows(closing.len())
        .position(|window| window == closing);
    Some(end.map_or(rest.len(), |at| body + at + closing.len()))
}

/// Returns the length of `'x'`, `'\n'` or `'\u{1F514}'`; `None` for a lifetime.
fn char_length(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.get(3..)?.iter().position(|byte| *byte == b'\'')?;
        return Some(3 + end + 1);
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)])
        .or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()]));
    let width = text.ok()?.chars().next()?.len_utf8();
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// Returns the length from an attribute to the end of the item below it: its closing brace or its semicolon.
fn item_length(code: &[u8]) -> usize {
    let mut depth = 0_usize;
    // Parentheses and brackets: a `;` inside `[u8; 4]` ends nothing.
    let mut nested = 0_usize;
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested = nested.saturating_sub(1),
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 && nested == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_vanish_and_lines_stay() {
        let text = "let a = \"unsafe \\\" {\"; // unsafe\n/* unsafe /* { */ */ let b = 'x';\n\
                    let c = r#\"unsafe \" {\"#; let d: &'static str = \"\\\\\"; let e = '\\'';";
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.lines().count(), text.lines().count());
        assert!(!code.contains("unsafe") && !code.contains('{'), "{code}");
        assert!(
            code.contains("let b =") && code.contains("&'static str"),
            "{code}"
        );
    }

    #[test]
    fn test_modules_are_cut_whole() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { if x { y } }\n}\nfn c() {}\n\
                    #[cfg(test)]\nmod model;\n#[cfg(test)]\nconst X: [u8; 2] = [0; 2];\nfn d() {}";
        let left = without_tests(text);
        assert!(!left.contains("fn b") && !left.contains("model") && !left.contains("const X"));
        assert!(
            left.contains("fn a") && left.contains("fn c") && left.contains("fn d"),
            "{left}"
        );
    }

    #[test]
    fn lines_of_code_are_those_with_code() {
        let text = "//! What.\n\nfn a() {\n    // Why.\n    b(\"one\n        two\"); /* that\n is */\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    // Here.\n    const A: &str = \"\n        x\";\n}\n";
        let expected = CodeLines {
            shipped: 4,
            tests: 5,
        };
        assert_eq!(CodeLines::of(text), expected);
    }

    #[test]
    fn test_functions_have_names_and_lines() {
        let text = "#[test]\nfn one() {\n    \"}\";\n}\n\n#[tokio::test(start_paused = true)]\n\
                    #[should_panic]\nasync fn two() {}\n";
        let expected = [("one".to_owned(), 1..5), ("two".to_owned(), 6..9)];
        assert_eq!(tests(text), expected);
    }

    #[test]
    fn words_have_borders() {
        assert!(has_word("unsafe { x }", "unsafe"));
        assert!(!has_word("deny(unsafe_code)", "unsafe"));
        assert!(has_word("std::net::TcpStream", "std::net"));
        assert!(!has_word("std::network", "std::net"));
    }
}
