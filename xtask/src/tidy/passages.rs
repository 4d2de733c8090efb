//! Equal passages: code that was written twice.

use std::collections::HashMap;

/// Most lines of code that two places may have in common. Shorter passages are often equal by the language's grammar.
const LINES_MAX: usize = 10;

/// Lines of code of one file, each with its number.
type Code<'a> = Vec<(usize, &'a str)>;

/// Returns an error for each passage that occurs a second time in these files, each with its name and its text.
pub(super) fn errors(files: &[(String, String)]) -> Vec<String> {
    let files: Vec<(&str, Code<'_>)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), code(text)))
        .collect();
    let mut first = HashMap::<Vec<&str>, (usize, usize)>::new();
    let mut errors = Vec::new();
    for (file, (name, lines)) in files.iter().enumerate() {
        for (at, passage) in lines.windows(LINES_MAX + 1).enumerate() {
            let words = passage.iter().map(|(_, line)| *line).collect();
            let (other, there) = *first.entry(words).or_insert((file, at));
            let (other_name, others) = &files[other];
            let line_before =
                |lines: &Code<'_>, at: usize| Some(lines.get(at.checked_sub(1)?)?.1.to_owned());
            let is_same = (other, there) == (file, at);
            let is_overlap = other == file && at - there <= LINES_MAX;
            let is_middle = at > 0 && line_before(lines, at) == line_before(others, there);
            if !is_same && !is_overlap && !is_middle {
                errors.push(format!(
                    "{name}:{}: as {other_name}:{}, more than {LINES_MAX} lines",
                    passage[0].0, others[there].0
                ));
            }
        }
    }
    errors
}

/// Returns the lines of code without blanks, comments, imports, closing brackets and rows of tables.
fn code(text: &str) -> Code<'_> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| is_code(line)).collect()
}

fn is_code(line: &str) -> bool {
    let is_row = line.ends_with(',') && !line.contains(['=', '(', '{', '.', ';']);
    let is_bracket = line.trim_matches(['}', ')', ']', ',', ';']).is_empty();
    !is_row && !is_bracket && !line.starts_with("//") && !line.starts_with("use ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_that_occurs_twice_is_found_once() {
        let passage = |count: usize| -> String {
            (0..count)
                .map(|at| format!("    let a{at} = b({at});\n    // {at}\n"))
                .collect()
        };
        let long = passage(LINES_MAX + 3);
        let files = |one: &str, other: &str| {
            [("a.rs", one), ("b.rs", other)].map(|(name, text)| (name.to_owned(), text.to_owned()))
        };
        let found = errors(&files(
            &format!("fn a() {{\n{long}}}\n"),
            &format!("fn b() {{\n{long}}}\n"),
        ));
        assert_eq!(found, ["b.rs:2: as a.rs:2, more than 10 lines"]);
        let short = passage(LINES_MAX);
        let found = errors(&files(
            &format!("fn a() {{\n{short}}}\n"),
            &format!("fn b() {{\n{short}}}\n"),
        ));
        assert!(found.is_empty(), "{found:?}");
        let table = "    Codec::Aac,\n".repeat(30);
        assert!(errors(&files(&table, &table)).is_empty());
    }
}
