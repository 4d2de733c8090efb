//! Each listener that has left is one line of the session log, with what it received, and so is each title; this also holds
//! when the server was killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use testkit::{Clip, Process, Server, Signal, Tool};

use crate::support::session_log::{lines, set_title, titles};
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, take, wait_until};

/// Starts players of the streams over ICY, FLV and HLS.
fn players(server: &Server) -> [Process; 3] {
    let paths = ["/radio.mp3", "/live/show.flv", "/live/show/index.m3u8"];
    paths.map(|path| take(&server.http_url(path), &[]))
}

fn publish(server: &Server) -> [Process; 2] {
    let radio = publish_icecast(server, Clip::Mp3, 120, "radio.mp3");
    let show = publish_rtmp(server, &Clip::Flv.seconds(120), "live/show");
    [radio, show]
}

/// Lists the checkpoints of a log.
fn checkpoints(log: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(log.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "open"))
        .collect()
}

/// Returns the sessions in the checkpoint, by protocol, with their bytes.
fn open(log: &Path) -> BTreeMap<String, u64> {
    let sessions = checkpoints(log);
    let sessions = sessions.iter().flat_map(|path| lines(path, "session"));
    let all = sessions.map(|line| {
        let protocol = line["protocol"].as_str().unwrap().to_owned();
        (protocol, line["bytes"].as_u64().unwrap_or(0))
    });
    all.collect()
}

/// Counts each reason in the sessions of these files; asserts that no session occurs twice.
fn reasons(logs: &[&Path]) -> BTreeMap<(String, String), usize> {
    let all = logs.iter().flat_map(|log| lines(log, "session"));
    let (mut ids, mut reasons) = (std::collections::BTreeSet::new(), BTreeMap::new());
    for line in all {
        assert!(ids.insert(line["id"].to_string()), "twice: {line}");
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        *reasons
            .entry((text("protocol"), text("reason")))
            .or_insert(0) += 1;
    }
    reasons
}

fn entry(protocol: &str, reason: &str, count: usize) -> ((String, String), usize) {
    ((protocol.to_owned(), reason.to_owned()), count)
}

#[test]
fn once_each_after_a_kill_a_rotation_and_an_orderly_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sessions.jsonl");
    let builder = || {
        Server::builder()
            .set("log", "sessions", &format!("{log:?}"))
            .set("log", "checkpoint", "\"1s\"")
    };
    let mut killed = builder().start();
    let published = publish(&killed);
    set_title(&killed, "Heard");
    let mut early = killed.listen("/radio.mp3");
    early.read_bytes(20_000, DEADLINE);
    let heard = players(&killed);
    wait_until("all to be in a checkpoint", || {
        let open = open(&log);
        ["icy", "flv", "hls"]
            .iter()
            .all(|protocol| open.get(*protocol).is_some_and(|bytes| *bytes > 0))
    });
    // One listener leaves, one leaves after the file was moved away, and then the server is killed.
    drop(early);
    wait_until("its line", || lines(&log, "session").len() == 1);
    let moved = folder.path().join("sessions.jsonl.1");
    std::fs::rename(&log, &moved).unwrap();
    let mut late = killed.listen("/radio.mp3");
    late.read_bytes(20_000, DEADLINE);
    killed.process().signal(Signal::HUP);
    wait_until("another file", || log.exists());
    drop(late);
    wait_until("its line", || {
        reasons(&[&log, &moved]).values().sum::<usize>() == 2
    });
    killed.process().kill();
    assert_eq!(checkpoints(&log).len(), 1);
    drop((heard, published));

    let mut server = builder().start();
    let expected = [
        entry("hls", "killed", 1),
        entry("flv", "killed", 1),
        entry("http", "left", 2),
        entry("icy", "killed", 1),
    ];
    let expected = BTreeMap::from(expected);
    assert_eq!(reasons(&[&log, &moved]), expected);
    let all = lines(&log, "session");
    let of_killed = all.iter().filter(|line| line["reason"] == "killed");
    for line in of_killed {
        assert!(line["bytes"].as_u64().unwrap() > 0, "{line}");
        assert!(line["started"].as_str() < line["ended"].as_str(), "{line}");
        let is_of_radio = line["stream"] == "radio.mp3";
        assert_eq!(titles(line), &["Heard"][..usize::from(is_of_radio)]);
    }
    assert!(checkpoints(&log).is_empty());

    // An orderly end leaves nothing to be added at the next start.
    let published = publish(&server);
    let heard = players(&server);
    wait_until("all to be in a checkpoint", || open(&log).len() == 3);
    server.terminate(DEADLINE);
    let ended = reasons(&[&log, &moved]);
    assert_eq!(ended.values().sum::<usize>(), 8, "{ended:?}");
    assert!(checkpoints(&log).is_empty());
    drop((heard, published));
    drop(builder().start());
    assert_eq!(reasons(&[&log, &moved]), ended);
}

#[test]
fn the_documented_lines_take_it_into_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sessions.jsonl");
    let server = Server::builder()
        .set("log", "sessions", &format!("{log:?}"))
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    set_title(&server, "It's%20%22quoted%22%09and%20%7Cpiped%7C");
    wait_until("the title", || lines(&log, "title").len() == 1);
    for agent in ["one, \"two\"", "three\\four"] {
        let url = server.http_url("/radio.mp3");
        let mut listener = Tool::new("curl")
            .args(["-s", "-A", agent, "-o", "/dev/null", &url])
            .start();
        wait_until("the listener", || {
            server.metrics().sum("carillon_listeners", &[]) == 1.0
        });
        listener.kill();
        wait_until("its end", || {
            server.metrics().sum("carillon_listeners", &[]) == 0.0
        });
    }
    wait_until("both lines", || lines(&log, "session").len() == 2);
    let document = include_str!("../../../docs/sessions.md");
    let chapter = document.split("## Into SQLite").nth(1).unwrap();
    let mut reported = String::new();
    for block in chapter.split("```sh\n").skip(1) {
        let lines = block.split("```").next().unwrap();
        let output = Command::new("sh")
            .args(["-e", "-c", lines])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        reported += &String::from_utf8(output.stdout).unwrap();
    }
    let rows: Vec<_> = reported
        .lines()
        .map(|row| row.rsplitn(3, '|').collect::<Vec<_>>())
        .collect();
    let [of_stream, of_title] = &rows[..] else {
        panic!("{reported}");
    };
    assert_eq!(of_stream[1..], ["2", "radio.mp3"]);
    let hours: f64 = of_stream[0].parse().unwrap();
    let heard: f64 = lines(&log, "session")
        .iter()
        .map(|line| line["seconds"].as_f64().unwrap())
        .sum();
    assert!((hours * 3_600.0 - heard).abs() < 0.01, "{reported}");
    assert_eq!(of_title[1], "2");
    assert!(of_title[2].contains("quoted"), "{reported}");
    let seconds: f64 = of_title[0].parse().unwrap();
    assert!((seconds - heard).abs() <= 1.0, "{reported}");
}
