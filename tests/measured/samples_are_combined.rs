//! `max_samples` decides how many samples one send carries, and so how many sends there are.

use std::time::Duration;

use testkit::{Audience, PUBLISH_KEY, Sampling, Server, Tool, sample, wait_until};

use crate::support::{DEADLINE, wait_for_stream};

const LISTENERS: usize = 2_000;

/// What two thousand listeners of an MP3 mount cost with messages of so many samples.
fn measure(max_samples: u32) -> Sampling {
    let server = Server::builder()
        .set("fanout.audio", "max_samples", &max_samples.to_string())
        .set("fanout.audio", "min_wait", "\"450ms\"")
        .set("fanout.audio", "max_wait", "\"450ms\"")
        .start();
    let _source = Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(testkit::Clip::Mp3.seconds(30))
        .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url("radio.mp3", PUBLISH_KEY))
        .start();
    wait_for_stream(&server, "radio.mp3");
    let audience = Audience::join(server.addr("http"), "/radio.mp3", LISTENERS);
    wait_until("everybody to have joined", DEADLINE, || {
        server.metrics().sum("carillon_listeners", &[]) == LISTENERS as f64
    });
    sample(&server, &audience, Duration::from_secs(2));
    let result = sample(&server, &audience, Duration::from_secs(6));
    assert_eq!(audience.alive(), LISTENERS);
    result
}

#[test]
fn four_times_the_samples_are_a_quarter_of_the_sends() {
    let (four, sixteen) = (measure(4), measure(16));
    let samples = sixteen.samples_per_message() / four.samples_per_message();
    let sends = four.sends_per_second() / sixteen.sends_per_second();
    assert!(
        (3.2..5.0).contains(&samples),
        "{samples}: {four:?} {sixteen:?}"
    );
    assert!((3.2..5.0).contains(&sends), "{sends}: {four:?} {sixteen:?}");
}
