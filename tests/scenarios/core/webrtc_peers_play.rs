//! An independent WebRTC peer decodes a stream of the server.

use testkit::{Clip, Server, http};

use crate::support::aiortc::{FRAMES, Viewer};
use crate::support::{DEADLINE, repeat_rtmp, wait_for_stream};

#[test]
fn aiortc_watches_a_stream_of_the_server() {
    let server = Server::start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_for_stream(&server, "live/show");
    let mut viewer = Viewer::start();
    let offer = viewer.read();
    let offer = offer.as_str().unwrap();
    let request = format!(
        "POST /live/show/whep HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n\
         Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{offer}",
        offer.len()
    );
    let answer = http::request(server.addr("http"), request.as_bytes(), DEADLINE);
    let sdp = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 201, "{sdp}");
    assert!(
        sdp.contains("H264/90000") && sdp.contains("opus/48000/2"),
        "{sdp}"
    );
    viewer.write(&sdp.into());
    let counts = viewer.read();
    assert!(counts["video"].as_u64() >= Some(FRAMES), "{counts}");
    assert!(counts["audio"].as_u64() >= Some(FRAMES), "{counts}");
    let metrics = server.metrics();
    assert_eq!(
        metrics.sum("carillon_webrtc_nacked_packets_total", &[]),
        0.0
    );
}
