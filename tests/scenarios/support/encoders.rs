//! What is heard of an encoder of a tone: its pitch, and the facts of its mount.

use testkit::{Server, Tool};

use crate::support::tones::{self, assert_pitch};
use crate::support::{DEADLINE, wait_for_stream};

pub(crate) const TONE_HZ: f64 = 440.0;

/// What is decoded of each stream.
const SECONDS: u32 = 10;

/// Decodes a stream as a listener, and demands that nothing of it is broken.
pub(crate) fn decode(server: &Server, stream: &str) -> Vec<i16> {
    wait_for_stream(server, stream);
    let sound = Tool::ffmpeg()
        .args(["-xerror", "-i", &server.http_url(&format!("/{stream}"))])
        .args(["-t", &SECONDS.to_string()])
        .args(tones::RAW)
        .arg("-")
        .run(DEADLINE);
    let sound = tones::samples(&sound);
    // Some codecs begin with a packet that has no sound of its own.
    let least = tones::RATE as usize * SECONDS as usize * 99 / 100;
    assert!(sound.len() > least, "{stream}: {} samples", sound.len());
    sound
}

pub(crate) fn tone_is_heard(server: &Server, stream: &str) {
    assert_pitch(stream, &decode(server, stream), TONE_HZ);
}

/// The facts of a mount as monitors read them.
pub(crate) fn mount(server: &Server, stream: &str) -> serde_json::Value {
    let answer = server.get(&format!("/status-json.xsl?mount=/{stream}"));
    let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    status["icestats"]["source"].clone()
}
