//! Configurations in the style of real ones, and the results of importing them. `IMPORT_GOLDENS=1` rewrites the results.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "every function here is part of a test"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use carillon_import::{Imported, Kind, Outcome, Refusal, import};

const SAMPLES: [(&str, Kind); 7] = [
    ("azuracast.xml", Kind::Icecast),
    ("icecast-kh.xml", Kind::Icecast),
    ("icecast-tls.xml", Kind::Icecast),
    ("nginx-rtmp.conf", Kind::Nginx),
    ("mediamtx.yml", Kind::Mediamtx),
    ("mediamtx-jwt.yml", Kind::Mediamtx),
    ("srs.conf", Kind::Srs),
];

/// Configuration that Debian's icecast2 installs.
const OF_DEBIAN: &str = "/etc/icecast2/icecast.xml";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn imported(kind: Kind, name: &str, source: &str) -> Imported {
    import(kind, name, source, |_| Vec::new()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn results_are_as_recorded() {
    for (name, kind) in SAMPLES {
        let source = fs::read_to_string(folder("samples").join(name)).unwrap();
        assert_eq!(Kind::of(&source), Some(kind), "{name}");
        let toml = imported(kind, name, &source).toml;
        let golden = folder("goldens").join(format!("{name}.toml"));
        if std::env::var_os("IMPORT_GOLDENS").is_some() {
            fs::write(&golden, &toml).unwrap();
        }
        let recorded = fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            toml == recorded,
            "{name}: IMPORT_GOLDENS=1 writes {}:\n{toml}",
            golden.display()
        );
    }
}

/// Returns the names of directives with their lines, found without the crate's own parsers.
fn directives(kind: Kind, source: &str) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::new();
    let mut is_comment = false;
    for (number, line) in source.lines().enumerate() {
        let mut note = |name: &str| found.insert((number + 1, name.to_owned()));
        match kind {
            Kind::Icecast => {
                for piece in line.split_inclusive('>') {
                    let opened = piece.rsplit_once('<').map(|(_, rest)| rest);
                    is_comment |= piece.contains("<!--");
                    let name = opened.filter(|rest| {
                        !is_comment && rest.starts_with(|c: char| c.is_ascii_alphabetic())
                    });
                    if let Some(rest) = name {
                        let end = rest.find([' ', '>', '/']).unwrap_or(rest.len());
                        note(&rest[..end]);
                    }
                    is_comment &= !piece.contains("-->");
                }
            }
            Kind::Nginx | Kind::Srs => {
                let statements = line.split_inclusive([';', '{', '}']);
                for statement in statements.filter(|one| one.ends_with([';', '{'])) {
                    note(
                        statement
                            .split_whitespace()
                            .next()
                            .unwrap_or_default()
                            .trim_end_matches([';', '{']),
                    );
                }
            }
            Kind::Mediamtx => {
                let key = line.trim_start_matches(['-', ' ']).split_once(':');
                // The last colon of a quoted key belongs to the key.
                if let Some((name, _)) = key.filter(|(name, _)| !name.starts_with('#')) {
                    note(name.trim_matches('"'));
                }
            }
        }
    }
    found
}

#[test]
fn every_directive_is_accounted_for() {
    for (name, kind) in SAMPLES {
        let source = fs::read_to_string(folder("samples").join(name)).unwrap();
        let expected: &[&str] = match name {
            "icecast-kh.xml" => &["icecast.frobnicate"],
            _ => &[],
        };
        assert_eq!(unknown_in(name, kind, &source), expected, "{name}");
    }
}

mod debian {
    mod foreign {
        use super::super::*;

        #[test]
        fn every_directive_of_its_icecast_is_accounted_for() {
            let source = fs::read_to_string(OF_DEBIAN).expect("icecast2 is installed");
            let unknown = unknown_in("Debian's", Kind::Icecast, &source);
            assert_eq!(unknown, [""; 0]);
        }
    }
}

/// Returns the unknown directives. Checks that each directive has an account, and that those that are left out are named in the
/// result.
fn unknown_in(name: &str, kind: Kind, source: &str) -> Vec<String> {
    let imported = imported(kind, name, source);
    let accounts = &imported.accounts;
    for (line, directive) in directives(kind, source) {
        let directive = directive.to_lowercase();
        let is_it = |account: &&carillon_import::Account| {
            let path = account.directive.to_lowercase();
            account.line == line && (path == directive || path.ends_with(&format!(".{directive}")))
        };
        let account = accounts.iter().find(is_it);
        let account = account.unwrap_or_else(|| panic!("{name}: {line}: {directive} is lost"));
        let (Outcome::Left(reason) | Outcome::Needless(reason)) = &account.outcome else {
            continue;
        };
        let place = format!("# line {line}: {}: {reason}\n", account.directive);
        assert!(imported.toml.contains(&place), "{name}: {place}");
    }
    let unknown = imported
        .left()
        .filter(|(_, reason)| reason.contains("does not know"));
    let unknown = unknown.map(|(account, _)| account.directive.clone());
    unknown.collect()
}

#[test]
fn whatever_is_cut_or_repeated_breaks_nothing() {
    for (name, kind) in SAMPLES {
        let source = fs::read_to_string(folder("samples").join(name)).unwrap();
        let lines: Vec<_> = source.lines().collect();
        for at in 0..lines.len() {
            let cut = [&lines[..at], &lines[at + 1..]].concat().join("\n");
            let twice = [&lines[..=at], &lines[at..]].concat().join("\n");
            for changed in [
                &cut,
                &twice,
                &source[..source.len() * at / lines.len()].to_owned(),
            ] {
                // The other kinds' parsers receive it, too.
                for kind in [kind, Kind::Nginx, Kind::Mediamtx, Kind::Icecast] {
                    import(kind, name, changed, |_| Vec::new()).ok();
                }
            }
        }
    }
}

#[test]
fn what_keeps_listeners_out_stays_although_it_is_refused() {
    let hook = "rtmp { server { listen 1935; application live { on_play http://h/; } } }";
    let users = "<icecast><mount><mount-name>/a</mount-name><authentication type=\"htpasswd\">\
        <option name=\"filename\" value=\"/none\"/></authentication></mount></icecast>";
    for (kind, source, guard) in [
        (Kind::Nginx, hook, "url = \"http://h/\""),
        (Kind::Icecast, users, "play = \"key\""),
    ] {
        let refused = |text: &str| {
            let lines = text.lines().enumerate();
            let set =
                lines.filter(|(_, line)| line.starts_with(guard) || line.starts_with("file ="));
            let refusal = |(at, _)| Refusal {
                line: Some(at + 1),
                message: "is none".to_owned(),
            };
            set.map(refusal).collect()
        };
        let imported = import(kind, "x", source, refused).unwrap();
        let toml = &imported.toml;
        let is_kept = toml.lines().any(|line| line.starts_with(guard));
        assert!(is_kept && !imported.unsettled.is_empty(), "{toml}");
    }
}

#[test]
fn one_hook_is_asked_about_the_mounts_that_name_one() {
    let mount = |name: &str, kind: &str, options: &str| {
        format!(
            "<mount><mount-name>/{name}</mount-name><authentication type=\"{kind}\">{options}</authentication></mount>"
        )
    };
    let option = |name: &str, value: &str| format!("<option name=\"{name}\" value=\"{value}\"/>");
    let source = [
        mount("free.mp3", "url", &option("listener_add", "http://h/ladd")),
        mount("paid.mp3", "htpasswd", &option("filename", "/users")),
        mount(
            "dj.mp3",
            "url",
            &[
                option("stream_auth", "http://h/auth"),
                option("mount_add", "http://h/mount"),
                option("mount_remove", "http://h/mount"),
                option("headers", "referer, x-id"),
                option("header_prefix", "ClientHeader."),
            ]
            .concat(),
        ),
        mount("other.mp3", "url", &option("mount_add", "http://h/other")),
    ];
    let source = format!("<icecast>{}</icecast>", source.concat());
    let toml = imported(Kind::Icecast, "x", &source).toml;
    let given = "url = \"http://h/auth\"|play_url = \"http://h/ladd\"|asks = \"all\"|\
                 match = [\"free.mp3\", \"dj.mp3\"]|mount_url = \"http://h/mount\"|\
                 headers = [\"referer\", \"x-id\"]|header_prefix = \"ClientHeader.\"|\
                 match = \"paid.mp3\"|play = \"key\"";
    for line in given.split('|') {
        let is_there = toml.lines().any(|own| own.starts_with(line));
        assert!(is_there, "{line}: {toml}");
    }
}
