//! Streams are listed in a public directory by the same requests as those of an icecast2 that has the same sources.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Icecast, PUBLISH_KEY, Process, Server, Tool};

use crate::support::titles::update;
use crate::support::{DEADLINE, metric, script, wait_until};

/// Icecast's longest delay: it adds a stream after a minute, and then polls from time to time.
const ICECAST_DEADLINE: Duration = Duration::from_secs(240);

/// The directory, killed when dropped.
struct Directory {
    process: Process,
    port: u16,
}

impl Directory {
    fn start() -> Self {
        let process = Tool::new("python3")
            .arg(script("station_directory.py"))
            .start();
        let first = || String::from_utf8(process.stdout()).unwrap();
        wait_until("the directory's port", || first().contains('\n'));
        let port = first().lines().next().unwrap().parse().unwrap();
        Self { process, port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the requests to a path with that action, so far.
    fn asked(&self, path: &str, action: &str) -> Vec<Value> {
        let text = String::from_utf8(self.process.stdout()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        let all = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let own = all.filter(|one| one["path"] == path && one["fields"]["action"] == action);
        own.map(|one| one["fields"].clone()).collect()
    }
}

/// Starts two sources: one that wants to be listed and sends every header there is, and one that does not.
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
    wait_until("a title to be taken", || {
        update(addr, password, "song=Band+-+Song") == 200
    });
    sources
}

/// Returns a request's fields without those about the place, and those that only our server knows of audio without headers.
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
        testkit::wait_until(&format!("{action} to {path}"), deadline, || {
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
        let reported = is_asked("/ours", action, DEADLINE);
        let expected = is_asked("/theirs", action, ICECAST_DEADLINE);
        assert_eq!(comparable(&reported), comparable(&expected), "{action}");
    }
    let reported = is_asked("/ours", "add", DEADLINE);
    assert_eq!(reported["listenurl"], "http://radio.example:8000/radio.mp3");
    wait_until("the stream to be listed", || is_listed() == 1);
    // Directories that refuse or fail were requested too, and do not hinder the others.
    for path in ["/refusing", "/failing"] {
        is_asked(path, "add", DEADLINE);
        assert!(directory.asked(path, "touch").is_empty(), "{path}");
    }
    theirs[0].kill();
    ours[0].kill();
    let reported = is_asked("/ours", "remove", DEADLINE);
    let expected = is_asked("/theirs", "remove", ICECAST_DEADLINE);
    assert_eq!(comparable(&reported), comparable(&expected));
    for path in ["/ours", "/theirs"] {
        let added = directory.asked(path, "add");
        let names: Vec<_> = added.iter().map(|fields| fields["sn"].clone()).collect();
        assert_eq!(names, ["Tom & co"], "{path}: no other wishes it");
    }
    let count = |outcome: &str| {
        let label = format!("outcome={outcome}");
        metric(&server, "carillon_directory_requests_total", &label)
    };
    // A request is counted once its reply has arrived.
    wait_until("the removal to be answered", || count("removed") > 0.0);
    assert_eq!((count("added"), count("removed")), (1.0, 1.0));
    assert!(count("touched") >= 1.0 && count("failed") >= 2.0);
}
