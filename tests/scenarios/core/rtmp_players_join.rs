//! Players over RTMP join at a keyframe and get every frame from there on as sent.

use testkit::{Clip, Player, Publisher};

use crate::support::joins::players_play;

#[test]
fn over_rtmp_with_ffmpeg() {
    let players = [Player::Ffmpeg, Player::CurrentFfmpeg];
    players_play(&players, Publisher::Ffmpeg, Clip::Flv);
}
