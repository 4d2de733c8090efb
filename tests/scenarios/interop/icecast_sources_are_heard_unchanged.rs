//! Radio sources of every kind are relayed unchanged.

use std::fmt::Write as _;
use std::path::Path;

use tempfile::NamedTempFile;
use testkit::{Certificate, Clip, PUBLISH_KEY, Process, Server, Tool, framemd5};

use crate::support::encoders::decode;
use crate::support::sources::{ffmpeg_is_heard, ffmpeg_is_heard_whatever_it_says};
use crate::support::tones::{self, assert_pitch};
use crate::support::{DEADLINE, assert_joins, file, wait_for_stream};

#[test]
fn aac_that_is_called_mp3() {
    ffmpeg_is_heard_whatever_it_says(Clip::Adts, "wrong.aac", "audio/aac");
}

#[test]
fn aac() {
    ffmpeg_is_heard(Clip::Adts, "radio.aac");
}

#[test]
fn ogg_vorbis() {
    ffmpeg_is_heard(Clip::OggVorbis, "vorbis.ogg");
}

#[test]
fn ogg_opus() {
    ffmpeg_is_heard(Clip::OggOpus, "opus.ogg");
}

#[test]
fn ogg_flac() {
    ffmpeg_is_heard(Clip::OggFlac, "flac.ogg");
}

/// Listens until `packets` of `sent` have arrived, and compares them.
pub(crate) fn is_heard(server: &Server, stream: &str, sent: &[framemd5::Frame], bytes: usize) {
    wait_for_stream(server, stream);
    let mut listener = server.listen(&format!("/{stream}"));
    assert_eq!(listener.status(), 200);
    let mut body = listener.read_bytes(bytes, DEADLINE).to_vec();
    if body.starts_with(b"OggS") {
        // The listener left in the middle of a page.
        let last = body.windows(4).rposition(|bytes| bytes == b"OggS").unwrap();
        body.truncate(last);
    } else {
        // The listener also left in the middle of a frame: at a constant bit rate of 128 kb/s, so any cut is within one.
        body.truncate(body.len() - body.len() % 417);
    }
    let received = file(&body);
    let output = Tool::ffmpeg()
        .arg("-i")
        .arg(received.path())
        .args(["-c", "copy", "-f", "framemd5", "-"])
        .finish(DEADLINE);
    assert!(output.status.success(), "{}", output.stderr);
    let mut got = framemd5::parse(&String::from_utf8_lossy(&output.stdout));
    got.pop();
    let join = assert_joins(stream, sent, &got);
    assert!(join.matched > 50, "{join:?}");
}

/// ezstream, a source by libshout.
pub(crate) struct Ezstream<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Further elements of the server's configuration.
    pub(crate) more: &'a str,
}

impl Ezstream<'_> {
    /// Sends a clip of MP3. The returned file is its configuration.
    pub(crate) fn start(&self, mount: &str, clip: &Path) -> (Process, NamedTempFile) {
        let Self { host, port, more } = self;
        let config = file(
            format!(
                "<ezstream><servers><server><hostname>{host}</hostname><port>{port}</port>\
                 <password>{PUBLISH_KEY}</password>{more}</server></servers>\
                 <streams><stream><mountpoint>/{mount}</mountpoint><format>MP3</format>\
                 <stream_name>Ez</stream_name></stream></streams>\
                 <intakes><intake><type>file</type><filename>{}</filename></intake></intakes></ezstream>",
                clip.display()
            )
            .as_bytes(),
        );
        let source = Tool::new("ezstream")
            .arg("-v")
            .arg("-c")
            .arg(config.path())
            .start();
        (source, config)
    }
}

#[test]
fn ezstream_sends_mp3() {
    let server = Server::start();
    let clip = Clip::Mp3.seconds(30);
    let ezstream = Ezstream {
        host: "127.0.0.1",
        port: server.addr("http").port(),
        more: "",
    };
    let _source = ezstream.start("ez.mp3", &clip);
    is_heard(&server, "ez.mp3", &framemd5::packets(&clip), 100_000);
    let head = server.listen("/ez.mp3");
    assert_eq!(head.header("icy-name"), Some("Ez"));
}

#[test]
fn ices2_sends_ogg_vorbis() {
    let server = Server::start();
    let clip = Clip::OggVorbis.seconds(30);
    let playlist = file(format!("{}\n", clip.display()).as_bytes());
    let addr = server.addr("http");
    let mut xml = String::from("<?xml version=\"1.0\"?><ices><background>0</background>");
    xml.push_str("<logpath>/tmp</logpath><logfile>ices-test.log</logfile><loglevel>1</loglevel>");
    xml.push_str("<consolelog>1</consolelog><stream><metadata><name>Ices</name></metadata><input>");
    xml.push_str("<module>playlist</module><param name=\"type\">basic</param>");
    write!(
        xml,
        "<param name=\"file\">{}</param><param name=\"random\">0</param></input><instance>\
         <hostname>127.0.0.1</hostname><port>{}</port><password>{PUBLISH_KEY}</password>\
         <mount>/ices.ogg</mount></instance></stream></ices>",
        playlist.path().display(),
        addr.port()
    )
    .unwrap();
    let config = file(xml.as_bytes());
    let _source = Tool::new("ices2").arg(config.path()).start();
    is_heard(&server, "ices.ogg", &framemd5::packets(&clip), 60_000);
}

/// Liquidsoap publishes by each protocol that it supports.
#[test]
fn liquidsoap_encodes_and_sends() {
    let certificate = Certificate::make();
    let server = certificate.serve_at(&["http"], Server::builder()).start();
    let (plain, secure) = (server.addr("http").port(), server.addr("https").port());
    let ways = [
        ("source", plain, "method=\"source\""),
        ("put", plain, "method=\"put\""),
        ("chunked", plain, "method=\"put\", chunked=true"),
        ("secure", secure, "method=\"put\", protocol=\"https\""),
    ];
    let outputs = ways.map(|(name, port, way)| {
        format!(
            "output.icecast(%mp3(bitrate=128), host=\"127.0.0.1\", port={port}, password=\"{PUBLISH_KEY}\", \
             mount=\"/{name}.mp3\", {way}, radio)\n"
        )
    });
    let script = format!("radio = mksafe(sine(440.))\n{}", outputs.concat());
    let _source = Tool::liquidsoap(&script).start();
    std::thread::scope(|scope| {
        for (name, _, _) in ways {
            let (server, stream) = (&server, format!("{name}.mp3"));
            scope.spawn(move || {
                // A listener's first frames refer to frames that it was not sent.
                let audio = &decode(server, &stream)[tones::RATE as usize..];
                assert_pitch(&stream, audio, 440.0);
            });
        }
    });
}
