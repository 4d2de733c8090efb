//! The file that is shipped: the default, with every key, and the report on a mistake in any of them.

use super::*;

const SHIPPED: &str = include_str!("../../../../config/carillon.toml");

/// Keys that take any text.
const TEXTS: &str = "server_header location contact access sessions certificate private_key dvr_directory directory folder \
                     credentials journal publish_key admin_password encryption_secret key name";

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
    let shipped = parse(SHIPPED).expect("the shipped file is valid");
    assert_eq!(shipped, Config::default());
    let empty = parse("").expect("an empty file is valid");
    assert_eq!(empty, Config::default());
    let loaded = Config::load(None, std::iter::empty()).expect("the default is valid");
    assert_eq!(loaded, Config::default());
}

#[test]
fn the_shipped_file_has_every_key() {
    let source = shipped_with_examples();
    let (table, _) = DeTable::parse_recoverable(&source);
    let mut walk = Walk::new(&source, std::iter::empty());
    walk.root(table.get_ref(), |section| Config::default().read(section));
    let in_file = assignments(&source);
    let in_file: Vec<_> = in_file.iter().map(|(_, s, k, _)| dotted(s, k)).collect();
    let sections: Vec<_> = source
        .lines()
        .filter(|line| line.starts_with('['))
        .map(|line| line.trim_matches(['[', ']']))
        .map(|line| line.replace("station.", "station.0."))
        .collect();
    for key in walk.known_keys() {
        let is_there = sections.contains(&key) || in_file.contains(&key);
        assert!(is_there, "{key} is not in the shipped file");
    }
}

#[test]
fn the_examples_are_valid() {
    let config = parse(&shipped_with_examples()).expect("the examples are valid");
    let show = name("live/show");
    let policy = config.policy(&show, Class::Video);
    assert_eq!(policy.max_wait, Duration::from_millis(50));
    assert_eq!((config.auth.keys.len(), config.auth.users.len()), (1, 0));
    let lists = [
        config.pushes.len(),
        config.pulls.len(),
        config.streams.len(),
    ];
    assert_eq!(lists, [1; 3]);
    assert_eq!((config.variants.len(), config.stations.len()), (1, 1));
    assert_eq!((config.files.len(), config.hooks.len()), (1, 1));
    let pushed = "rtmp://relay.example/live/show".parse::<net::url::Url>();
    assert_eq!(config.pushes[0].url.of(&show), pushed);
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
        let (cut, longer) = (format!("{head}{}", &tail[1..]), format!("{head}x{tail}"));
        for wrong in [cut, longer, swapped].iter().filter(|wrong| **wrong != key) {
            let broken = replace(&source, line, &format!("{wrong} = {value}"));
            let words = format!("did you mean `{key}`?");
            one_problem(&broken, line, &dotted(&section, wrong), &words);
        }
    }
}

#[test]
fn each_wrong_type_is_one_error_with_a_suggestion() {
    let source = shipped_with_examples();
    for (line, section, key, value) in assignments(&source) {
        for wrong in "\"5 apples\"|5|-1|2.5|true|{}|[[]]|1979-05-27".split('|') {
            let broken = replace(&source, line, &format!("{key} = {wrong}"));
            let accepted = match wrong {
                // Text fields take any text, and numbers any number that is in range.
                "\"5 apples\"" => TEXTS.split(' ').any(|text| text == key),
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
