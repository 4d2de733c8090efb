//! Players over RTMP that join a publisher that has begun.

use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Player, Playing, Publisher};

use crate::support::{DEADLINE, play_url, server_with_short_linger, wait_for_stream, wait_until};

/// Runs these players at once, joining a publisher that has already begun; asserts that each gets every frame from a keyframe
/// on as sent.
pub(crate) fn players_play(players: &[Player], publisher: Publisher, clip: Clip) {
    let server = server_with_short_linger();
    let clip = clip.seconds(8);
    let mut sender = publisher.start(&clip, &server.rtmp_url("live/show", PUBLISH_KEY));
    wait_for_stream(&server, "live/show");
    let url = play_url(&server, "live/show");
    let mut players: Vec<_> = players.iter().map(|player| player.start(&url)).collect();
    wait_until("all players to have joined", || {
        server.metrics().sum("carillon_listeners", &[]) == players.len() as f64
    });
    assert!(sender.wait(DEADLINE).success(), "{}", sender.stderr());
    let pictures = framemd5::video(&framemd5::decoded(&clip));
    let audio_frames = framemd5::audio(&framemd5::packets(&clip));
    for playing in &mut players {
        // The players end by themselves, when the stream does.
        playing.wait(DEADLINE);
        let got = playing.pictures();
        assert!(framemd5::is_monotonic(&got), "{:?}", playing.player());
        let at = assert_whole(playing, "pictures", &pictures, &got);
        assert_eq!(at % 25, 0, "{:?} begins at a keyframe", playing.player());
        assert_whole(playing, "sounds", &audio_frames, &playing.audio_frames());
    }
}

/// Asserts that `got` is a run of `sent` up to its end; returns the index at which it begins.
fn assert_whole(playing: &Playing, what: &str, sent: &[Frame], got: &[Frame]) -> usize {
    let player = playing.player();
    let join = framemd5::join(sent, got, 0)
        .unwrap_or_else(|mismatch| panic!("{player:?}: {what}: {mismatch}"));
    let is_whole = join.missing <= player.discarded_max();
    assert!(is_whole, "{player:?}: {what}: {join:?}");
    assert!(join.matched >= 50, "{player:?}: {what}: {join:?}");
    join.at
}
