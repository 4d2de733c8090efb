//! `carillon import` makes a configuration of another server's, and the server runs with it.

use std::path::{Path, PathBuf};

use testkit::http::Listener;
use testkit::{Clip, Publisher, Server, Tool, binary, wait_until};

use crate::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::{DEADLINE, wait_for_stream};

/// The one that Debian's icecast2 installs.
const OF_DEBIAN: &str = "/etc/icecast2/icecast.xml";

/// A password that is not among the first that attackers try, as the one of that file is.
const PASSWORD: &str = "noon-bells-41";

/// What the samples name that keeps clients out.
const FILES: [&str; 4] = [
    "/etc/icecast/users",
    "/etc/icecast/allow",
    "/var/azuracast/stations/example/config/icecast_ip_bans.txt",
    "/var/azuracast/stations/example/config/icecast_agents.txt",
];

pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/import/tests/samples")
}

/// The configuration that is made of a file, and what is told of it.
pub(crate) fn import(file: &Path) -> (String, String) {
    let finished = Tool::built(&binary())
        .arg("import")
        .arg(file)
        .finish(DEADLINE);
    assert!(
        finished.status.success(),
        "{}: {}",
        file.display(),
        finished.stderr
    );
    (String::from_utf8(finished.stdout).unwrap(), finished.stderr)
}

/// A server with that configuration, on free ports.
pub(crate) fn serve(toml: &str) -> Server {
    let builder = Server::builder().verbatim(toml);
    let sections = ["RTMP", "HTTP", "WEBRTC", "ADMIN"];
    let names = sections.map(|section| format!("CARILLON__{section}__LISTEN"));
    let is_there = |table: &str, key: &str| {
        let of_table = toml.split(&format!("\n[{table}]\n")).nth(1);
        let of_table = of_table.and_then(|text| text.split("\n[").next());
        of_table.is_some_and(|text| text.lines().any(|line| line.starts_with(key)))
    };
    let others = [("shoutcast", "listen"), ("http", "tls_listen")];
    let others = others
        .into_iter()
        .filter(|(table, key)| is_there(table, key));
    let others = others.map(|(table, key)| format!("CARILLON__{table}__{key}").to_uppercase());
    names
        .into_iter()
        .chain(others)
        .fold(builder, |builder, name| builder.env(&name, "127.0.0.1:0"))
        .start()
}

#[test]
fn icecast_of_debian_goes_on_with_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("icecast.xml");
    let source = std::fs::read_to_string(OF_DEBIAN).expect("icecast2 is installed");
    let weak = "<source-password>hackme</source-password>";
    assert!(source.contains(weak), "{source}");
    let strong = format!("<source-password>{PASSWORD}</source-password>");
    std::fs::write(&file, source.replace(weak, &strong)).unwrap();
    let (toml, told) = import(&file);
    assert!(told.contains("authentication.relay-password"), "{told}");
    assert!(
        !told.contains(PASSWORD) && !told.contains("hackme"),
        "{told}"
    );

    // Its access log is where this test may not write.
    let toml = toml.replace("/var/log/icecast2", &folder.path().display().to_string());
    let server = serve(&toml);
    let _radio = Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(Clip::Mp3.seconds(60))
        .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url("radio.mp3", PASSWORD))
        .start();
    wait_for_stream(&server, "radio.mp3");
    let mut listener = Listener::get(server.addr("http"), "/radio.mp3");
    assert_eq!(listener.status(), 200);
    assert!(listener.read_bytes(50_000, DEADLINE).len() >= 50_000);
}

#[test]
fn the_hook_of_nginx_rtmp_is_asked_as_before() {
    let hook = Hook::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nginx.conf");
    let source = format!(
        "events {{}}\nrtmp {{ server {{ listen 1935; application live {{ live on; on_publish \
         {}; record all; record_path {}; }} }} }}\n",
        hook.url("nginx-rtmp"),
        folder.path().join("rec").display()
    );
    std::fs::write(&file, source).unwrap();
    let server = serve(&import(&file).0);
    let clip = Clip::Flv.seconds(30);
    let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", UNKNOWN));
    assert!(!refused.wait(DEADLINE).success(), "the hook refuses it");
    let _show = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", KNOWN));
    wait_for_stream(&server, "live/show");
    wait_until("both questions", DEADLINE, || hook.asked().len() == 2);
    let asked = &hook.asked()[1];
    for field in [
        "call=publish",
        "app=live",
        "name=show",
        "addr=127.0.0.1",
        "type=live",
        "tcurl=",
        KNOWN,
    ] {
        assert!(asked.contains(field), "{field}: {asked}");
    }
    // The recording is where nginx had it, as FLV.
    wait_until("a recording", DEADLINE, || {
        let days = std::fs::read_dir(folder.path().join("rec/live/show"));
        days.is_ok_and(|mut days| days.next().is_some())
    });
}

/// Each field that MediaMTX (its documentation of `authHTTPAddress`) and SRS (that of `http_hooks`) send.
#[test]
fn the_hooks_of_mediamtx_and_srs_are_asked_as_before() {
    let mediamtx = "authMethod: http\nauthHTTPAddress: HOOK\npaths:\n  all_others:\n";
    let srs = "listen 1935;\nvhost __defaultVhost__ {\n http_hooks {\n  enabled on;\n  on_publish HOOK;\n  \
               on_play HOOK;\n }\n}\n";
    let of_mediamtx = [
        "ip",
        "user",
        "password",
        "token",
        "action",
        "path",
        "protocol",
        "id",
        "query",
        "userAgent",
    ];
    let of_srs = [
        "server_id",
        "service_id",
        "action",
        "client_id",
        "ip",
        "vhost",
        "app",
        "tcUrl",
        "stream",
        "param",
        "stream_url",
        "stream_id",
    ];
    for (name, text, path, fields, told) in [
        (
            "mediamtx.yml",
            mediamtx,
            "mediamtx",
            &of_mediamtx[..],
            [("action", "publish"), ("path", "live/show")],
        ),
        (
            "srs.conf",
            srs,
            "srs",
            &of_srs[..],
            [("action", "on_publish"), ("stream", "show")],
        ),
    ] {
        let hook = Hook::start();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text.replace("HOOK", &hook.url(path))).unwrap();
        let server = serve(&import(&file).0);
        let clip = Clip::Flv.seconds(30);
        let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", UNKNOWN));
        assert!(!refused.wait(DEADLINE).success(), "{name}");
        let _show = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", KNOWN));
        wait_for_stream(&server, "live/show");
        let flv = |key: &str| server.get(&format!("/live/show.flv?key={key}")).status;
        assert!([401, 403].contains(&flv(UNKNOWN)), "{name}");
        let mut viewer = Listener::get(server.addr("http"), &format!("/live/show.flv?key={KNOWN}"));
        assert_eq!(viewer.status(), 200, "{name}");
        assert!(!viewer.read_bytes(1_000, DEADLINE).is_empty(), "{name}");
        let asked = hook.asked();
        assert!(asked.len() >= 4, "{name}: {asked:?}");
        for body in &asked {
            let request: serde_json::Value = serde_json::from_str(body).unwrap();
            for field in fields {
                assert!(request.get(field).is_some(), "{name}: {field}: {body}");
            }
        }
        let request: serde_json::Value = serde_json::from_str(&asked[1]).unwrap();
        for (field, value) in told {
            assert_eq!(request[field], value, "{name}: {request}");
        }
    }
}

#[test]
fn all_that_is_imported_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let empty = tempfile::NamedTempFile::new().unwrap();
    let samples = std::fs::read_dir(samples())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for file in samples.chain([PathBuf::from(OF_DEBIAN)]) {
        let config = folder.path().join("carillon.toml");
        let run = |words: &[&str]| Tool::built(&binary()).args(words).finish(DEADLINE);
        let copy = folder.path().join(file.file_name().unwrap());
        // Files of users and addresses that are not there are refused.
        let source = std::fs::read_to_string(&file).unwrap();
        let empty = empty.path().to_str().unwrap();
        let source = FILES
            .into_iter()
            .fold(source, |source, file| source.replace(file, empty));
        std::fs::write(&copy, source).unwrap();
        let (from, to) = (copy.to_str().unwrap(), config.to_str().unwrap());
        let imported = run(&["import", from, "--output", to]);
        assert!(imported.status.success(), "{from}: {}", imported.stderr);
        let checked = run(&["check", "--config", to]);
        assert!(checked.status.success(), "{from}: {}", checked.stderr);
        let again = run(&["import", from, "--output", to]);
        assert!(
            !again.status.success() && again.stderr.contains("--force"),
            "{}",
            again.stderr
        );
        std::fs::remove_file(config).unwrap();
        // Given to `serve` itself, it is told what to do with it.
        let served = run(&["check", "--config", from]);
        assert!(
            served.stderr.contains("carillon import"),
            "{from}: {}",
            served.stderr
        );
    }
}
