//! A second audio track arrives by Enhanced RTMP and leaves over RTMP and HTTP-FLV unchanged, and players that do not know a
//! codec play the tracks that they know.

use testkit::{Clip, PUBLISH_KEY, Player, Publisher, Tool, framemd5};

use crate::support::enhanced::relayed;
use crate::support::{DEADLINE, assert_joins, play_url, server_with_short_linger, wait_for_stream};

#[test]
fn two_tracks_of_audio() {
    relayed(Clip::FlvMultitrack, &["-map", "0"]);
}

/// Players that do not know a codec are sent the same bytes as those that do. They play the tracks they know.
#[test]
fn a_player_of_old_takes_the_audio() {
    let server = server_with_short_linger();
    let sent = Clip::FlvHevc.seconds(8);
    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = Publisher::CurrentFfmpeg.start(&sent, &url);
    wait_for_stream(&server, "live/show");
    let mut player = Player::Rtmpdump.start(&play_url(&server, "live/show"));
    player.wait(DEADLINE);
    let audio_frames = framemd5::audio(&framemd5::packets_by(Tool::current_ffmpeg(), &sent, &[]));
    assert_eq!(
        assert_joins("sounds", &audio_frames, &player.audio_frames()).missing,
        0
    );
}
