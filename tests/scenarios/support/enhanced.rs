//! Codecs of Enhanced RTMP, published and played.

use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Player, Tool};

use crate::support::{
    DEADLINE, assert_joins, file, flv, play_url, server_with_short_linger, wait_for_stream,
};

/// Publishes `clip` by a current ffmpeg and asserts that a player and a listener get all of it. `more` are additional options
/// of the publisher.
pub(crate) fn relayed(clip: Clip, more: &[&str]) {
    let server = server_with_short_linger();
    let sent = clip.seconds(8);
    let mut publisher = Tool::current_ffmpeg()
        .arg("-re")
        .arg("-i")
        .arg(&sent)
        .args(["-c", "copy"])
        .args(more)
        .args(["-f", "flv"])
        .arg(server.rtmp_url("live/show", PUBLISH_KEY))
        .start();
    wait_for_stream(&server, "live/show");
    let mut early = server.listen("/live/show.flv");
    let begun = early.read_until(DEADLINE, |body| flv::times(body, 9).last() > Some(&1_500));
    assert!(begun, "the stream ended early");
    let mut player = Player::CurrentFfmpeg.start(&play_url(&server, "live/show"));
    let mut listener = server.listen("/live/show.flv");
    let body = listener.read_to_end(DEADLINE).to_vec();
    player.wait(DEADLINE);
    assert!(publisher.wait(DEADLINE).success(), "{}", publisher.stderr());

    let body = file(&body);
    for (what, got) in [("RTMP", player.file()), ("FLV", body.path())] {
        // The video is compared decoded: a decoder only begins at a keyframe.
        let of = |path| {
            framemd5::video(&framemd5::decoded_by(
                Tool::current_ffmpeg(),
                path,
                &["-an"],
            ))
        };
        let join = assert_joins(what, &of(sent.as_path()), &of(got));
        assert!(join.at > 0, "{what} came late: {join:?}");
        assert_eq!((join.at % 25, join.missing), (0, 0), "{what}: {join:?}");
        let of = |path| framemd5::packets_by(Tool::current_ffmpeg(), path, &[]);
        let (sent, got) = (of(sent.as_path()), of(got));
        assert_eq!(streams(&sent), streams(&got), "{what}");
        for stream in streams(&sent) {
            let of = |frames: &[Frame]| -> Vec<Frame> {
                frames
                    .iter()
                    .filter(|frame| frame.stream == stream)
                    .cloned()
                    .collect()
            };
            let join = assert_joins(&format!("{what}, track {stream}"), &of(&sent), &of(&got));
            assert_eq!(join.missing, 0, "{what}, track {stream}: {join:?}");
            assert!(join.matched > 50, "{what}, track {stream}: {join:?}");
        }
    }
}

fn streams(frames: &[Frame]) -> Vec<u32> {
    let mut streams: Vec<u32> = frames.iter().map(|frame| frame.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}
