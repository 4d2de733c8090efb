//! ICY titles arrive at fixed positions in the stream, and between them is the source's audio, byte for byte.

use testkit::{Clip, Server};

use crate::support::titles::{arrives_within_one_interval, assert_is_run, set_title};
use crate::support::{repeat_icecast, round, rounds};

#[test]
fn a_title_arrives_within_one_interval_and_the_audio_is_untouched() {
    let server = Server::start();
    let _publisher = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let set = || set_title(&server, "song=It%27s%20%E2%99%AB%20now");
    let title = "It's \u{266b} now";
    let (audio, interval) = arrives_within_one_interval(&server, "/radio.mp3", title, set);
    let file = rounds(&std::fs::read(round(Clip::Mp3)).unwrap());
    let what = "ICY sound in the source's file";
    assert_is_run(what, &audio[..4 * interval], &file);
}
