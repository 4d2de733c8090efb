//! Listeners keep their stream and their connection while its source changes: to the fallback when the publisher leaves, and
//! back when it returns. No decoder reports an error at either change.

use std::path::PathBuf;

use tempfile::TempDir;
use testkit::{Server, Tool};

use crate::support::mount::{AUDIO, Mount, SECOND_BYTES, SECONDS, assert_decodes, is_of, mp3};
use crate::support::{DEADLINE, entry, file, flv, publish_rtmp, wait_until};

/// The operator uses the addresses of Icecast: listeners receive another stream while their own publisher stays connected, and
/// are moved back; and a fallback is set for a stream that has none.
#[test]
fn listeners_are_moved_by_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::builder()
        .with_admin_password()
        .toml("[[stream]]\nmatch = \"**\"\nburst = \"30s\"\n")
        .start();
    let order = |query: &str| {
        let answer = server.operator_get(&format!("/admin/{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    };
    let mut files = AUDIO
        .map(|kind| [1, 2].map(|seed| kind.make(&folder, seed, SECONDS)))
        .into_iter();
    let mut mounts = AUDIO.map(|kind| Mount::begin(kind, files.next().unwrap(), &server));
    for mount in &mut mounts {
        let stream = mount.stream.clone();
        let backup = stream.replace("radio", "backup");
        mount.hears(0);
        mount.more();
        order(&format!(
            "moveclients?mount=/{stream}&destination=/{backup}"
        ));
        mount.hears(1);
        mount.more();
        assert_eq!(protocol(&server, &stream), "fallback");
        order(&format!(
            "moveclients?mount=/{backup}&destination=/{stream}"
        ));
        mount.hears(0);
        mount.more();
        assert!(mount.studio.is_running(), "{stream}: its source stays");
        assert_eq!(protocol(&server, &stream), "icecast");
        order(&format!("fallbacks?mount=/{stream}&fallback=/{backup}"));
        mount.studio.kill();
        mount.hears(1);
        mount.more();
        assert!(!mount.listener.ended(), "{stream}: one connection");
        assert_decodes(mount);
    }
}

/// Makes video of a size of its own, with noise as audio.
fn film(folder: &TempDir, size: &str, seed: u32) -> PathBuf {
    let path = folder.path().join(format!("{seed}.flv"));
    let noise = format!("anoisesrc=seed={seed}:amplitude=0.3:duration={SECONDS}:r=44100");
    let pictures = format!("testsrc2=size={size}:rate=25:duration={SECONDS}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &noise, "-f", "lavfi", "-i", &pictures])
        .args(["-map", "1:v", "-map", "0:a", "-c:v", "libx264"])
        .args(["-preset", "ultrafast", "-g", "25", "-bf", "0"])
        .args(["-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2"])
        .arg(&path)
        .run(DEADLINE);
    path
}

/// Returns the protocol of a stream's publisher.
fn protocol(server: &Server, stream: &str) -> String {
    entry(server, stream)["protocol"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn pictures_continue_over_both_switches() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "[[stream]]\nmatch = \"live/show\"\nfallback = \"live/backup\"\n";
    let server = Server::builder().toml(rule).start();
    let films = [("320x180", 1), ("480x270", 2)].map(|(size, seed)| film(&folder, size, seed));
    let _backup = publish_rtmp(&server, &films[1], "live/backup");
    let mut studio = publish_rtmp(&server, &films[0], "live/show");
    let mut viewer = server.listen("/live/show.flv");
    assert_eq!(viewer.status(), 200);
    let mut more = |pictures: usize| {
        let seen = flv::times(viewer.body(), 9).len();
        let has_more = |body: &[u8]| flv::times(body, 9).len() >= seen + pictures;
        assert!(viewer.read_until(DEADLINE, has_more), "it goes on");
    };
    more(50);
    studio.kill();
    wait_until("the fallback", || {
        protocol(&server, "live/show") == "fallback"
    });
    more(75);
    let mut _studio = publish_rtmp(&server, &films[0], "live/show");
    wait_until("the publisher", || protocol(&server, "live/show") == "rtmp");
    more(75);
    assert!(!viewer.ended(), "one connection");
    for kind in [8, 9] {
        let times = flv::times(viewer.body(), kind);
        assert!(times.is_sorted(), "time steps back: {times:?}");
    }
    let seen = file(&flv::whole_tags(viewer.body()));
    let decoded = Tool::ffmpeg()
        .args(["-xerror", "-f", "flv", "-i"])
        .arg(seen.path())
        // The times are kept as they are. In ticks of one frame each, two frames may have the same time at a switch.
        .args(["-enc_time_base", "-1", "-f", "null", "-"])
        .finish(DEADLINE);
    assert!(
        decoded.status.success() && decoded.stderr.is_empty(),
        "{}",
        decoded.stderr
    );
    // The video headers, in the order in which they arrived: AVCPacketType 0.
    let pictures = flv::media(viewer.body()).filter(|tag| tag.kind == 9);
    let headers = pictures.filter(|tag| tag.data.starts_with(&[0x17, 0]));
    let mut headers: Vec<_> = headers.map(|tag| tag.data).collect();
    headers.dedup();
    assert_eq!(
        headers.len(),
        3,
        "the publisher, the fallback, the publisher"
    );
    assert!(headers[0] == headers[2] && headers[0] != headers[1]);
    let backup = protocol(&server, "live/backup");
    assert_eq!(backup, "rtmp", "the fallback goes on");
}

#[test]
fn files_fill_in_for_a_publisher_that_never_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = mp3().make(&folder, 3, SECONDS);
    let rule = format!(
        "[[stream]]\nmatch = \"radio.mp3\"\nfallback_file = \"{}\"\n",
        path.display()
    );
    let server = Server::builder().toml(&rule).start();
    let mut listener = None;
    wait_until("the file", || {
        let asked = server.listen("/radio.mp3");
        let is_there = asked.status() == 200;
        listener = is_there.then_some(asked);
        is_there
    });
    let audio = std::fs::read(&path).unwrap();
    let mut listener = listener.unwrap();
    listener.read_bytes(2 * SECOND_BYTES, DEADLINE);
    assert!(listener.read_until(DEADLINE, |body| is_of(body, &audio)));
    let public = server.get("/status-json.xsl").text();
    assert!(
        !public.contains("fallback/0"),
        "the files' own stream is on no list: {public}"
    );
    let doing = server.api("fallbacks")["fallbacks"][0].clone();
    assert_eq!(
        (&doing["stream"], &doing["state"]),
        (&"radio.mp3".into(), &"playing".into())
    );
    drop(listener);
    wait_until("the listener's leave", || {
        server.metrics().sum("carillon_listeners", &[]) == 0.0
    });
}
