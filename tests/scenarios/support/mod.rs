//! What scenarios share: this file the few things that most need, the others one subject each.

pub(crate) mod aiortc;
pub(crate) mod browser;
pub(crate) mod clock;
pub(crate) mod descriptors;
pub(crate) mod desktop;
pub(crate) mod encoders;
pub(crate) mod encrypted;
pub(crate) mod enhanced;
pub(crate) mod faults;
pub(crate) mod film;
pub(crate) mod films;
pub(crate) mod firefox;
pub(crate) mod flv;
pub(crate) mod golden;
pub(crate) mod guarded;
pub(crate) mod haproxy;
pub(crate) mod hls_page;
pub(crate) mod house;
pub(crate) mod imported;
pub(crate) mod joins;
pub(crate) mod library;
pub(crate) mod links;
pub(crate) mod mount;
pub(crate) mod page_server;
pub(crate) mod pages;
pub(crate) mod past;
pub(crate) mod permission_hook;
pub(crate) mod player_page;
pub(crate) mod recorded;
pub(crate) mod relay;
pub(crate) mod relay_role;
pub(crate) mod reloads;
pub(crate) mod rtmp_credentials;
pub(crate) mod session;
pub(crate) mod session_log;
pub(crate) mod shows;
pub(crate) mod sources;
pub(crate) mod station;
pub(crate) mod storage;
pub(crate) mod titles;
pub(crate) mod token_issuer;
pub(crate) mod tones;
pub(crate) mod vlc;
pub(crate) mod webhook_receiver;
pub(crate) mod websocket;
pub(crate) mod windows;
pub(crate) mod wire;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

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

/// Publishes a clip at an address of any server like Icecast, with a name.
pub(crate) fn publish_radio(clip: Clip, url: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(120))
        .args(["-map_metadata", "-1", "-c", "copy"])
        .args([
            "-ice_name",
            "Radio Test",
            "-content_type",
            clip.content_type(),
        ])
        .args(["-f", clip.format(), url])
        .start()
}

/// Seconds of what is repeated.
pub(crate) const ROUND_SECONDS: u32 = 20;

/// More of them than a scenario lasts.
const ROUNDS: usize = 6;

/// Publishes a clip over RTMP with ffmpeg, at its natural pace, over and over until it is stopped.
pub(crate) fn repeat_rtmp(server: &Server, clip: Clip, stream: &str) -> Process {
    repeat_to(&server.rtmp_url(stream, PUBLISH_KEY), clip)
}

/// The same as an Icecast source.
pub(crate) fn repeat_icecast(server: &Server, clip: Clip, stream: &str) -> Process {
    repeat_to(&server.icecast_url(stream, PUBLISH_KEY), clip)
}

/// The same at an address of either, with the key that is in it.
pub(crate) fn repeat_to(url: &str, clip: Clip) -> Process {
    let is_source = url.starts_with("icecast:");
    let content_type = ["-content_type", clip.content_type()];
    Tool::ffmpeg()
        .args(["-stream_loop", "-1", "-re", "-i"])
        .arg(round(clip))
        .args(["-c", "copy", "-f", clip.format()])
        .args(content_type.into_iter().filter(|_| is_source))
        .arg(url)
        .start()
}

/// What is repeated.
pub(crate) fn round(clip: Clip) -> PathBuf {
    clip.seconds(ROUND_SECONDS)
}

/// All that is sent: of any container the packets or the decoded pictures, and of MP3 the bytes, are the same in each round.
pub(crate) fn rounds<T: Clone>(round: &[T]) -> Vec<T> {
    [round; ROUNDS].concat()
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
