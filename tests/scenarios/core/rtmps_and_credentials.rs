//! RTMP within TLS, and every place where ffmpeg can put a key.

use testkit::{Player, Tool};

use crate::support::rtmp_credentials::{key_is_found, played_behind_tls};

#[test]
fn ffmpeg_publishes_and_plays_behind_tls() {
    played_behind_tls(8, &[Player::Ffmpeg, Player::CurrentFfmpeg], &[]);
}

#[test]
fn the_key_is_found_wherever_ffmpeg_puts_it() {
    key_is_found(&[Tool::ffmpeg], &[]);
}
