//! Chromium publishes its camera in three sizes at once: each is a stream, and all have the audio.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Server, Tool};

use crate::support::browser::Browser;
use crate::support::browser::CAMERA;
use crate::support::session::{assert_watched, figures, publish_layers, watch};
use crate::support::{DEADLINE, wait_for_stream, wait_until};

/// Streams, and the widths of their video. The first has the requested size.
const STREAMS: [(&str, u64); 3] = [
    ("live/cam", 1_280),
    ("live/cam~m", 640),
    ("live/cam~l", 320),
];

/// Time without media after which a layer counts as paused: many times the distance of two frames.
const PAUSED: Duration = Duration::from_secs(2);

fn publish(server: &Server, encodings: &Value) -> Browser {
    let camera = Browser::open_with(CAMERA);
    publish_layers(&camera, server, "live/cam", encodings);
    for (stream, _) in STREAMS {
        wait_for_stream(server, stream);
    }
    camera
}

/// Returns width and codec of the video, and codec of the audio, as an independent program finds them.
fn probed(url: &str) -> (Option<u64>, Option<String>) {
    let output = Tool::ffprobe()
        .args(["-show_streams", "-of", "json", url])
        .run(DEADLINE);
    let document: Value = serde_json::from_slice(&output).expect("ffprobe writes JSON");
    let of = |kind: &str| {
        let streams = document["streams"].as_array().expect("there are streams");
        let mut found = streams.iter().filter(|stream| stream["codec_type"] == kind);
        found.next().cloned().unwrap_or_default()
    };
    let audio = of("audio")["codec_name"].as_str().map(str::to_owned);
    (of("video")["width"].as_u64(), audio)
}

#[test]
fn each_layer_of_a_camera_is_a_stream_with_the_same_audio() {
    let server = Server::start();
    let camera = publish(
        &server,
        &json!([
            {"rid": "h"},
            {"rid": "m", "scaleResolutionDownBy": 2},
            {"rid": "l", "scaleResolutionDownBy": 4},
        ]),
    );
    let answer = camera.run("return publication.answer;");
    let answer = answer.as_str().expect("an answer");
    assert!(answer.contains("a=simulcast:recv h;m;l\r\n"), "{answer}");
    for (stream, width) in STREAMS {
        let url = server.http_url(&format!("/{stream}.mp4"));
        let expected = (Some(width), Some("opus".to_owned()));
        // An encoder may begin with a smaller size than it will have.
        wait_until("the layer's size", || probed(&url) == expected);
    }
    assert_eq!(
        server
            .metrics()
            .get("carillon_publishers{protocol=\"whip\"}"),
        Some(1.0)
    );
    // A browser sends a keyframe only on request, and the server requests one from each layer.
    let viewer = Browser::open();
    watch(&viewer, &server, "/live/cam~l");
    assert_watched(&viewer, 30, 2.0);
    camera.run("publisher.close(); return null;");
    wait_until("the publisher to be gone", || {
        let metrics = server.metrics();
        metrics.get("carillon_publishers{protocol=\"whip\"}") == Some(0.0)
    });
}

/// A sender may switch a layer off and on: its stream waits, and the others continue.
#[test]
fn a_layer_that_pauses_ends_no_stream() {
    let server = Server::start();
    let camera = publish(
        &server,
        &json!([
            {"rid": "l", "scaleResolutionDownBy": 4},
            {"rid": "m", "scaleResolutionDownBy": 2},
            {"rid": "h"},
        ]),
    );
    let switch = |is_active: bool| {
        camera.run(&format!(
            "const sender = publisher.getSenders().find(one => one.track.kind === 'video'); \
             const parameters = sender.getParameters(); \
             parameters.encodings[1].active = {is_active}; \
             sender.setParameters(parameters).catch(fail); return null;"
        ));
    };
    let viewer = Browser::open();
    watch(&viewer, &server, "/live/cam~m");
    assert_watched(&viewer, 15, 1.0);
    let pictures = || {
        let now = figures(&viewer);
        now["video"]["packets"].as_u64().unwrap_or(0)
    };
    switch(false);
    let mut last = (pictures(), Instant::now());
    wait_until("the layer to pause", || {
        let now = pictures();
        if now != last.0 {
            last = (now, Instant::now());
        }
        last.1.elapsed() > PAUSED
    });
    switch(true);
    wait_until("the layer to go on", || pictures() > last.0 + 20);
    assert!(camera.run("return window.failure;").is_null());
}
