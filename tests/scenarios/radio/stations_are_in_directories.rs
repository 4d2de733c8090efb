//! Streams are listed in a public directory by the same requests as icecast2's, which is there with the same sources.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Icecast, PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::support::DEADLINE;
use crate::support::titles::update;

/// Icecast adds a stream after a minute, and then looks from time to time.
const ICECAST_DEADLINE: Duration = Duration::from_secs(240);

/// The directory, killed when dropped.
struct Directory {
    process: Process,
    port: u16,
}

impl Directory {
    fn start() -> Self {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/support/station_directory.py");
        let process = Tool::new("python3").arg(script).start();
        let first = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the directory's port", DEADLINE, || first().contains('\n'));
        let port = first().lines().next().unwrap().parse().unwrap();
        Self { process, port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests to a path with that action, so far.
    fn asked(&self, path: &str, action: &str) -> Vec<Value> {
        let text = String::from_utf8(self.process.stdout()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        let all = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let own = all.filter(|one| one["path"] == path && one["fields"]["action"] == action);
        own.map(|one| one["fields"].clone()).collect()
    }
}

/// Two sources: one that wishes to be listed and says all there is to say, and one that does not.
fn publish(addr: SocketAddr, password: &str) -> [Process; 2] {
    let source = |mount: &str, said: &[&str]| {
        Tool::ffmpeg()
            .args(["-re", "-stream_loop", "-1", "-i"])
            .arg(Clip::Mp3.seconds(30))
            .args(["-map_metadata", "-1", "-c", "copy", "-f", "mp3"])
            .args(["-content_type", "audio/mpeg"])
            .args(said)
            .arg(format!("icecast://source:{password}@{addr}/{mount}"))
            .start()
    };
    let said = ["-ice_name", "Tom & co", "-ice_genre", "Jazz"];
    let more = ["-ice_description", "Some text", "-ice_public", "1"];
    let link = ["-ice_url", "http://radio.example/?a=1"];
    let sources = [
        source("radio.mp3", &[&said[..], &more, &link].concat()),
        source("silent.mp3", &["-ice_public", "0"]),
    ];
    wait_until("a title to be taken", DEADLINE, || {
        update(addr, password, "song=Band+-+Song") == 200
    });
    sources
}

/// The fields that are about place, and what only ours knows of sound that says nothing.
fn comparable(fields: &Value) -> Value {
    let mut fields = fields.clone();
    for own in ["listenurl", "sid", "b", "max_listeners"] {
        fields.as_object_mut().unwrap().remove(own);
    }
    fields
}

#[test]
fn streams_are_added_touched_and_removed() {
    let directory = Directory::start();
    let element = format!(
        "<directory><yp-url-timeout>10</yp-url-timeout><yp-url>{}</yp-url></directory>",
        directory.url("/theirs")
    );
    let icecast = Icecast::with(32, &element);
    let own = ["/ours", "/refusing", "/failing"].map(|path| {
        format!(
            "[[directory]]\nurl = \"{}\"\nbase_url = \"http://radio.example:8000\"\nafter = \"0s\"\n",
            directory.url(path)
        )
    });
    let server = Server::builder().toml(&own.concat()).start();
    let mut theirs = publish(icecast.addr(), Icecast::PASSWORD);
    let mut ours = publish(server.addr("http"), PUBLISH_KEY);
    let is_asked = |path: &str, action: &str, deadline: Duration| {
        wait_until(&format!("{action} to {path}"), deadline, || {
            !directory.asked(path, action).is_empty()
        });
        directory.asked(path, action)[0].clone()
    };
    let is_listed = || {
        let answer = server.get("/stats?sid=1&json=1");
        let stats: Value = serde_json::from_slice(&answer.body).unwrap();
        stats["streamlisted"].clone()
    };
    for action in ["add", "touch"] {
        let told = is_asked("/ours", action, DEADLINE);
        let expected = is_asked("/theirs", action, ICECAST_DEADLINE);
        assert_eq!(comparable(&told), comparable(&expected), "{action}");
    }
    let told = is_asked("/ours", "add", DEADLINE);
    assert_eq!(told["listenurl"], "http://radio.example:8000/radio.mp3");
    wait_until("the stream to be listed", DEADLINE, || is_listed() == 1);
    // Those that refuse or fail have been asked, and are no hindrance.
    for path in ["/refusing", "/failing"] {
        is_asked(path, "add", DEADLINE);
        assert!(directory.asked(path, "touch").is_empty(), "{path}");
    }
    theirs[0].kill();
    ours[0].kill();
    let told = is_asked("/ours", "remove", DEADLINE);
    let expected = is_asked("/theirs", "remove", ICECAST_DEADLINE);
    assert_eq!(comparable(&told), comparable(&expected));
    for path in ["/ours", "/theirs"] {
        let added = directory.asked(path, "add");
        let names: Vec<_> = added.iter().map(|fields| fields["sn"].clone()).collect();
        assert_eq!(names, ["Tom & co"], "{path}: no other wishes it");
    }
    let count = |outcome: &str| {
        let label = format!("outcome=\"{outcome}\"");
        let metrics = server.metrics();
        metrics.sum("carillon_directory_requests_total", &[&label])
    };
    // A request counts once it is answered.
    wait_until("the removal to be answered", DEADLINE, || {
        count("removed") > 0.0
    });
    assert_eq!((count("added"), count("removed")), (1.0, 1.0));
    assert!(count("touched") >= 1.0 && count("failed") >= 2.0);
}
