//! A stream that is encrypted over HLS, with a key for every other segment.

use std::time::Duration;

use testkit::hls::MediaPlaylist;
use testkit::{Process, Server, wait_until};

use crate::support::{DEADLINE, wait_for_stream};

pub(crate) const STREAM: &str = "live/show";

/// Its media playlist.
pub(crate) const MEDIA: &str = "/live/show/aes/live.m3u8";

/// A server that changes keys with every second segment, and a stream whose playlist is as long as it gets.
pub(crate) fn published(publish: impl FnOnce(&Server) -> Process) -> (Server, Process) {
    let server = Server::builder()
        .set("hls", "segment", "\"1s\"")
        .set("hls", "encryption", "true")
        .set("hls", "key_period", "\"2s\"")
        .start();
    let publisher = publish(&server);
    wait_for_stream(&server, STREAM);
    wait_until("some keys", DEADLINE, || {
        listing(&server).is_some_and(|list| list.duration() > Duration::from_secs(6))
    });
    (server, publisher)
}

pub(crate) fn listing(server: &Server) -> Option<MediaPlaylist> {
    let response = server.get(MEDIA);
    let text = response.text();
    (response.status == 200)
        .then(|| MediaPlaylist::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}
