//! At every address that can last, what goes on by a permission is in the books, and ends with it: when its time is over,
//! when its key is removed, when an operator removes the listener, and when the hook does not permit it any more.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;
use testkit::http::{self, Listener};
use testkit::{Clip, Process, Server, Tool, wait_until};

use crate::support::guarded::{LINK_SECRET, OF_FILE, write_keys};
use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::session_log::lines;
use crate::support::{DEADLINE, repeat_icecast, repeat_rtmp, wait_for_stream};

/// Longer than any end is waited for, at twice its speed and beyond what sockets hold.
const FILM_SECONDS: u32 = 300;

/// The addresses of bodies: what follows the path, what else the request says, and as what the books have its listener.
const BODIES: [(&str, &str, &str); 5] = [
    ("/live/show.flv?", "", "flv"),
    ("/radio.mp3?", "Icy-MetaData: 1\r\n", "icy"),
    (
        "/live/show.mp4?",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "mp4",
    ),
    (
        "/live/show.flv?at=-1s&",
        "Connection: close\r\n",
        "recorded",
    ),
    ("/vod/film.mp4?", "Connection: close\r\n", "file"),
];

/// The playlists: a viewer is there as long as it asks.
const PLAYLISTS: [(&str, &str); 3] = [
    ("/live/show/index.m3u8?", "segments"),
    ("/vod/film.mp4/index.m3u8?", "recorded-hls"),
    ("/live/show/recordings/{id}/index.m3u8?", "recorded-hls"),
];

/// The names over RTMP.
const NAMES: [(&str, &str); 2] = [("live/show", "rtmp"), ("vod/mp4:film.mp4", "recorded")];

/// A server with something at each address.
struct House {
    server: Server,
    folder: TempDir,
    playlists: Vec<String>,
    _publishers: [Process; 2],
}

/// Those who listen.
struct Audience {
    bodies: Vec<Listener>,
    players: Vec<Process>,
    /// The query that lets them in.
    query: String,
}

impl House {
    fn open(auth: &[(&str, &str)], more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let films = folder.path().join("films");
        fs::create_dir(&films).unwrap();
        let _ = Tool::ffmpeg()
            .args(["-y", "-i"])
            .arg(Clip::Flv.seconds(FILM_SECONDS))
            .args(["-c", "copy"])
            .arg(films.join("film.mp4"))
            .run(DEADLINE);
        write_keys(&folder.path().join("keys.toml"), OF_FILE);
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let mut server = Server::builder()
            .set("auth", "keys_file", &path("keys.toml"))
            .set("log", "sessions", &path("sessions"))
            .set("recording", "directory", &path("recorded"))
            .set("recording", "min_free", "\"0B\"")
            .toml(&format!(
                "[auth.link]\nsecret = \"{LINK_SECRET}\"\n[[record]]\nmatch = \"live/*\"\n\
                 [[files]]\npath = \"vod\"\ndirectory = {}\n{more}",
                path("films")
            ));
        for (key, value) in auth {
            server = server.set("auth", key, value);
        }
        let server = server.start();
        let publishers = [
            repeat_rtmp(&server, Clip::Flv, "live/show"),
            repeat_icecast(&server, Clip::Mp3, "radio.mp3"),
        ];
        wait_for_stream(&server, "live/show");
        wait_for_stream(&server, "radio.mp3");
        let mut id = String::new();
        wait_until("two seconds of a recording", DEADLINE, || {
            let all = server.api("recordings");
            let one = &all["recordings"][0];
            id = one["id"].as_str().unwrap_or_default().to_owned();
            one["seconds"].as_f64() >= Some(2.0)
        });
        let playlists = PLAYLISTS.map(|(path, _)| path.replace("{id}", &id));
        Self {
            server,
            folder,
            playlists: playlists.into(),
            _publishers: publishers,
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// Has someone listen at each address.
    fn admit(&self, query: &str) -> Audience {
        let addr = self.server.addr("http");
        let bodies = BODIES.map(|(path, headers, _)| {
            let request = format!("GET {path}{query} HTTP/1.1\r\nHost: {addr}\r\n{headers}\r\n");
            let body = Listener::send(addr, request.as_bytes());
            assert!(
                [101, 200].contains(&body.status()),
                "{path}: {}",
                body.status()
            );
            body
        });
        let players = NAMES.map(|(name, _)| {
            let url = format!("rtmp://{}/{name}?{query}", self.server.addr("rtmp"));
            Tool::ffmpeg()
                .args(["-re", "-i", &url, "-c", "copy", "-f", "null", "-"])
                .start()
        });
        let audience = Audience {
            bodies: bodies.into(),
            players: players.into(),
            query: query.to_owned(),
        };
        assert_eq!(self.playlists(&audience), [200; 3]);
        audience
    }

    /// What the viewers of the playlists are answered.
    fn playlists(&self, audience: &Audience) -> Vec<u16> {
        let all = self.playlists.iter().map(|path| {
            let path = format!("{path}{}", audience.query);
            http::get(self.server.addr("http"), &path, DEADLINE).status
        });
        all.collect()
    }

    fn listed(&self) -> Vec<Value> {
        let listed = self.server.api("listeners");
        listed["listeners"].as_array().unwrap().clone()
    }

    /// Waits until all are in the books, and those who ask for pieces still ask.
    fn wait_until_all_are_listed(&self, audience: &Audience) {
        let bodies = BODIES.map(|(_, _, format)| format);
        let playlists = PLAYLISTS.map(|(_, format)| format);
        let names = NAMES.map(|(_, format)| format);
        let mut expected: Vec<_> = bodies.into_iter().chain(playlists).chain(names).collect();
        expected.sort_unstable();
        wait_until("all of them in the books", DEADLINE, || {
            let _ = self.playlists(audience);
            let listed = self.listed();
            let formats = listed.iter().map(|one| one["format"].as_str().unwrap());
            let mut formats: Vec<_> = formats.collect();
            formats.sort_unstable();
            formats == expected
        });
    }

    /// Asserts that they are cut off, wherever they are, and that each has its session.
    fn assert_ended(&self, mut audience: Audience) {
        // All at once: who does not read is dropped for that.
        thread::scope(|scope| {
            for (body, (path, ..)) in audience.bodies.iter_mut().zip(BODIES) {
                scope.spawn(move || {
                    body.read_to_end(DEADLINE);
                    assert!(body.ended(), "{path}");
                });
            }
        });
        for player in &mut audience.players {
            player.wait(DEADLINE);
        }
        wait_until("no playlist any more", DEADLINE, || {
            self.playlists(&audience) == [403; 3]
        });
        wait_until("nobody in the books", DEADLINE, || self.listed().is_empty());
        let count = BODIES.len() + PLAYLISTS.len() + NAMES.len();
        wait_until("the sessions", DEADLINE, || {
            lines(&self.log(), "session").len() == count
        });
        for line in lines(&self.log(), "session") {
            assert_eq!(line["reason"], "kicked", "{line}");
            assert!(
                line["bytes"].as_u64() > Some(0) || line["protocol"] == "hls",
                "{line}"
            );
        }
    }
}

#[test]
fn with_the_link() {
    let house = House::open(&[("play", "\"key\"")], "");
    let config = house.folder.path().join("sign.toml");
    fs::write(
        &config,
        format!("[auth.link]\nsecret = \"{LINK_SECRET}\"\n"),
    )
    .unwrap();
    let printed = Tool::carillon()
        .args(["sign", "play", "live/show", "--match", "**", "--for", "20s"])
        .arg("--config")
        .arg(&config)
        .run(DEADLINE);
    let printed = String::from_utf8(printed).unwrap();
    let token = printed.lines().find_map(|line| line.strip_prefix("token"));
    let audience = house.admit(&format!("link={}", token.expect(&printed).trim()));
    house.wait_until_all_are_listed(&audience);
    house.assert_ended(audience);
}

#[test]
fn with_the_key() {
    let house = House::open(&[("play", "\"key\"")], "");
    let audience = house.admit(&format!("key={OF_FILE}"));
    house.wait_until_all_are_listed(&audience);
    write_keys(
        &house.folder.path().join("keys.toml"),
        "the-next-key-8830-bob",
    );
    house.assert_ended(audience);
}

#[test]
fn by_the_operator() {
    let house = House::open(&[], "");
    let audience = house.admit("");
    house.wait_until_all_are_listed(&audience);
    for one in house.listed() {
        let url = format!(
            "http://{}/api/v1/listeners/{}",
            house.server.addr("admin"),
            one["id"]
        );
        Tool::new("curl")
            .args(["-sf", "-X", "DELETE", &url])
            .run(DEADLINE);
    }
    house.assert_ended(audience);
}

#[test]
fn with_the_hook() {
    let hook = Hook::start();
    let (url, update) = (hook.url("carillon"), hook.url("ongoing"));
    let more = format!(
        "[auth.hook]\nurl = \"{url}\"\nasks = \"play\"\nupdate_url = \"{update}\"\nupdate_every = \"1s\"\n"
    );
    let house = House::open(&[], &more);
    let audience = house.admit(&format!("key={KNOWN}"));
    house.wait_until_all_are_listed(&audience);
    hook.revoke();
    house.assert_ended(audience);
}
