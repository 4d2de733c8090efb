//! Table for people.

use crate::figure::Figure;

const HEADINGS: [&str; 8] = [
    "scenario", "what", "Carillon", "floor", "peer", "ratio", "target", "met",
];

/// Renders the table in Markdown, for the README.
pub(crate) fn markdown(figures: &[Figure]) -> String {
    let mut text = row(&HEADINGS.map(str::to_owned));
    text.push_str(&format!("|{}\n", "---|".repeat(HEADINGS.len())));
    for figure in figures {
        text.push_str(&row(&figure.cells()));
    }
    text
}

fn row(cells: &[String; 8]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
