//! Helpers that scenarios share: this file has those that most scenarios need, each other file has one subject.

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

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tempfile::NamedTempFile;
use testkit::framemd5::{self, Frame, Join};
use testkit::hls::MediaPlaylist;
use testkit::http::{self, Response};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool};

pub(crate) use testkit::DEADLINE;

/// Waits until a condition holds, and returns how long that took.
pub(crate) fn wait_until(what: &str, condition: impl FnMut() -> bool) -> Duration {
    testkit::wait_until(what, DEADLINE, condition)
}

/// Environment variable that sets the listening time of programs in seconds: ten minutes are too long for every run.
const LISTENING_VARIABLE: &str = "CARILLON_LISTENING_SECONDS";

/// Returns the listening time from the environment, or else `usual`.
pub(crate) fn listening_seconds(usual: u32) -> u32 {
    seconds_of(LISTENING_VARIABLE, usual.into()) as u32
}

/// Starts a server whose streams end soon after their publisher.
pub(crate) fn server_with_short_linger() -> Server {
    Server::builder().set("ingest", "linger", "\"1s\"").start()
}

pub(crate) fn is_published(server: &Server, stream: &str) -> bool {
    let streams = server.api("streams").to_string();
    streams.contains(&format!("\"{stream}\""))
}

/// Waits until a stream is published.
pub(crate) fn wait_for_stream(server: &Server, name: &str) {
    wait_until(&format!("stream {name}"), || is_published(server, name));
}

/// Returns the address of a stream over RTMP.
pub(crate) fn play_url(server: &Server, stream: &str) -> String {
    format!("rtmp://{}/{stream}", server.addr("rtmp"))
}

/// Publishes a clip over RTMP with ffmpeg, at its natural pace; returns once the stream is there.
pub(crate) fn publish_rtmp(server: &Server, clip: &Path, stream: &str) -> Process {
    let url = server.rtmp_url(stream, PUBLISH_KEY);
    let publisher = Tool::ffmpeg_publish(clip, "flv", &url).start();
    wait_for_stream(server, stream);
    publisher
}

/// Publishes a file over RTMP with further options, at its natural pace.
pub(crate) fn publish_by(ffmpeg: Tool, file: &Path, options: &[&str], url: &str) -> Process {
    let ffmpeg = ffmpeg.args(["-re", "-i"]).arg(file).args(["-c", "copy"]);
    ffmpeg.args(options).args(["-f", "flv", url]).start()
}

/// Publishes a clip as an Icecast source with ffmpeg, at its natural pace; returns once the stream is there.
pub(crate) fn publish_icecast(server: &Server, clip: Clip, seconds: u32, stream: &str) -> Process {
    let publisher = Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(seconds))
        .args(["-c", "copy", "-content_type", clip.content_type()])
        .args(["-f", clip.format()])
        .arg(server.icecast_url(stream, PUBLISH_KEY))
        .start();
    wait_for_stream(server, stream);
    publisher
}

/// Publishes a clip with a name to a server like Icecast.
pub(crate) fn publish_radio(clip: Clip, url: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip.seconds(120))
        .args(["-map_metadata", "-1", "-c", "copy"])
        .args(["-ice_name", "Radio Test"])
        .args(["-content_type", clip.content_type()])
        .args(["-f", clip.format(), url])
        .start()
}

/// Returns a GStreamer that publishes over WHIP.
pub(crate) fn gstreamer_whip(server: &Server, stream: &str, key: &str) -> Tool {
    Tool::new("/usr/bin/python3")
        .arg(script("gstreamer_publisher.py"))
        .args([&server.http_url(&format!("/{stream}/whip")), key])
}

/// Length in seconds of the clips that are repeated.
pub(crate) const ROUND_SECONDS: u32 = 20;

/// Number of rounds, more than a scenario lasts.
const ROUNDS: usize = 6;

/// Publishes a clip over RTMP with ffmpeg, at its natural pace, over and over until it is stopped; returns once the
/// stream is there.
pub(crate) fn repeat_rtmp(server: &Server, clip: Clip, stream: &str) -> Process {
    let publisher = repeat_to(&server.rtmp_url(stream, PUBLISH_KEY), clip);
    wait_for_stream(server, stream);
    publisher
}

/// Publishes a clip as an Icecast source with ffmpeg, at its natural pace, over and over until it is stopped; returns once the
/// stream is there.
pub(crate) fn repeat_icecast(server: &Server, clip: Clip, stream: &str) -> Process {
    let publisher = repeat_to(&server.icecast_url(stream, PUBLISH_KEY), clip);
    wait_for_stream(server, stream);
    publisher
}

/// Publishes a clip over and over to an address of either kind, with the key in the address.
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

/// Returns the clip that is repeated.
pub(crate) fn round(clip: Clip) -> PathBuf {
    clip.seconds(ROUND_SECONDS)
}

/// Repeats one round's media: the packets or decoded frames of any container, and the bytes of MP3, are the same in each round.
pub(crate) fn rounds<T: Clone>(round: &[T]) -> Vec<T> {
    [round; ROUNDS].concat()
}

/// Makes a file with those bytes, for ffmpeg to read.
pub(crate) fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Asserts that the packets of one kind in `got` are a run of those in `sent`.
pub(crate) fn assert_joins(what: &str, sent: &[Frame], got: &[Frame]) -> Join {
    framemd5::join(sent, got, 0).unwrap_or_else(|mismatch| panic!("{what}: {mismatch}"))
}

/// Opens a TCP connection with timeouts set.
pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.set_write_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// Sends a request to the operator's API, by its path below `/api/v1/`.
pub(crate) fn order_as(
    server: &Server,
    method: &str,
    path: &str,
    content_type: &str,
    body: &str,
) -> Response {
    let addr = server.addr("admin");
    let request = format!(
        "{method} /api/v1/{path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    http::request(addr, request.as_bytes(), DEADLINE)
}

/// Sends a request with JSON to the operator's API; returns the status.
pub(crate) fn order(server: &Server, method: &str, path: &str, body: &str) -> u16 {
    order_as(server, method, path, "application/json", body).status
}

/// Removes something by the operator's API, which must accept it.
pub(crate) fn delete(server: &Server, path: &str) {
    let status = order(server, "DELETE", path, "");
    assert!((200..300).contains(&status), "{path}: {status}");
}

/// Quotes a path for a configuration.
pub(crate) fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Returns the path of a script beside these helpers.
pub(crate) fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/support");
    folder.join(name)
}

/// Returns the place of some bytes among others.
pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns whether a publisher's stream appears, and not its end.
pub(crate) fn is_admitted(server: &Server, stream: &str, publisher: &mut Process) -> bool {
    let mut is_there = false;
    wait_until("the stream, or a refusal", || {
        is_there = is_published(server, stream);
        is_there || !publisher.is_running()
    });
    is_there
}

/// Returns the codecs that ffprobe sees, or the reason why there are none.
pub(crate) fn codecs(url: &str, arguments: &[&str]) -> String {
    let probed = Tool::ffprobe()
        .args(["-show_entries", "stream=codec_name", "-of", "csv=p=0"])
        .args(arguments)
        .arg(url)
        .finish(DEADLINE);
    String::from_utf8_lossy(&probed.stdout).into_owned() + &probed.stderr
}

/// Returns the status that curl gets, whatever the body; 0 if it gets none.
pub(crate) fn curl_status(url: &str, arguments: &[&str]) -> u16 {
    let printed = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}"])
        .args(arguments)
        .arg(url)
        .finish(DEADLINE);
    String::from_utf8(printed.stdout).unwrap().parse().unwrap()
}

/// Starts an ffmpeg that takes all that there is at an address, and keeps nothing.
pub(crate) fn take(url: &str, arguments: &[&str]) -> Process {
    let player = Tool::ffmpeg().args(arguments).args(["-i", url]);
    player.args(["-c", "copy", "-f", "null", "-"]).start()
}

/// Asserts that ffmpeg decodes all of a file without a complaint; `options` are those of the input.
pub(crate) fn decodes_quietly(what: &str, path: &Path, options: &[&str]) {
    let decoded = Tool::ffmpeg()
        .arg("-xerror")
        .args(options)
        .arg("-i")
        .arg(path)
        .args(["-f", "null", "-"])
        .finish(DEADLINE);
    let is_quiet = decoded.status.success() && decoded.stderr.is_empty();
    assert!(is_quiet, "{what}: {}", decoded.stderr);
}

/// Returns a media playlist, which must be valid.
pub(crate) fn media_playlist(server: &Server, path: &str) -> MediaPlaylist {
    let text = server.get(path).text();
    MediaPlaylist::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"))
}

/// Copies the media of a file into a container by its name's extension, with further options of ffmpeg.
pub(crate) fn remux(ffmpeg: Tool, from: &Path, options: &str, to: &Path) {
    let ffmpeg = ffmpeg.args(["-y", "-i"]).arg(from).args(["-c", "copy"]);
    let _ = ffmpeg
        .args(options.split_whitespace())
        .arg(to)
        .run(DEADLINE);
}

/// Returns the digests of frames.
pub(crate) fn marks(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.md5.as_str()).collect()
}

/// Returns the seconds that an environment variable sets, or else `usual`.
pub(crate) fn seconds_of(variable: &str, usual: u64) -> u64 {
    let set = std::env::var(variable).ok();
    let seconds = set.map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")));
    seconds.unwrap_or(usual)
}

/// Returns the entry of a stream in the operator's list.
pub(crate) fn entry(server: &Server, stream: &str) -> Value {
    let all = server.api("streams");
    let mut streams = all["streams"].as_array().unwrap().iter();
    let one = streams.find(|one| one["name"] == stream);
    one.unwrap_or_else(|| panic!("no {stream} in {all}"))
        .clone()
}

/// Returns the sum of a metric, of those with a label like `reason=lag`, or of all if it is empty.
pub(crate) fn metric(server: &Server, name: &str, label: &str) -> f64 {
    let label = label.replacen('=', "=\"", 1) + "\"";
    let labels = [&*label];
    let labels = &labels[..usize::from(label.contains('='))];
    server.metrics().sum(name, labels)
}

/// Posts an SDP offer with further header fields.
pub(crate) fn post_offer(server: &Server, path: &str, fields: &str, offer: &str) -> Response {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n{fields}\
         Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{offer}",
        offer.len()
    );
    http::request(server.addr("http"), request.as_bytes(), DEADLINE)
}

/// Opens a connection from a loopback address. A narrow one takes hardly any unread bytes, so that the server has to hold them.
pub(crate) fn connect_from(
    from: [u8; 4],
    to: SocketAddr,
    is_narrow: bool,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if is_narrow {
        socket.set_recv_buffer_size(4_096)?;
        socket.set_tcp_mss(536)?;
    }
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&to.into(), DEADLINE)?;
    socket.set_read_timeout(Some(DEADLINE))?;
    Ok(socket.into())
}

/// Sets a flag when dropped, also when an assertion has failed.
pub(crate) struct End<'a>(pub(crate) &'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Requests a path with curl; returns status, headers and body.
pub(crate) fn curl(server: &Server, path: &str, arguments: &[&str]) -> Response {
    let answer = Tool::new("curl")
        .args(["-s", "-i", "--path-as-is"])
        .args(arguments)
        .arg(server.http_url(path))
        .run(DEADLINE);
    Response::parse(&answer)
}
