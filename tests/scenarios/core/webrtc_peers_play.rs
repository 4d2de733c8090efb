//! An independent WebRTC peer decodes a stream of the server.

use serde_json::json;
use testkit::{Clip, Server};

use crate::support::aiortc::{FRAMES, Viewer};
use crate::support::repeat_rtmp;

#[test]
fn aiortc_watches_a_stream_of_the_server() {
    let server = Server::start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    let mut viewer = Viewer::start();
    let sdp = viewer.agree(&server, "/live/show/whep").text();
    assert!(
        sdp.contains("H264/90000") && sdp.contains("opus/48000/2"),
        "{sdp}"
    );
    let counts = viewer.read();
    assert!(counts["video"].as_u64() >= Some(FRAMES), "{counts}");
    assert!(counts["audio"].as_u64() >= Some(FRAMES), "{counts}");
    assert_eq!(counts["size"], json!([320, 180]));
    let metrics = server.metrics();
    assert_eq!(
        metrics.sum("carillon_webrtc_nacked_packets_total", &[]),
        0.0
    );
}
