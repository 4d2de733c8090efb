//! `ARCHITECTURE.md` as read by the checks.

/// Path of the file, from the root of the repository.
pub(crate) const DOCUMENT: &str = "ARCHITECTURE.md";

/// Folder of the documents that go into detail.
pub(crate) const INTERNALS: &str = "docs/internals";

/// Returns the lines below a heading of the second rank, up to the next one.
pub(crate) fn below<'a>(text: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = text
        .lines()
        .skip_while(move |line| *line != heading)
        .skip(1);
    lines.take_while(|line| !line.starts_with("## "))
}

/// Returns the text between the bars of a table's row; `None` if no bars enclose it.
pub(crate) fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}
