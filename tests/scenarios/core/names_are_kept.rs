//! Names that operators write and read stay the same: keys, commands and their exit codes, metrics, events, fields of the API.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Clip, Server, Tool};

use crate::support::golden::{assert_kept, is_kept};
use crate::support::{DEADLINE, repeat_icecast, repeat_rtmp, wait_for_stream, wait_until};

/// Reads the rows of a document's tables: the text of each cell.
fn rows(document: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| "));
    rows.map(|row| row.split('|').map(str::trim).collect())
}

/// Unit tests check the file and the documents against the code.
#[test]
fn keys_metrics_and_kinds() {
    let mut section = String::new();
    let keys = include_str!("../../../config/carillon.toml")
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix('#').unwrap_or(line);
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_matches(['[', ']']).to_owned();
            }
            let (key, _) = line.split_once(" = ")?;
            let is_key = |char: char| char.is_ascii_lowercase() || "_0123456789".contains(char);
            key.chars().all(is_key).then(|| format!("{section}.{key}"))
        });
    assert_kept("keys", keys);

    let metrics = rows(include_str!("../../../docs/metrics.md")).filter_map(|cells| {
        let [name, kind, labels, ..] = cells[..] else {
            return None;
        };
        let is_metric = name.starts_with("`carillon_");
        is_metric.then(|| format!("{name} {kind} {labels}").replace('`', ""))
    });
    assert_kept("metrics", metrics);

    let kinds = [
        include_str!("../../../docs/events.md"),
        include_str!("../../../docs/webhooks.md"),
    ]
    .into_iter()
    .flat_map(rows)
    .filter_map(|cells| Some(cells.first()?.strip_prefix('`')?.replace('`', "")));
    assert_kept("kinds", kinds);
}

fn carillon(arguments: &[&str]) -> (i32, String) {
    let mut carillon = Tool::built(&testkit::binary());
    for argument in arguments {
        carillon = carillon.arg(*argument);
    }
    let done = carillon.finish(DEADLINE);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    (done.status.code().unwrap(), text)
}

/// Returns the first words of the lines below a heading of a command's short help.
fn below<'a>(help: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = help
        .lines()
        .skip_while(move |line| *line != heading)
        .skip(1);
    let lines = lines.take_while(|line| !line.is_empty()).map(str::trim);
    lines.map(|line| line.split("  ").next().unwrap_or(line))
}

/// Lists a command, its arguments and its options, and those of its subcommands.
fn describe(command: &[&str], lines: &mut Vec<String>) {
    let (status, help) = carillon(&[command, &["-h"]].concat());
    assert_eq!(status, 0, "{command:?}");
    let name = command.join(" ");
    for heading in ["Arguments:", "Options:"] {
        lines.extend(below(&help, heading).map(|words| format!("{name}: {words}")));
    }
    for below in below(&help, "Commands:").filter(|name| *name != "help") {
        describe(&[command, &[below]].concat(), lines);
    }
}

#[test]
fn commands_and_their_exits() {
    let mut lines = Vec::new();
    describe(&[], &mut lines);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let good = file("good.toml", "");
    let bad = file("bad.toml", "[http]\nport = 1\n");
    let foreign = file("icecast.xml", "<icecast><hostname>a</hostname></icecast>");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let busy = file("busy.toml", &format!("[http]\nlisten = [\"{taken}\"]\n"));
    let idle = file("idle.toml", "[admin]\nlisten = \"127.0.0.1:9\"\n");
    let absent = "/nothing/is/here";
    for (reported, arguments) in [
        ("no command", &[][..]),
        ("an unknown command", &["ring"]),
        ("an unknown option", &["serve", "--loud"]),
        ("check of a good file", &["check", "--config", &good]),
        ("check of a bad file", &["check", "--config", &bad]),
        ("check of an absent file", &["check", "--config", absent]),
        ("serve with a bad file", &["serve", "--config", &bad]),
        ("serve with an absent file", &["serve", "--config", absent]),
        (
            "serve on a port that is taken",
            &["serve", "--config", &busy],
        ),
        ("import of a file", &["import", &foreign]),
        ("import of a file of nobody's", &["import", &good]),
        ("import of an absent file", &["import", absent]),
        ("health of nobody", &["health", "--config", &idle]),
        (
            "sign without a secret",
            &[
                "sign",
                "--config",
                &good,
                "--for",
                "1h",
                "play",
                "live/show",
            ],
        ),
        ("rec of an absent folder", &["rec", "ls", absent]),
        (
            "load of nobody",
            &["load", "listen", "--listeners", "1", "http://127.0.0.1:9/a"],
        ),
    ] {
        lines.push(format!("{reported} exits with {}", carillon(arguments).0));
    }
    assert_kept("commands", lines);
}

/// Collects the paths of all fields; the fields of a list's members are collected once.
fn fields(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                fields(&format!("{prefix}.{name}"), value, found);
            }
        }
        Value::Array(array) => {
            for value in array {
                fields(&format!("{prefix}[]"), value, found);
            }
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// Longest wait for figures that cover the last seconds.
const MEASURED_WITHIN: Duration = Duration::from_secs(20);

#[test]
fn fields_of_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let songs = folder.path().join("songs");
    std::fs::create_dir(&songs).unwrap();
    std::fs::copy(Clip::Mp3.seconds(5), songs.join("one.mp3")).unwrap();
    let server = Server::builder()
        .set(
            "recording",
            "directory",
            &format!("{:?}", folder.path().join("recorded")),
        )
        .set("recording", "min_free", "\"0B\"")
        .toml(&format!(
            "[[record]]\nmatch = \"live/show\"\n\
             [[stream]]\nmatch = \"radio.mp3\"\nfallback = \"songs.mp3\"\n\
             [[station]]\nstream = \"songs.mp3\"\nfolder = {songs:?}\n\
             [[push]]\nmatch = \"live/show\"\nurl = \"rtmp://127.0.0.1:9/live/{{name}}\"\n\
             [[pull]]\nstream = \"far.mp3\"\nurl = \"http://127.0.0.1:9/far.mp3\"\n"
        ))
        .start();
    let _show = repeat_rtmp(&server, Clip::Flv, "live/show");
    let _radio = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    wait_for_stream(&server, "songs.mp3");
    let _listeners = ["/live/show.flv", "/radio.mp3"].map(|path| {
        let curl = Tool::new("curl").args(["-s", "-o", "/dev/null"]);
        curl.arg(server.http_url(path)).start()
    });
    wait_until("all of it to be there", || {
        server.api("listeners")["listeners"]
            .as_array()
            .unwrap()
            .len()
            == 2
            && server.api("recordings")["recordings"][0]["seconds"].as_f64() > Some(1.0)
            && !server.api("stations")["stations"][0]["current"].is_null()
    });
    // A figure that is measured over some seconds has its field only once it is known.
    let mut found = all_fields(&server);
    let until = Instant::now() + MEASURED_WITHIN;
    while !is_kept("fields", &found) && Instant::now() < until {
        // Clients may request the public list only once in a while.
        std::thread::sleep(Duration::from_secs(1));
        found = all_fields(&server);
    }
    assert_kept("fields", found);
}

/// Collects the fields of all documents.
fn all_fields(server: &Server) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for list in "streams listeners recordings push pull fallbacks stations".split(' ') {
        fields(list, &server.api(list), &mut found);
    }
    for (what, path) in [
        ("public/streams", "/api/v1/public/streams"),
        ("info.json", "/live/show/info.json"),
        ("status-json.xsl", "/status-json.xsl"),
    ] {
        let document = serde_json::from_slice(&server.get(path).body).unwrap();
        fields(what, &document, &mut found);
    }
    found
}
