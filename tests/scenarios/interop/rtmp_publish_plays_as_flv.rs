//! A listener of `/{stream}.flv` decodes what others than ffmpeg publish over RTMP, and ffprobe reads it there.

use testkit::{Clip, PUBLISH_KEY, Server, Tool, framemd5, wait_until};

use crate::support::{DEADLINE, file, publish_rtmp, server_with_short_linger, wait_for_stream};

/// GStreamer's two RTMP sinks each implement the protocol in their own way.
fn gstreamer_publishes(sink: &str) {
    let server = server_with_short_linger();
    let url = server.rtmp_url("live/gst", PUBLISH_KEY);
    let pipeline = format!(
        "flvmux name=mux streamable=true ! {sink} location={url} \
         videotestsrc is-live=true num-buffers=200 ! video/x-raw,width=320,height=180,framerate=25/1 \
         ! x264enc tune=zerolatency key-int-max=25 ! h264parse ! mux. \
         audiotestsrc is-live=true num-buffers=340 ! avenc_aac ! aacparse ! mux."
    );
    let mut publisher = Tool::new("gst-launch-1.0")
        .arg("-q")
        .args(pipeline.split_whitespace())
        .start();
    wait_for_stream(&server, "live/gst");
    let mut listener = server.listen("/live/gst.flv");
    assert_eq!(listener.status(), 200);
    let body = listener.read_to_end(DEADLINE).to_vec();
    let status = publisher.wait(DEADLINE);
    assert!(status.success(), "{status}: {}", publisher.stderr());
    let frames = framemd5::decoded(file(&body).path());
    assert!(
        framemd5::video(&frames).len() > 100,
        "{}",
        framemd5::video(&frames).len()
    );
    assert!(framemd5::audio(&frames).len() > 100);
}

#[test]
fn gstreamer_rtmp2sink_publishes() {
    gstreamer_publishes("rtmp2sink");
}

#[test]
fn librtmp_publishes() {
    gstreamer_publishes("rtmpsink");
}

#[test]
fn ffprobe_reads_the_address_itself() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(30), "live/show");
    wait_for_stream(&server, "live/show");
    let mut said = String::new();
    wait_until("ffprobe to see both tracks", DEADLINE, || {
        let output = Tool::ffprobe()
            .args(["-show_entries", "stream=codec_name,width", "-of", "csv=p=0"])
            .arg(server.http_url("/live/show.flv"))
            .run(DEADLINE);
        said = String::from_utf8_lossy(&output).into_owned();
        said.contains("aac")
    });
    assert!(said.contains("h264,320"), "{said}");
}
