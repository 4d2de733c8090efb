//! RTMP within TLS, and every place where real clients put a key.

use testkit::{Clip, PUBLISH_KEY, Player, Publisher, Server, Tool};

use crate::support::rtmp_credentials::{key_is_found, played_behind_tls, published};
use crate::support::{DEADLINE, listening_seconds, wait_until};

#[test]
fn published_and_played_behind_tls() {
    use Player::{CurrentFfmpeg, Ffmpeg, GstreamerRtmp2, Rtmpdump, Vlc};
    let secure = [Ffmpeg, CurrentFfmpeg, Vlc, GstreamerRtmp2];
    played_behind_tls(listening_seconds(8), &secure, &[Rtmpdump]);
}

#[test]
fn user_and_password_by_challenge() {
    let server = Server::builder()
        .set("rtmp", "challenge", "true")
        .set("ingest", "linger", "\"0s\"")
        .start();
    let clip = Clip::Flv.seconds(8);
    let addr = server.addr("rtmp");
    let url = |password: &str| format!("rtmp://user:{password}@{addr}/live/show");
    for publisher in [Publisher::Ffmpeg, Publisher::CurrentFfmpeg] {
        let said = published(&server, || publisher.start(&clip, &url(PUBLISH_KEY)));
        assert_eq!(said, Ok(()), "{publisher:?}");
        wait_until("it to be gone", || {
            !server.api("streams").to_string().contains("live/show")
        });
        let said = published(&server, || {
            publisher.start(&clip, &url("no-key-of-this-server"))
        });
        assert!(
            said.is_err(),
            "{publisher:?} was let in with a wrong password"
        );
    }
    let gstreamer = |password: &str| {
        let pipeline = format!(
            "filesrc location={} ! flvdemux name=demux flvmux name=mux streamable=true ! \
             rtmp2sink sync=true location=rtmp://{addr}/live/show username=user \
             password={password} authmod=adobe demux.video ! queue ! h264parse ! mux. \
             demux.audio ! queue ! aacparse ! mux.",
            clip.display()
        );
        Tool::new("gst-launch-1.0")
            .arg("-q")
            .args(pipeline.split_whitespace())
            .start()
    };
    assert_eq!(
        published(&server, || gstreamer(PUBLISH_KEY)),
        Ok(()),
        "rtmp2sink"
    );
    assert!(!server.log().contains(PUBLISH_KEY), "keys are not logged");
}

/// The log lets the operator find the misconfigured encoder, and never contains a key.
#[test]
fn a_refused_caller_leaves_a_line() {
    let clip = Clip::Flv.seconds(8);
    let server = Server::builder().set("rtmp", "challenge", "true").start();
    // The key is in the stream's name, as OBS sends it.
    let mut publisher = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", PUBLISH_KEY));
    assert!(!publisher.wait(DEADLINE).success());
    server.wait_for_log("is asked for user and password (rtmp.challenge)", DEADLINE);
    assert!(!server.log().contains(PUBLISH_KEY), "{}", server.log());
}

#[test]
fn the_key_is_found_wherever_it_stands() {
    let ffmpegs = [Tool::ffmpeg, Tool::current_ffmpeg];
    let others = [Publisher::GstreamerRtmp2, Publisher::Librtmp];
    key_is_found(&ffmpegs, &others);
}
