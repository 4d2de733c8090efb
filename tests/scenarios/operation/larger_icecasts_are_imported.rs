//! Configurations of whole stations, as AzuraCast writes them and as icecast-kh has them, run after `carillon import` with the
//! same functions for publishers, listeners and monitors.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use testkit::http::{self, Listener, Response};
use testkit::{Certificate, Clip, Icecast, Process, Server, Tool};

use crate::support::imported::{import, samples, serve};
use crate::support::mount::{SECOND_BYTES, SECONDS, is_of, mp3};
use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::{DEADLINE, curl_status, publish_radio, wait_until};

/// Starts a server with an imported sample in which some texts are replaced.
fn imported(sample: &str, folder: &TempDir, others: &[(&str, &str)]) -> Server {
    let mut source = std::fs::read_to_string(samples().join(sample)).unwrap();
    for (text, other) in others {
        assert!(source.contains(text), "{sample}: {text}");
        source = source.replace(text, other);
    }
    let file = folder.path().join(sample);
    std::fs::write(&file, source).unwrap();
    serve(&import(&file).0)
}

/// Writes a file beside the configuration, writable only by its owner.
fn beside(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    path.display().to_string()
}

/// Starts another server with a mount, which is relayed.
fn far(mount: &str, clip: Clip) -> (Icecast, Process) {
    let icecast = Icecast::start(8);
    let source = publish_radio(clip, &icecast.source_url(mount));
    (icecast, source)
}

/// Returns the status of the reply to a request with further fields in its head.
fn status(server: &Server, path: &str, fields: &str) -> u16 {
    let head = format!("GET {path} HTTP/1.0\r\n{fields}\r\n");
    Listener::send(server.addr("http"), head.as_bytes()).status()
}

fn operator(server: &Server, path: &str, credential: &str) -> Response {
    let head = format!("GET {path} HTTP/1.0\r\nAuthorization: Basic {credential}\r\n\r\n");
    http::request(server.addr("http"), head.as_bytes(), DEADLINE)
}

/// Waits until the operator sees these mounts.
fn wait_for(server: &Server, mounts: &[&str], credential: &str) {
    wait_until(&format!("{mounts:?}"), || {
        let listed = operator(server, "/admin/listmounts", credential).text();
        let is_listed = |mount: &&str| listed.contains(&format!("<source mount=\"{mount}\">"));
        mounts.iter().all(is_listed)
    });
}

/// Reads until the received media is from a file.
fn hears(listener: &mut Listener, file: &Path) {
    let file = std::fs::read(file).unwrap();
    let is_heard = listener.read_until(DEADLINE, |body| is_of(body, &file));
    assert!(is_heard, "{} bytes", listener.body().len());
}

fn is_relayed(server: &Server, path: &str) {
    wait_until("the relay", || {
        status(server, path, "User-Agent: A\r\n") == 200
    });
    let mut listener = Listener::get(server.addr("http"), path);
    let heard = listener.read_bytes(SECOND_BYTES, DEADLINE);
    assert!(heard.len() >= SECOND_BYTES, "{path}");
}

#[test]
fn a_station_of_azuracast_continues() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let (hook, certificate) = (Hook::start(), Certificate::make());
    let (icecast, _far) = far("far.mp3", Clip::Mp3);
    let songs = [1, 2, 3].map(|seed| mp3().make(&folder, seed, SECONDS));
    std::fs::copy(&songs[2], folder.path().join("fallback-[128].mp3")).unwrap();
    let bans = beside(&folder, "bans.txt", "203.0.113.9\n");
    let agents = beside(&folder, "agents.txt", "BadBot/1.0\n");
    let hook_url = hook.url("icecast");
    let server = imported(
        "azuracast.xml",
        &folder,
        &[
            (
                "http://127.0.0.1:6010/api/internal/1/listener-auth?api_auth=s3cr3t",
                &hook_url,
            ),
            ("/etc/ssl/azuracast.key", &certificate.file("cert.key")),
            ("/etc/ssl/azuracast.crt", &certificate.file("cert.pem")),
            (
                "/var/azuracast/stations/example/config/icecast_ip_bans.txt",
                &bans,
            ),
            (
                "/var/azuracast/stations/example/config/icecast_agents.txt",
                &agents,
            ),
            ("/var/azuracast/stations/example/config", &home),
            ("/usr/local/share/icecast/web", &home),
            ("other.example.org", &icecast.addr().ip().to_string()),
            (
                "<port>8000</port>\n        <mount>/far.mp3",
                &format!(
                    "<port>{}</port>\n        <mount>/far.mp3",
                    icecast.addr().port()
                ),
            ),
        ],
    );

    let _robot = mp3().publish_to(&server.icecast_url("autodj.mp3", "zz-autodj-88"), &songs[0]);
    let mut studio = mp3().publish_to(&server.icecast_url("radio.mp3", "kR7pWmZ2sd"), &songs[1]);
    // admin:Vt83hPqeXn
    let admin = "YWRtaW46VnQ4M2hQcWVYbg==";
    wait_for(&server, &["/autodj.mp3", "/radio.mp3"], admin);
    let permitted = format!("/radio.mp3?token={KNOWN}");
    let mut listener = Listener::get(server.addr("http"), &permitted);
    assert_eq!(listener.status(), 200);
    hears(&mut listener, &songs[1]);
    // The robot's programme plays when the studio has left, and the studio's again when it is back.
    studio.kill();
    hears(&mut listener, &songs[0]);
    let _studio = mp3().publish_to(&server.icecast_url("radio.mp3", "kR7pWmZ2sd"), &songs[1]);
    hears(&mut listener, &songs[1]);

    assert_eq!(
        status(&server, &format!("/listen.mp3?token={KNOWN}"), ""),
        200
    );
    // The hook does not know the first listener; the lists refuse the other two whatever the hook says.
    assert!([401, 403].contains(&status(&server, "/radio.mp3", "")));
    let refused = [
        "User-Agent: BadBot/1.0\r\n",
        // The request comes through the station's own proxy.
        "X-Forwarded-For: 203.0.113.9\r\n",
    ];
    for fields in refused {
        assert_eq!(status(&server, &permitted, fields), 403, "{fields}");
    }
    is_relayed(&server, &format!("/far.mp3?token={KNOWN}"));

    let public = server.get("/status-json.xsl").text();
    assert!(public.contains("/radio.mp3") && !public.contains("/autodj.mp3"));
    let stats = operator(&server, "/admin/stats", admin);
    assert_eq!(stats.status, 200);
    assert!(stats.text().contains("<source mount=\"/autodj.mp3\">"));
    drop(listener);
    wait_until("the access log", || {
        let log = std::fs::read_to_string(folder.path().join("icecast_access.log"));
        log.is_ok_and(|log| log.contains("/radio.mp3"))
    });
    wait_until("the end of the session", || {
        let asked = hook.asked();
        asked
            .iter()
            .any(|body| body.contains("action=listener_remove"))
    });
}

#[test]
fn a_network_of_icecast_kh_continues() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let certificate = Certificate::make();
    let (icecast, _far) = far("talk.ogg", Clip::OggVorbis);
    let songs = [1, 2, 3].map(|seed| mp3().make(&folder, seed, SECONDS));
    // Two seconds of the song.
    let intro = std::fs::read(&songs[2]).unwrap()[..417 * 76].to_vec();
    std::fs::write(folder.path().join("intro.mp3"), intro).unwrap();
    let password = Tool::new("openssl")
        .args(["passwd", "-apr1", "doorbell-17"])
        .run(DEADLINE);
    let password = String::from_utf8(password).unwrap();
    let users = beside(&folder, "users", &format!("ann:{password}"));
    let allowed = beside(&folder, "allow", "127.0.0.1\n");
    let (pem, key) = (certificate.file("cert.pem"), certificate.file("cert.key"));
    let server = imported(
        "icecast-kh.xml",
        &folder,
        &[
            ("/etc/icecast/users", &users),
            ("/etc/icecast/allow", &allowed),
            ("/srv/web", &home),
            ("/var/lib/dumps", &home),
            ("/var/log/icecast", &home),
            (
                "<ip>198.51.100.7</ip><port>8010</port>",
                &format!(
                    "<ip>{}</ip><port>{}</port>",
                    icecast.addr().ip(),
                    icecast.addr().port()
                ),
            ),
            (
                "<paths>",
                &format!(
                    "<paths><ssl-certificate>{pem}</ssl-certificate><ssl-private-key>{key}</ssl-private-key>"
                ),
            ),
        ],
    );

    let _night = mp3().publish_to(&server.icecast_url("night.mp3", "bells-at-noon"), &songs[0]);
    let mut studio = mp3().publish_to(
        &server.icecast_url("live.mp3", "from-the-studio"),
        &songs[1],
    );
    let _event = mp3().publish_to(
        &server.icecast_url("events/open", "bells-at-noon"),
        &songs[0],
    );
    // root:tower-at-night
    let admin = "cm9vdDp0b3dlci1hdC1uaWdodA==";
    wait_for(&server, &["/night.mp3", "/live.mp3", "/events/open"], admin);
    let mut listener = Listener::get(server.addr("http"), "/old");
    assert_eq!(listener.status(), 200);
    hears(&mut listener, &songs[2]);
    hears(&mut listener, &songs[1]);
    studio.kill();
    hears(&mut listener, &songs[0]);

    // ann:doorbell-17
    let ann = "Authorization: Basic YW5uOmRvb3JiZWxsLTE3\r\n";
    assert_eq!(status(&server, "/events/open", ann), 200);
    assert_eq!(status(&server, "/events/open", ""), 401);
    is_relayed(&server, "/talk");
    let secure = format!("https://{}/status-json.xsl", server.addr("https"));
    let secure = curl_status(&secure, &["--cacert", &certificate.path()]);
    assert_eq!(secure, 200);
    wait_until("the recording", || {
        let days = std::fs::read_dir(folder.path().join("live.mp3"));
        days.is_ok_and(|mut days| days.next().is_some())
    });
}
