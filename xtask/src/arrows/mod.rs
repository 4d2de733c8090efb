//! Permitted dependencies: between crates, on external packages, and between modules of a crate.
//!
//! The first are in the table of `ARCHITECTURE.md`, which [`table`] reads; the second are in [`outside`], the third in
//! [`cycles`]. A dependency that is not permitted is an error, as is a workspace member without a row and a row without a
//! member.

mod cycles;
mod outside;
mod table;

use serde_json::Value;

use table::{FUZZ, Member, TESTKIT, Table, Tier};

use crate::document::DOCUMENT;
use crate::report::Report;
use crate::run::{self, Failure, Workspace};

/// Crate on which `testkit` is built: its tests cannot use `testkit`.
const BELOW_TESTKIT: &str = "media";
/// Crate whose tests use the crate itself again, with the feature that only tests have.
const TESTED_WITH_A_FEATURE: &str = "fanout";

/// An edge of `cargo metadata`.
struct Arrow<'a> {
    to: &'a str,
    inside: bool,
    in_tests: bool,
}

pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let document = std::fs::read_to_string(workspace.root.join(DOCUMENT))
        .map_err(|error| Failure(format!("{DOCUMENT}: {error}")))?;
    let table = Table::read(&document).map_err(|errors| failure(&errors))?;
    let text = run::capture(&mut workspace.cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--locked",
    ]))?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Failure(format!("`cargo metadata` is not JSON: {error}")))?;
    let errors = errors(&table, &metadata);
    if !errors.is_empty() {
        return Err(failure(&errors));
    }
    println!(
        "{} members keep to their arrows",
        list(&metadata["packages"]).count()
    );
    cycles::check(workspace)?;
    report.count(1, 0);
    Ok(())
}

fn failure(errors: &[String]) -> Failure {
    Failure(format!("\n  {}", errors.join("\n  ")))
}

fn errors(table: &Table, metadata: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    for package in list(&metadata["packages"]) {
        let name = member_name(text(&package["name"]));
        let Some(member) = table.member(name) else {
            errors.push(format!(
                "{DOCUMENT}:{}: workspace member `{name}` has no row in this table",
                table.line
            ));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let arrow = Arrow {
                to: member_name(text(&dependency["name"])),
                inside: dependency["path"].is_string(),
                in_tests: dependency["kind"] == "dev",
            };
            errors.extend(broken_law(member, &arrow));
        }
    }
    let is_member = |name: &str| {
        list(&metadata["packages"]).any(|package| member_name(text(&package["name"])) == name)
    };
    for Member { name, line, .. } in &table.members {
        if name != FUZZ && !is_member(name) {
            errors.push(format!(
                "{DOCUMENT}:{line}: `{name}` is not a member of the workspace"
            ));
        }
    }
    errors
}

fn broken_law(member: &Member, arrow: &Arrow<'_>) -> Option<String> {
    let Arrow {
        to,
        inside,
        in_tests,
    } = *arrow;
    if !inside {
        return outside::broken_law(member, to, in_tests);
    }
    let allowed =
        member.may_use.iter().any(|name| name == to) || (in_tests && tests_may_use(member, to));
    (!allowed).then(|| format!("`{}` may not use `{to}` {}", member.name, place(in_tests)))
}

/// Returns whether the tests of a member may use a crate beyond the member's row.
fn tests_may_use(member: &Member, to: &str) -> bool {
    let has_testkit = member.tier != Tier::Dev && member.name != BELOW_TESTKIT;
    let has_itself = member.name == TESTED_WITH_A_FEATURE;
    (has_testkit && to == TESTKIT) || (has_itself && to == member.name)
}

/// Returns the place of a dependency, in the words of errors.
fn place(in_tests: bool) -> &'static str {
    if in_tests {
        "in tests"
    } else {
        "in shipped code"
    }
}

fn member_name(package: &str) -> &str {
    package.strip_prefix("carillon-").unwrap_or(package)
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the table of this repository.
    pub(super) fn table() -> Table {
        Table::read(include_str!("../../../ARCHITECTURE.md")).unwrap()
    }

    /// Returns the workspace of the table, where `from` has these dependencies and the others have none.
    fn workspace(from: &str, dependencies: &[&Value]) -> Value {
        let package = |name: &str| {
            let dependencies = if name == from { dependencies } else { &[] };
            json!({ "name": format!("carillon-{name}"), "dependencies": dependencies })
        };
        let table = table();
        let names = table.members.iter().map(|member| member.name.as_str());
        let packages: Vec<_> = names.filter(|name| *name != FUZZ).map(package).collect();
        json!({ "packages": packages })
    }

    fn one(from: &str, dependency: &Value) -> Vec<String> {
        errors(&table(), &workspace(from, &[dependency]))
    }

    fn shipped(name: &str) -> Value {
        json!({ "name": format!("carillon-{name}"), "path": "/x", "kind": null })
    }

    fn dev(name: &str) -> Value {
        json!({ "name": format!("carillon-{name}"), "path": "/x", "kind": "dev" })
    }

    fn refused(from: &str, to: &str, place: &str) -> Vec<String> {
        vec![format!("`{from}` may not use `{to}` {place}")]
    }

    #[test]
    fn the_table_is_obeyed() {
        for (from, to) in [
            ("container", "media"),
            ("fanout", "net"),
            ("fanout", "log"),
            ("packagers", "fanout"),
            ("ingest", "rtmp"),
            ("server", "load"),
            ("testkit", "media"),
            ("benches", "server"),
            ("tests", "testkit"),
        ] {
            assert!(one(from, &shipped(to)).is_empty(), "{from} → {to}");
            assert!(one(from, &dev(to)).is_empty(), "{from} → {to}");
        }
        for (from, to) in [
            ("media", "container"),
            ("rtmp", "media"),
            ("net", "fanout"),
            ("log", "net"),
            ("log", "fanout"),
            ("fanout", "container"),
            ("packagers", "net"),
            ("ingest", "egress-rtmp"),
            ("config", "server"),
            ("server", "tests"),
            ("testkit", "net"),
            ("tests", "xtask"),
            ("xtask", "media"),
        ] {
            let expected = refused(from, to, "in shipped code");
            assert_eq!(one(from, &shipped(to)), expected);
            assert_eq!(one(from, &dev(to)), refused(from, to, "in tests"));
        }
    }

    #[test]
    fn only_tests_reach_for_the_testkit() {
        for Member { name, tier, .. } in &table().members {
            if *tier != Tier::Dev {
                let expected = refused(name, "testkit", "in shipped code");
                assert_eq!(one(name, &shipped("testkit")), expected);
                assert_eq!(one(name, &dev("testkit")).is_empty(), name != "media");
            }
        }
        assert_eq!(
            one("xtask", &dev("testkit")),
            refused("xtask", "testkit", "in tests")
        );
    }

    #[test]
    fn one_crate_is_tested_with_a_feature_of_its_own() {
        assert!(one("fanout", &dev("fanout")).is_empty());
        assert_eq!(one("fanout", &shipped("fanout")).len(), 1);
        assert_eq!(one("packagers", &dev("packagers")).len(), 1);
    }

    #[test]
    fn a_member_without_a_row_is_an_error() {
        let mut metadata = workspace("media", &[]);
        if let Some(packages) = metadata["packages"].as_array_mut() {
            packages.push(json!({ "name": "carillon-annex", "dependencies": [] }));
        }
        let table = table();
        let line = table.line;
        assert_eq!(
            errors(&table, &metadata),
            [format!(
                "ARCHITECTURE.md:{line}: workspace member `annex` has no row in this table"
            )]
        );
    }

    #[test]
    fn a_row_without_a_member_is_an_error() {
        let mut metadata = workspace("media", &[]);
        if let Some(packages) = metadata["packages"].as_array_mut() {
            packages.retain(|package| package["name"] != "carillon-rtmp");
        }
        let table = table();
        let line = table.member("rtmp").unwrap().line;
        assert_eq!(
            errors(&table, &metadata),
            [format!(
                "ARCHITECTURE.md:{line}: `rtmp` is not a member of the workspace"
            )]
        );
    }

    #[test]
    fn packages_from_outside_are_checked_too() {
        let outside = |kind: Value| json!({ "name": "regex", "path": null, "kind": kind });
        assert_eq!(one("media", &outside(Value::Null)).len(), 1);
        assert_eq!(one("media", &outside(json!("build"))).len(), 1);
        assert!(one("media", &outside(json!("dev"))).is_empty());
    }
}
