//! Players play a stream that is encrypted over HLS, across changes of the key; the segments that they fetch are ciphertext.

use testkit::{Clip, Process, Server, Tool};

use crate::support::encrypted::{STREAM, published};
use crate::support::hls_page::ChromiumPlayer;
use crate::support::shows::{
    AAC, H264, PLAYLIST, SECONDS, Show, check_vlc, played, start_gstreamer, start_vlc,
};
use crate::support::{DEADLINE, publish_rtmp, wait_until};

const SHOW: Show = Show {
    stream: STREAM,
    clip: Clip::Flv,
    picture: Some(&H264),
    audio: &AAC,
    bodies: &[PLAYLIST],
};

fn shown() -> (Server, Process) {
    published(|server| publish_rtmp(server, &SHOW.clip.seconds(SECONDS), STREAM))
}

/// Seconds that a player plays: some periods of two seconds, each with its key.
const PLAYED: f64 = 7.0;

#[test]
fn players_go_over_changes_of_the_key() {
    let (server, _publisher) = shown();
    let url = server.http_url("/live/show/index.m3u8");
    let mut ffmpeg = Tool::ffmpeg()
        .args(["-v", "error", "-xerror", "-i", &url])
        .args(["-t", &PLAYED.to_string(), "-f", "null", "-"])
        .start();
    let vlc = start_vlc(&server, &SHOW, PLAYLIST);
    let gstreamer = start_gstreamer(&url);
    let status = ffmpeg.wait(DEADLINE);
    assert!(status.success(), "{}", ffmpeg.stderr());
    assert_eq!(ffmpeg.stderr(), "", "ffmpeg plays");
    check_vlc(vlc, &SHOW, PLAYLIST);
    for track in ["sound", "picture"] {
        wait_until(&format!("{track} by GStreamer"), || {
            played(&gstreamer, track) > PLAYED
        });
    }
}

/// hls.js decrypts by the browser's own cipher, in a page that is a secure context, as the loopback is.
#[test]
fn hls_js_goes_over_changes_of_the_key() {
    let (server, _publisher) = shown();
    let chromium = ChromiumPlayer::hls_js();
    chromium.go(&server.http_url("/live/show/index.m3u8"));
    chromium.wait_until_played(&SHOW, PLAYED);
}
