//! VLC plays every address that README.md lists for it, also when it joins a stream that has been live for a while.

use testkit::hls::MediaPlaylist;
use testkit::{Clip, Server};

use crate::support::shows::FRAMES;
use crate::support::vlc::Vlc;
use crate::support::{publish_rtmp, wait_until};

const README: &str = include_str!("../../../README.md");

/// Number of a segment that begins thirty seconds after its stream.
const SEGMENT: u64 = 11;

/// Returns the addresses of one stream in the rows about VLC.
fn addresses() -> Vec<&'static str> {
    let rows = README.lines().filter(|row| row.starts_with("| `"));
    let of_vlc = rows.filter(|row| row.contains("VLC") && row.contains("live/show"));
    let address = |row: &'static str| row.split('`').nth(1).unwrap_or_default();
    of_vlc.map(address).collect()
}

#[test]
fn at_any_time() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    wait_until("half a minute of the stream", || {
        let text = server.get("/live/show/hls/live.m3u8").text();
        let playlist = MediaPlaylist::parse(&text).unwrap_or_default();
        let newest = playlist.segments.last();
        newest.is_some_and(|newest| newest.number >= SEGMENT)
    });
    let addresses = addresses();
    assert!(addresses.len() >= 4, "{addresses:?}");
    let players: Vec<_> = addresses
        .into_iter()
        .map(|address| {
            let url = address
                .replace("host:8000", &server.addr("http").to_string())
                .replace("//host", &format!("//{}", server.addr("rtmp")));
            (address, Vlc::open(&url))
        })
        .collect();
    for (address, player) in players {
        let mut decoded = [0; 2];
        wait_until(&format!("VLC to play {address}"), || {
            decoded = player.decoded();
            decoded[0] as usize >= FRAMES && decoded[1] as usize >= FRAMES
        });
    }
}
