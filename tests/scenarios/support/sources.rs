//! ffmpeg as a source, and its listener, which receives each packet as it was sent.

use testkit::{Clip, PUBLISH_KEY, Server, Tool, framemd5};

use crate::support::{
    DEADLINE, assert_joins, file, publish_icecast, server_with_short_linger, wait_for_stream,
    wait_until,
};

/// Publishes a clip by ffmpeg; compares a listener's media packet by packet.
pub(crate) fn ffmpeg_is_heard(clip: Clip, stream: &str) {
    let server = server_with_short_linger();
    let _publisher = publish_icecast(&server, clip, 8, stream);
    is_heard_to_the_end(&server, clip, stream, clip.content_type());
}

/// Publishes a clip by ffmpeg as `audio/mpeg`, its default when no type is given.
pub(crate) fn ffmpeg_is_heard_whatever_it_says(clip: Clip, stream: &str, content_type: &str) {
    let server = server_with_short_linger();
    let _publisher = Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(8))
        .args(["-c", "copy", "-f", clip.format()])
        .arg(server.icecast_url(stream, PUBLISH_KEY))
        .start();
    wait_for_stream(&server, stream);
    wait_until("the type to be corrected", || {
        let streams = server.api("streams");
        let stream = &streams["streams"][0];
        stream["announced_type"] == "audio/mpeg" && stream["content_type"] == content_type
    });
    is_heard_to_the_end(&server, clip, stream, content_type);
}

pub(crate) fn is_heard_to_the_end(server: &Server, clip: Clip, stream: &str, content_type: &str) {
    let mut listener = server.listen(&format!("/{stream}"));
    assert_eq!(listener.status(), 200);
    assert_eq!(listener.header("content-type"), Some(content_type));
    let body = listener.read_to_end(DEADLINE).to_vec();
    let received = file(&body);
    let sent = framemd5::packets(clip.seconds(8));
    let got = framemd5::packets(received.path());
    for of_kind in [framemd5::video, framemd5::audio] {
        let (sent, got) = (of_kind(&sent), of_kind(&got));
        if !sent.is_empty() {
            let join = assert_joins(stream, &sent, &got);
            assert_eq!(join.missing, 0, "it stayed to the end");
        }
    }
}
