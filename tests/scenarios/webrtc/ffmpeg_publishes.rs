//! ffmpeg publishes over WebRTC without a special build: it waits for the server to open DTLS, and repeats lost video packets.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use testkit::{Clip, Impaired, Impairment, PUBLISH_KEY, Server, Tool};

use crate::support::{DEADLINE, wait_for_stream};

/// Frame rate of the clip.
const PICTURES_PER_SECOND: f64 = 25.0;

/// Address that the server announces; the bad network is there.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Time for which each network is watched, in seconds.
const SECONDS: &str = "10";

/// Share of packets lost in each direction, and smallest share of frames that viewers see.
const NETWORKS: [(f64, f64); 2] = [(0.0, 0.99), (0.05, 0.9)];

#[test]
fn its_pictures_arrive_over_a_network_that_loses_packets() {
    let server = Server::builder()
        .set("webrtc", "public_ips", &format!("[\"{OUTSIDE}\"]"))
        .start();
    let way = |loss| Impairment {
        loss,
        delay: Duration::from_millis(50),
        seed: 5,
        ..Impairment::NONE
    };
    let own = server.addr("webrtc");
    let outside = SocketAddr::from((OUTSIDE, own.port()));
    let proxy = Impaired::udp_at(outside, own, way(0.0), way(0.0));
    let _publisher = Tool::current_ffmpeg()
        .args(["-re", "-i"])
        .arg(Clip::Flv.seconds(90))
        .args(["-c:v", "copy", "-c:a", "libopus"])
        .args(["-ar", "48000", "-ac", "2"])
        .args(["-authorization", PUBLISH_KEY, "-f", "whip"])
        .arg(server.http_url("/live/show/whip"))
        .start();
    wait_for_stream(&server, "live/show");
    for (loss, seen_min) in NETWORKS {
        proxy.impair(way(loss), way(loss));
        let seen = seen(&server);
        println!(
            "{:.0} % lost: {:.1} % of the pictures",
            loss * 100.0,
            seen * 100.0
        );
        assert!(seen >= seen_min, "{loss}: {seen}");
    }
    assert!(proxy.up().lost > 20, "{:?}", proxy.up());
}

/// Returns the share of the frames that a viewer receives, by their times.
fn seen(server: &Server) -> f64 {
    let url = server.http_url("/live/show.flv");
    let frames = Tool::current_ffmpeg()
        .args(["-i", &url, "-map", "0:v", "-c", "copy", "-t", SECONDS])
        .args(["-f", "framecrc", "-"])
        .run(DEADLINE);
    let frames = String::from_utf8(frames).unwrap();
    // The times are in milliseconds, as in FLV.
    let times: Vec<f64> = frames
        .lines()
        .filter_map(|line| {
            line.strip_prefix("0,")?
                .split(',')
                .next()?
                .trim()
                .parse()
                .ok()
        })
        .collect();
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        panic!("no pictures: {frames}");
    };
    (times.len() - 1) as f64 / ((last - first) / 1e3 * PICTURES_PER_SECOND)
}
