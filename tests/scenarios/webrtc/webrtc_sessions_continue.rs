//! A session over WebRTC outlives its publisher, the viewer's address and its ICE; over bad networks, too.

use testkit::{Clip, Impaired, Impairment, Server, ServerBuilder};

use crate::support::browser::Browser;
use crate::support::session::{begin, figures, frames, prepare, wait_for_frames, watch, watch_by};
use crate::support::{publish_rtmp, wait_until};
use crate::webrtc::audio_shares_packets::crowded;

/// Frames of two seconds.
const SOME: u64 = 50;

fn sessions(server: &Server) -> Vec<String> {
    let listeners = server.api("listeners");
    let all = listeners["listeners"].as_array().unwrap();
    let ids = all.iter().map(|listener| listener["id"].to_string());
    ids.collect()
}

#[test]
fn viewers_stay_when_the_publisher_comes_back() {
    let server = Server::start();
    let clip = Clip::Flv.seconds(90);
    let mut publisher = publish_rtmp(&server, &clip, "live/show");
    let browser = Browser::open();
    watch(&browser, &server, "/live/show");
    wait_for_frames(&browser, SOME);
    let before = sessions(&server);
    assert_eq!(before.len(), 1);
    publisher.kill();
    let mut last = 0;
    wait_until("pictures to stop", || {
        let now = frames(&browser);
        let streams = server.api("streams").to_string();
        std::mem::replace(&mut last, now) == now && !streams.contains("\"live\"")
    });
    let _second = publish_rtmp(&server, &clip, "live/show");
    wait_for_frames(&browser, 2 * SOME);
    assert_eq!(sessions(&server), before);
    let figures = figures(&browser);
    assert_eq!(figures["video"]["lost"], 0, "{figures}");
    assert_eq!(figures["audio"]["lost"], 0, "{figures}");
}

#[test]
fn a_viewer_whose_address_changes_continues() {
    let server = Server::builder().arg("--demo").start();
    let proxy = Impaired::udp(server.addr("webrtc"), Impairment::NONE, Impairment::NONE);
    let browser = Browser::open();
    watch_by(&browser, &server, "/demo", Some(proxy.addr()));
    wait_for_frames(&browser, SOME);
    let before = sessions(&server);
    for _ in 0..2 {
        proxy.rebind();
        // The wait is longer than a browser continues without a reply to its checks.
        wait_for_frames(&browser, 5 * SOME);
    }
    assert_eq!(sessions(&server), before);
    assert!(proxy.down().passed > 100);
}

#[test]
fn a_viewer_that_restarts_ice_continues() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    watch(&browser, &server, "/demo");
    wait_for_frames(&browser, SOME);
    let before = sessions(&server);
    for turn in 1..=2 {
        begin(
            &browser,
            &format!("await restart_session(pc, session); window.restarted = {turn};"),
        );
        wait_until("the restart", || {
            assert!(figures(&browser).is_object());
            browser.run("return window.restarted;") == turn
        });
        wait_for_frames(&browser, 5 * SOME);
    }
    let state = browser.run("return pc.connectionState;");
    assert_eq!(state, "connected");
    assert_eq!(sessions(&server), before);
}

/// This transport is for networks that block UDP.
#[test]
fn chromium_decodes_over_tcp() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    prepare(&browser, &server);
    begin(&browser, "await watch('/demo/whep', 'tcp');");
    wait_for_frames(&browser, 2 * SOME);
}

#[test]
fn a_browser_sees_on_over_a_bad_network() {
    sees_on_over_a_bad_network(Server::builder());
}

/// Padded packets are repeated without their padding.
#[test]
fn a_browser_in_a_large_audience_sees_on_over_a_bad_network() {
    sees_on_over_a_bad_network(crowded());
}

/// Asserts that Chromium requests lost packets over a network with five percent loss, and shows nearly everything.
fn sees_on_over_a_bad_network(server: ServerBuilder) {
    let server = server.arg("--demo").start();
    let good = Impairment {
        delay: std::time::Duration::from_millis(25),
        ..Impairment::NONE
    };
    let bad = Impairment {
        loss: 0.05,
        seed: 7,
        ..good
    };
    let proxy = Impaired::udp(server.addr("webrtc"), good, bad);
    let browser = Browser::open();
    watch_by(&browser, &server, "/demo", Some(proxy.addr()));
    wait_for_frames(&browser, 12 * SOME);
    let figures = figures(&browser);
    let number = |name: &str| figures["video"][name].as_f64().unwrap();
    assert!(number("nacks") > 0.0, "{figures}");
    // At most one keyframe request in two seconds.
    assert!(number("plis") < 12.0, "{figures}");
    let metrics = server.metrics();
    let repeated = metrics.sum("carillon_webrtc_repeated_packets_total", &["way=\"whep\""]);
    let sent = metrics.sum("carillon_webrtc_datagrams_total", &["direction=\"sent\""]);
    assert!(
        repeated > 0.02 * sent && repeated < 0.15 * sent,
        "{repeated} of {sent} were sent again"
    );
}
