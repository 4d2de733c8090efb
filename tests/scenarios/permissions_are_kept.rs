//! Each kind of credential opens what it is for, over each protocol, and nothing else; what it permits ends when it does; and
//! the server's logs have none of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tempfile::TempDir;
use testkit::http::Listener;
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, wait_until};

use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};
use crate::token_issuer::{Issuer, SECRET, later};

/// For the streams of `other/`, where nothing is.
const ELSEWHERE: &str = "elsewhere-key-5512";
const WRONG: &str = "guess-at-the-key-90";
const PLAIN: &str = "plain-key-7741-van";
const OF_FILE: &str = "of-the-file-3390-ann";
const HASHED: &str = "open-sesame-41";
/// Of [`HASHED`].
const HASH: &str = include_str!("../../crates/authority/src/hash.phc");
const LINK_SECRET: &str = "an-hmac-secret-of-32-characters!";

/// A server that knows every kind of credential, and logs all that it logs.
struct Guarded {
    server: Server,
    folder: TempDir,
}

impl Guarded {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys.toml");
        write_keys(&keys, OF_FILE);
        let config = format!(
            "[[auth.key]]\nname = \"van\"\nkey = \"{PLAIN}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n\
             [[auth.key]]\nname = \"hashed\"\nkey = \"{}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n\
             [[auth.key]]\nname = \"elsewhere\"\nkey = \"{ELSEWHERE}\"\nmatch = \"other/*\"\nscopes = [\"publish\", \"play\"]\n\
             {LINKS}[auth.jwt]\nsecret = \"{SECRET}\"\n",
            HASH.trim()
        );
        let log = folder.path().join("log");
        fs::write(&log, "").unwrap();
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let server = Server::builder()
            .set("auth", "play", "\"key\"")
            .set("auth", "keys_file", &path("keys.toml"))
            .set("ingest", "linger", "\"0s\"")
            .set("log", "level", "\"trace\"")
            .set("log", "access", &path("access"))
            .toml(&config)
            .log_to(&log)
            .start();
        Self { server, folder }
    }

    /// A link that `carillon sign` makes.
    fn sign(&self, arguments: &[&str]) -> String {
        let config = self.folder.path().join("sign.toml");
        fs::write(&config, LINKS).unwrap();
        let printed = Tool::carillon()
            .arg("sign")
            .arg("--config")
            .arg(&config)
            .args(arguments)
            .run(DEADLINE);
        let printed = String::from_utf8(printed).unwrap();
        let token = printed.lines().find_map(|line| line.strip_prefix("token"));
        token.expect(&printed).trim().to_owned()
    }

    /// What is written of all this.
    fn logs(&self) -> String {
        let read = |name| fs::read(self.folder.path().join(name)).unwrap();
        let both = [read("log"), read("access")].concat();
        String::from_utf8_lossy(&both).into_owned()
    }

    /// Whether ffmpeg gets to publish a clip at an address.
    fn publishes(&self, clip: Clip, url: &str, stream: &str) -> bool {
        let content_type = ["-content_type", clip.content_type()];
        let mut publisher = Tool::ffmpeg()
            .args(["-re", "-i"])
            .arg(clip.seconds(30))
            .args(["-c", "copy", "-f", clip.format()])
            .args(content_type.into_iter().filter(|_| url.starts_with("ice")))
            .arg(url)
            .start();
        self.is_there(stream, &mut publisher)
    }

    fn is_there(&self, stream: &str, publisher: &mut Process) -> bool {
        let mut is_there = false;
        wait_until("the stream, or a refusal", DEADLINE, || {
            let streams = self.server.api("streams").to_string();
            is_there = streams.contains(&format!("\"{stream}\""));
            is_there || !publisher.is_running()
        });
        is_there
    }

    /// The status that curl sees, and the challenge.
    fn curl(&self, path: &str, arguments: &[&str]) -> (u16, String) {
        let printed = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "-w"])
            .arg("%{http_code} %header{www-authenticate}")
            .args(arguments)
            .arg(self.server.http_url(path))
            .finish(DEADLINE);
        let printed = String::from_utf8(printed.stdout).unwrap();
        let (status, challenge) = printed.split_once(' ').unwrap();
        (status.parse().unwrap(), challenge.to_owned())
    }

    /// The status of a listener that takes the first bytes only, and so is no player that has to be stopped.
    fn first_bytes(&self, path: &str, arguments: &[&str]) -> u16 {
        self.curl(path, &[&["-r", "0-1"], arguments].concat()).0
    }

    /// The status of an offer that is none: what is asked first is the gate.
    fn offers(&self, path: &str, arguments: &[&str]) -> u16 {
        let offer = [
            "-X",
            "POST",
            "-H",
            "Content-Type: application/sdp",
            "-d",
            "v=0",
        ];
        self.curl(path, &[&offer, arguments].concat()).0
    }

    /// Whether ffprobe finds pictures.
    fn shows(&self, url: &str) -> bool {
        let probed = Tool::ffprobe()
            .args(["-show_entries", "stream=codec_name", "-of", "csv=p=0"])
            .arg(url)
            .finish(DEADLINE);
        String::from_utf8_lossy(&probed.stdout).contains("h264")
    }

    fn rtmp(&self, stream: &str, query: &str) -> String {
        format!("rtmp://{}/{stream}?{query}", self.server.addr("rtmp"))
    }
}

/// A token for all streams of `live/` and for mounts, which ends so many seconds from now.
fn token(seconds: i64) -> String {
    let permissions = json!([{"do": ["publish", "play"], "on": ["live/*", "radio*"]}]);
    let claims = json!({"sub": "ann", "exp": later(seconds), "carillon": permissions});
    Issuer::start().sign("secret", "HS256", &claims, &json!({}))
}

const LINKS: &str = "[auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n";

fn write_keys(path: &Path, key: &str) {
    let new = path.with_extension("new");
    let text = format!(
        "[[key]]\nname = \"ann\"\nkey = \"{key}\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n"
    );
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(new, path).unwrap();
}

/// Asserts that none of these is in the logs.
fn assert_secret(guarded: &Guarded, secrets: &[String]) {
    let logs = guarded.logs();
    assert!(logs.contains("live/show"), "they are the logs of this run");
    for secret in secrets {
        assert!(!logs.contains(secret), "{secret} is in the logs");
    }
}

#[test]
fn each_kind_permits_over_each_protocol() {
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    let _radio = publish_icecast(&guarded.server, Clip::Mp3, 60, "radio.mp3");
    wait_for_stream(&guarded.server, "live/show");
    wait_for_stream(&guarded.server, "radio.mp3");
    let to_play = guarded.sign(&["play", "live/show", "--for", "1h", "--match", "**"]);
    let to_publish = guarded.sign(&["publish", "live/show", "--for", "1h", "--match", "**"]);
    let own = ("--address", "127.0.0.1");
    let here = guarded.sign(&[
        "play",
        "live/show",
        "--for",
        "1h",
        own.0,
        own.1,
        "--match",
        "*/*",
    ]);

    let token = token(3_600);

    for (number, (kind, parameter, play, publish)) in [
        ("a key", "key", PLAIN, PLAIN),
        ("a hashed key", "key", HASHED, HASHED),
        ("a key of the file", "key", OF_FILE, OF_FILE),
        ("a link", "link", &*to_play, &*to_publish),
        (
            "a link in the place of a key",
            "key",
            &*to_play,
            &*to_publish,
        ),
        ("a token", "jwt", &*token, &*token),
        ("a token in the place of a key", "key", &*token, &*token),
    ]
    .into_iter()
    .enumerate()
    {
        let query = format!("{parameter}={play}");
        let bearer = format!("Authorization: Bearer {play}");
        let basic = format!("user:{play}");
        for header in [["-H", &bearer], ["-u", &basic]] {
            let status = guarded.first_bytes("/live/show.flv", &header);
            assert_eq!(status, 200, "{kind}: FLV");
            let icy = [&["-H", "Icy-MetaData: 1"], &header[..]].concat();
            assert_eq!(guarded.first_bytes("/radio.mp3", &icy), 200, "{kind}: ICY");
        }
        let flv = guarded.server.http_url(&format!("/live/show.flv?{query}"));
        assert!(guarded.shows(&flv), "{kind}: FLV");
        let hls = guarded
            .server
            .http_url(&format!("/live/show/index.m3u8?{query}"));
        assert!(guarded.shows(&hls), "{kind}: HLS, with its segments");
        assert!(
            guarded.shows(&guarded.rtmp("live/show", &query)),
            "{kind}: RTMP"
        );
        let answers = guarded.offers("/live/show/whep", &["-H", &bearer]);
        assert!(
            ![401, 403].contains(&answers),
            "{kind}: WHEP says {answers}"
        );

        let query = format!("{parameter}={publish}");
        let stream = format!("live/{number}");
        let url = guarded.rtmp(&stream, &query);
        assert!(guarded.publishes(Clip::Flv, &url, &stream), "{kind}: RTMP");
        let mount = format!("radio-{number}.mp3");
        let url = guarded.server.icecast_url(&mount, publish);
        assert!(
            guarded.publishes(Clip::Mp3, &url, &mount),
            "{kind}: Icecast"
        );
        let bearer = format!("Authorization: Bearer {publish}");
        let answers = guarded.offers("/live/new/whip", &["-H", &bearer]);
        assert!(
            ![401, 403].contains(&answers),
            "{kind}: WHIP says {answers}"
        );
    }
    let flv = guarded.first_bytes(&format!("/live/show.flv?link={here}"), &[]);
    assert_eq!(flv, 200, "a link for this address");
    let secrets = [
        PLAIN,
        HASHED,
        OF_FILE,
        PUBLISH_KEY,
        LINK_SECRET,
        SECRET,
        &to_play,
        &to_publish,
        &here,
        &token,
    ];
    assert_secret(&guarded, &secrets.map(str::to_owned));
}

#[test]
fn what_is_no_credential_for_it_is_refused_over_each_protocol() {
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&guarded.server, "live/show");
    let elsewhere = guarded.sign(&["play", "other/a", "--for", "1h", "--match", "other/*"]);
    let to_publish = guarded.sign(&["publish", "live/show", "--for", "1h"]);
    let away = ["--address", "192.0.2.7", "--match", "**"];
    let away = guarded.sign(&[&["play", "live/show", "--for", "1h"], &away[..]].concat());
    let over = guarded.sign(&["play", "live/show", "--for", "0s", "--match", "**"]);
    let (past, forged) = (token(-60), format!("{}A", token(60)));

    for (kind, query, status) in [
        ("nothing", String::new(), 401),
        ("a guess", format!("key={WRONG}"), 401),
        ("a key for other streams", format!("key={ELSEWHERE}"), 401),
        ("a link for other streams", format!("link={elsewhere}"), 403),
        ("a link to publish", format!("link={to_publish}"), 403),
        ("a link for another address", format!("link={away}"), 403),
        ("a link that is over", format!("link={over}"), 403),
        ("a token that is over", format!("jwt={past}"), 403),
        (
            "a token with another signature",
            format!("jwt={forged}"),
            401,
        ),
    ] {
        for path in [
            "/live/show.flv",
            "/live/show.ts",
            "/live/show/index.m3u8",
            "/live/show",
        ] {
            let (told, challenge) = guarded.curl(&format!("{path}?{query}"), &["-r", "0-1"]);
            assert_eq!(told, status, "{kind}: {path}");
            let is_basic = challenge.starts_with("Basic ");
            assert_eq!(is_basic, status == 401, "{kind}: {path} {challenge}");
        }
        let whep = guarded.offers(&format!("/live/show/whep?{query}"), &[]);
        assert_eq!(whep, status, "{kind}: WHEP");
        assert!(
            !guarded.shows(&guarded.rtmp("live/show", &query)),
            "{kind}: RTMP"
        );
        let url = guarded.rtmp("live/new", &query);
        let is_published = guarded.publishes(Clip::Flv, &url, "live/new");
        assert!(!is_published, "{kind}: RTMP");
        let whip = guarded.offers(&format!("/live/new/whip?{query}"), &[]);
        // The one to publish is for another stream, which a token without a pattern does not tell from a guess.
        let expected = if query.contains(&to_publish) {
            401
        } else {
            status
        };
        assert_eq!(whip, expected, "{kind}: WHIP");
    }
    for secret in [WRONG, ELSEWHERE, &elsewhere] {
        let url = guarded.server.icecast_url("radio.mp3", secret);
        assert!(!guarded.publishes(Clip::Mp3, &url, "radio.mp3"));
    }
    let secrets = [
        WRONG,
        ELSEWHERE,
        LINK_SECRET,
        &elsewhere,
        &to_publish,
        &away,
        &over,
        &past,
        &forged,
    ];
    assert_secret(&guarded, &secrets.map(str::to_owned));
}

#[test]
fn permissions_end_with_their_links() {
    const LASTS: Duration = Duration::from_secs(8);
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&guarded.server, "live/show");
    let signed = SystemTime::now();
    let play = guarded.sign(&["play", "live/show", "--for", "8s"]);
    let publish = guarded.sign(&["publish", "live/new", "--for", "8s"]);
    let url = guarded.rtmp("live/new", &format!("link={publish}"));
    let mut publisher = Tool::ffmpeg_publish(&Clip::Flv.seconds(60), "flv", &url).start();
    assert!(guarded.is_there("live/new", &mut publisher));
    let path = |path: &str| format!("/live/show{path}?link={play}");
    let mut flv = Listener::get(guarded.server.addr("http"), &path(".flv"));
    assert_eq!(flv.status(), 200);
    let rtmp = guarded.rtmp("live/show", &format!("link={play}"));
    let mut player = Tool::ffmpeg()
        .args(["-i", &rtmp, "-f", "null", "-"])
        .start();
    assert_eq!(guarded.first_bytes(&path("/index.m3u8"), &[]), 200);

    flv.read_to_end(DEADLINE);
    assert!(flv.ended());
    player.wait(DEADLINE);
    assert!(!publisher.wait(DEADLINE).success(), "the publisher is told");
    // Cut to the second when it was signed.
    let lasted = signed.elapsed().unwrap();
    assert!(
        lasted + Duration::from_secs(1) >= LASTS,
        "they ended after {lasted:?}"
    );
    wait_until("HLS refuses as well", DEADLINE, || {
        guarded.first_bytes(&path("/index.m3u8"), &[]) == 403
    });
    let again = Listener::get(guarded.server.addr("http"), &path(".flv"));
    assert_eq!(again.status(), 403);
    assert_secret(&guarded, &[play, publish]);
}

#[test]
fn keys_of_the_file_are_handed_out_and_revoked_without_a_restart() {
    const NEXT: &str = "the-next-key-8830-bob";
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&guarded.server, "live/show");
    let status = |key: &str| guarded.first_bytes(&format!("/live/show.flv?key={key}"), &[]);
    assert_eq!((status(OF_FILE), status(NEXT)), (200, 401));
    let keys = guarded.folder.path().join("keys.toml");
    write_keys(&keys, NEXT);
    wait_until("the new key", DEADLINE, || {
        guarded.logs().matches("the file of keys is read").count() == 2
    });
    assert_eq!((status(OF_FILE), status(NEXT)), (401, 200));
    fs::write(&keys, "[[key]]\nname = 5\n").unwrap();
    wait_until("the error", DEADLINE, || {
        guarded.logs().contains("their file is of no use")
    });
    assert_eq!((status(OF_FILE), status(NEXT)), (401, 200));
    assert_secret(&guarded, &[OF_FILE, NEXT].map(str::to_owned));
}

#[test]
fn what_a_key_of_the_file_has_permitted_ends_when_it_is_removed() {
    let guarded = Guarded::start();
    let server = &guarded.server;
    let publish = |clip: Clip, url: &str, stream: &str| {
        let mut publisher = match clip {
            Clip::Mp3 => Tool::ffmpeg()
                .args(["-re", "-i"])
                .arg(clip.seconds(120))
                .args([
                    "-c",
                    "copy",
                    "-f",
                    "mp3",
                    "-content_type",
                    "audio/mpeg",
                    url,
                ])
                .start(),
            _ => Tool::ffmpeg_publish(&clip.seconds(120), "flv", url).start(),
        };
        assert!(guarded.is_there(stream, &mut publisher), "{stream}");
        publisher
    };
    let by = |key: &str| format!("key={key}");
    let mut show = publish(
        Clip::Flv,
        &guarded.rtmp("live/show", &by(OF_FILE)),
        "live/show",
    );
    let radio = server.icecast_url("radio.mp3", OF_FILE);
    let mut radio = publish(Clip::Mp3, &radio, "radio.mp3");
    let mut other = publish(
        Clip::Flv,
        &guarded.rtmp("live/other", &by(PLAIN)),
        "live/other",
    );
    let addr = server.addr("http");
    let listen = |key: &str| Listener::get(addr, &format!("/live/other.flv?key={key}"));
    let (mut removed, mut kept) = (listen(OF_FILE), listen(PLAIN));
    let mut player = Tool::ffmpeg()
        .args(["-i", &guarded.rtmp("live/other", &by(OF_FILE))])
        .args(["-f", "null", "-"])
        .start();
    let listeners = || server.metrics().sum("carillon_listeners", &[]);
    wait_until("three listeners", DEADLINE, || listeners() == 3.0);

    write_keys(
        &guarded.folder.path().join("keys.toml"),
        "the-next-key-8830-bob",
    );
    removed.read_to_end(DEADLINE);
    assert!(removed.ended());
    player.wait(DEADLINE);
    assert!(!show.wait(DEADLINE).success(), "the publisher is told");
    assert!(!radio.wait(DEADLINE).success(), "the source is told");
    kept.read_bytes(kept.body().len() + 100_000, DEADLINE);
    assert!(other.is_running() && listeners() == 1.0);
    let streams = server.api("streams").to_string();
    assert!(
        streams.contains("live/other") && !streams.contains("live/show"),
        "{streams}"
    );
}

#[test]
fn users_of_a_file_listen_by_their_password() {
    const BCRYPT: &str = "$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users");
    let apr1 = Tool::new("openssl")
        .args(["passwd", "-apr1", HASHED])
        .run(DEADLINE);
    let apr1 = String::from_utf8(apr1).unwrap();
    let write = |text: String| {
        let new = file.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).unwrap();
        fs::rename(new, &file).unwrap();
    };
    write(format!("ann:{BCRYPT}\nbob:{apr1}"));
    let server = Server::builder()
        .set("auth", "play", "\"key\"")
        .toml(&format!(
            "[[auth.htpasswd]]\nfile = {file:?}\nmatch = \"live/*\"\n\
             [[auth.htpasswd]]\nfile = {file:?}\nmatch = \"studio/*\"\nscopes = [\"publish\"]\n"
        ))
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let _other = publish_rtmp(&server, &Clip::Flv.seconds(60), "other/show");
    wait_for_stream(&server, "live/show");
    wait_for_stream(&server, "other/show");
    let status = |user: &str, path: &str| {
        let printed = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-r", "0-1"])
            .args(["-u", user])
            .arg(server.http_url(path))
            .finish(DEADLINE);
        String::from_utf8(printed.stdout).unwrap()
    };
    let (ann, bob) = (format!("ann:{HASHED}"), format!("bob:{HASHED}"));
    for (user, path, expected) in [
        (&*ann, "/live/show.flv", "200"),
        (&*bob, "/live/show.flv", "200"),
        (&*bob, "/live/show/index.m3u8", "200"),
        ("ann:guess", "/live/show.flv", "401"),
        ("cat:open-sesame-41", "/live/show.flv", "401"),
        (&*ann, "/other/show.flv", "401"),
    ] {
        assert_eq!(status(user, path), expected, "{user} {path}");
    }
    let shows = |user: &str| {
        let (name, password) = user.split_once(':').unwrap();
        let query = format!("user={name}&pass={password}");
        let url = format!("rtmp://{}/live/show?{query}", server.addr("rtmp"));
        let shown = Tool::ffprobe()
            .args(["-show_entries", "stream=codec_name", "-of", "csv=p=0", &url])
            .finish(DEADLINE);
        String::from_utf8_lossy(&shown.stdout).contains("h264")
    };
    assert!(shows(&ann) && !shows("ann:guess"));
    let url = format!(
        "rtmp://{}/studio/a?user=ann&pass={HASHED}",
        server.addr("rtmp")
    );
    let _studio = Tool::ffmpeg_publish(&Clip::Flv.seconds(60), "flv", &url).start();
    wait_for_stream(&server, "studio/a");
    let shown = server.api("streams").to_string();
    assert!(shown.contains("\"ann\""), "{shown}");

    write(format!("ann:{BCRYPT}\n"));
    wait_until("bob is gone", DEADLINE, || {
        status(&bob, "/live/show.flv") == "401"
    });
    assert_eq!(status(&ann, "/live/show.flv"), "200");
}
