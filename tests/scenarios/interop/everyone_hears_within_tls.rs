//! Programs with every implementation of TLS receive a mount as it was sent, to its last byte and a proper end.
//!
//! Ten minutes instead of some seconds: `CARILLON_LISTENING_SECONDS=600`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{Certificate, Clip, Process, Server, Tool, framemd5, tls_listener, vlc};

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::session::Driven;
use crate::support::{
    DEADLINE, assert_joins, file, listening_seconds, publish_icecast, wait_until,
};

/// Seconds that Java may take to start.
const LATE_SECONDS: u32 = 8;

fn seconds() -> u32 {
    listening_seconds(12)
}

/// Builds a server that disconnects listeners soon after their publisher leaves.
fn serve(certificate: &Certificate) -> Server {
    certificate
        .serve_at(&["http"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .start()
}

/// Returns the mount's address, by the name that the certificate is for.
fn url(server: &Server) -> String {
    format!(
        "https://localhost:{}/radio.mp3",
        server.addr("https").port()
    )
}

/// Starts openssl's own client, which requests new keys of both sides while it listens.
fn s_client(server: &Server, certificate: &Certificate, version: &str) -> Process {
    let addr = format!("localhost:{}", server.addr("https").port());
    let keys = match version {
        "-tls1_3" => "for _ in 1 2 3 4 5; do sleep 1; echo K; done; ",
        _ => "",
    };
    // Its input stays open for as long as it listens: the client would leave at the end of its input.
    let line = format!(
        "{{ printf 'GET /radio.mp3 HTTP/1.0\\r\\n\\r\\n'; {keys}sleep {}; }} | \
         openssl s_client -brief {version} -connect {addr} -CAfile {} -verify_return_error",
        seconds() + LATE_SECONDS,
        certificate.path()
    );
    Process::start("s_client", Command::new("sh").args(["-c", &line]))
}

/// Splits a received body into frames; skips the head of an HTTP reply.
fn frames(heard: &[u8]) -> Vec<framemd5::Frame> {
    let head = heard.windows(4).position(|end| end == b"\r\n\r\n");
    let body = match heard.starts_with(b"HTTP/1.") {
        true => &heard[head.expect("the head's end") + 4..],
        false => heard,
    };
    framemd5::packets(file(body).path())
}

#[test]
fn programs_hear_a_mount_to_its_end() {
    let certificate = Certificate::make();
    let server = serve(&certificate);
    let (url, authority) = (url(&server), certificate.path());
    let folder = tempfile::tempdir().unwrap();
    let into = |name: &str| folder.path().join(name);
    // VLC runs as another user.
    open_to_all(folder.path());
    let trusted = folder.path().join("trusted");
    std::fs::create_dir(&trusted).unwrap();
    std::fs::copy(&authority, trusted.join("ca.pem")).unwrap();
    open_to_all(&trusted);
    open_to_all(&trusted.join("ca.pem"));

    let seconds = seconds() + LATE_SECONDS;
    let mut publisher = publish_icecast(&server, Clip::Mp3, seconds, "radio.mp3");
    let curl = |options: &[&str]| {
        Tool::new("curl")
            .args(["-sS", "--http1.1", "--cacert", &authority])
            .args(options)
            .arg(&url)
            .start()
    };
    let client = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("clients/tls")
            .join(name)
    };
    let by_output = [
        ("curl", curl(&["--tlsv1.3"])),
        ("curl, TLS 1.2", curl(&["--tls-max", "1.2"])),
        ("s_client", s_client(&server, &certificate, "-tls1_3")),
        (
            "s_client, TLS 1.2",
            s_client(&server, &certificate, "-tls1_2"),
        ),
        (
            "Go",
            Tool::built(&tls_listener())
                .args([&url, &authority])
                .start(),
        ),
        (
            "Java",
            Tool::new("java")
                .arg(client("Listener.java"))
                .args([&url, &authority])
                .start(),
        ),
    ];
    let by_file = [
        (
            "ffmpeg",
            Tool::ffmpeg()
                .args(["-tls_verify", "1", "-ca_file", &authority, "-i", &url])
                .args(["-c", "copy", "-f", "mp3", "-write_xing", "0"])
                .arg(into("ffmpeg"))
                .start(),
        ),
        (
            "mpv",
            Tool::new("mpv")
                .args(["--no-config", "--tls-verify=yes"])
                .arg(format!("--tls-ca-file={authority}"))
                .arg(format!("--stream-dump={}", into("mpv").display()))
                .arg(&url)
                .start(),
        ),
        (
            "VLC",
            vlc()
                .args(["-I", "dummy", "--no-gnutls-system-trust"])
                .arg(format!("--gnutls-dir-trust={}", trusted.display()))
                .args(["--demux=dump", "--demuxdump-append"])
                .arg(format!("--demuxdump-file={}", into("VLC").display()))
                .args([&url, "vlc://quit"])
                .start(),
        ),
        (
            "GStreamer",
            Tool::new("gst-launch-1.0")
                .args(["-q", "souphttpsrc", "iradio-mode=false"])
                .arg(format!("location={url}"))
                // The element's property for authorities has no effect in Debian 12.
                .arg("ssl-strict=false")
                .args(["!", "filesink"])
                .arg(format!("location={}", into("GStreamer").display()))
                .start(),
        ),
    ];
    let all = by_output.len() + by_file.len();
    wait_until("all to listen", || {
        server.metrics().sum("carillon_listeners", &[]) == all as f64
    });
    let patience = DEADLINE + Duration::from_secs(seconds.into());
    assert!(publisher.wait(patience).success(), "{}", publisher.stderr());
    let sent = framemd5::packets(Clip::Mp3.seconds(seconds));
    let check = |name: &str, heard: &[u8], said: &str| {
        let join = assert_joins(name, &sent, &frames(heard));
        assert_eq!(join.missing, 0, "{name}: {said}");
        assert!(
            join.matched > 100,
            "{name}: {} frames, {said}",
            join.matched
        );
    };
    for (name, mut listener) in by_output {
        let status = listener.wait(patience);
        let said = listener.stderr();
        assert!(status.success(), "{name}: {said}");
        if name == "s_client" {
            assert_eq!(said.matches("KEYUPDATE").count(), 5, "{said}");
        }
        check(name, &listener.stdout(), &said);
    }
    for (name, mut listener) in by_file {
        let status = listener.wait(patience);
        let said = listener.stderr();
        assert!(status.success(), "{name}: {said}");
        check(name, &std::fs::read(into(name)).unwrap(), &said);
    }
}

#[test]
fn browsers_hear_a_mount() {
    let server = serve(&Certificate::make());
    let _publisher = publish_icecast(&server, Clip::Mp3, 2 * seconds() + 120, "radio.mp3");
    let chromium = Browser::open_with(&["--ignore-certificate-errors"]);
    let firefox = Firefox::open();
    listen(&chromium, &server);
    listen(&firefox, &server);
    wait_until_heard("Chromium", &chromium);
    wait_until_heard("Firefox", &firefox);
}

/// Starts to play the mount in a page of the same origin.
fn listen(browser: &impl Driven, server: &Server) {
    let port = server.addr("https").port();
    browser.go(&format!("https://localhost:{port}/_/style.css"));
    browser.run(
        "window.heard = new Audio('/radio.mp3'); \
         document.documentElement.append(heard); heard.play(); return null;",
    );
}

/// Waits until this many seconds have played. Where there is no sound card, Firefox reports an error and plays on.
fn wait_until_heard(who: &str, browser: &impl Driven) {
    let seconds = f64::from(seconds());
    let patience = DEADLINE + Duration::from_secs_f64(2.0 * seconds);
    let state =
        || browser.run("return [heard.currentTime, heard.ended, heard.error?.message ?? ''];");
    testkit::wait_until(who, patience, || {
        let state = state();
        let error = state[2].as_str().unwrap();
        let is_well = error.is_empty() || error.contains("OnMediaSinkAudioError");
        assert!(state[1] == false && is_well, "{who}: {state}");
        state[0].as_f64() >= Some(seconds)
    });
}

/// Lets any user read a path, and write to it if it is a folder.
fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn listeners_that_misbehave_are_let_go_and_the_others_hear_on() {
    let certificate = Certificate::make();
    let server = serve(&certificate);
    let _publisher = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    let listeners = || server.metrics().sum("carillon_listeners", &[]);
    let mut well_behaved = s_client(&server, &certificate, "-tls1_3");
    wait_until("one to listen", || listeners() == 1.0);
    // One listener requests another handshake, one leaves without closing TLS.
    let addr = server.addr("https");
    let mut renegotiating = Command::new("openssl")
        .args(["s_client", "-brief", "-tls1_2", "-connect"])
        .arg(addr.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = b"GET /radio.mp3 HTTP/1.0\r\n\r\n";
    let words = renegotiating.stdin.as_mut().unwrap();
    words.write_all(request).unwrap();
    wait_until("a second", || listeners() == 2.0);
    words.write_all(b"R\n").unwrap();
    words.flush().unwrap();
    wait_until("it to be let go", || listeners() == 1.0);
    assert!(renegotiating.wait().unwrap().code().is_some());

    let mut leaving = Tool::new("curl")
        .args(["-sS", "--http1.1", "-k", "-o", "/dev/null"])
        .arg(format!("https://{addr}/radio.mp3"))
        .start();
    wait_until("a third", || listeners() == 2.0);
    leaving.kill();
    wait_until("it to be gone", || listeners() == 1.0);

    // The first listener has received the stream all the while.
    let before = well_behaved.stdout().len();
    wait_until("more of it", || {
        well_behaved.stdout().len() > before + 10_000
    });
    well_behaved.kill();
}
