//! Players play a stream that is encrypted over HLS, across changes of the key; what they fetch is ciphertext.

use std::time::Duration;

use testkit::hls::{MediaPlaylist, resolve};
use testkit::{Clip, Process, Server, Tool, wait_until};

use crate::bodies_of_every_container::{AAC, H264, PLAYLIST, SECONDS, Show, check_vlc, start_vlc};
use crate::hls_plays_everywhere::ChromiumPlayer;
use crate::support::{DEADLINE, file, publish_rtmp, wait_for_stream};

const SHOW: Show = Show {
    stream: "live/show",
    clip: Clip::Flv,
    picture: Some(&H264),
    sound: &AAC,
    bodies: &[PLAYLIST],
};

const MEDIA: &str = "/live/show/aes/live.m3u8";

/// What a player plays: some periods of two seconds, each with its key.
const PLAYED: f64 = 7.0;

/// A server that changes keys with every second segment, and a stream whose playlist is as long as it gets.
fn published() -> (Server, Process) {
    let server = Server::builder()
        .set("hls", "segment", "\"1s\"")
        .set("hls", "encryption", "true")
        .set("hls", "key_period", "\"2s\"")
        .start();
    let publisher = publish_rtmp(&server, &Clip::Flv.seconds(SECONDS), SHOW.stream);
    wait_for_stream(&server, SHOW.stream);
    wait_until("some keys", DEADLINE, || {
        listing(&server).is_some_and(|list| list.duration() > Duration::from_secs(6))
    });
    (server, publisher)
}

fn listing(server: &Server) -> Option<MediaPlaylist> {
    let response = server.get(MEDIA);
    let text = response.text();
    (response.status == 200)
        .then(|| MediaPlaylist::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn another_implementation_decrypts_each_segment() {
    let (server, _publisher) = published();
    let playlist = listing(&server).unwrap();
    assert!(playlist.part_target.is_none());
    let mut keys = Vec::new();
    let mut joined = Vec::new();
    for segment in &playlist.segments {
        let Some(listed) = &segment.file else {
            continue;
        };
        let key = segment.key.as_ref().unwrap();
        let key = server.get(&resolve(MEDIA, &key.uri));
        assert_eq!((key.status, key.body.len()), (200, 16));
        assert_eq!(key.header("cache-control"), Some("no-store"));
        let key = hex(&key.body);
        if !keys.contains(&key) {
            keys.push(key.clone());
        }
        let sent = server.get(&resolve(MEDIA, &listed.uri)).body;
        let sent = file(&sent);
        let plain = Tool::new("openssl")
            .args(["enc", "-d", "-aes-128-cbc", "-K", &key])
            .args(["-iv", &format!("{:032x}", segment.number), "-in"])
            .arg(sent.path())
            .run(DEADLINE);
        assert_eq!(plain.len() % 188, 0);
        assert!(
            plain.chunks(188).all(|packet| packet[0] == 0x47),
            "{listed:?}"
        );
        joined.extend(plain);
    }
    assert!(keys.len() >= 3, "{}", keys.len());
    let log = server.log();
    assert!(keys.iter().all(|key| !log.contains(key)));
    let decoded = Tool::ffmpeg()
        .args(["-v", "error", "-xerror", "-f", "mpegts", "-i"])
        .arg(file(&joined).path())
        .args(["-f", "null", "-"])
        .finish(DEADLINE);
    assert_eq!(decoded.stderr, "");
    for clear in ["hls/live.m3u8", "ts/live.m3u8", "aac/live.m3u8"] {
        let answer = server.get(&format!("/live/show/{clear}"));
        assert_eq!(answer.status, 404, "{clear}");
    }
}

#[test]
fn players_go_over_changes_of_the_key() {
    let (server, _publisher) = published();
    let url = server.http_url("/live/show/index.m3u8");
    let decoding = Tool::ffmpeg()
        .args(["-v", "error", "-xerror", "-i", &url])
        .args(["-t", &PLAYED.to_string(), "-f", "null", "-"])
        .start();
    let vlc = start_vlc(&server, &SHOW, PLAYLIST);
    let gstreamer = Tool::new("gst-launch-1.0")
        .args(["playbin3", "flags=audio+video", &format!("uri={url}")])
        .arg("video-sink=progressreport name=picture update-freq=1 ! fakevideosink")
        .arg("audio-sink=progressreport name=sound update-freq=1 ! fakeaudiosink")
        .start();
    let mut ffmpeg = decoding;
    let status = ffmpeg.wait(DEADLINE);
    assert!(status.success(), "{}", ffmpeg.stderr());
    assert_eq!(ffmpeg.stderr(), "", "ffmpeg plays");
    check_vlc(vlc, &SHOW, PLAYLIST);
    for track in ["sound", "picture"] {
        wait_until(&format!("{track} by GStreamer"), DEADLINE, || {
            let said = String::from_utf8_lossy(&gstreamer.stdout()).into_owned();
            let lines = said.split(['\n', '\r']).rev();
            let last = lines.filter_map(|line| line.strip_prefix(track)).next();
            let seconds = last.and_then(|line| line.split_once("): ")?.1.split(' ').next());
            seconds.is_some_and(|text| text.parse::<f64>().is_ok_and(|played| played > PLAYED))
        });
    }
}

/// In a page that is a secure context, as the loopback is, by the browser's own cipher.
#[test]
fn hls_js_goes_over_changes_of_the_key() {
    let (server, _publisher) = published();
    let chromium = ChromiumPlayer::hls_js();
    chromium.go(&server.http_url("/live/show/index.m3u8"));
    chromium.wait_until_played(&SHOW, PLAYED);
}
