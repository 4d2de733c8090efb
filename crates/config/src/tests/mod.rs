//! Files, whole ones, as an operator writes them. By section where a test is of one alone.

mod contradictions;
mod environment;
mod files;
mod keys;
mod links;
mod mounts;
mod outbound;
mod recordings;
mod rules;
mod shipped;
mod stations;
mod values;
mod variants;
mod webhooks;

use auth::Permissions as _;
use auth::{Scope, Scopes};

use super::*;

fn parse(source: &str) -> Result<Config, Report> {
    Config::parse("test.toml", source, std::iter::empty())
}

/// The secret of a key that is no hash.
fn plain(secret: KeySecretRef<'_>) -> &Secret {
    match secret {
        KeySecretRef::Plain(secret) => secret,
        KeySecretRef::Hash(_) => panic!("a hash"),
    }
}

fn with_environment(source: &str, variables: &[(&str, &str)]) -> Result<Config, Report> {
    let variables = variables
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    Config::parse("test.toml", source, variables)
}

/// The problems of a source that must have some.
fn problems(source: &str) -> Vec<Problem> {
    parse(source).expect_err(source).problems().to_vec()
}

/// Asserts that a source has exactly one problem: its line, its key, and words of what is said.
fn one_problem(source: &str, line: usize, key: &str, words: &str) {
    let report = parse(source).expect_err(source);
    let [problem] = report.problems() else {
        panic!("not one problem in {source}\n{report}")
    };
    assert_eq!(line_of(problem), Some(line), "{source}\n{report}");
    assert_eq!(problem.key, key, "{source}\n{report}");
    assert!(
        report.to_string().contains(words),
        "{words:?} is not said of {source}\n{report}"
    );
}

/// Asserts of each row that its source has exactly one problem. The lines of a source are apart by ` ; `; behind ` => ` are the
/// problem's line and key, and words of what is said.
fn each_has_one_problem(rows: &str) {
    for row in rows.lines().filter(|row| !row.is_empty()) {
        let (source, problem) = row.split_once(" => ").expect(row);
        let (place, words) = problem.split_once(": ").expect(row);
        let (line, key) = place.split_once(' ').expect(row);
        let line = line.parse().expect(row);
        one_problem(&source.replace(" ; ", "\n"), line, key, words);
    }
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

fn line_of(problem: &Problem) -> Option<usize> {
    match problem.at {
        Location::File { line, .. } => Some(line),
        _ => None,
    }
}

#[test]
fn all_errors_come_in_one_run() {
    let source =
        "[http]\nlisten = 5\nhead_timeout = \"soon\"\n[fanuot]\nx = 1\n[fanout]\nworkers = -1\n";
    let found: Vec<_> = problems(source)
        .iter()
        .map(|p| (line_of(p), p.key.clone()))
        .collect();
    let expected = [
        (2, "http.listen"),
        (3, "http.head_timeout"),
        (4, "fanuot"),
        (7, "fanout.workers"),
    ];
    assert_eq!(
        found,
        expected.map(|(line, key)| (Some(line), key.to_owned()))
    );
}

#[test]
fn all_syntax_errors_come_in_one_run() {
    let found = problems("[http\nlisten = [1,\n[rtmp]\nlisten == 2\n");
    let lines: Vec<_> = found.iter().map(line_of).collect();
    assert!(
        lines.len() >= 2 && lines.iter().all(Option::is_some),
        "{lines:?}"
    );
    let twice = "[http]\nhead_timeout = \"1s\"\nhead_timeout = \"2s\"";
    one_problem(twice, 3, "", "duplicate");
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let report = Config::load(Some(Path::new("/absent/carillon.toml")), std::iter::empty());
    let shown = report.expect_err("absent").to_string();
    assert!(
        shown.starts_with("/absent/carillon.toml: error: cannot be opened"),
        "{shown}"
    );
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(Config::load(Some(directory), std::iter::empty()).is_err());
}
