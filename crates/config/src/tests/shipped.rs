//! The file that is shipped: the default, with every key, and what is told of a mistake in any of them.

use super::*;

const SHIPPED: &str = include_str!("../../../../config/carillon.toml");

/// The shipped file with its examples of `[[push]]`, `[[pull]]`, `[[station]]`, `[[webhook]]` and so on taken out of the
/// comments.
pub(super) fn shipped_with_examples() -> String {
    let code = |line: &str| {
        let line = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '['));
        line.map(str::to_owned)
    };
    SHIPPED
        .lines()
        .map(|line| code(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect()
}

/// Every `key = value` line of a file: its number from 1, its section, key, and value.
pub(super) fn assignments(source: &str) -> Vec<(usize, String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (index, line) in source.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']).to_owned();
            if line.starts_with("[[") {
                // The one array within another.
                section = section.replace("station.", "station.0.") + ".0";
            }
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
        {
            found.push((index + 1, section.clone(), key.to_owned(), value.to_owned()));
        }
    }
    found
}

pub(super) fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// The source with one line replaced.
pub(super) fn replace(source: &str, number: usize, new: &str) -> String {
    let line = |(index, line): (usize, &str)| {
        if index + 1 == number {
            format!("{new}\n")
        } else {
            format!("{line}\n")
        }
    };
    source.lines().enumerate().map(line).collect()
}

#[test]
fn the_shipped_file_is_the_default() {
    assert_eq!(
        parse(SHIPPED).expect("the shipped file is valid"),
        Config::default()
    );
    assert_eq!(
        parse("").expect("an empty file is valid"),
        Config::default()
    );
    let loaded = Config::load(None, std::iter::empty()).expect("the default is valid");
    assert_eq!(loaded, Config::default());
}

#[test]
fn the_shipped_file_has_every_key() {
    let source = shipped_with_examples();
    let (table, _) = DeTable::parse_recoverable(&source);
    let mut walk = Walk::new(&source, std::iter::empty());
    walk.root(table.get_ref(), |section| Config::default().read(section));
    let in_file: Vec<_> = assignments(&source)
        .iter()
        .map(|(_, s, k, _)| dotted(s, k))
        .collect();
    let sections: Vec<_> = source
        .lines()
        .filter(|line| line.starts_with('['))
        .map(|line| line.trim_matches(['[', ']']))
        .map(|line| line.replace("station.", "station.0."))
        .collect();
    for key in walk.known_keys() {
        let is_section = sections.contains(&key);
        assert!(
            is_section || in_file.contains(&key),
            "{key} is not in the shipped file"
        );
    }
}

#[test]
fn the_examples_are_valid() {
    let config = parse(&shipped_with_examples()).expect("the examples are valid");
    let name = StreamName::parse("live/show").expect("a name");
    assert_eq!(
        config.policy(&name, Class::Video).max_wait,
        Duration::from_millis(50)
    );
    assert_eq!((config.auth.keys.len(), config.auth.users.len()), (1, 0));
    let lists = (
        config.pushes.len(),
        config.pulls.len(),
        config.streams.len(),
    );
    assert_eq!(lists, (1, 1, 1));
    assert_eq!((config.variants.len(), config.stations.len()), (1, 1));
    assert_eq!((config.files.len(), config.hooks.len()), (1, 1));
    let pushed = config.pushes[0].url.of(&name);
    assert_eq!(
        pushed,
        "rtmp://relay.example/live/show".parse::<net::url::Url>()
    );
}

#[test]
fn each_misspelling_is_one_error_with_a_suggestion() {
    let source = shipped_with_examples();
    for (line, section, key, value) in assignments(&source) {
        let (head, tail) = key.split_at(key.len() / 2);
        let swapped: String = {
            let mut chars: Vec<char> = key.chars().collect();
            let middle = chars.len() / 2;
            chars.swap(middle - 1, middle);
            chars.into_iter().collect()
        };
        for wrong in [
            format!("{head}{}", &tail[1..]),
            format!("{head}x{tail}"),
            swapped,
        ] {
            if wrong == key {
                continue;
            }
            let broken = replace(&source, line, &format!("{wrong} = {value}"));
            one_problem(
                &broken,
                line,
                &dotted(&section, &wrong),
                &format!("did you mean `{key}`?"),
            );
        }
    }
}

#[test]
fn each_wrong_type_is_one_error_with_a_suggestion() {
    let source = shipped_with_examples();
    for (line, section, key, value) in assignments(&source) {
        for wrong in [
            "\"5 apples\"",
            "5",
            "-1",
            "2.5",
            "true",
            "{}",
            "[[]]",
            "1979-05-27",
        ] {
            let broken = replace(&source, line, &format!("{key} = {wrong}"));
            let accepted = match wrong {
                // Text fields take any text, and numbers any number that is in range.
                "\"5 apples\"" => {
                    ["server_header", "location", "contact", "access", "sessions"]
                        .contains(&key.as_str())
                        || [
                            "certificate",
                            "private_key",
                            "dvr_directory",
                            "directory",
                            "folder",
                            "credentials",
                            "journal",
                        ]
                        .contains(&key.as_str())
                        || [
                            "publish_key",
                            "admin_password",
                            "encryption_secret",
                            "key",
                            "name",
                        ]
                        .contains(&key.as_str())
                }
                "5" => value.parse::<u64>().is_ok(),
                // Only what is below zero by default may be so.
                "-1" => value.starts_with('-'),
                "true" => value.parse::<bool>().is_ok(),
                _ => false,
            };
            if accepted {
                continue;
            }
            let report = parse(&broken).expect_err(&broken);
            let [problem] = report.problems() else {
                panic!("{key} = {wrong}\n{report}")
            };
            assert_eq!(line_of(problem), Some(line), "{key} = {wrong}\n{report}");
            assert_eq!(problem.key, dotted(&section, &key), "{report}");
            assert!(
                problem.help.is_some() || problem.message.starts_with("is "),
                "{report}"
            );
        }
    }
}
