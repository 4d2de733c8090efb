//! Tables in all forms, and the complaints about faulty ones.

use super::*;

/// Returns a table of these rows, the first of which is in line 7.
fn document(rows: &[&str]) -> String {
    let head = "# Architecture\n\n## Crates\n\n\
                | tier | crate | what it contains | may use |\n|---|---|---|---|\n";
    format!("{head}{}\n\nAfter it.\n", rows.join("\n"))
}

fn used(rows: &[&str], name: &str) -> Vec<String> {
    let table = Table::read(&document(rows)).unwrap();
    table.member(name).unwrap().may_use.clone()
}

fn complaints(rows: &[&str]) -> Vec<String> {
    Table::read(&document(rows)).unwrap_err()
}

/// Returns the only complaint about the last of these rows.
fn complaint(rows: &[&str]) -> String {
    let complaints = complaints(rows);
    let place = format!("ARCHITECTURE.md:{}: ", rows.len() + 6);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    complaints[0].strip_prefix(&place).unwrap().to_owned()
}

const ROWS: &[&str] = &[
    "| 0 | `media` | samples | – |",
    "| 1 | `flv`, `ogg` | containers | media |",
    "| 2 | `net` | sockets | – |",
    "| 2 | `core` | streams | media, net |",
    "| 3 | `ingest` | publishers | tiers 0–2 |",
    "| 3 | `egress` | listeners | tiers 1–2 |",
    "| 7 | `server` | the relay | all |",
    "| dev | `testkit` | clients | media |",
    "| dev | `tests` | scenarios | all |",
    "| dev | `xtask`, `fuzz` | tools; targets | –; what they fuzz |",
];

/// Returns [`ROWS`] and one more.
fn and(row: &'static str) -> Vec<&'static str> {
    [ROWS, &[row]].concat()
}

#[test]
fn rows_are_read() {
    let table = Table::read(&document(ROWS)).unwrap();
    assert_eq!(table.line, 5);
    assert_eq!(table.members.len(), 12);
    let media = table.member("media").unwrap();
    assert_eq!((media.tier, media.line), (Tier::Shipped(0), 7));
    let ogg = table.member("ogg").unwrap();
    assert_eq!((ogg.tier, ogg.line), (Tier::Shipped(1), 8));
    let fuzz = table.member("fuzz").unwrap();
    assert_eq!((fuzz.tier, fuzz.line), (Tier::Dev, 16));
}

#[test]
fn each_form_of_use_is_read() {
    assert!(used(ROWS, "media").is_empty());
    assert_eq!(used(ROWS, "ogg"), ["media"]);
    assert_eq!(used(ROWS, "core"), ["media", "net"]);
    assert_eq!(used(ROWS, "ingest"), ["media", "flv", "ogg", "net", "core"]);
    assert_eq!(used(ROWS, "egress"), ["flv", "ogg", "net", "core"]);
    let below = ["media", "flv", "ogg", "net", "core", "ingest", "egress"];
    assert_eq!(used(ROWS, "server"), below);
    assert_eq!(
        used(ROWS, "tests"),
        [&below[..], &["server", "testkit"]].concat()
    );
    assert!(used(ROWS, "xtask").is_empty());
    assert!(used(ROWS, "fuzz").is_empty());
}

#[test]
fn development_crates_may_name_any() {
    let rows = and("| dev | `annex` | x | server, testkit |");
    assert_eq!(used(&rows, "annex"), ["server", "testkit"]);
    let rows = and("| dev | `annex` | x | tiers 3–7 |");
    assert_eq!(used(&rows, "annex"), ["ingest", "egress", "server"]);
}

#[test]
fn a_missing_table_is_an_error() {
    let read = |text: &str| Table::read(text).unwrap_err();
    let none = ["ARCHITECTURE.md:1: there is no section `## Crates`"];
    assert_eq!(read(""), none);
    assert_eq!(read("### Crates\n"), none);
    let bare = "ARCHITECTURE.md:2: this section has no table \
                `| tier | crate | what it contains | may use |`";
    assert_eq!(read("\n## Crates\n\ntext\n"), [bare]);
    assert_eq!(read("\n## Crates\n| tier | crate |\n|---|---|\n"), [bare]);
    let elsewhere = document(ROWS).replace("## Crates", "## Crates\n## Words");
    assert_eq!(read(&elsewhere), [bare.replace(":2:", ":3:")]);
}

#[test]
fn a_table_has_a_line_below_its_heading() {
    for text in [
        document(ROWS).replace("|---|---|---|---|\n", ""),
        document(ROWS).replace("|---|---|---|---|\n", "|---|---|---|\n"),
        "\n\n\n## Crates\n| tier | crate | what it contains | may use |".to_owned(),
    ] {
        assert_eq!(
            Table::read(&text).unwrap_err(),
            ["ARCHITECTURE.md:6: below the heading of a table there is `|---|---|---|---|`"]
        );
    }
}

#[test]
fn malformed_rows_are_errors() {
    for row in [
        "| 3 | `annex` | x |",
        "| 3 | `annex` | x | – | – |",
        "| 3 | `annex` | x | –",
        "3 | `annex` | x | – |",
        "text",
    ] {
        assert_eq!(
            complaint(&and(row)),
            "a row is `| tier | crate | what it contains | may use |`"
        );
    }
    for row in [
        "| 3 | annex | x | – |",
        "| 3 | `annex | x | – |",
        "| 3 | `annex`, | x | – |",
        "| 3 | `annex`; `shed` | x | – |",
        "| 3 | `` | x | – |",
        "| 3 |  | x | – |",
    ] {
        let complaint = complaint(&and(row));
        assert!(complaint.starts_with("not the name of a crate in backticks: "));
    }
    for row in [
        "| 8 | `annex` | x | – |",
        "| 03 | `annex` | x | – |",
        "| -1 | `annex` | x | – |",
        "| Dev | `annex` | x | – |",
        "|  | `annex` | x | – |",
    ] {
        let complaint = complaint(&and(row));
        assert!(complaint.ends_with("is neither `dev` nor 0 to 7"));
    }
}

#[test]
fn unknown_forms_of_use_are_errors() {
    for row in [
        "| 3 | `annex` | x |  |",
        "| 3 | `annex` | x | - |",
        "| 3 | `annex` | x | media, |",
        "| 3 | `annex` | x | `media` |",
        "| 3 | `annex` | x | media; net |",
        "| dev | `annex` | x | –; all |",
    ] {
        let complaint = complaint(&and(row));
        assert!(complaint.starts_with("what a crate may use is `–`, "));
    }
    for row in [
        "| 3 | `annex` | x | tiers 0-2 |",
        "| 3 | `annex` | x | tiers 2–0 |",
        "| 3 | `annex` | x | tiers 0–9 |",
        "| 3 | `annex` | x | tiers 2 |",
        "| 3 | `annex` | x | tiers 0–2, ingest |",
    ] {
        let complaint = complaint(&and(row));
        assert!(complaint.ends_with("is not of the form `tiers 0–2`"));
    }
    assert_eq!(
        complaint(&and("| dev | `annex` | x | –; what they fuzz |")),
        "`–; what they fuzz` is for `fuzz` only"
    );
}

#[test]
fn a_crate_has_one_row() {
    let again = "`media` has a row in line 7 already";
    assert_eq!(complaint(&and("| 3 | `media` | x | – |")), again);
    assert_eq!(
        complaint(&and("| 3 | `annex`, `annex` | x | – |")),
        "`annex` has a row in line 17 already"
    );
}

#[test]
fn rows_name_others_that_have_a_row() {
    assert_eq!(
        complaint(&and("| 3 | `annex` | x | media, shed |")),
        "`annex` may use `shed`, which has no row"
    );
    assert_eq!(
        complaint(&and("| 2 | `annex` | x | media, annex |")),
        "`annex` names itself"
    );
}

#[test]
fn no_row_loosens_the_law() {
    for (row, expected) in [
        (
            "| 0 | `annex` | x | flv |",
            "`annex`, of tier 0, may not use `flv`, of tier 1",
        ),
        (
            "| 2 | `annex` | x | net, ingest |",
            "`annex`, of tier 2, may not use `ingest`, of tier 3",
        ),
        (
            "| 3 | `annex` | x | net, ingest |",
            "`annex`, of tier 3, may not use `ingest`, of tier 3",
        ),
        (
            "| 7 | `annex` | x | server |",
            "`annex`, of tier 7, may not use `server`, of tier 7",
        ),
        (
            "| 7 | `annex` | x | testkit |",
            "`annex`, of tier 7, may not use `testkit`, of tier `dev`",
        ),
        (
            "| 3 | `annex` | x | tiers 0–3 |",
            "`annex`, of tier 3, may use all crates of lower tiers only",
        ),
        (
            "| 2 | `annex` | x | tiers 0–2 |",
            "`annex`, of tier 2, may use all crates of lower tiers only",
        ),
        (
            "| 3 | `annex` | x | all |",
            "`annex`, of tier 3, may not use `all`: that is for tier 7 and `dev`",
        ),
    ] {
        assert_eq!(complaint(&and(row)), expected);
    }
    assert_eq!(used(&and("| 1 | `annex` | x | flv |"), "annex"), ["flv"]);
    assert_eq!(used(&and("| 2 | `annex` | x | core |"), "annex"), ["core"]);
}

#[test]
fn all_errors_are_reported_at_once() {
    let rows = ["| 9 | `a` | x | – |", "| 0 | `b` | x | – |", "nothing"];
    let places: Vec<_> = complaints(&rows)
        .iter()
        .map(|complaint| complaint.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(places, ["ARCHITECTURE.md:7:", "ARCHITECTURE.md:9:"]);
}
