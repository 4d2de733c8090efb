//! Each kind of credential permits what it is for, over each protocol, and nothing else; sessions end when their permission
//! ends; and the server's logs contain no credential.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{Clip, PUBLISH_KEY, Server, Tool};

use crate::support::guarded::{
    ELSEWHERE, Guarded, HASHED, LINK_SECRET, OF_FILE, PLAIN, assert_secret, write_keys,
};
use crate::support::token_issuer::{Issuer, SECRET, later};
use crate::support::{
    DEADLINE, codecs, curl_status, publish_icecast, publish_rtmp, wait_for_stream, wait_until,
};

const WRONG: &str = "guess-at-the-key-90";

/// Makes a token for all streams of `live/` and for mounts, which expires this many seconds from now.
fn token(seconds: i64) -> String {
    let permissions = json!([{"do": ["publish", "play"], "on": ["live/*", "radio*"]}]);
    let claims = json!({"sub": "ann", "exp": later(seconds), "carillon": permissions});
    Issuer::start().sign("secret", "HS256", &claims, &json!({}))
}

#[test]
fn each_kind_permits_over_each_protocol() {
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    let _radio = publish_icecast(&guarded.server, Clip::Mp3, 60, "radio.mp3");
    let to_play = guarded.sign(&["play", "live/show", "--for", "1h", "--match", "**"]);
    let to_publish = guarded.sign(&["publish", "live/show", "--for", "1h", "--match", "**"]);
    let own = ("--address", "127.0.0.1");
    let here = [own.0, own.1, "--match", "*/*"];
    let here = guarded.sign(&[&["play", "live/show", "--for", "1h"], &here[..]].concat());

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
            let (reported, challenge) = guarded.curl(&format!("{path}?{query}"), &["-r", "0-1"]);
            assert_eq!(reported, status, "{kind}: {path}");
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
        // The link for publishing is for another stream, which a token without a pattern cannot distinguish from a guess.
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
fn keys_of_the_file_are_handed_out_and_revoked_without_a_restart() {
    const NEXT: &str = "the-next-key-8830-bob";
    let guarded = Guarded::start();
    let _show = publish_rtmp(&guarded.server, &Clip::Flv.seconds(60), "live/show");
    let status = |key: &str| guarded.first_bytes(&format!("/live/show.flv?key={key}"), &[]);
    assert_eq!((status(OF_FILE), status(NEXT)), (200, 401));
    let keys = guarded.folder.path().join("keys.toml");
    write_keys(&keys, NEXT);
    wait_until("the new key", || {
        guarded.logs().matches("the file of keys is read").count() == 2
    });
    assert_eq!((status(OF_FILE), status(NEXT)), (401, 200));
    fs::write(&keys, "[[key]]\nname = 5\n").unwrap();
    wait_until("the error", || {
        guarded.logs().contains("their file is of no use")
    });
    assert_eq!((status(OF_FILE), status(NEXT)), (401, 200));
    assert_secret(&guarded, &[OF_FILE, NEXT].map(str::to_owned));
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
    let status =
        |user: &str, path: &str| curl_status(&server.http_url(path), &["-r", "0-1", "-u", user]);
    let (ann, bob) = (format!("ann:{HASHED}"), format!("bob:{HASHED}"));
    for (user, path, expected) in [
        (&*ann, "/live/show.flv", 200),
        (&*bob, "/live/show.flv", 200),
        (&*bob, "/live/show/index.m3u8", 200),
        ("ann:guess", "/live/show.flv", 401),
        ("cat:open-sesame-41", "/live/show.flv", 401),
        (&*ann, "/other/show.flv", 401),
    ] {
        assert_eq!(status(user, path), expected, "{user} {path}");
    }
    let shows = |user: &str| {
        let (name, password) = user.split_once(':').unwrap();
        let query = format!("user={name}&pass={password}");
        let url = format!("rtmp://{}/live/show?{query}", server.addr("rtmp"));
        codecs(&url, &[]).contains("h264")
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
    wait_until("bob is gone", || status(&bob, "/live/show.flv") == 401);
    assert_eq!(status(&ann, "/live/show.flv"), 200);
}
