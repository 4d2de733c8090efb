//! `carillon import` converts another server's configuration, and the server runs with the result.

use std::path::PathBuf;

use testkit::http::Listener;
use testkit::{Clip, Publisher, Tool, binary};

use crate::support::imported::{import, samples, serve};
use crate::support::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::{DEADLINE, wait_for_stream, wait_until};

/// Configuration that Debian's icecast2 installs.
const OF_DEBIAN: &str = "/etc/icecast2/icecast.xml";

/// Password that is not among the first that attackers try, unlike the one in Debian's file.
const PASSWORD: &str = "noon-bells-41";

/// Files named in the samples that restrict access.
const FILES: [&str; 4] = [
    "/etc/icecast/users",
    "/etc/icecast/allow",
    "/var/azuracast/stations/example/config/icecast_ip_bans.txt",
    "/var/azuracast/stations/example/config/icecast_agents.txt",
];

#[test]
fn icecast_of_debian_continues_with_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("icecast.xml");
    let source = std::fs::read_to_string(OF_DEBIAN).expect("icecast2 is installed");
    let weak = "<source-password>hackme</source-password>";
    assert!(source.contains(weak), "{source}");
    let strong = format!("<source-password>{PASSWORD}</source-password>");
    std::fs::write(&file, source.replace(weak, &strong)).unwrap();
    let (toml, reported) = import(&file);
    assert!(
        reported.contains("authentication.relay-password"),
        "{reported}"
    );
    assert!(
        !reported.contains(PASSWORD) && !reported.contains("hackme"),
        "{reported}"
    );

    // The test may not write to the folder of its access log.
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
    wait_until("both questions", || hook.asked().len() == 2);
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
    wait_until("a recording", || {
        let days = std::fs::read_dir(folder.path().join("rec/live/show"));
        days.is_ok_and(|mut days| days.next().is_some())
    });
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
        // The import refuses files of users and addresses that do not exist.
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
        // `check` of a foreign configuration names the command to run.
        let served = run(&["check", "--config", from]);
        assert!(
            served.stderr.contains("carillon import"),
            "{from}: {}",
            served.stderr
        );
    }
}
