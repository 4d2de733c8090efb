//! ffmpeg publishes with the options that stations have used for years: it sends a tone of 440 Hz, and the audio that listeners
//! receive decodes without a complaint and at that pitch.

use testkit::{PUBLISH_KEY, Server, Tool};

use crate::support::encoders::{TONE_HZ, mount, tone_is_heard};

/// ffmpeg publishes as before Icecast 2.4, by the method `SOURCE`.
#[test]
fn ffmpeg_sends_mp3_the_old_way() {
    let server = Server::start();
    let tone = format!("sine=frequency={TONE_HZ}:sample_rate=44100");
    let _source = Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i", &tone, "-ac", "2"])
        .args(["-c:a", "libmp3lame", "-b:a", "128k", "-write_xing", "0"])
        .args(["-legacy_icecast", "1", "-ice_name", "Old"])
        .args(["-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url("old.mp3", PUBLISH_KEY))
        .start();
    tone_is_heard(&server, "old.mp3");
    assert_eq!(mount(&server, "old.mp3")["server_name"], "Old");
}
