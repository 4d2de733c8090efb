//! Radio sources of every kind are relayed unchanged.

use testkit::Clip;

use crate::support::sources::{ffmpeg_is_heard, ffmpeg_is_heard_whatever_it_says};

#[test]
fn ogg_that_is_called_mp3() {
    ffmpeg_is_heard_whatever_it_says(Clip::OggOpus, "wrong.ogg", "audio/ogg");
}

#[test]
fn mp3() {
    ffmpeg_is_heard(Clip::Mp3, "radio.mp3");
}

#[test]
fn webm() {
    ffmpeg_is_heard(Clip::WebM, "clip.webm");
}
