use std::num::NonZeroU32;

use super::*;

const SHIPPED: &str = include_str!("../../../config/carillon.toml");

fn parse(source: &str) -> Result<Config, Report> {
    Config::parse("test.toml", source, std::iter::empty())
}

fn with_environment(source: &str, variables: &[(&str, &str)]) -> Result<Config, Report> {
    let variables = variables
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    Config::parse("test.toml", source, variables)
}

/// The problems of a source that must have some.
fn problems(source: &str) -> Vec<Problem> {
    parse(source).expect_err(source).problems().to_vec()
}

/// Asserts that a source has exactly one problem: its line, its key, and words of what is said.
fn one_problem(source: &str, line: usize, key: &str, words: &str) {
    let report = parse(source).expect_err(source);
    let [problem] = report.problems() else {
        panic!("not one problem in {source}\n{report}")
    };
    assert_eq!(line_of(problem), Some(line), "{source}\n{report}");
    assert_eq!(problem.key, key, "{source}\n{report}");
    assert!(
        report.to_string().contains(words),
        "{words:?} is not said of {source}\n{report}"
    );
}

fn line_of(problem: &Problem) -> Option<usize> {
    match problem.at {
        Location::File { line, .. } => Some(line),
        _ => None,
    }
}

/// The shipped file with its examples of `[[push]]`, `[[pull]]`, `[[station]]`, `[[webhook]]` and so on taken out of the
/// comments.
fn shipped_with_examples() -> String {
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
fn assignments(source: &str) -> Vec<(usize, String, String, String)> {
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

fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// The source with one line replaced.
fn replace(source: &str, number: usize, new: &str) -> String {
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
    assert_eq!(config.auth.keys.len(), 1);
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
                    ["server_header", "access"].contains(&key.as_str())
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

#[test]
fn values_out_of_range_are_told() {
    for (source, line, key, words) in [
        (
            "[fanout]\nworkers = 1025",
            2,
            "fanout.workers",
            "above 1024",
        ),
        (
            "[fanout]\ntarget_utilisation = 1.0",
            2,
            "fanout.target_utilisation",
            "0.001 to 0.9",
        ),
        (
            "[fanout]\ntarget_utilisation = nan",
            2,
            "fanout.target_utilisation",
            "0.001 to 0.9",
        ),
        ("[fanout]\nlog_mib = 0", 2, "fanout.log_mib", "1 to 1048576"),
        (
            "[fanout]\nbackend = \"kqueue\"",
            2,
            "fanout.backend",
            "\"auto\", \"io_uring\" or \"epoll\"",
        ),
        (
            "[fanout]\nbackend = \"epol\"",
            2,
            "fanout.backend",
            "did you mean \"epoll\"?",
        ),
        (
            "[fanout.audio]\nsubgroup = 0",
            2,
            "fanout.audio.subgroup",
            "1 to 10000",
        ),
        (
            "[limits]\nlisteners = 4294967296",
            2,
            "limits.listeners",
            "0 for no limit",
        ),
        (
            "[limits]\nlisteners = 99999999999999999999",
            2,
            "limits.listeners",
            "0 for no limit",
        ),
        (
            "[hls]\nkey_period = \"900ms\"",
            2,
            "hls.key_period",
            "1s to 24h",
        ),
        ("[hls]\npart = \"199ms\"", 2, "hls.part", "200ms to 2s"),
        ("[hls]\nsegment = \"11s\"", 2, "hls.segment", "1s to 10s"),
        (
            "[hls]\ndvr = \"25h\"\ndvr_directory = \"/\"",
            2,
            "hls.dvr",
            "above 24h",
        ),
        (
            "[http]\nhead_timeout = \"0s\"",
            2,
            "http.head_timeout",
            "zero",
        ),
        (
            "[http]\nhead_timeout = \"9999h\"",
            2,
            "http.head_timeout",
            "168h",
        ),
        (
            "[http]\nhead_timeout = \"99999999999999999999s\"",
            2,
            "http.head_timeout",
            "unit",
        ),
        (
            "[http]\nhead_timeout = \"10\"",
            2,
            "http.head_timeout",
            "unit",
        ),
        (
            "[http]\nhead_timeout = \"1.5s\"",
            2,
            "http.head_timeout",
            "\"400ms\"",
        ),
        (
            "[webrtc]\npublic_ips = [\"radio.example\"]",
            2,
            "webrtc.public_ips",
            "not a host name",
        ),
        (
            "[webrtc]\npublic_ips = [\"0.0.0.0\"]",
            2,
            "webrtc.public_ips",
            "no host can be reached",
        ),
        (
            "[http]\nlisten = [\"localhost:8000\"]",
            2,
            "http.listen",
            "not a host name",
        ),
        (
            "[http]\nlisten = [\"0.0.0.0:70000\"]",
            2,
            "http.listen",
            "with its port",
        ),
        (
            "[http]\nlisten = \"0.0.0.0:8000\"",
            2,
            "http.listen",
            "an array",
        ),
        (
            "[http]\ntrusted_proxies = [\"10.0.0.0/33\"]",
            2,
            "http.trusted_proxies",
            "network",
        ),
        (
            "[http]\nbase_url = \"radio.example.com/tv\"",
            2,
            "http.base_url",
            "neither https:// nor http://",
        ),
        (
            "[http]\nserver_header = \"a\\nb\"",
            2,
            "http.server_header",
            "control",
        ),
        (
            "[http]\nlisten = []\n[rtmp]\nlisten = []",
            2,
            "http.listen",
            "no listener can connect",
        ),
        ("http = 1", 1, "http", "write [http]"),
        ("[stream]\nmatch = \"*\"", 1, "stream", "[[stream]]"),
        (
            "[[stream]]\npublic = false",
            1,
            "stream.0.match",
            "is missing",
        ),
        (
            "[[stream]]\nmatch = \"/live/*\"",
            2,
            "stream.0.match",
            "empty segment",
        ),
        (
            "[[stream]]\nmatch = \"a b\"",
            2,
            "stream.0.match",
            "no stream's name",
        ),
        (
            "[rtmp]\nplay_wait = 10",
            2,
            "rtmp.play_wait",
            "with its unit",
        ),
        (
            "[[push]]\nurl = \"rtmp://h/{stream}\"",
            1,
            "push.0.match",
            "is missing",
        ),
        (
            "[[push]]\nmatch = \"live/*\"",
            1,
            "push.0.url",
            "is missing",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtpm://h/{stream}\"",
            3,
            "push.0.url",
            "did you mean `rtmp://`?",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtmp://h/{sream}\"",
            3,
            "push.0.url",
            "did you mean `{stream}`?",
        ),
        (
            "[[push]]\nmatch = \"live/*\"\nurl = \"rtmp://h\"",
            3,
            "push.0.url",
            "names no stream",
        ),
        (
            "[[pull]]\nurl = \"rtmp://h/a/b\"",
            1,
            "pull.0.stream",
            "is missing",
        ),
        (
            "[[pull]]\nstream = \"live/x\"",
            1,
            "pull.0.url",
            "is missing",
        ),
        (
            "[[pull]]\nstream = \"live/ü*\"\nurl = \"rtmp://h/a/{name}\"",
            2,
            "pull.0.stream",
            "no stream's name",
        ),
        (
            "[[pull]]\nstream = \"/live/x\"\nurl = \"rtmp://h/a/b\"",
            2,
            "pull.0.stream",
            "slash",
        ),
        (
            "[[pull]]\nstream = \"live/x\"\nurl = \"htps://h/a.flv\"",
            3,
            "pull.0.url",
            "did you mean `https://`?",
        ),
        (
            "linger = \"5s\"",
            1,
            "linger",
            "did you mean `ingest.linger`?",
        ),
        ("[cluster]\nnode = \"east\"", 1, "cluster", "no such key"),
        (
            "[[stream]]\nmatch = \"live/*\"\nmax_listeners = 100",
            3,
            "stream.0.max_listeners",
            "no such key; there is no limit of a single stream; `limits.listeners` is for all",
        ),
        (
            "[[stream]]\nmatch = \"live/*\"\nfallback-mount = \"/jingles.mp3\"",
            3,
            "stream.0.fallback-mount",
            "no such key; Carillon has no fallback mounts",
        ),
        (
            "[[pull]]\nstream = \"far.mp3\"\nurl = \"http://h/radio.mp3\"",
            3,
            "pull.0.url",
            "over HTTP only FLV can be pulled; a server of this kind has it at `.mp3.flv`",
        ),
        (
            "[fanout.video]\nburst = \"4s\"",
            2,
            "fanout.video.burst",
            "fanout.audio.burst",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}

#[test]
fn webrtc_is_turned_off_by_an_empty_address_and_shares_a_number_without_tcp() {
    let config = parse("[webrtc]\nlisten = \"\"").expect("valid");
    assert_eq!(config.webrtc.listen, None);
    let udp = "[webrtc]\nlisten = \"0.0.0.0:8000\"\ntcp = false";
    assert!(parse(udp).is_ok(), "the other is TCP");
}

#[test]
fn contradictions_are_told() {
    for (source, line, key, words) in [
        (
            "[http]\nlisten = [\"0.0.0.0:1935\"]",
            2,
            "http.listen",
            "clashes with 0.0.0.0:1935 of rtmp",
        ),
        (
            "[rtmp]\nlisten = [\"127.0.0.1:8000\"]",
            2,
            "rtmp.listen",
            "clashes",
        ),
        (
            "[admin]\nlisten = \"127.0.0.1:8000\"",
            2,
            "admin.listen",
            "another port",
        ),
        (
            "[hls]\npart = \"2s\"\nsegment = \"1s\"",
            3,
            "hls.segment",
            "hls.part is longer",
        ),
        ("[hls]\ndvr = \"2h\"", 2, "hls.dvr", "no hls.dvr_directory"),
        (
            "[recording]\nsplit = \"5s\"",
            2,
            "recording.split",
            "not from 10s to 6h",
        ),
        (
            "[recording]\nmin_free = \"5\"",
            2,
            "recording.min_free",
            "with its unit",
        ),
        (
            "[[record]]\nmatch = \"live/*\"",
            1,
            "record.0.directory",
            "say where to",
        ),
        (
            "[[record]]\nmatch = \"live/*\"\ndirectory = \"\"",
            3,
            "record.0.directory",
            "is empty",
        ),
        (
            "[[record]]\ndirectory = \"/rec\"",
            1,
            "record.0.match",
            "say which streams",
        ),
        (
            "[recording]\ndirectory = \"/rec\"\n[[record]]\nmatch = \"a\"\ndirectory = \"/rec/a\"",
            5,
            "record.0.directory",
            "contain one another",
        ),
        (
            "[recording]\ndirectory = \"/dev/null\"",
            2,
            "recording.directory",
            "not a directory",
        ),
        (
            "[recording]\ndirectory = \"/rec\"\n[[record]]\nmatch = \"**\"\n[[record]]\nmatch = \"a\"",
            6,
            "record.1.match",
            "never applies",
        ),
        (
            "[recording.upload]\nbucket = \"radio\"",
            2,
            "recording.upload.bucket",
            "no place for recordings",
        ),
        (
            "[recording.upload]\nbucket = \"radio\"\n[[record]]\nmatch = \"a\"\ndirectory = \"/rec\"",
            2,
            "recording.upload.bucket",
            "recording.directory is empty",
        ),
        (
            "[recording.upload]\nbucket = \"My Radio\"",
            2,
            "recording.upload.bucket",
            "no bucket's name",
        ),
        (
            "[recording.upload]\nprefix = \"/radio\"",
            2,
            "recording.upload.prefix",
            "joined by slashes",
        ),
        (
            "[recording.upload]\nendpoint = \"minio:9000\"",
            2,
            "recording.upload.endpoint",
            "neither https:// nor http://",
        ),
        (
            "[hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\nencryption = true",
            4,
            "hls.encryption",
            "no DVR window",
        ),
        (
            "[hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\n[[stream]]\nmatch = \"a\"\nencryption = true",
            6,
            "stream.0.encryption",
            "no DVR window",
        ),
        (
            "[[stream]]\nmatch = \"live/*\"\ndvr = \"2h\"",
            3,
            "stream.0.dvr",
            "no hls.dvr_directory",
        ),
        (
            "[hls]\ndvr_directory = \"/dev/null\"",
            2,
            "hls.dvr_directory",
            "not a directory",
        ),
        (
            "[webrtc]\nlisten = \"127.0.0.1:8000\"",
            2,
            "webrtc.listen",
            "another port",
        ),
        (
            "[http]\nlisten = [\"[::1]:80\", \"[::]:80\"]",
            2,
            "http.listen",
            "clashes",
        ),
        (
            "[http]\ntls_listen = [\"0.0.0.0:8443\"]",
            2,
            "http.tls_listen",
            "no certificate",
        ),
        (
            "[rtmp]\ntls_listen = [\"0.0.0.0:8443\"]",
            2,
            "rtmp.tls_listen",
            "no certificate",
        ),
        (
            "[rtmp]\nlisten = [\"[::]:1935\", \"0.0.0.0:1935\"]\n[admin]\nlisten = \"[::1]:1935\"",
            4,
            "admin.listen",
            "clashes",
        ),
        (
            "[[push]]\nmatch = \"a/*\"\nurl = \"rtmp://h/{stream}\"\n\
             [[push]]\nmatch = \"a/*\"\nurl = \"rtmp://h/{stream}\"",
            5,
            "push.1.match",
            "twice",
        ),
        (
            "[[pull]]\nstream = \"admin/x\"\nurl = \"rtmp://h/a/x\"",
            2,
            "pull.0.stream",
            "`admin/x` begins as the server's own pages do",
        ),
        (
            "[[pull]]\nstream = \"a/x\"\nurl = \"rtmp://h/a/x\"\n\
             [[pull]]\nstream = \"a/x\"\nurl = \"rtmp://i/a/x\"",
            5,
            "pull.1.stream",
            "already",
        ),
        (
            "[[pull]]\nstream = \"a/x\"\nurl = \"rtmp://h/a/{name}\"",
            3,
            "pull.0.url",
            "there is only one stream",
        ),
        (
            "[[pull]]\nstream = \"a/*\"\nurl = \"rtmp://h/a/x\"\non_demand = true",
            3,
            "pull.0.url",
            "put {name} where the name belongs",
        ),
        (
            "[[pull]]\nstream = \"a/*\"\nurl = \"rtmp://h/a/{name}\"",
            2,
            "pull.0.stream",
            "add on_demand = true",
        ),
        (
            "[[pull]]\nstream = \"a/x*\"\nurl = \"rtmp://h/a/{rest}\"\non_demand = true",
            3,
            "pull.0.url",
            "begins no segment",
        ),
        (
            "[[pull]]\nstream = \"admin/*\"\nurl = \"rtmp://h/a/{name}\"\non_demand = true",
            2,
            "pull.0.stream",
            "`admin/*` begins as the server's own pages do",
        ),
        (
            "[[pull]]\nstream = \"**\"\nurl = \"rtmp://h/a/{name}\"\non_demand = true\n\
             [[pull]]\nstream = \"a/*\"\nurl = \"rtmp://i/a/{name}\"\non_demand = true",
            6,
            "pull.1.stream",
            "never applies",
        ),
        (
            "[fanout.audio]\nmin_wait = \"1s\"",
            2,
            "fanout.audio.min_wait",
            "longer than",
        ),
        (
            "[fanout.video]\ndrop_after = \"1s\"",
            2,
            "fanout.video.drop_after",
            "longer than",
        ),
        (
            "[[stream]]\nmatch = \"a\"\nmin_wait = \"300ms\"",
            3,
            "stream.0.min_wait",
            "for video",
        ),
        (
            "[[stream]]\nmatch = \"a\"\ndrop_after = \"1s\"",
            3,
            "stream.0.drop_after",
            "for audio",
        ),
        (
            "[[stream]]\nmatch = \"a\"\n[[stream]]\nmatch = \"a\"",
            4,
            "stream.1.match",
            "first match",
        ),
        (
            "[[stream]]\nmatch = \"**\"\n[[stream]]\nmatch = \"a\"",
            4,
            "stream.1.match",
            "first match",
        ),
        (
            "[[files]]\npath = \"admin/x\"\ndirectory = \"/\"",
            2,
            "files.0.path",
            "begins as the server's own pages do",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"/nowhere/at/all\"",
            3,
            "files.0.directory",
            "there is no directory /nowhere/at/all",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"\"",
            3,
            "files.0.directory",
            "is empty",
        ),
        (
            "[[files]]\npath = \"vod\"\ndirectory = \"/\"\n\
             [[files]]\npath = \"vod\"\ndirectory = \"/\"",
            5,
            "files.1.path",
            "another folder",
        ),
        (
            "[[variants]]\nname = \"admin/x\"\nstreams = [\"a\"]",
            2,
            "variants.0.name",
            "begins as the server's own pages do",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\", \"x\"]",
            2,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
             [[variants]]\nname = \"y\"\nstreams = [\"x\"]",
            2,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[pull]]\nstream = \"x\"\nurl = \"rtmp://h/a/x\"\n\
             [[variants]]\nname = \"x\"\nstreams = [\"a\"]",
            5,
            "variants.0.name",
            "`x` is the name of a stream",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
             [[variants]]\nname = \"x\"\nstreams = [\"b\"]",
            5,
            "variants.1.name",
            "another group",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\", \"b\", \"a\"]",
            3,
            "variants.0.streams",
            "`a` twice",
        ),
    ] {
        one_problem(source, line, key, words);
    }
    for fine in [
        "[http]\nlisten = [\"0.0.0.0:80\", \"[::]:80\"]",
        "[http]\nlisten = [\"127.0.0.1:0\", \"127.0.0.1:0\"]",
        "[fanout.audio]\nmin_wait = \"400ms\"",
        "[rtmp]\nlisten = []",
        "[http]\nlisten = []",
        "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\n\
         [[variants]]\nname = \"y\"\nstreams = [\"a\", \"b\"]",
    ] {
        assert!(parse(fine).is_ok(), "{fine}");
    }
}

const WEBHOOK_KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[test]
fn a_receiver_of_webhooks_has_an_address_and_keys() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("{WEBHOOK_KEY}\n\n{WEBHOOK_KEY}\n")).expect("written");
    let config = parse(&format!(
        "[webhooks]\ndirectory = \"/a\"\n[[webhook]]\nurl = \"https://h/hook\"\n\
         secret = [\"{WEBHOOK_KEY}\", \"{WEBHOOK_KEY}\"]\nsecret_file = {:?}\n\
         events = [\"recording.*\", \"stream.ended\"]\nstreams = \"live/*\"\n\
         [[webhook]]\nurl = \"http://10.0.0.1:8/\"\nsecret = \"{WEBHOOK_KEY}\"",
        file.path()
    ));
    let config = config.expect("it is valid");
    let [first, second] = &config.hooks[..] else {
        panic!("two: {:?}", config.hooks)
    };
    assert_eq!((first.keys.len(), second.keys.len()), (4, 1));
    for (kind, stream, wanted) in [
        ("recording.closed", Some("live/a"), true),
        ("recording.closed", Some("tv/a"), false),
        ("recording.closed", None, true),
        ("stream.ended", Some("live/a"), true),
        ("stream.published", Some("live/a"), false),
    ] {
        assert_eq!(first.wants(kind, stream), wanted, "{kind} {stream:?}");
        assert!(second.wants(kind, stream));
    }
    assert!(!format!("{config:?}").contains("whsec_"));
}

#[test]
fn a_receiver_of_webhooks_that_cannot_be_told_is_refused() {
    let hook = |rest: &str| format!("[[webhook]]\nurl = \"http://h/\"\n{rest}");
    let secret = format!("secret = \"{WEBHOOK_KEY}\"\n");
    for (source, line, key, words) in [
        (
            format!("[[webhook]]\n{secret}"),
            1,
            "url",
            "say who is told",
        ),
        (hook(""), 1, "secret", "openssl rand"),
        (hook("secret = []"), 3, "secret", "is empty"),
        (
            hook("secret = \"whsec_AAAA\""),
            3,
            "secret",
            "24 to 64 bytes",
        ),
        (
            hook("secret_file = \"/none\""),
            3,
            "secret_file",
            "cannot be read",
        ),
        (
            hook(&format!("{secret}events = [\"recordings.*\"]")),
            4,
            "events",
            "fits none of recording.closed",
        ),
        (
            format!("[[webhook]]\nurl = \"rtmp://h/\"\n{secret}"),
            2,
            "url",
            "is not spoken here",
        ),
    ] {
        one_problem(&source, line, &format!("webhook.0.{key}"), words);
    }
    let twice = format!("{}{}", hook(&secret), hook(&secret));
    one_problem(&twice, 5, "webhook.1.url", "another webhook");
}

#[test]
fn a_station_has_a_stream_and_files() {
    let config = parse(
        "[[station]]\nstream = \"radio\"\nplaylist = \"/a/b.pls\"\norder = \"shuffle\"\n\
         loop = false\nlinger = \"2s\"\nabsolute_paths = true\nno_repeat = \"2h\"\nweight = 3\n\
         [[station.list]]\nfolder = \"/jingles\"\nevery = 4\nhours = [\"mon 06:00-10:00\"]",
    );
    let config = config.expect("it is valid");
    let [station] = &config.stations[..] else {
        panic!("one station: {:?}", config.stations)
    };
    assert_eq!(station.stream.as_str(), "radio");
    let [own, jingles] = &station.lists[..] else {
        panic!("two lists: {:?}", station.lists)
    };
    assert_eq!(own.place, StationPlace::Playlist("/a/b.pls".into()));
    assert_eq!(
        (own.order, own.weight, own.every),
        (StationOrder::Shuffle, 3, 0)
    );
    assert_eq!(jingles.place, StationPlace::Folder("/jingles".into()));
    assert_eq!(
        (jingles.order, jingles.every),
        (StationOrder::Sequential, 4)
    );
    assert_eq!(jingles.hours[0].minutes()[0], 360..600);
    assert_eq!(station.no_repeat, Duration::from_secs(7_200));
    assert_eq!(station.request_after, Duration::from_secs(900));
    assert_eq!(station.linger, Duration::from_secs(2));
    assert!(own.absolute_paths && !jingles.absolute_paths && !station.is_looped);
    let plain = parse("[[station]]\nstream = \"radio\"\nfolder = \"/a\"").expect("it is valid");
    let [station] = &plain.stations[..] else {
        panic!("one station: {:?}", plain.stations)
    };
    assert_eq!(station.linger, Duration::from_secs(5));
    assert!(!station.lists[0].absolute_paths && station.is_looped);
}

#[test]
fn a_station_that_cannot_work_is_refused() {
    for (source, line, key, words) in [
        (
            "[[station]]\nfolder = \"/a\"",
            1,
            "station.0.stream",
            "say what it is called",
        ),
        (
            "[[station]]\nstream = \"a\"",
            1,
            "station.0.folder",
            "say what is played",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\nplaylist = \"/a.pls\"",
            4,
            "station.0.playlist",
            "one of both",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\nweight = 0",
            4,
            "station.0.weight",
            "from 1 to 100",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\n[[station.list]]\nevery = 4",
            4,
            "station.0.list.0.folder",
            "say what is played",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\n[[station.list]]\nfolder = \"/b\"\nevery = 101",
            6,
            "station.0.list.0.every",
            "more than 100",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\norder = \"shufle\"",
            4,
            "station.0.order",
            "did you mean \"shuffle\"?",
        ),
        (
            "[[station]]\nstream = \"admin/a\"\nfolder = \"/a\"",
            2,
            "station.0.stream",
            "own pages",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\n\
             [[station]]\nstream = \"a\"\nfolder = \"/b\"",
            5,
            "station.1.stream",
            "another station",
        ),
        (
            "[[pull]]\nstream = \"a\"\nurl = \"rtmp://h/a/b\"\n\
             [[station]]\nstream = \"a\"\nfolder = \"/b\"",
            5,
            "station.0.stream",
            "pulled from elsewhere",
        ),
        (
            "[[station]]\nstream = \"a\"\nfolder = \"/a\"\nlinger = \"15s\"",
            4,
            "station.0.linger",
            "listeners are kept",
        ),
        (
            "[ingest]\nlinger = \"5s\"\n[[station]]\nstream = \"a\"\nfolder = \"/a\"",
            4,
            "station.0.stream",
            "listeners are kept",
        ),
    ] {
        one_problem(source, line, key, words);
    }
}

#[test]
fn a_group_of_variants_has_a_name_and_streams() {
    let config = parse("[[variants]]\nname = \"live/show\"\nstreams = [\"live/hd\", \"sd\"]");
    let config = config.expect("valid");
    let [group] = &config.variants[..] else {
        panic!("one group: {:?}", config.variants)
    };
    assert_eq!(group.name.as_str(), "live/show");
    let streams: Vec<_> = group.streams.iter().map(StreamName::as_str).collect();
    assert_eq!(streams, ["live/hd", "sd"]);
    let groups = ["sd", "live/hd", "live/show"].map(|text| {
        let name = StreamName::parse(text).expect("a name");
        config.group(&name)
    });
    assert_eq!(groups, [Some(0), Some(0), None]);
    let many: Vec<_> = (0..17).map(|number| format!("\"s{number}\"")).collect();
    let many = format!(
        "[[variants]]\nname = \"x\"\nstreams = [{}]",
        many.join(", ")
    );
    for (source, line, key, words) in [
        (
            "[[variants]]\nstreams = [\"a\"]",
            1,
            "variants.0.name",
            "is missing",
        ),
        (
            "[[variants]]\nname = \"x\"",
            1,
            "variants.0.streams",
            "is missing",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = []",
            3,
            "variants.0.streams",
            "is empty",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a b\"]",
            3,
            "variants.0.streams",
            "no stream's name has",
        ),
        (
            "[[variants]]\nname = \"/x\"\nstreams = [\"a\"]",
            2,
            "variants.0.name",
            "slash",
        ),
        (
            "[[variants]]\nname = \"x\"\nstreams = [\"a\"]\nbest = \"a\"",
            4,
            "variants.0.best",
            "no such key",
        ),
        (&many, 3, "variants.0.streams", "more than 16"),
    ] {
        one_problem(source, line, key, words);
    }
}

#[test]
fn half_a_certificate_is_none() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tls = "[http]\ntls_listen = [\"0.0.0.0:8443\"]\n";
    one_problem(
        &format!("{tls}certificate = \"{here}\""),
        3,
        "http.certificate",
        "private_key",
    );
    one_problem(
        &format!("{tls}private_key = \"{here}\""),
        3,
        "http.private_key",
        "certificate",
    );
    let pair = format!("certificate = \"{here}\"\nprivate_key = \"{here}\"");
    assert!(parse(&format!("{tls}{pair}")).is_ok());
    let secure_rtmp = "[rtmp]\ntls_listen = [\"0.0.0.0:1936\"]\n";
    assert!(parse(&format!("{secure_rtmp}[http]\n{pair}")).is_ok());
    one_problem(
        &format!("[http]\n{pair}"),
        2,
        "http.certificate",
        "tls_listen is empty",
    );
    let absent = format!("{tls}certificate = \"/absent\"\nprivate_key = \"{here}\"");
    one_problem(&absent, 3, "http.certificate", "no file /absent");
}

#[test]
fn weak_secrets_are_refused_and_no_secret_is_shown() {
    for weak in ["hackme", "password", "x7Kq", "changeme123", "12345678"] {
        let source = format!("[auth]\npublish_key = \"{weak}\"");
        one_problem(&source, 2, "auth.publish_key", "generated at start");
        assert!(!parse(&source).expect_err("weak").to_string().contains(weak));
        let report = with_environment("", &[("CARILLON__AUTH__PUBLISH_KEY", weak)]);
        assert!(!report.expect_err("weak").to_string().contains(weak));
    }
    for broken in [
        "[auth]\npublsh_key = \"x7Kq-92mPz\"",
        "[auth]\npublish_key = \"x7Kq-92mPz",
        "[auth]\npublish_key = [\"x7Kq-92mPz\"]",
        "auth = { publish_key = \"x7Kq-92mPz\", oops = 1 }",
        "[auth]\npublish_key = \"x7Kq-92mPz\"\nadmin_password = \"x7Kq-92mPz\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp:/u:x7Kq-92mPz@h/a/b\"",
        "[[push]]\nmatch = \"a\"\nulr = \"rtmp://h/a/x7Kq-92mPz\"",
        "[[push]]\nmatch = \"a\"\nurl = \"x7Kq-92mPz\"",
        "[[pull]]\nstream = \"a\"\nurl = [\"rtmp://u:x7Kq-92mPz@h/a/b\"]",
        "pull = [\n{ stream = \"a\", url = \"rtmp://u:x7Kq-92mPz@h/a/b\", oops = 1 }]",
    ] {
        let report = parse(broken).expect_err(broken);
        let shown = format!("{report} {report:?}");
        assert!(!shown.contains("x7Kq-92mPz"), "{shown}");
    }
    let config = parse("[auth]\npublish_key = \"x7Kq-92mPz\"").expect("a good key");
    assert!(!format!("{config:?}").contains("x7Kq-92mPz"));
    for link in [
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h/a/{name}\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://h/a/x7Kq-92mPz\"",
        "[[pull]]\nstream = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h/a/b?k=x7Kq-92mPz\"",
    ] {
        let config = parse(link).expect(link);
        assert!(!format!("{config:?}").contains("x7Kq-92mPz"), "{config:?}");
    }
    let report = with_environment("", &[("CARILLON__PUSH__0__URL", "rtmp://x7Kq-92mPz@h")]);
    let report = report.expect_err("no stream");
    assert!(!format!("{report} {report:?}").contains("x7Kq-92mPz"));
}

#[test]
fn all_errors_come_in_one_run() {
    let source =
        "[http]\nlisten = 5\nhead_timeout = \"soon\"\n[fanuot]\nx = 1\n[fanout]\nworkers = -1\n";
    let found: Vec<_> = problems(source)
        .iter()
        .map(|p| (line_of(p), p.key.clone()))
        .collect();
    let expected = [
        (2, "http.listen"),
        (3, "http.head_timeout"),
        (4, "fanuot"),
        (7, "fanout.workers"),
    ];
    assert_eq!(
        found,
        expected.map(|(line, key)| (Some(line), key.to_owned()))
    );
}

#[test]
fn all_syntax_errors_come_in_one_run() {
    let lines: Vec<_> = problems("[http\nlisten = [1,\n[rtmp]\nlisten == 2\n")
        .iter()
        .map(line_of)
        .collect();
    assert!(
        lines.len() >= 2 && lines.iter().all(Option::is_some),
        "{lines:?}"
    );
    one_problem(
        "[http]\nhead_timeout = \"1s\"\nhead_timeout = \"2s\"",
        3,
        "",
        "duplicate",
    );
}

#[test]
fn the_environment_wins_and_is_typed_like_the_file() {
    let config = with_environment(
        "[fanout]\nworkers = 1\n[[stream]]\nmatch = \"a\"\n",
        &[
            ("CARILLON__FANOUT__WORKERS", "2"),
            ("CARILLON__FANOUT__AUDIO__MAX_WAIT", "1s"),
            ("CARILLON__HTTP__LISTEN", "127.0.0.1:81, [::1]:81"),
            ("CARILLON__RTMP__LISTEN", ""),
            ("CARILLON__DRAIN_TIMEOUT", "1m"),
            ("CARILLON__LOG__ACCESS", "-"),
            ("CARILLON__LIMITS__LISTENERS", "7"),
            ("CARILLON__STREAM__0__PUBLIC", "false"),
            ("CARILLON__STREAM__1__MATCH", "b"),
            ("CARILLON__RTMP__PLAY_WAIT", "0s"),
            ("CARILLON__PUSH__0__MATCH", "a"),
            ("CARILLON__PUSH__0__URL", "rtmp://h/{stream}/x"),
            ("CARILLON__PULL__0__STREAM", "c"),
            ("CARILLON__PULL__0__URL", "http://h/c.flv"),
            ("CARILLON__PULL__0__ON_DEMAND", "true"),
            ("CARILLON_UNRELATED", "x"),
            ("PATH", "/bin"),
        ],
    );
    let config = config.expect("a valid environment");
    assert_eq!((config.fanout.workers, config.rtmp.listen.len()), (2, 0));
    assert_eq!(config.fanout.audio.max_wait, Duration::from_secs(1));
    assert_eq!(config.http.listen.len(), 2);
    assert_eq!(config.drain_timeout, Duration::from_secs(60));
    assert_eq!(config.log.access, AccessLog::Stdout);
    assert_eq!(config.limits.listeners, NonZeroU32::new(7));
    assert_eq!(config.rtmp.play_wait, Duration::ZERO);
    assert_eq!(config.pushes[0].pattern.as_str(), "a");
    assert!(config.pulls[0].on_demand);
    let public: Vec<_> = config
        .streams
        .iter()
        .map(|r| (r.pattern.as_str(), r.public))
        .collect();
    assert_eq!(public, [("a", false), ("b", true)]);
}

#[test]
fn errors_of_the_environment_name_their_variable() {
    let report = with_environment(
        "",
        &[
            ("CARILLON__FANOUT__WORKRES", "2"),
            ("CARILLON__FANOUT__BACKEND", "kqueue"),
            ("CARILLON__STREAM__99999__MATCH", "x"),
        ],
    );
    let shown = report.expect_err("wrong variables").to_string();
    assert!(shown.contains("environment: CARILLON__FANOUT__WORKRES: error: no such setting; did you mean `CARILLON__FANOUT__WORKERS`?"), "{shown}");
    assert!(
        shown.contains("environment: CARILLON__FANOUT__BACKEND: error: fanout.backend: `kqueue`"),
        "{shown}"
    );
    assert!(shown.ends_with("3 errors"), "{shown}");
}

#[test]
fn the_first_matching_rule_decides() {
    let config = parse(
        "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
         [hls]\ndvr = \"2h\"\ndvr_directory = \"/tmp\"\n\
         [[stream]]\nmatch = \"live/low\"\nmax_wait = \"20ms\"\nlinger = \"1s\"\ntakeover = \"stalled\"\ndvr = \"0s\"\n\
         [[stream]]\nmatch = \"live/*\"\npublic = false\npublish_key = \"other-k3y-here\"\n",
    );
    let config = config.expect("valid");
    let name = |text| StreamName::parse(text).expect("a name");
    let (low, show, radio) = (name("live/low"), name("live/show"), name("radio.mp3"));
    assert_eq!(
        config.policy(&low, Class::Audio).max_wait,
        Duration::from_millis(20)
    );
    assert_eq!(config.policy(&low, Class::Audio).subgroup, 500);
    assert_eq!(
        config.policy(&radio, Class::Video),
        Policy::default_for(Class::Video)
    );
    assert_eq!(
        (config.takeover(&low), config.takeover(&show)),
        (Takeover::Stalled, Takeover::SameCredential)
    );
    assert_eq!(
        (config.linger(&low), config.linger(&show)),
        (Duration::from_secs(1), Duration::from_secs(15))
    );
    assert_eq!(
        (config.dvr(&low), config.dvr(&show)),
        (Duration::ZERO, Duration::from_secs(7_200))
    );
    assert_eq!(
        [&low, &show, &radio].map(|n| config.is_public(n)),
        [true, false, true]
    );
    let opens = |name: &StreamName, key| {
        let mut keys = config.publish_keys(name);
        keys.any(|one| one.secret.matches(key))
    };
    assert!(opens(&show, "other-k3y-here") && !opens(&show, "x7Kq-92mPz"));
    assert!(opens(&low, "x7Kq-92mPz") && !opens(&low, "other-k3y-here"));
}

#[test]
fn renditions_have_the_rules_of_their_stream() {
    let source = "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
        [[stream]]\nmatch = \"live/show~own\"\nlinger = \"1s\"\n\
        [[stream]]\nmatch = \"live/show\"\nlinger = \"2s\"\npublish_key = \"other-k3y-here\"\n\
        [[stream]]\nmatch = \"**\"\nlinger = \"3s\"\n";
    let config = parse(source).expect("valid");
    for (stream, seconds, is_own) in [
        ("live/show", 2, true),
        ("live/show~1", 2, true),
        ("live/show~1~2", 2, true),
        ("live/show~own", 1, false),
        ("live/shows~1", 3, false),
        ("live/show~a_b", 3, false),
    ] {
        let stream = StreamName::parse(stream).expect("a name");
        assert_eq!(config.linger(&stream).as_secs(), seconds, "{stream}");
        let mut keys = config.publish_keys(&stream);
        let opens = keys.any(|one| one.secret.matches("other-k3y-here"));
        assert_eq!(opens, is_own, "{stream}");
    }
}

#[test]
fn named_keys_open_the_streams_that_they_are_for() {
    let source = "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
        [[auth.key]]\nname = \"studio\"\nkey = \"studio-k3y-1\"\nmatch = \"live/*\"\n\
        [[stream]]\nmatch = \"live/own\"\npublish_key = \"other-k3y-here\"\n";
    let van = [
        ("CARILLON__AUTH__KEY__1__NAME", "van"),
        ("CARILLON__AUTH__KEY__1__KEY", "van-k3y-number-2"),
        ("CARILLON__AUTH__KEY__1__MATCH", "**"),
    ];
    let config = with_environment(source, &van).expect("valid");
    for (stream, expected) in [
        (
            "live/show",
            &["x7Kq-92mPz", "studio studio-k3y-1", "van van-k3y-number-2"][..],
        ),
        (
            "live/own",
            &[
                "other-k3y-here",
                "studio studio-k3y-1",
                "van van-k3y-number-2",
            ],
        ),
        ("radio", &["x7Kq-92mPz", "van van-k3y-number-2"]),
    ] {
        let name = StreamName::parse(stream).expect("a name");
        let keys = config.publish_keys(&name).map(|key| match key.name {
            Some(name) => format!("{name} {}", key.secret.reveal()),
            None => key.secret.reveal().to_owned(),
        });
        assert_eq!(keys.collect::<Vec<_>>(), expected, "{stream}");
    }
    assert!(!format!("{config:?}").contains("k3y"), "{config:?}");
}

#[test]
fn keys_that_cannot_be_told_apart_are_refused() {
    let with = |rest: &str| {
        format!(
            "[auth]\npublish_key = \"x7Kq-92mPz\"\nadmin_password = \"tower-warden-77\"\n\
             [[auth.key]]\nname = \"studio\"\nkey = \"studio-k3y-1\"\nmatch = \"live/*\"\n\
             [[auth.key]]\n{rest}\n"
        )
    };
    let van = |key: &str| with(&format!("name = \"van\"\nkey = \"{key}\"\nmatch = \"a\""));
    for (source, line, key, words) in [
        (
            with("name = \"studio\"\nmatch = \"a\""),
            9,
            "auth.key.1.name",
            "another key",
        ),
        (
            van("studio-k3y-1"),
            10,
            "auth.key.1.key",
            "a publish key already",
        ),
        (
            van("x7Kq-92mPz"),
            10,
            "auth.key.1.key",
            "a publish key already",
        ),
        (
            van("tower-warden-77"),
            10,
            "auth.key.1.key",
            "administrator's password",
        ),
        (van("hackme"), 10, "auth.key.1.key", "shorter than 8"),
        (
            with("name = \"\"\nmatch = \"a\""),
            9,
            "auth.key.1.name",
            "is empty",
        ),
        (with("match = \"a\""), 8, "auth.key.1.name", "is missing"),
        (with("name = \"van\""), 8, "auth.key.1.match", "is missing"),
    ] {
        one_problem(&source, line, key, words);
    }
    let own = van("other-k3y-here") + "[[stream]]\nmatch = \"a\"\npublish_key = \"other-k3y-here\"";
    one_problem(&own, 10, "auth.key.1.key", "a publish key already");
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let report = Config::load(Some(Path::new("/absent/carillon.toml")), std::iter::empty());
    let shown = report.expect_err("absent").to_string();
    assert!(
        shown.starts_with("/absent/carillon.toml: error: cannot be opened"),
        "{shown}"
    );
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(Config::load(Some(directory), std::iter::empty()).is_err());
}

#[test]
fn a_rule_of_recordings_takes_what_it_does_not_say_from_the_section() {
    let source = "[recording]\ndirectory = \"/rec\"\nsplit = \"30m\"\ncontainer = \"flv\"\nmax_age = \"30d\"\nmax_count = 7\n\
        [[record]]\nmatch = \"live/*\"\nmax_age = \"0s\"\nmax_bytes = \"2GiB\"\n\
        [[record]]\nmatch = \"**\"\ndirectory = \"/other\"\nsplit = \"10m\"\ncontainer = \"ts\"\nsnapshot = \"60s\"";
    let config = parse(source).expect("valid");
    let [live, all] = &config.records[..] else {
        panic!("two rules")
    };
    let day = Duration::from_secs(24 * 3_600);
    assert_eq!(live.directory, Path::new("/rec"));
    assert_eq!(
        (live.container, all.container),
        (RecordedAs::Flv, RecordedAs::Ts)
    );
    assert_eq!(
        (live.snapshot, all.snapshot),
        (Duration::ZERO, Duration::from_secs(60))
    );
    assert_eq!(live.split, Duration::from_secs(1_800));
    let keep = Kept {
        max_age: Duration::ZERO,
        max_bytes: 2 << 30,
        max_count: 7,
    };
    assert_eq!(live.keep, keep);
    assert_eq!(all.directory, Path::new("/other"));
    assert_eq!(all.keep.max_age, 30 * day);
    assert_eq!(
        (all.keep.max_bytes, all.split),
        (0, Duration::from_secs(600))
    );
    let rule = |name: &str| config.record_rule(&StreamName::parse(name).expect("a name"));
    assert_eq!((rule("live/show"), rule("radio.mp3")), (Some(0), Some(1)));
}
