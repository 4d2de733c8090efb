//! Stream that is encrypted over HLS, with a key for every other segment.

use std::time::Duration;

use testkit::hls::MediaPlaylist;
use testkit::{Process, Server};

use crate::support::{media_playlist, wait_for_stream, wait_until};

pub(crate) const STREAM: &str = "live/show";

/// Path of its media playlist.
pub(crate) const MEDIA: &str = "/live/show/aes/live.m3u8";

/// Starts a server that changes keys with every second segment, and a stream whose playlist has its full length.
pub(crate) fn published(publish: impl FnOnce(&Server) -> Process) -> (Server, Process) {
    let server = Server::builder()
        .set("hls", "segment", "\"1s\"")
        .set("hls", "encryption", "true")
        .set("hls", "key_period", "\"2s\"")
        .start();
    let publisher = publish(&server);
    wait_for_stream(&server, STREAM);
    wait_until("some keys", || {
        listing(&server).is_some_and(|list| list.duration() > Duration::from_secs(6))
    });
    (server, publisher)
}

pub(crate) fn listing(server: &Server) -> Option<MediaPlaylist> {
    let is_there = server.get(MEDIA).status == 200;
    is_there.then(|| media_playlist(server, MEDIA))
}
