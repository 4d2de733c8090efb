//! Which crate may use which, and which external packages each may use.
//!
//! [`MEMBERS`] is the table of `ARCHITECTURE.md` as code. A dependency that no row allows fails the
//! test, as does a workspace member without a row.

use serde_json::Value;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};

/// One workspace member by the name other members use for it.
struct Member {
    name: &'static str,
    /// Members it may use in shipped code.
    may_use: &'static [&'static str],
    /// Further members that its tests may use.
    tests_may_use: &'static [&'static str],
}

const TIER_0_TO_2: &[&str] = &[
    "media",
    "container",
    "rtmp",
    "http1",
    "net",
    "fanout",
    "formats",
    "rtmp-io",
    "webrtc",
    "transcode",
];
const EVERYTHING: &[&str] = &[
    "media",
    "container",
    "rtmp",
    "http1",
    "net",
    "fanout",
    "formats",
    "rtmp-io",
    "webrtc",
    "transcode",
    "derived-audio",
    "ingest",
    "egress-http",
    "egress-rtmp",
    "egress-webrtc",
    "load",
    "config",
    "server",
    "testkit",
];
const TESTKIT: &[&str] = &["testkit"];

const MEMBERS: &[Member] = &[
    // tier 0: vocabulary
    Member {
        name: "media",
        may_use: &[],
        tests_may_use: &[],
    },
    // tier 1: sans-IO protocols and formats
    Member {
        name: "container",
        may_use: &["media"],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "rtmp",
        may_use: &[],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "http1",
        may_use: &[],
        tests_may_use: TESTKIT,
    },
    // tier 2: platform and core
    Member {
        name: "net",
        may_use: &[],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "fanout",
        may_use: &["media", "net"],
        // Itself with the feature that only tests have.
        tests_may_use: &["fanout", "testkit"],
    },
    Member {
        name: "formats",
        may_use: &["media", "container", "rtmp", "fanout"],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "rtmp-io",
        may_use: &["rtmp", "net"],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "webrtc",
        may_use: &["media", "net"],
        tests_may_use: TESTKIT,
    },
    Member {
        name: "transcode",
        may_use: &["media"],
        tests_may_use: TESTKIT,
    },
    // tier 3: connections and what is derived; siblings never see each other
    Member {
        name: "derived-audio",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "ingest",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "egress-http",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "egress-rtmp",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "egress-webrtc",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "load",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    Member {
        name: "config",
        may_use: TIER_0_TO_2,
        tests_may_use: TESTKIT,
    },
    // tier 4: assembly
    Member {
        name: "server",
        may_use: &[
            "media",
            "container",
            "rtmp",
            "http1",
            "net",
            "fanout",
            "formats",
            "rtmp-io",
            "webrtc",
            "transcode",
            "derived-audio",
            "ingest",
            "egress-http",
            "egress-rtmp",
            "egress-webrtc",
            "load",
            "config",
        ],
        tests_may_use: TESTKIT,
    },
    // development only
    Member {
        name: "testkit",
        may_use: &["media"],
        tests_may_use: &[],
    },
    Member {
        name: "benches",
        may_use: EVERYTHING,
        tests_may_use: EVERYTHING,
    },
    Member {
        name: "tests",
        may_use: EVERYTHING,
        tests_may_use: EVERYTHING,
    },
    Member {
        name: "xtask",
        may_use: &[],
        tests_may_use: &[],
    },
];

/// An external package that only some members may name.
struct Outside {
    package: &'static str,
    shipped_in: &'static [&'static str],
    tested_in: &'static [&'static str],
    reason: &'static str,
}

/// Where command lines and JSON are read and written.
const ASSEMBLY: &[&str] = &["server", "load", "xtask", "testkit", "benches", "tests"];
const CONFIG: &[&str] = &["config"];
const TRANSCODERS: &[&str] = &["transcode"];
/// Crates that may use the runtime; protocol code may not.
const WITH_TOKIO: &[&str] = &[
    "fanout",
    "net",
    "rtmp-io",
    "webrtc",
    "derived-audio",
    "ingest",
    "egress-http",
    "egress-rtmp",
    "egress-webrtc",
    "load",
    "server",
    "testkit",
    "benches",
    "tests",
];

const OUTSIDE: &[Outside] = &[
    Outside {
        package: "serde",
        shipped_in: ASSEMBLY,
        tested_in: ASSEMBLY,
        reason: "text formats are the assembly's business",
    },
    Outside {
        package: "serde_json",
        shipped_in: ASSEMBLY,
        tested_in: ASSEMBLY,
        reason: "text formats are the assembly's business",
    },
    Outside {
        package: "toml",
        shipped_in: CONFIG,
        tested_in: CONFIG,
        reason: "one crate reads configuration",
    },
    Outside {
        package: "clap",
        shipped_in: ASSEMBLY,
        tested_in: ASSEMBLY,
        reason: "one crate reads command lines",
    },
    Outside {
        package: "rml_rtmp",
        shipped_in: &["load", "testkit", "tests"],
        tested_in: &[
            "rtmp",
            "load",
            "ingest",
            "formats",
            "egress-rtmp",
            "server",
            "benches",
            "tests",
        ],
        reason: "a second opinion for tests; an unauthenticated peer can crash it",
    },
    Outside {
        package: "rtc-rtp",
        shipped_in: &[],
        tested_in: &["container", "tests"],
        reason: "a second opinion for tests; `container` makes and reads the packets",
    },
    Outside {
        package: "opus",
        shipped_in: TRANSCODERS,
        tested_in: TRANSCODERS,
        reason: "sound is decoded and encoded in one place, which contains panics and counts",
    },
    Outside {
        package: "symphonia-codec-aac",
        shipped_in: TRANSCODERS,
        tested_in: TRANSCODERS,
        reason: "sound is decoded and encoded in one place, which contains panics and counts",
    },
    Outside {
        package: "symphonia-bundle-mp3",
        shipped_in: TRANSCODERS,
        tested_in: TRANSCODERS,
        reason: "sound is decoded and encoded in one place, which contains panics and counts",
    },
    Outside {
        package: "tokio",
        shipped_in: WITH_TOKIO,
        tested_in: WITH_TOKIO,
        reason: "protocol code knows no runtime",
    },
    Outside {
        package: "aws-lc-rs",
        shipped_in: WITH_WEBRTC,
        tested_in: WITH_WEBRTC,
        reason: "cryptography is where protocols are",
    },
    Outside {
        package: "rtc-dtls",
        shipped_in: WITH_WEBRTC,
        tested_in: WITH_WEBRTC,
        reason: "one crate speaks DTLS",
    },
    Outside {
        package: "rtc-sdp",
        shipped_in: WITH_WEBRTC,
        tested_in: WITH_WEBRTC,
        reason: "one crate reads SDP",
    },
    Outside {
        package: "rtc-srtp",
        shipped_in: WITH_WEBRTC,
        tested_in: &["webrtc", "load", "egress-webrtc"],
        reason: "one crate seals packets",
    },
    Outside {
        package: "rtc-stun",
        shipped_in: WITH_WEBRTC,
        tested_in: WITH_WEBRTC,
        reason: "one crate answers checks",
    },
];

/// Crates that may use WebRTC's building blocks; the rest of the server knows sessions and keys.
const WITH_WEBRTC: &[&str] = &["webrtc", "load"];

/// All external packages that the pure crates may bring into the server.
const PURE: &[(&str, &[&str])] = &[
    ("media", &["bytes", "thiserror"]),
    ("container", &["bytes", "thiserror"]),
    (
        "rtmp",
        &[
            "base64",
            "bytes",
            "hmac",
            "md-5",
            "percent-encoding",
            "sha2",
            "thiserror",
        ],
    ),
    (
        "http1",
        &[
            "base64",
            "bytes",
            "httparse",
            "percent-encoding",
            "thiserror",
        ],
    ),
];

/// One edge of `cargo metadata`.
struct Arrow<'a> {
    from: &'a str,
    to: &'a str,
    inside: bool,
    in_tests: bool,
}

pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let text = run::capture(&mut workspace.cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--locked",
    ]))?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Failure(format!("`cargo metadata` is not JSON: {error}")))?;
    let errors = errors(&metadata);
    if !errors.is_empty() {
        return Err(Failure(format!("\n  {}", errors.join("\n  "))));
    }
    println!(
        "{} members keep to their arrows",
        list(&metadata["packages"]).count()
    );
    report.count(1, 0);
    Ok(())
}

fn errors(metadata: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    for package in list(&metadata["packages"]) {
        let from = member_name(text(&package["name"]));
        let Some(member) = MEMBERS.iter().find(|member| member.name == from) else {
            errors.push(format!("`{from}` has no row in the table of members"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let name = text(&dependency["name"]);
            let arrow = Arrow {
                from,
                to: member_name(name),
                inside: dependency["path"].is_string(),
                in_tests: dependency["kind"] == "dev",
            };
            errors.extend(broken_law(member, &arrow));
        }
    }
    errors
}

fn broken_law(member: &Member, arrow: &Arrow<'_>) -> Option<String> {
    let Arrow {
        from,
        to,
        inside,
        in_tests,
    } = *arrow;
    let where_used = if in_tests {
        "in tests"
    } else {
        "in shipped code"
    };
    if inside {
        let allowed =
            member.may_use.contains(&to) || (in_tests && member.tests_may_use.contains(&to));
        return (!allowed).then(|| format!("`{from}` may not use `{to}` {where_used}"));
    }
    if let Some(rule) = OUTSIDE.iter().find(|rule| rule.package == to) {
        let allowed = if in_tests {
            rule.tested_in
        } else {
            rule.shipped_in
        };
        if !allowed.contains(&from) {
            return Some(format!(
                "`{from}` may not use `{to}` {where_used}: {}",
                rule.reason
            ));
        }
    }
    let (_, allowed) = PURE.iter().find(|(name, _)| *name == from)?;
    (!in_tests && !allowed.contains(&to))
        .then(|| format!("`{from}` is pure: `{to}` is not among the outside crates it may use"))
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

    fn one(from: &str, dependency: Value) -> Vec<String> {
        errors(&json!({ "packages": [{ "name": from, "dependencies": [dependency] }] }))
    }

    fn inside(name: &str) -> Value {
        json!({ "name": name, "path": "/x", "kind": null })
    }

    #[test]
    fn the_table_is_obeyed() {
        assert!(one("carillon-container", inside("carillon-media")).is_empty());
        assert_eq!(one("carillon-media", inside("carillon-container")).len(), 1);
        assert_eq!(
            one("carillon-ingest", inside("carillon-egress-http")).len(),
            1
        );
        assert_eq!(
            one("carillon-fanout", inside("carillon-container")).len(),
            1
        );
    }

    #[test]
    fn only_tests_reach_for_the_testkit() {
        let dev = json!({ "name": "carillon-testkit", "path": "/x", "kind": "dev" });
        assert!(one("carillon-fanout", dev).is_empty());
        assert_eq!(one("carillon-fanout", inside("carillon-testkit")).len(), 1);
        assert_eq!(one("carillon-server", inside("carillon-testkit")).len(), 1);
    }

    #[test]
    fn a_member_without_a_row_is_an_error() {
        assert_eq!(one("carillon-annex", inside("carillon-media")).len(), 1);
    }

    #[test]
    fn outside_packages_have_their_members() {
        let outside = |name: &str, kind: Value| json!({ "name": name, "path": null, "kind": kind });
        assert_eq!(
            one("carillon-rtmp", outside("tokio", json!("dev"))).len(),
            1
        );
        assert_eq!(
            one("carillon-ingest", outside("serde", Value::Null)).len(),
            1
        );
        assert_eq!(
            one("carillon-server", outside("toml", Value::Null)).len(),
            1
        );
        assert_eq!(
            one("carillon-ingest", outside("rml_rtmp", Value::Null)).len(),
            1
        );
        assert!(one("carillon-rtmp", outside("rml_rtmp", json!("dev"))).is_empty());
        assert_eq!(
            one("carillon-media", outside("regex", Value::Null)).len(),
            1
        );
        assert!(one("carillon-media", outside("proptest", json!("dev"))).is_empty());
    }

    #[test]
    fn rows_point_at_rows() {
        for member in MEMBERS {
            for name in member.may_use.iter().chain(member.tests_may_use) {
                assert!(
                    MEMBERS.iter().any(|member| member.name == *name),
                    "{name} has no row"
                );
            }
        }
    }
}
