//! Viewers get recordings that only exist in object storage, at the addresses that they had before.

use serde_json::Value;
use testkit::http::Response;
use testkit::{Clip, Server, Tool, free_address};

use crate::support::browser::Browser;
use crate::support::storage::{self, Storage, recordings, unchecked, uploaded};
use crate::support::{DEADLINE, publish_rtmp, wait_until};

const STREAM: &str = "live/show";

/// Returns the last reply, its headers included, as curl gets it.
fn curl(server: &Server, path: &str, arguments: &[&str]) -> Response {
    let answer = Tool::new("curl").args(["-s", "-i"]).args(arguments);
    Response::parse(&answer.arg(server.http_url(path)).run(DEADLINE))
}

/// Follows redirections, and returns the body.
fn fetched(server: &Server, path: &str, arguments: &[&str]) -> Vec<u8> {
    let answer = Tool::new("curl").args(["-s", "-f", "-L"]).args(arguments);
    answer.arg(server.http_url(path)).run(DEADLINE)
}

#[test]
fn a_recording_in_object_storage_alone_is_played_at_its_address() {
    let root = tempfile::tempdir().unwrap();
    let storage = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let server = |keep_local| {
        storage::server(root.path(), storage.address, &credentials, keep_local)
            .set("ingest", "linger", "\"1s\"")
            .toml("[[record]]\nmatch = \"live/*\"\n")
            .start()
    };
    let mut first = server("1h");
    publish_rtmp(&first, &Clip::Flv.seconds(6), STREAM).wait(DEADLINE);
    let recording = uploaded(&first, 1).remove(0);
    let file = std::fs::read(recording["path"].as_str().unwrap()).unwrap();
    // While the server has the file, the server sends it.
    let id = recording["id"].as_str().unwrap();
    let path = format!("/{STREAM}/recordings/{id}.mp4");
    assert_eq!(curl(&first, &path, &[]).status, 200);
    first.terminate(DEADLINE);
    let server = server("0s");
    wait_until("the file to go", || {
        let all = recordings(&server);
        all.len() == 1 && all[0]["path"].is_null()
    });
    let list = server.get(&format!("/{STREAM}/recordings.json"));
    let list: Value = serde_json::from_slice(&list.body).unwrap();
    let listed = &list["recordings"][0];
    assert_eq!(listed["file"], format!("recordings/{id}.mp4"));
    assert!(
        listed["local"] == false && listed["hls"].is_null(),
        "{listed}"
    );
    let led = curl(&server, &path, &[]);
    assert_eq!(
        (led.status, led.header("cache-control")),
        (302, Some("no-store"))
    );
    let location = led.header("location").unwrap();
    let origin = format!("http://{}/", storage.address);
    assert!(
        location.starts_with(&origin) && location.contains("X-Amz-Signature="),
        "{location}"
    );
    assert!(fetched(&server, &path, &[]) == file);
    assert!(fetched(&server, &path, &["-r", "20-99"]) == file[20..100]);
    let head = String::from_utf8(fetched(&server, &path, &["-I"]))
        .unwrap()
        .to_lowercase();
    assert!(
        head.contains(&format!("content-length: {}", file.len())),
        "{head}"
    );
    // The download has a descriptive name.
    let kept = fetched(
        &server,
        &format!("{path}?download=1"),
        &["-D", "-", "-o", "/dev/null"],
    );
    let kept = String::from_utf8(kept).unwrap().to_lowercase();
    assert!(
        kept.contains("content-disposition: attachment; filename=\"show-20"),
        "{kept}"
    );
    // Addresses that need the file's fragments report that it is gone.
    let playlist = format!("/{STREAM}/recordings/{id}/index.m3u8");
    for (path, status) in [
        (playlist, 410),
        (format!("/{STREAM}/recordings/{id}/init.mp4"), 410),
        (format!("/{STREAM}/recordings/{id}/0-6.m4s"), 410),
        (format!("/{STREAM}/clip.mp4?from=-2h"), 400),
        (format!("/{STREAM}/clip.mp4?from=-59m"), 410),
        (format!("/{STREAM}/index.m3u8?at=start"), 404),
        (format!("/{STREAM}/index.m3u8?at=-59m"), 404),
        (format!("/live/other/recordings/{id}.mp4"), 404),
        (format!("/{STREAM}/recordings/{id}.m4a"), 404),
    ] {
        let answer = curl(&server, &path, &[]);
        assert_eq!(answer.status, status, "{path}");
        let says = answer.text().contains("object storage alone");
        assert_eq!(says, status == 410, "{path}: {}", answer.text());
    }
    let metrics = server.metrics();
    let led = metrics.sum("carillon_file_requests_total", &["result=\"elsewhere\""]);
    assert_eq!(led, 5.0);
    // The page of a live stream lists the recording as well, and plays it.
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), STREAM);
    wait_until("the stream", || {
        server.get(&format!("/{STREAM}/")).status == 200
    });
    let browser = Browser::open();
    browser.go(&server.http_url(&format!("/{STREAM}/")));
    wait_until("the stream to play", || {
        browser
            .run("return document.getElementById('video').currentTime;")
            .as_f64()
            > Some(0.5)
    });
    wait_until("the recording in the list", || {
        // Late events of the stream's own player do not stop the recording.
        let script = format!(
            "const rows = [...document.querySelectorAll('#recorded li')]; \
             const row = rows.find(row => row.querySelector('a').href.includes('{id}')); \
             row?.querySelector('button').click(); \
             if (row) document.getElementById('video').dispatchEvent(new Event('playing')); \
             return Boolean(row);"
        );
        browser.run(&script) == true
    });
    wait_until("the copy to play", || {
        let seen = browser.run(
            "const past = document.getElementById('past'); \
             return [past.currentTime, past.error?.message];",
        );
        assert!(seen[1].is_null(), "{seen}");
        seen[0].as_f64() > Some(1.0)
    });
}
