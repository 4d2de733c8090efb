//! Hooks that were written for other servers receive the same requests from this one, from the first to the last.

use serde_json::Value;
use testkit::{Clip, Nginx, Process, Publisher, Server, Tool};

use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::{DEADLINE, play_url, take, wait_for_stream, wait_until};

/// Plays two seconds with ffmpeg.
fn play(url: &str) {
    let played = Tool::ffmpeg()
        .args(["-rw_timeout", "20000000", "-i", url, "-t", "2"])
        .args(["-c", "copy", "-f", "null", "-"])
        .finish(DEADLINE);
    assert!(played.status.success(), "{url}: {}", played.stderr);
}

/// Decodes a form's fields, in order. The number of a client differs between the servers, and so does the port.
fn fields(form: &str) -> Vec<(String, String)> {
    let fields = form.split('&').map(|field| {
        let (name, value) = field.split_once('=').unwrap();
        let value = decoded(value);
        match name {
            "clientid" => (
                name.to_owned(),
                value.parse::<u64>().map(|_| String::new()).unwrap(),
            ),
            "tcurl" => (name.to_owned(), without_port(&value)),
            // These values depend on the client, on the clock, and on the media.
            "epoch" | "time" | "timestamp" => (
                name.to_owned(),
                value.parse::<u32>().map(|_| String::new()).unwrap(),
            ),
            _ => (name.to_owned(), value),
        }
    });
    fields.collect()
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

fn without_port(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let host = authority.split(':').next().unwrap();
    format!("{scheme}://{host}/{path}")
}

/// Returns the value of a field.
fn field<'a>(form: &'a str, name: &str) -> &'a str {
    let mut fields = form.split('&').filter_map(|field| field.split_once('='));
    fields.find(|(key, _)| *key == name).unwrap().1
}

/// Returns the forms of these calls that the hook has received, in this order.
fn forms<const N: usize>(hook: &Hook, calls: [&str; N]) -> [String; N] {
    let find = |call: &str| {
        let mut asked = hook.asked().into_iter();
        // The order in which the two connect is left to chance.
        let is_meant = |form: &String| call != "connect" || form.contains("flashver=LNX");
        asked.find(|form| field(form, "call") == call && is_meant(form))
    };
    wait_until("all calls", || {
        calls.iter().all(|call| find(call).is_some())
    });
    calls.map(|call| find(call).unwrap())
}

#[test]
fn one_of_nginx_rtmp_sees_the_same_requests() {
    const CALLS: [&str; 5] = ["connect", "publish", "play", "play_done", "publish_done"];
    let (of_nginx, of_ours) = (Hook::start(), Hook::start());
    let url = of_nginx.url("nginx-rtmp");
    let ended = of_nginx.url("ended");
    let nginx = Nginx::of_server(
        &format!("on_connect {ended};"),
        &format!("on_publish {url}; on_play {url}; on_publish_done {ended}; on_play_done {ended};"),
    );
    let other = of_ours.url("ended");
    let keys = format!(
        "dialect = \"nginx-rtmp\"\nhost = \"127.0.0.1\"\nconnect_url = \"{other}\"\nend_url = \"{other}\""
    );
    let server = of_ours.serve("nginx-rtmp", &keys);
    let clip = Clip::Flv.seconds(60);
    let query = format!("?key={KNOWN}&x=a%20b");
    let play_query = format!("?token={KNOWN}");
    let seen = [(nginx.addr(), &of_nginx), (server.addr("rtmp"), &of_ours)].map(|(addr, hook)| {
        let mut show = Publisher::Ffmpeg.start(&clip, &format!("rtmp://{addr}/live/show{query}"));
        play(&format!("rtmp://{addr}/live/show{play_query}"));
        show.kill();
        forms(hook, CALLS)
    });
    let [expected, ours] = seen;
    for (expected, ours) in expected.iter().zip(&ours) {
        assert_eq!(fields(ours), fields(expected));
    }
    let [_, publish, play, play_done, publish_done] = &ours;
    let client = |form| field(form, "clientid");
    assert_eq!(client(publish), client(publish_done));
    assert_eq!(client(play), client(play_done));
    assert_ne!(client(publish), client(play));
}

#[test]
fn one_of_nginx_rtmp_learns_of_what_continues_and_ends_it() {
    const CALLS: [&str; 2] = ["update_publish", "update_play"];
    let (of_nginx, of_ours) = (Hook::start(), Hook::start());
    let (url, update) = (of_nginx.url("nginx-rtmp"), of_nginx.url("ongoing"));
    let nginx = Nginx::with(&format!(
        "on_publish {url}; on_play {url}; on_update {update}; notify_update_timeout 1s;"
    ));
    let update = of_ours.url("ongoing");
    let keys = format!(
        "dialect = \"nginx-rtmp\"\nhost = \"127.0.0.1\"\nupdate_url = \"{update}\"\nupdate_every = \"1s\""
    );
    let server = of_ours.serve("nginx-rtmp", &keys);
    let clip = Clip::Flv.seconds(120);
    let seen = [(nginx.addr(), &of_nginx), (server.addr("rtmp"), &of_ours)].map(|(addr, hook)| {
        let url = format!("rtmp://{addr}/live/show?key={KNOWN}");
        let mut show = Publisher::Ffmpeg.start(&clip, &url);
        wait_until("the publisher", || {
            hook.asked()
                .iter()
                .any(|form| field(form, "call") == "publish")
        });
        let mut player = take(&url, &[]);
        let forms = forms(hook, CALLS);
        assert!(show.is_running() && player.is_running());
        hook.revoke();
        player.wait(DEADLINE);
        assert!(!show.wait(DEADLINE).success(), "{}", show.stderr());
        forms
    });
    let [expected, ours] = seen;
    for (expected, ours) in expected.iter().zip(&ours) {
        assert_eq!(fields(ours), fields(expected));
    }
    wait_until("the publisher's end", || streams(&server).is_empty());
}

#[test]
fn ours_learns_of_listeners_over_http_and_ends_them() {
    let hook = Hook::start();
    let update = hook.url("ongoing");
    let keys = format!("update_url = \"{update}\"\nupdate_every = \"1s\"");
    let server = hook.serve("carillon", &keys);
    let _show = Publisher::Ffmpeg.start(
        &Clip::Flv.seconds(120),
        &server.rtmp_url("live/show", testkit::PUBLISH_KEY),
    );
    wait_for_stream(&server, "live/show");
    let mut listener = server.listen(&format!("/live/show.flv?key={KNOWN}"));
    assert_eq!(listener.status(), 200);
    let updates = || {
        let asked = hook.asked().into_iter();
        asked
            .filter(|body| body.contains("_update\""))
            .collect::<Vec<_>>()
    };
    wait_until("two updates", || updates().len() >= 2);
    assert_eq!(server.metrics().sum("carillon_listeners", &[]), 1.0);
    hook.revoke();
    listener.read_to_end(DEADLINE);
    assert!(listener.ended());
    // A key permits without the hook, so the hook receives no updates about the publisher.
    assert_eq!(streams(&server), ["live/show"]);
    assert!(updates().iter().all(|body| body.contains("play_update")));
}

/// Returns the names of the present streams.
fn streams(server: &Server) -> Vec<String> {
    let streams = server.api("streams")["streams"].clone();
    let names = streams.as_array().unwrap().iter();
    names
        .map(|stream| stream["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_stream_is_published_and_played_under_the_name_that_the_hook_says() {
    let hook = Hook::start();
    let server = hook.serve("renaming", "dialect = \"nginx-rtmp\"");
    let clip = Clip::Flv.seconds(60);
    let publish = || {
        Publisher::Ffmpeg.start(
            &clip,
            &format!("rtmp://{}/live/secret-name", server.addr("rtmp")),
        )
    };
    let _show = publish();
    wait_for_stream(&server, "live/public");
    assert_eq!(streams(&server), ["live/public"]);
    for name in ["public", "alias"] {
        play(&format!("rtmp://{}/live/{name}", server.addr("rtmp")));
        play(&server.http_url(&format!("/live/{name}.flv")));
    }
    // The addresses in playlists would be those of the other stream.
    let list = |name: &str| server.get(&format!("/live/{name}/index.m3u8")).status;
    assert_eq!((list("public"), list("alias")), (200, 404));
    // One secret identifies one publisher, which may come back at once.
    let before = epoch(&server);
    let _again = publish();
    wait_until("the publisher to be back", || epoch(&server) > before);
    assert_eq!(streams(&server), ["live/public"]);
}

fn epoch(server: &Server) -> u64 {
    server.api("streams")["streams"][0]["epoch"]
        .as_u64()
        .unwrap()
}

/// Starts a listener of each protocol.
fn listeners(server: &Server) -> Vec<Process> {
    let urls = [
        play_url(server, "live/show"),
        server.http_url("/live/show.flv"),
        server.http_url("/live/show/index.m3u8"),
    ];
    let start = |url| take(&format!("{url}?key={KNOWN}"), &[]);
    urls.into_iter().map(start).collect()
}

#[test]
fn each_end_is_reported_once() {
    let hook = Hook::start();
    let end_url = hook.url("ended");
    // Without the cache, each playlist would be another request to the hook, and so another beginning without an end.
    let keys = format!("end_url = \"{end_url}\"\ncache = \"1m\"");
    let server = hook.serve("carillon", &keys);
    let mut show =
        Publisher::Ffmpeg.start(&Clip::Flv.seconds(60), &server.rtmp_url("live/show", KNOWN));
    wait_for_stream(&server, "live/show");
    let mut players = listeners(&server);
    let reported = |action: &str| -> Vec<Value> {
        let bodies = hook.asked();
        let parsed = bodies
            .iter()
            .map(|body| serde_json::from_str(body).unwrap());
        parsed
            .filter(|reported: &Value| reported["action"] == action)
            .collect()
    };
    wait_until("the listeners", || {
        server.metrics().sum("carillon_listeners", &[]) >= 3.0
    });
    assert!(reported("play_ended").is_empty() && reported("publish_ended").is_empty());
    for player in &mut players {
        player.kill();
    }
    wait_until("their ends", || reported("play_ended").len() >= 3);
    show.kill();
    wait_until("the end of the stream", || {
        !reported("publish_ended").is_empty()
    });
    let ends = reported("play_ended");
    let mut protocols: Vec<_> = ends
        .iter()
        .map(|end| end["protocol"].as_str().unwrap())
        .collect();
    protocols.sort_unstable();
    assert_eq!(protocols, ["hls", "http", "rtmp"]);
    assert!(
        ends.iter()
            .all(|end| end["seconds"].as_f64().unwrap() > 0.0)
    );
    let began = reported("publish");
    assert_eq!(reported("publish_ended").len(), 1);
    assert_eq!(reported("publish_ended")[0]["id"], began[0]["id"]);
    assert!(ends.len() == 3 && reported("play_ended").len() == 3);
}
