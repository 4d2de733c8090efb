//! Server with something at each address that can last, and an audience at all of them.

use std::fs;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testkit::hls::MediaPlaylist;
use testkit::http::{self, Listener};
use testkit::{Clip, Process, Server, Tool};

use crate::support::aiortc::Viewer;
use crate::support::guarded::{LINK_SECRET, OF_FILE, write_keys};
use crate::support::session_log::lines;
use crate::support::{
    DEADLINE, connect_from, remux, repeat_icecast, repeat_rtmp, take, wait_until,
};

/// Longest time from the end of a permission until its sessions are over.
const WITHIN: Duration = Duration::from_secs(5);

/// Resolution of ends, which are given in whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// Length of the film in seconds: longer than any end is waited for, at twice its speed and beyond what sockets hold.
const FILM_SECONDS: u32 = 300;

/// Seconds that are recorded before a client listens.
const RECORDED_SECONDS: f64 = 8.0;

/// Addresses of bodies, and further header fields of their requests.
const BODIES: [(&str, &str); 5] = [
    ("/live/show.flv?", ""),
    ("/radio.mp3?", "Icy-MetaData: 1\r\n"),
    (
        "/live/show.mp4?",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    ),
    ("/live/show.flv?at=-1s&", CLOSE),
    ("/vod/film.mp4?", CLOSE),
];

/// Addresses of bodies that are available at once, and last for as long as their client reads.
const UNREAD: [&str; 2] = [
    "/live/show/clip.mp4?from=-8s&to=-1s&",
    "/live/show/recordings/{id}.mp4?",
];

/// Address of the titles of a stream that needs a credential and is in no list. A client that receives titles is no listener.
const TITLES: &str = "/radio.mp3/titles?";

/// Playlists that are requested again and again: a viewer is present as long as it sends requests. The first two are one
/// viewer's.
const PLAYLISTS: [&str; 5] = [
    "/live/show/hls/live.m3u8?",
    "/live/show/hls/dvr.m3u8?",
    "/vod/film.mp4/index.m3u8?",
    "/live/show/recordings/{id}/index.m3u8?",
    SEALED,
];

/// Playlist of an encrypted stream, and the folder of its keys.
const SEALED: &str = "/live/sealed/aes/live.m3u8?";
const KEYS: &str = "/live/sealed/aes/";

/// Address of a still, which is one reply.
const STILL: &str = "/live/show/still.mp4?";

const NAMES: [&str; 2] = ["live/show", "vod/mp4:film.mp4"];

/// Formats of all listed sessions.
const LISTED: [&str; 14] = [
    "file",
    "file",
    "flv",
    "icy",
    "mp4",
    "recorded",
    "recorded",
    "recorded",
    "recorded-hls",
    "recorded-hls",
    "rtmp",
    "rtp",
    "segments",
    "ts-encrypted",
];

const CLOSE: &str = "Connection: close\r\n";

/// Server with an audience; call [`admit`](Self::admit), end the permission, then call [`assert_ended`](Self::assert_ended).
pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    id: String,
    /// Whether everything needs a credential.
    is_closed: bool,
    _publishers: [Process; 3],
}

/// Clients of all addresses.
pub(crate) struct Audience {
    /// Threads that read for as long as media arrives, and return the time of the end.
    bodies: Vec<(&'static str, JoinHandle<Instant>)>,
    unread: Vec<Listener>,
    players: Vec<Process>,
    _viewer: Viewer,
    /// Addresses that are requested again and again, until they are refused.
    asked: Vec<String>,
    /// Query that admits the clients.
    query: String,
}

impl House {
    /// Starts a server on which listeners need a credential; `more` is further configuration.
    pub(crate) fn closed(more: &str) -> Self {
        Self::with("key", more)
    }

    /// Starts a server on which nobody needs a credential.
    pub(crate) fn open() -> Self {
        Self::with("open", "")
    }

    fn with(play: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let films = folder.path().join("films");
        fs::create_dir(&films).unwrap();
        let (clip, film) = (Clip::Flv.seconds(FILM_SECONDS), films.join("film.mp4"));
        remux(Tool::ffmpeg(), &clip, "", &film);
        write_keys(&folder.path().join("keys.toml"), OF_FILE);
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let server = Server::builder()
            .set("auth", "play", &format!("{play:?}"))
            .set("auth", "keys_file", &path("keys.toml"))
            .set("log", "sessions", &path("sessions"))
            .set("limits", "listeners", &LISTED.len().to_string())
            .set("hls", "dvr", "\"1m\"")
            .set("hls", "dvr_directory", &path("dvr"))
            .set("recording", "directory", &path("recorded"))
            .set("recording", "min_free", "\"0B\"")
            .toml(&format!(
                "[auth.link]\nsecret = \"{LINK_SECRET}\"\n[[record]]\nmatch = \"live/show\"\n\
                 [[stream]]\nmatch = \"radio.mp3\"\npublic = false\n\
                 [[stream]]\nmatch = \"live/sealed\"\nencryption = true\ndvr = \"0s\"\n\
                 [[files]]\npath = \"vod\"\ndirectory = {}\n{more}",
                path("films")
            ))
            .start();
        let publishers = [
            repeat_rtmp(&server, Clip::Flv, "live/show"),
            repeat_rtmp(&server, Clip::Flv, "live/sealed"),
            repeat_icecast(&server, Clip::Mp3, "radio.mp3"),
        ];
        let mut id = String::new();
        wait_until("some seconds of a recording", || {
            let all = server.api("recordings");
            let one = &all["recordings"][0];
            id = one["id"].as_str().unwrap_or_default().to_owned();
            one["seconds"].as_f64() >= Some(RECORDED_SECONDS)
        });
        Self {
            server,
            folder,
            id,
            is_closed: play == "key",
            _publishers: publishers,
        }
    }

    /// Starts a client at each address, and waits until all are listed and counted, and take all the places that there are.
    pub(crate) fn admit(&self, query: &str) -> Audience {
        let mut viewer = Viewer::of(u64::MAX);
        viewer.watch(&self.server, &format!("/live/show/whep?{query}"));
        let titles = self.is_closed.then_some((TITLES, CLOSE));
        let bodies = BODIES.into_iter().chain(titles);
        let bodies = bodies.map(|(path, headers)| (path, self.listen(path, headers, query)));
        let players = NAMES.map(|name| {
            let url = format!("rtmp://{}/{name}?{query}", self.server.addr("rtmp"));
            take(&url, &[])
        });
        let mut asked: Vec<_> = PLAYLISTS.map(|path| self.path(path) + query).into();
        asked.push(self.key(query));
        let audience = Audience {
            bodies: bodies.collect(),
            unread: UNREAD.map(|path| self.leave_unread(path, query)).into(),
            players: players.into(),
            _viewer: viewer,
            asked,
            query: query.to_owned(),
        };
        assert_eq!(self.status(&(STILL.to_owned() + query)), 200);
        wait_until("all of them in the books", || {
            for path in &audience.asked {
                assert_eq!(self.status(path), 200, "{path}");
            }
            let listed = self.listed();
            let mut formats: Vec<_> = listed
                .iter()
                .map(|one| one["format"].as_str().unwrap())
                .collect();
            formats.sort_unstable();
            formats == LISTED
        });
        let counted = self.server.metrics().sum("carillon_listeners", &[]);
        assert_eq!(counted as usize, LISTED.len());
        assert_eq!(self.status(&format!("/radio.mp3?{query}")), 503);
        audience
    }

    fn listen(&self, path: &str, headers: &str, query: &str) -> JoinHandle<Instant> {
        let addr = self.server.addr("http");
        let request = format!("GET {path}{query} HTTP/1.1\r\nHost: {addr}\r\n{headers}\r\n");
        let mut body = Listener::send(addr, request.as_bytes());
        assert!([101, 200].contains(&body.status()), "{path}: {body:?}");
        thread::spawn(move || {
            body.read_to_end(2 * DEADLINE);
            Instant::now()
        })
    }

    /// Starts a client that reads the head of a reply, and hardly more: by a wide connection the system would take all of a clip.
    fn leave_unread(&self, path: &str, query: &str) -> Listener {
        let addr = self.server.addr("http");
        let socket = connect_from([127, 0, 0, 1], addr, true).unwrap();
        let path = self.path(path) + query;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n{CLOSE}\r\n");
        let body = Listener::over(socket, request.as_bytes());
        assert_eq!(body.status(), 200, "{path}");
        body
    }

    /// Returns the address of a key, from the playlist.
    fn key(&self, query: &str) -> String {
        let mut path = None;
        wait_until("a key", || {
            let playlist = http::get(
                self.server.addr("http"),
                &(SEALED.to_owned() + query),
                DEADLINE,
            );
            let playlist = MediaPlaylist::parse(&playlist.text());
            let key = playlist
                .ok()
                .and_then(|it| it.segments.first()?.key.clone());
            path = key.map(|key| format!("{KEYS}{}", key.uri));
            path.is_some()
        });
        path.unwrap()
    }

    /// Returns a path of the recording.
    fn path(&self, path: &str) -> String {
        path.replace("{id}", &self.id)
    }

    fn status(&self, path: &str) -> u16 {
        http::get(self.server.addr("http"), path, DEADLINE).status
    }

    pub(crate) fn listed(&self) -> Vec<Value> {
        let listed = self.server.api("listeners");
        listed["listeners"].as_array().unwrap().clone()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// Asserts that all clients are cut off, within seconds of `end` and none before, and that each listener has its session in
    /// the log. `again` is the status of a new request.
    pub(crate) fn assert_ended(&self, mut audience: Audience, end: Instant, again: u16) {
        let all = self.left(&mut audience).len();
        let mut count = usize::MAX;
        wait_until("all of it to end", || {
            let left = self.left(&mut audience);
            let is_early = Instant::now() + SECOND < end;
            assert!(
                left.len() == all || !is_early,
                "of {all} only {left:?} go on"
            );
            if left.len() < count {
                count = left.len();
                println!("{:?} after the end: {left:?}", end.elapsed());
            }
            let is_late = end.elapsed() > WITHIN;
            assert!(left.is_empty() || !is_late, "{left:?} go on");
            left.is_empty()
        });
        for (path, ended) in audience.bodies {
            let ended = ended.join().expect("an end");
            assert!(ended + SECOND >= end, "{path} ended too early");
        }
        for mut body in audience.unread {
            body.read_to_end(DEADLINE);
            let whole = body.header("content-length").unwrap().parse().unwrap();
            assert!(body.body().len() < whole, "all {whole} bytes were sent");
        }
        assert_eq!(self.status(&(STILL.to_owned() + &audience.query)), again);
        wait_until("the sessions", || {
            lines(&self.log(), "session").len() == LISTED.len()
        });
        for line in lines(&self.log(), "session") {
            assert_eq!(line["reason"], "kicked", "{line}");
            assert!(
                line["bytes"].as_u64() > Some(0) || line["protocol"] == "hls",
                "{line}"
            );
        }
    }

    /// Returns the sessions that still last.
    fn left(&self, audience: &mut Audience) -> Vec<String> {
        let bodies = audience
            .bodies
            .iter()
            .filter(|(_, body)| !body.is_finished());
        let mut left: Vec<_> = bodies.map(|(path, _)| (*path).to_owned()).collect();
        let players = audience.players.iter_mut().zip(NAMES);
        let players = players.filter_map(|(player, name)| player.is_running().then_some(name));
        left.extend(players.map(|name| format!("rtmp {name}")));
        // One refusal is enough: a client that sends a wrong key too often gets another reply.
        let is_refused = |path: &String| [401, 403].contains(&self.status(path));
        audience.asked.retain(|path| !is_refused(path));
        left.extend_from_slice(&audience.asked);
        let listed = self.listed();
        left.extend(listed.iter().map(|one| format!("listed {}", one["format"])));
        left
    }
}
