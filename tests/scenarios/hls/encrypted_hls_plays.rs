//! Players play a stream that is encrypted over HLS, across changes of the key; what they fetch is ciphertext.

use testkit::{Clip, Process, Server, Tool, wait_until};

use crate::support::encrypted::{STREAM, published};
use crate::support::hls_page::ChromiumPlayer;
use crate::support::shows::{AAC, H264, PLAYLIST, SECONDS, Show, check_vlc, start_vlc};
use crate::support::{DEADLINE, publish_rtmp};

const SHOW: Show = Show {
    stream: STREAM,
    clip: Clip::Flv,
    picture: Some(&H264),
    sound: &AAC,
    bodies: &[PLAYLIST],
};

fn shown() -> (Server, Process) {
    published(|server| publish_rtmp(server, &SHOW.clip.seconds(SECONDS), STREAM))
}

/// What a player plays: some periods of two seconds, each with its key.
const PLAYED: f64 = 7.0;

#[test]
fn players_go_over_changes_of_the_key() {
    let (server, _publisher) = shown();
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
    let (server, _publisher) = shown();
    let chromium = ChromiumPlayer::hls_js();
    chromium.go(&server.http_url("/live/show/index.m3u8"));
    chromium.wait_until_played(&SHOW, PLAYED);
}
