//! Helpers for several scenarios.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::NamedTempFile;
use testkit::framemd5::{self, Frame, Join};
use testkit::http::Response;
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, wait_until};

pub(crate) use testkit::DEADLINE;

/// How long programs listen where that may be set, in seconds: ten minutes are too long for every run.
const LISTENING_VARIABLE: &str = "CARILLON_LISTENING_SECONDS";

/// What the environment says of it, or else `usual`.
pub(crate) fn listening_seconds(usual: u32) -> u32 {
    let set = std::env::var(LISTENING_VARIABLE).ok();
    let seconds = set.map(|text| text.parse().expect(LISTENING_VARIABLE));
    seconds.unwrap_or(usual)
}

/// A server whose streams end soon after their publisher.
pub(crate) fn server_with_short_linger() -> Server {
    Server::builder().set("ingest", "linger", "\"1s\"").start()
}

/// Waits until a stream is published.
pub(crate) fn wait_for_stream(server: &Server, name: &str) {
    wait_until(&format!("stream {name}"), DEADLINE, || {
        server
            .api("streams")
            .to_string()
            .contains(&format!("\"{name}\""))
    });
}

/// Where to play a stream over RTMP.
pub(crate) fn play_url(server: &Server, stream: &str) -> String {
    format!("rtmp://{}/{stream}", server.addr("rtmp"))
}

/// Publishes a clip over RTMP with ffmpeg, at its natural pace.
pub(crate) fn publish_rtmp(server: &Server, clip: &Path, stream: &str) -> Process {
    Tool::ffmpeg_publish(clip, "flv", &server.rtmp_url(stream, PUBLISH_KEY)).start()
}

/// Publishes a clip as an Icecast source with ffmpeg, at its natural pace.
pub(crate) fn publish_icecast(server: &Server, clip: Clip, seconds: u32, stream: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(seconds))
        .args([
            "-c",
            "copy",
            "-content_type",
            clip.content_type(),
            "-f",
            clip.format(),
        ])
        .arg(server.icecast_url(stream, PUBLISH_KEY))
        .start()
}

/// A file with those bytes, for ffmpeg to read.
pub(crate) fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Demands that the packets of one kind in `got` are a run of those in `sent`.
pub(crate) fn assert_joins(what: &str, sent: &[Frame], got: &[Frame]) -> Join {
    framemd5::join(sent, got, 0).unwrap_or_else(|mismatch| panic!("{what}: {mismatch}"))
}

/// A TCP connection with deadlines set.
pub(crate) fn connect(addr: SocketAddr) -> std::net::TcpStream {
    let socket = std::net::TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.set_write_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// Status, headers and body, as curl gets them.
pub(crate) fn curl(server: &Server, path: &str, arguments: &[&str]) -> Response {
    let answer = Tool::new("curl")
        .args(["-s", "-i", "--path-as-is"])
        .args(arguments)
        .arg(server.http_url(path))
        .run(DEADLINE);
    Response::parse(&answer)
}
