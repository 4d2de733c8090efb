//! External packages that only some members may name, and the packages that the pure members may use.

use super::place;
use super::table::{Member, Tier};

/// An external package that only some members may name.
struct Outside {
    package: &'static str,
    shipped_in: Members,
    tested_in: Members,
    reason: &'static str,
}

#[derive(Clone, Copy)]
enum Members {
    These(&'static [&'static str]),
    /// All members except those of tiers 0 and 1 and the listed ones.
    AboveProtocolsBut(&'static [&'static str]),
}

use Members::{AboveProtocolsBut, These};

/// Crates that read and write command lines and JSON.
const ASSEMBLY: Members = These(&["server", "load", "xtask", "testkit", "benches", "tests"]);
/// Crates that read and write command lines and JSON, and those that query hooks in JSON, read tokens and write documents.
const WITH_JSON: Members = These(&[
    "server", "operator", "web", "reports", "auth", "load", "xtask", "testkit", "benches", "tests",
]);
/// The only crate that reads configuration, and the checks, whose list of faults has the same format.
const CONFIG: Members = These(&["config", "xtask"]);
const TRANSCODERS: Members = These(&["audio"]);
/// Crates that may use the runtime; protocol code may not, nor crates that work on bytes or on threads of their own.
const WITH_TOKIO: Members = AboveProtocolsBut(&["log", "packagers", "config", "xtask"]);
/// Crates that may use WebRTC's building blocks; the rest of the server knows sessions and keys.
const WITH_WEBRTC: Members = These(&["webrtc", "load"]);
/// Crates with pending work that survives a restart.
const WITH_JOURNALS: Members = These(&["outbound"]);
/// Crates that seal or encrypt what they send.
const WITH_CIPHERS: Members = These(&["auth", "webrtc", "load", "egress-hls", "net"]);

const OUTSIDE: &[Outside] = &[
    Outside {
        package: "serde",
        shipped_in: WITH_JSON,
        tested_in: WITH_JSON,
        reason: "text formats are the assembly's business",
    },
    Outside {
        package: "serde_json",
        shipped_in: WITH_JSON,
        tested_in: WITH_JSON,
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
        package: "bcrypt",
        shipped_in: These(&["auth"]),
        tested_in: These(&["auth"]),
        reason: "one crate judges passwords",
    },
    Outside {
        package: "jsonwebtoken",
        shipped_in: These(&["auth", "benches"]),
        tested_in: These(&["auth", "benches"]),
        reason: "one crate judges tokens",
    },
    Outside {
        package: "regex-lite",
        shipped_in: These(&["auth"]),
        tested_in: These(&["auth"]),
        reason: "tokens of MediaMTX name paths by expressions; nothing else is matched so",
    },
    Outside {
        package: "rml_rtmp",
        shipped_in: These(&["load", "testkit", "tests"]),
        tested_in: These(&[
            "rtmp",
            "load",
            "ingest",
            "packagers",
            "server",
            "benches",
            "tests",
        ]),
        reason: "a second opinion for tests; an unauthenticated peer can crash it",
    },
    Outside {
        package: "rtc-rtp",
        shipped_in: These(&[]),
        tested_in: These(&["container", "tests"]),
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
        package: "redb",
        shipped_in: WITH_JOURNALS,
        tested_in: WITH_JOURNALS,
        reason: "files are the truth; a database holds what is still to be done",
    },
    Outside {
        package: "object_store",
        shipped_in: These(&["outbound"]),
        tested_in: These(&["outbound"]),
        reason: "one crate speaks to object storage",
    },
    Outside {
        package: "tokio",
        shipped_in: WITH_TOKIO,
        tested_in: WITH_TOKIO,
        reason: "protocol code knows no runtime",
    },
    Outside {
        package: "aws-lc-rs",
        shipped_in: WITH_CIPHERS,
        tested_in: WITH_CIPHERS,
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
        tested_in: These(&["webrtc", "load", "egress-webrtc"]),
        reason: "one crate seals packets",
    },
    Outside {
        package: "rtc-stun",
        shipped_in: WITH_WEBRTC,
        tested_in: WITH_WEBRTC,
        reason: "one crate answers checks",
    },
];

/// External packages that the pure crates, those of tiers 0 and 1, may bring into the server.
const PURE: &[(&str, &[&str])] = &[
    ("base", &["bytes", "time"]),
    ("media", &["bytes", "encoding_rs", "thiserror"]),
    ("container", &["base64", "bytes", "thiserror"]),
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
            "httpdate",
            "percent-encoding",
            "sha1",
            "thiserror",
        ],
    ),
    ("import", &["quick-xml", "saphyr-parser", "thiserror"]),
];

/// External packages for crates of tiers 0 and 1 without a list of their own: byte buffers, errors, digests and ciphers.
const PRIMITIVES: &[&str] = &[
    "aes",
    "bytes",
    "ctr",
    "hmac",
    "pbkdf2",
    "sha1",
    "sha2",
    "thiserror",
];

/// Returns the reason why `member` may not use the external package `package`, if there is one.
pub(super) fn broken_law(member: &Member, package: &str, in_tests: bool) -> Option<String> {
    let name = member.name.as_str();
    if let Some(rule) = OUTSIDE.iter().find(|rule| rule.package == package) {
        let allowed = if in_tests {
            rule.tested_in
        } else {
            rule.shipped_in
        };
        if !allowed.include(member) {
            return Some(format!(
                "`{name}` may not use `{package}` {}: {}",
                place(in_tests),
                rule.reason
            ));
        }
    }
    let listed = PURE.iter().find(|(pure, _)| *pure == name);
    let allowed = match listed {
        Some((_, allowed)) => *allowed,
        None if member.tier <= Tier::Shipped(1) => PRIMITIVES,
        None => return None,
    };
    (!in_tests && !allowed.contains(&package)).then(|| {
        format!("`{name}` is pure: `{package}` is not among the outside crates it may use")
    })
}

impl Members {
    fn include(self, member: &Member) -> bool {
        let name = member.name.as_str();
        match self {
            These(names) => names.contains(&name),
            AboveProtocolsBut(names) => member.tier > Tier::Shipped(1) && !names.contains(&name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    fn shipped(name: &str, package: &str) -> Option<String> {
        broken_law(table().member(name).unwrap(), package, false)
    }

    fn tested(name: &str, package: &str) -> Option<String> {
        broken_law(table().member(name).unwrap(), package, true)
    }

    #[test]
    fn outside_packages_have_their_members() {
        assert_eq!(
            shipped("ingest", "serde").unwrap(),
            "`ingest` may not use `serde` in shipped code: text formats are the assembly's business"
        );
        assert!(shipped("server", "toml").is_some());
        assert!(shipped("ingest", "rml_rtmp").is_some());
        assert!(tested("rtmp", "rml_rtmp").is_none());
        assert!(tested("egress-webrtc", "rtc-srtp").is_none());
        assert!(shipped("egress-webrtc", "rtc-srtp").is_some());
        assert!(tested("egress-webrtc", "rtc-dtls").is_some());
    }

    #[test]
    fn pure_members_have_a_list() {
        assert_eq!(
            shipped("media", "regex").unwrap(),
            "`media` is pure: `regex` is not among the outside crates it may use"
        );
        assert!(shipped("http1", "httparse").is_none());
        assert!(tested("media", "proptest").is_none());
    }

    #[test]
    fn a_pure_member_without_a_list_has_primitives() {
        let named = |tier| Member {
            name: "srt".to_owned(),
            tier: Tier::Shipped(tier),
            may_use: Vec::new(),
            line: 0,
        };
        for (tier, package, refused) in [
            (1, "aes", false),
            (1, "httparse", true),
            (2, "httparse", false),
        ] {
            assert_eq!(
                broken_law(&named(tier), package, false).is_some(),
                refused,
                "{tier} {package}"
            );
        }
    }

    #[test]
    fn the_runtime_stays_out_of_protocols_and_of_what_needs_none() {
        let without = [
            "base",
            "media",
            "container",
            "rtmp",
            "http1",
            "import",
            "log",
            "packagers",
            "config",
            "xtask",
        ];
        let table = table();
        for member in &table.members {
            let refused = without.contains(&member.name.as_str());
            for in_tests in [false, true] {
                let broken = broken_law(member, "tokio", in_tests);
                assert_eq!(broken.is_some(), refused, "{}", member.name);
            }
        }
    }

    /// A rule about a renamed crate would apply to none.
    #[test]
    fn rules_are_about_crates_with_a_row() {
        let sides = OUTSIDE
            .iter()
            .flat_map(|rule| [rule.shipped_in, rule.tested_in]);
        let names = sides.flat_map(|side| match side {
            These(names) | AboveProtocolsBut(names) => names,
        });
        let table = table();
        for name in names.chain(PURE.iter().map(|(pure, _)| pure)) {
            assert!(table.member(name).is_some(), "{name} has no row");
        }
    }
}
