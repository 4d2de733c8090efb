//! All publishers with all players over RTMP: each player joins at a keyframe and receives every frame from there on as sent.

use testkit::{Clip, Player, Publisher};

use crate::support::joins::players_play;

#[test]
fn from_ffmpeg() {
    players_play(&Player::ALL, Publisher::Ffmpeg, Clip::Flv);
}

#[test]
fn from_a_current_ffmpeg() {
    players_play(&Player::ALL, Publisher::CurrentFfmpeg, Clip::FlvBframes);
}

#[test]
fn from_gstreamer_rtmp2sink() {
    players_play(&Player::ALL, Publisher::GstreamerRtmp2, Clip::Flv);
}

#[test]
fn from_librtmp() {
    players_play(&Player::ALL, Publisher::Librtmp, Clip::Flv);
}
