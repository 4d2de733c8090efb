//! New listeners are refused before present ones lose anything.

use limits::Marks;

use super::viewer::{Viewer, ask_to_watch};
use super::*;

/// One viewer of the demo needs several times this share of a core; a worker without viewers, which wakes
/// about once a second, needs less.
const ONE_VIEWER: f64 = 0.000_3;

/// Packets of a few seconds.
const SOME: u64 = 200;

#[tokio::test]
async fn viewers_over_webrtc_are_turned_away_where_those_present_need_their_workers() {
    let marks = Marks {
        webrtc_share: ONE_VIEWER,
        ..Marks::default()
    };
    let server = TestServer::open_with_demo_and_marks(marks).await;
    let mut present = Viewer::watch(&server, "demo").await;
    present.receives(1).await;

    let offer = rtc::offer(&[rtc::PICTURE]) + "a=recvonly\r\n";
    let refused = found("a refusal", async || {
        let answer = ask_to_watch(&server, "demo", &offer).await;
        if status(&answer) != 201 {
            return Some(answer);
        }
        // No more sessions whose peers never connect than the next measurement needs.
        present.receives(10).await;
        None
    })
    .await;
    rtc::assert_problem(&refused, 503, "as many WebRTC viewers as");
    let seconds = header(&refused, "retry-after").expect("it says when");
    let seconds: u32 = seconds.parse().expect("seconds");
    assert!((5..=15).contains(&seconds), "{refused}");
    let counted = "carillon_rejected_total{reason=\"pressure_webrtc_turn\"} 1";
    assert_counted(&server, &[counted]).await;

    // Present viewers stay, and listeners that other threads serve are admitted.
    present.receives(SOME).await;
    let listener = listening(&server, "demo.flv").await;
    assert_counted(&server, &["carillon_skips_total 0"]).await;
    drop((present, listener));
    server.close().await;
}
