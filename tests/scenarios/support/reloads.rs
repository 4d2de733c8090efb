//! Stream over HLS whose publisher may pause, and requests for media that is still to come.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use testkit::hls::{MediaPlaylist, Watch, resolve};
use testkit::http::Response;
use testkit::{Clip, Process, Server, Signal};

use crate::support::{connect, repeat_rtmp, wait_until};

/// Time to wait for a reply that must not come yet.
pub(crate) const A_WHILE: Duration = Duration::from_millis(1_500);

/// A server with a stream.
pub(crate) struct Show {
    pub(crate) server: Server,
    pub(crate) publisher: Process,
    /// Path of the media playlist.
    pub(crate) path: String,
}

impl Show {
    /// Starts a server with a publisher that may pause for longer than requests wait.
    pub(crate) fn start() -> Self {
        let server = Server::builder()
            .set("ingest", "linger", "\"120s\"")
            .set("ingest", "source_timeout", "\"120s\"")
            .start();
        let publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
        let watch = Watch::start(server.addr("http"), "/live/show/index.m3u8");
        let path = watch.finish().playlist;
        Self {
            server,
            publisher,
            path,
        }
    }

    pub(crate) fn ask(&self, query: &str) -> Response {
        self.server.get(&format!("{}{query}", self.path))
    }

    pub(crate) fn playlist(&self, query: &str) -> MediaPlaylist {
        let answer = self.ask(query);
        let text = answer.text();
        assert_eq!(answer.status, 200, "{query}: {text}");
        MediaPlaylist::parse(&text).unwrap_or_else(|error| panic!("{query}: {error}\n{text}"))
    }

    pub(crate) fn part(&self, number: u64, part: u64) -> MediaPlaylist {
        self.playlist(&format!("?_HLS_msn={number}&_HLS_part={part}"))
    }

    pub(crate) fn hint(&self) -> String {
        let playlist = self.playlist("");
        let hint = playlist.hinted_part();
        resolve(
            &self.path,
            hint.unwrap_or_else(|| panic!("no hint in {playlist:?}")),
        )
    }

    /// Stops the publisher's process, and waits until the playlist changes no more.
    pub(crate) fn pause(&self) -> MediaPlaylist {
        self.publisher.signal(Signal::STOP);
        let mut last = self.playlist("");
        let mut since = Instant::now();
        wait_until("the playlist to stand still", || {
            let now = self.playlist("");
            if now != last {
                (last, since) = (now, Instant::now());
            }
            since.elapsed() > A_WHILE
        });
        last
    }

    /// Returns the number of clients' connections to the server.
    pub(crate) fn connections(&self) -> f64 {
        let metrics = self.server.metrics();
        metrics.sum("carillon_connections", &["door=\"http\""])
    }

    /// Sends a request and does not read the reply.
    pub(crate) fn begin(&self, path: &str) -> TcpStream {
        let mut socket = connect(self.server.addr("http"));
        let head = format!("GET {path} HTTP/1.1\r\nHost: show\r\nConnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        socket
    }
}
