//! Independent WebRTC players watch the tracks of a stream, and learn from the answer which are missing.
//!
//! They offer to receive audio and video, as players do that do not know a stream's tracks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use testkit::http::Response;
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, pion_viewer, whep_elements};

use crate::support::aiortc::Viewer;
use crate::support::{
    DEADLINE, post_offer, publish_icecast, publish_rtmp, wait_for_stream, wait_until,
};
use crate::webrtc::audio_shares_packets::crowded;

/// Number of packets to receive: some seconds of either kind.
const PACKETS: u32 = 100;

/// Returns the folder of the programs that `cargo xtask tools-all` builds.
pub(crate) fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools")
}

/// Returns the viewer on pion (Go), on which MediaMTX and LiveKit are built.
fn pion() -> Tool {
    Tool::built(&pion_viewer())
}

/// Returns the viewer on werift (TypeScript).
fn werift() -> Tool {
    let folder = tools().join("werift");
    assert!(
        folder.is_dir(),
        "{} is missing, the package werift: cargo xtask tools-all",
        folder.display()
    );
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    Tool::new("node")
        .arg(clients.join("werift/viewer.cjs"))
        .arg(folder)
}

/// Server with a stream of audio alone, one of video alone and one of both.
struct Programme {
    server: Server,
    _publishers: [Process; 3],
}

const STREAMS: [(&str, &[&str]); 3] = [
    ("radio.mp3", &["audio"]),
    ("live/mute", &["video"]),
    ("live/show", &["audio", "video"]),
];

impl Programme {
    fn start() -> Self {
        Self::on(Server::start())
    }

    fn on(server: Server) -> Self {
        let radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
        let clip = Clip::Flv.seconds(90);
        let mute = Tool::ffmpeg()
            .args(["-re", "-i"])
            .arg(&clip)
            .args(["-an", "-c", "copy", "-f", "flv"])
            .arg(server.rtmp_url("live/mute", PUBLISH_KEY))
            .start();
        let show = publish_rtmp(&server, &clip, "live/show");
        wait_for_stream(&server, "live/mute");
        Self {
            server,
            _publishers: [radio, mute, show],
        }
    }

    fn is_watched_by(&self, player: impl Fn() -> Tool) {
        for (stream, kinds) in STREAMS {
            let url = self.server.http_url(&format!("/{stream}/whep"));
            let watched = player()
                .arg(url)
                .arg(PACKETS.to_string())
                .args(kinds)
                .finish(DEADLINE);
            assert!(watched.status.success(), "{stream}: {}", watched.stderr);
        }
    }
}

#[test]
fn pion_watches_audio_alone_and_pictures_alone() {
    Programme::start().is_watched_by(pion);
}

#[test]
fn werift_watches_audio_alone_and_pictures_alone() {
    Programme::start().is_watched_by(werift);
}

#[test]
fn pion_and_werift_watch_what_a_large_audience_gets() {
    let programme = Programme::on(crowded().start());
    programme.is_watched_by(pion);
    programme.is_watched_by(werift);
}

/// The transcoder begins with the seconds that the stream remembers; a receiver would play all of them, late.
#[test]
fn the_first_listeners_of_radios_hear_the_present() {
    let server = Server::start();
    let names = ["one.mp3", "two.mp3", "three.mp3"];
    let _radios = names.map(|name| publish_icecast(&server, Clip::Mp3, 90, name));
    hear_the_present(&server, names);
}

#[test]
fn the_first_viewers_of_shows_hear_the_present() {
    let server = Server::start();
    let clip = Clip::Flv.seconds(90);
    let names = ["live/one", "live/two", "live/three"];
    let _shows = names.map(|name| publish_rtmp(&server, &clip, name));
    hear_the_present(&server, names);
}

/// Asserts that first viewers receive the present; the median of three streams counts, since a busy machine may publish in
/// bursts.
fn hear_the_present(server: &Server, streams: [&str; 3]) {
    const SECONDS: u32 = 3;
    /// Audio packets of 20 ms each: 150, and 40 more or fewer for a busy machine. The past would be 100 more at the least.
    const AUDIO_FRAMES: std::ops::RangeInclusive<u64> = 110..=190;
    /// Seconds of audio that may arrive in the first fifth of a second.
    const EARLY_MAX: f64 = 0.3;
    // After this time there is a past that could be sent.
    std::thread::sleep(Duration::from_secs(4));
    let mut heard = streams.map(|stream| {
        let heard = pion()
            .args(["watch", &SECONDS.to_string()])
            .arg(server.http_url(&format!("/{stream}/whep")))
            .finish(DEADLINE);
        let lines = String::from_utf8(heard.stdout).unwrap();
        let seconds: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let early = seconds.last().and_then(|last| last["early"].as_f64());
        let audio_frames = seconds.iter().map(|second| second["sounds"].as_u64());
        (
            early.unwrap(),
            audio_frames.map(|count| count.unwrap()).sum(),
        )
    });
    heard.sort_by(|one, other| one.0.total_cmp(&other.0));
    println!("seconds that came early, and packets of 20 ms in {SECONDS} s: {heard:?}");
    let (early, audio_frames): (f64, u64) = heard[1];
    assert!(
        early <= EARLY_MAX && AUDIO_FRAMES.contains(&audio_frames),
        "{heard:?}"
    );
}

/// aiortc refuses an answer whose rejected section lacks any attribute that it requires of each.
#[test]
fn aiortc_hears_a_radio() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let mut viewer = Viewer::of_audio(PACKETS.into());
    viewer.watch(&server, "/radio.mp3/whep");
    let counts = viewer.read();
    assert!(counts["audio"].as_u64() >= Some(PACKETS.into()), "{counts}");
}

/// Their default offers state neither that Opus has two channels nor that H.264 frames may be in pieces.
#[test]
fn whepsrc_and_whepclientsrc_of_gstreamer_watch_by_their_defaults() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(90), "live/show");
    for element in ["whepsrc", "whepclientsrc"] {
        let watched = Tool::built(&whep_elements())
            .arg(element)
            .arg(server.http_url("/live/show/whep"))
            .arg(PACKETS.to_string())
            .args(["audio", "video"])
            .finish(DEADLINE);
        assert!(watched.status.success(), "{element}: {}", watched.stderr);
    }
}

/// Sections of a browser's offer, without the lines that do not matter.
const AUDIO: &str = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=rtpmap:111 opus/48000/2\r\n";
const PICTURE: &str = "m=video 9 UDP/TLS/RTP/SAVPF 107\r\na=mid:1\r\na=rtpmap:107 H264/90000\r\n\
    a=fmtp:107 packetization-mode=1;profile-level-id=42e01f\r\n";

fn ask(server: &Server, path: &str, sections: &[&str]) -> Response {
    let mut offer = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n\
        a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\na=setup:actpass\r\n\
        a=fingerprint:sha-256 7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:\
        DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08\r\n"
        .to_owned();
    for section in sections {
        offer += &format!("{section}c=IN IP4 0.0.0.0\r\na=rtcp-mux\r\na=recvonly\r\n");
    }
    post_offer(server, path, "", &offer)
}

/// A viewer that arrives during the first frames is not accepted before the codec is known.
#[test]
fn pictures_out_of_their_order_are_refused_with_the_cure() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::FlvBframes.seconds(60), "live/show");
    let refused = ask(&server, "/live/show/whep", &[AUDIO, PICTURE]);
    let words = String::from_utf8(refused.body).unwrap();
    assert_eq!(refused.status, 422, "{words}");
    assert!(
        words.contains("-bf 0 -g 60") && words.contains("keyframe interval 2 s"),
        "{words}"
    );
    // The stream's audio can be played, and the API names the problem.
    let heard = ask(&server, "/live/show/whep", &[AUDIO]);
    assert_eq!(heard.status, 201);
    let pictures = &server.api("streams")["streams"][0]["pictures"];
    assert_eq!(pictures["b_frames"], true, "{pictures}");
    let said = pictures["words"].as_str().unwrap();
    assert!(said.contains("-bf 0 -g 60"), "{pictures}");
}

/// The command is exactly the line that `serve` prints.
#[test]
fn what_the_printed_line_publishes_can_be_watched() {
    let server = Server::start();
    let said = server.log();
    let line = said.lines().find(|line| line.contains("-c:v libx264"));
    let film = Clip::FlvBframes.seconds(60);
    let line = line
        .and_then(|line| line.trim().strip_prefix("ffmpeg"))
        .unwrap()
        .replace("FILE", &film.display().to_string())
        .replace("KEY", PUBLISH_KEY);
    let _publisher = Tool::new("sh")
        .args(["-c", &format!("exec {line}")])
        .start();
    wait_for_stream(&server, "live/show");
    wait_until("pictures in their order", || {
        server.api("streams")["streams"][0]["pictures"]["b_frames"] == false
    });
    let answer = ask(&server, "/live/show/whep", &[AUDIO, PICTURE]);
    assert_eq!(answer.status, 201);
}
