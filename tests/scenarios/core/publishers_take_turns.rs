//! Rules of takeover: a new publisher may replace the present one, and the replaced one may not take the stream back.

use testkit::{Clip, PUBLISH_KEY, Server, Tool};

use crate::support::{DEADLINE, post_offer, repeat_rtmp};

/// SDP offer of audio by a browser that never connects.
const OFFER: &str = "v=0\r\no=- 4611732854375898212 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
    a=group:BUNDLE 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n\
    a=rtcp-mux\r\na=sendonly\r\na=setup:actpass\r\na=rtpmap:111 opus/48000/2\r\n\
    a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\na=fingerprint:sha-256 \
    7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08\r\n";

#[test]
fn a_whip_publisher_takes_over_with_its_media_and_not_with_its_offer() {
    let server = Server::start();
    let mut show = repeat_rtmp(&server, Clip::Flv, "live/show");
    let mut listener = server.listen("/live/show.flv");
    listener.read_bytes(100_000, DEADLINE);
    let key = format!("Authorization: Bearer {PUBLISH_KEY}\r\n");
    let answer = post_offer(&server, "/live/show/whip", &key, OFFER);
    assert_eq!(answer.status, 201, "{}", answer.text());
    // The wait is longer than the server waits for a connection; the show continues all the while.
    server.wait_for_log("came to nothing", DEADLINE);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("came to nothing"));
    let line = line.expect("it was waited for");
    assert!(line.contains("live/show") && line.contains("no connectivity check"));
    let before = listener.body().len();
    listener.read_bytes(before + 300_000, DEADLINE);
    assert!(!listener.ended() && show.is_running(), "{}", show.stderr());
    assert!(!log.contains("takes over"), "{log}");

    let to = format!(
        "whip+http://{PUBLISH_KEY}@{}/live/show/whip",
        server.addr("http")
    );
    let _next = Tool::carillon()
        .args(["load", "publish", &to, "--duration", "2m"])
        .start();
    server.wait_for_log("takes over", DEADLINE);
    show.wait(DEADLINE);
    assert_eq!(server.api("streams")["streams"][0]["protocol"], "whip");
}

#[test]
fn two_encoders_with_one_key_do_not_take_turns() {
    let server = Server::start();
    let mut first = repeat_rtmp(&server, Clip::Flv, "live/show");
    let mut second = repeat_rtmp(&server, Clip::Flv, "live/show");
    server.wait_for_log("a publisher takes over", DEADLINE);
    first.wait(DEADLINE);
    // An encoder that reconnects by itself behaves like this.
    for attempt in 0..4 {
        let mut again = repeat_rtmp(&server, Clip::Flv, "live/show");
        assert!(!again.wait(DEADLINE).success());
        assert!(second.is_running(), "{attempt}: {}", second.stderr());
    }
    let log = server.log();
    let reported = log
        .lines()
        .filter(|line| line.contains("wants its stream back"));
    let reported: Vec<_> = reported.collect();
    assert_eq!(reported.len(), 1, "{log}");
    assert!(
        reported[0].contains("WARN") && reported[0].contains("present"),
        "{}",
        reported[0]
    );
    assert_eq!(server.api("streams")["streams"][0]["epoch"], 2);
    let metrics = server.metrics();
    assert_eq!(metrics.sum("carillon_takeovers_total", &[]), 1.0);
    let refused = metrics.sum("carillon_rejected_total", &["reason=\"replaced\""]);
    assert_eq!(refused, 4.0);
}
