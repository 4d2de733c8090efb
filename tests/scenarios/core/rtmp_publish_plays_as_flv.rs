//! A listener of `/{stream}.flv` decodes exactly the frames that ffmpeg publishes over RTMP.

use testkit::{Clip, Tool, framemd5};

use crate::support::{DEADLINE, assert_joins, file, publish_rtmp, server_with_short_linger};

fn plays(clip: Clip) {
    let server = server_with_short_linger();
    let sent = clip.seconds(8);
    let _publisher = publish_rtmp(&server, &sent, "live/show");
    let mut listener = server.listen("/live/show.flv");
    assert_eq!(listener.status(), 200);
    assert_eq!(listener.header("content-type"), Some("video/x-flv"));
    let body = listener.read_to_end(DEADLINE).to_vec();

    let received = file(&body);
    let (sent_packets, got_packets) =
        (framemd5::packets(&sent), framemd5::packets(received.path()));
    for of_kind in [framemd5::video, framemd5::audio] {
        let join = assert_joins("packets", &of_kind(&sent_packets), &of_kind(&got_packets));
        assert_eq!(join.missing, 0, "it stayed to the end");
    }
    let (sent_frames, got_frames) = (framemd5::decoded(&sent), framemd5::decoded(received.path()));
    let pictures = framemd5::video(&got_frames);
    let join = assert_joins("pictures", &framemd5::video(&sent_frames), &pictures);
    assert_eq!(join.missing, 0);
    assert_eq!(join.at % 25, 0, "it joined at a keyframe");
    assert!(framemd5::is_monotonic(&got_frames));
}

#[test]
fn h264_and_aac() {
    plays(Clip::Flv);
}

#[test]
fn h264_with_b_frames() {
    plays(Clip::FlvBframes);
}

#[test]
fn the_audio_alone_is_heard_as_aac() {
    let server = server_with_short_linger();
    let sent = Clip::Flv.seconds(8);
    let _publisher = publish_rtmp(&server, &sent, "live/show");
    let mut listener = server.listen("/live/show.aac");
    assert_eq!(listener.status(), 200);
    assert_eq!(listener.header("content-type"), Some("audio/aac"));
    let body = listener.read_to_end(DEADLINE).to_vec();
    let received = file(&body);
    // Removing the ADTS headers again leaves the packets that were published.
    let got = Tool::ffmpeg()
        .arg("-i")
        .arg(received.path())
        .args("-c copy -bsf:a aac_adtstoasc -f framemd5 -".split(' '))
        .run(DEADLINE);
    let got = framemd5::parse(&String::from_utf8_lossy(&got));
    let sent = framemd5::audio(&framemd5::packets(&sent));
    assert_eq!(assert_joins("sound", &sent, &got).missing, 0);
    assert!(framemd5::decoded(received.path()).len() >= got.len());
}
