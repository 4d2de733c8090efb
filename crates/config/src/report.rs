//! Report of a configuration's problems: every error with its position, so that one run is enough to fix them all.

use std::fmt;
use std::ops::Range;

/// All problems, in the order of the file, then of the environment.
#[derive(Clone, Debug)]
pub struct Report {
    /// Path of the file as the operator named it.
    file: String,
    problems: Vec<Problem>,
}

/// One problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Position of the problem.
    pub at: Location,
    /// Key that it concerns, such as `fanout.audio.max_wait`; empty if it concerns no key.
    pub key: String,
    /// Description of the problem.
    pub message: String,
    /// Advice on what to write instead, if that can be guessed.
    pub help: Option<String>,
}

/// Origin of a setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Location {
    /// Position in the file.
    File {
        /// Number of the line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// Number of characters that are marked.
        width: usize,
        /// Text of the line. Parts that could be a secret are masked.
        text: String,
    },
    /// Variable of the environment.
    Environment(String),
    /// Built-in default, or the file as a whole.
    Nowhere,
}

impl Report {
    pub(super) fn new(file: String, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| match &problem.at {
            Location::File { line, column, .. } => (0, *line, *column),
            Location::Environment(_) => (1, 0, 0),
            Location::Nowhere => (2, 0, 0),
        });
        Self { file, problems }
    }

    /// Returns all problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl Problem {
    /// Creates the problem of a file that cannot be used as a whole.
    pub(super) fn of_file(message: String) -> Self {
        Self {
            at: Location::Nowhere,
            key: String::new(),
            message,
            help: None,
        }
    }

    /// Creates the problem of a file that is not TOML.
    pub(super) fn of_syntax(source: &str, error: &toml::de::Error) -> Self {
        let at = match error.span() {
            Some(span) => Location::in_file(source, span),
            None => Location::Nowhere,
        };
        Self {
            at,
            key: String::new(),
            message: error.message().replace('\n', ", "),
            help: super::foreign::import_instead(source),
        }
    }
}

impl Location {
    /// Returns the position of a range of bytes in the text of the file.
    pub(super) fn in_file(source: &str, span: Range<usize>) -> Self {
        let start = floor(source, span.start);
        let end = floor(source, span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let text = source[line_start..].lines().next().unwrap_or("");
        let column = source[line_start..start].chars().count() + 1;
        let on_line = &source[start..end.min(line_start + text.len()).max(start)];
        let (text, column, width) = match mask(text) {
            None => (text.to_owned(), column, on_line.chars().count().max(1)),
            Some(masked) => {
                let within = masked.chars().count();
                let width = on_line
                    .chars()
                    .count()
                    .clamp(1, within.saturating_sub(column - 1).max(1));
                (masked, column, width)
            }
        };
        let line = source[..line_start].matches('\n').count() + 1;
        Self::File {
            line,
            column,
            width,
            text,
        }
    }
}

/// Returns the last boundary between characters at or before an offset.
fn floor(source: &str, offset: usize) -> usize {
    (0..=offset.min(source.len()))
        .rev()
        .find(|at| source.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Hides the values on a line that may contain a secret, even if its key is misspelt or the line is not TOML. `None` if there
/// is nothing to hide.
fn mask(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let suspicious = [
        "key", "pass", "secret", "pub", "admin", "auth", "url", "://", "@",
    ];
    if !suspicious.iter().any(|word| lower.contains(word)) {
        return None;
    }
    match line.split_once('=') {
        Some((before, _)) => Some(format!("{before}= ***")),
        // A value that begins on the previous line.
        None if lower.contains(['@', '"', '\'']) => Some("***".to_owned()),
        None => None,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            match &problem.at {
                Location::File { line, column, .. } => write!(f, "{}:{line}:{column}", self.file)?,
                Location::Environment(name) => write!(f, "environment: {name}")?,
                Location::Nowhere => f.write_str(&self.file)?,
            }
            f.write_str(": error: ")?;
            if !problem.key.is_empty() {
                write!(f, "{}: ", problem.key)?;
            }
            f.write_str(&problem.message)?;
            if let Some(help) = &problem.help {
                write!(f, "; {help}")?;
            }
            writeln!(f)?;
            if let Location::File {
                line,
                column,
                width,
                text,
            } = &problem.at
            {
                // A tab counts as one character in `column`, so it is shown as one.
                let (text, caret) = (text.replace('\t', " "), "^".repeat(*width));
                let margin = line.to_string().len();
                writeln!(f, " {line} | {text}")?;
                writeln!(
                    f,
                    " {:margin$} | {:indent$}{caret}",
                    "",
                    "",
                    indent = column - 1
                )?;
            }
        }
        match self.problems.len() {
            1 => write!(f, "1 error"),
            count => write!(f, "{count} errors"),
        }
    }
}

impl std::error::Error for Report {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_line() {
        let source = "[fanout]\nworker = 3\n";
        let problem = Problem {
            at: Location::in_file(source, 9..15),
            key: "fanout.worker".to_owned(),
            message: "no such key".to_owned(),
            help: Some("did you mean `workers`?".to_owned()),
        };
        let shown = Report::new("c.toml".to_owned(), vec![problem]).to_string();
        let expected = "c.toml:2:1: error: fanout.worker: no such key; did you mean `workers`?\n \
            2 | worker = 3\n   | ^^^^^^\n1 error";
        assert_eq!(shown, expected);
    }

    #[test]
    fn spans_anywhere_are_safe_and_secrets_stay_hidden() {
        let source = "naïve = \"é\"\r\npublsh_kye = \"opensesame\"\nauth = { x = \"opensesame\" }\n\
            rul = \"rtmp://u:opensesame@h\"\nurl = \"\"\"\nrtmp://u:opensesame@h\"\"\"\n";
        for start in 0..source.len() + 3 {
            for end in 0..source.len() + 3 {
                let shown = format!("{:?}", Location::in_file(source, start..end));
                assert!(!shown.contains("opensesame"), "{shown}");
            }
        }
    }
}
