//! A hook gives other names, sets limits in time and is notified of ends over WHIP and WHEP as over other protocols, and
//! receives one request about each publisher and each viewer.

use testkit::{Clip, Publisher, Server, http};

use crate::support::aiortc::Viewer;
use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::{DEADLINE, gstreamer_whip, metric, wait_for_stream, wait_until};

/// Counts the requests to the hook that contain all of these.
fn asked(hook: &Hook, parts: &[&str]) -> usize {
    let bodies = hook.asked().into_iter();
    bodies
        .filter(|body| parts.iter().all(|part| body.contains(part)))
        .count()
}

fn delete(server: &Server, session: &str) -> u16 {
    let request =
        format!("DELETE {session} HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n\r\n");
    http::request(server.addr("http"), request.as_bytes(), DEADLINE).status
}

#[test]
fn other_names_are_published_and_watched() {
    let hook = Hook::start();
    let keys = format!(
        "dialect = \"nginx-rtmp\"\nend_url = \"{}\"",
        hook.url("ended")
    );
    let server = hook.serve("renaming", &keys);
    let mut publisher = gstreamer_whip(&server, "live/secret-name", KNOWN).start();
    wait_for_stream(&server, "live/public");
    let streams = server.api("streams")["streams"].clone();
    assert_eq!(streams.as_array().unwrap().len(), 1, "{streams}");
    assert_eq!(streams[0]["protocol"], "whip");
    let mut viewer = Viewer::of(50);
    viewer.watch(&server, &format!("/live/alias/whep?key={KNOWN}"));
    let counts = viewer.read();
    assert!(counts["video"].as_u64() >= Some(50), "{counts}");

    // A session that its own viewer ends causes no further request.
    let mut viewer = Viewer::of(u64::MAX);
    let session = viewer.watch(&server, &format!("/live/alias/whep?key={KNOWN}"));
    wait_until("the viewer", || {
        metric(&server, "carillon_listeners", "protocol=webrtc") >= 1.0
    });
    let without_key = session.split('?').next().unwrap();
    assert!(session.starts_with("/live/alias/whep/"), "{session}");
    wait_until("both questions", || asked(&hook, &["call=play&"]) == 2);
    assert_eq!(delete(&server, &session), 200);
    assert_eq!(delete(&server, without_key), 404);
    wait_until("both ends", || {
        asked(&hook, &["call=play_done&", "name=alias"]) == 2
    });
    publisher.kill();
    wait_until("the publisher's end", || {
        asked(&hook, &["call=publish_done&", "name=secret-name"]) == 1
    });
    // The hook's requests arrive in order, so the requests before an end have been read: one for each viewer, and one for the
    // client that tried to end a session without its key.
    assert_eq!(asked(&hook, &["call=publish&"]), 1);
    assert_eq!(asked(&hook, &["call=play&"]), 3);
}

#[test]
fn what_is_permitted_for_a_while_ends_then() {
    let hook = Hook::start();
    let keys = format!("end_url = \"{}\"", hook.url("ended"));
    let server = hook.serve("longer", &keys);
    let mut publisher = gstreamer_whip(&server, "live/camera", KNOWN).start();
    server.wait_for_log("publishing begins", DEADLINE);
    wait_until("the publisher's end", || {
        asked(&hook, &["publish_ended", "\"whip\""]) == 1
    });
    wait_until("its count", || {
        server.metrics().sum("carillon_publishers", &[]) == 0.0
    });
    publisher.kill();

    let url = server.rtmp_url("live/show", testkit::PUBLISH_KEY);
    let _show = Publisher::Ffmpeg.start(&Clip::Flv.seconds(120), &url);
    wait_for_stream(&server, "live/show");
    let mut viewer = Viewer::of(u64::MAX);
    viewer.watch(&server, "/live/show/whep");
    wait_until("the viewer's end", || {
        asked(&hook, &["play_ended", "\"webrtc\""]) == 1
    });
    wait_until("its count", || {
        server.metrics().sum("carillon_listeners", &[]) == 0.0
    });
    let kicked = metric(&server, "carillon_departures_total", "reason=kicked");
    assert_eq!(kicked, 1.0);
}
