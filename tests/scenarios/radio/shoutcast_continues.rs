//! Programs of SHOUTcast keep working: sources of version 1, and the documents that monitors of version 2 read.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use testkit::http::{self, Listener};
use testkit::{ADMIN_PASSWORD, Clip, PUBLISH_KEY, Server, Tool, framemd5};

use crate::support::{DEADLINE, assert_joins, file, wait_for_stream, wait_until};

fn server() -> Server {
    Server::builder()
        .set("shoutcast", "listen", "[\"127.0.0.1:0\"]")
        .with_admin_password()
        .toml("[[stream]]\nmatch = \"second\"\nsid = 7")
        .start()
}

/// Sends a first line; returns the reply to it.
fn log_in(addr: SocketAddr, line: &str) -> (TcpStream, String) {
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match socket.read(&mut byte).unwrap() {
            0 => break,
            _ => answer.push(byte[0]),
        }
    }
    (socket, String::from_utf8(answer).unwrap())
}

/// Connects a source by the protocol as it was published, which sends as fast as the server reads.
fn publish(addr: SocketAddr, line: &str, seconds: u32) -> JoinHandle<()> {
    let (mut socket, answer) = log_in(addr, line);
    assert_eq!(answer, "OK2\r\nicy-caps:11\r\n\r\n", "{line}");
    socket
        .write_all(
            b"icy-name:Old & Gold\r\nicy-genre:Oldies\r\nicy-url:http://radio.example/\r\nicy-pub:1\r\n\
              icy-br:128\r\ncontent-type:audio/mpeg\r\n\r\n",
        )
        .unwrap();
    let audio = std::fs::read(Clip::Mp3.seconds(seconds)).unwrap();
    thread::spawn(move || {
        // The server leaves at the end of the test, maybe in the middle.
        socket.write_all(&audio).ok();
        io::copy(&mut socket, &mut io::sink()).ok();
    })
}

fn get(addr: SocketAddr, path: &str) -> String {
    let answer = http::get(addr, path, DEADLINE);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

/// Number of guesses, more than an address may make at once.
const GUESSES: usize = 25;

#[test]
fn sources_of_version_one_are_heard_and_monitors_read_of_them() {
    let server = server();
    let (source, web) = (server.addr("shoutcast"), server.addr("http"));
    for wrong in ["wrong", "/second:wrong", "two words"] {
        assert_eq!(log_in(source, wrong).1, "invalid password\r\n", "{wrong}");
    }
    assert!(
        server.api("streams")["streams"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    let first = publish(source, PUBLISH_KEY, 60);
    let second = publish(source, &format!("/second:{PUBLISH_KEY}"), 60);
    for name in ["stream", "second"] {
        wait_for_stream(&server, name);
    }
    let mut listener = Listener::get(web, "/stream");
    assert_eq!(listener.status(), 200);
    for (name, value) in [
        ("icy-name", "Old & Gold"),
        ("icy-br", "128"),
        ("content-type", "audio/mpeg"),
    ] {
        assert_eq!(listener.header(name), Some(value), "{name}");
    }
    let mut body = listener.read_bytes(100_000, DEADLINE).to_vec();
    // The body ends in the middle of a frame: at a constant bit rate of 128 kb/s, so any cut is within one.
    body.truncate(body.len() - body.len() % 417);
    let mut got = framemd5::packets(file(&body).path());
    got.pop();
    let sent = framemd5::packets(Clip::Mp3.seconds(60));
    let join = assert_joins("the source", &sent, &got);
    assert!(join.matched > 50, "{join:?}");

    // Titles are sent to the port of the source.
    let title = |query: &str| http::get(source, &format!("/admin.cgi?{query}"), DEADLINE).status;
    let song = "mode=updinfo&mount=/stream&song=Me+-+Tune%2C+Two";
    assert_eq!(title(&format!("pass=wrong&{song}")), 401);
    assert_eq!(title(&format!("pass={PUBLISH_KEY}&{song}")), 200);
    // `!POKE` is no guess; twenty guesses would lock the address out.
    for _ in 0..GUESSES {
        assert_eq!(log_in(source, "!POKE").1, "invalid password\r\n");
    }
    // Programs name no stream, or the stream that their source names.
    for pass in [PUBLISH_KEY.to_owned(), format!("/second:{PUBLISH_KEY}")] {
        assert_eq!(
            title(&format!("sid=1&pass={pass}&mode=updinfo&song=Other")),
            200
        );
    }
    assert_eq!(get(web, "/currentsong?sid=7"), "Other");
    assert_eq!(title(&format!("pass={PUBLISH_KEY}&{song}")), 200);
    wait_until("the title", || {
        get(web, "/currentsong?sid=2") == "Me - Tune, Two"
    });

    // By name `second` is the first, and has its own number; `stream` is the second.
    let stats: Value = serde_json::from_str(&get(web, "/stats?sid=2&json=1")).unwrap();
    for (name, value) in [
        ("currentlisteners", Value::from(1)),
        ("uniquelisteners", 1.into()),
        ("streamstatus", 1.into()),
        ("servertitle", "Old & Gold".into()),
        ("servergenre", "Oldies".into()),
        ("songtitle", "Me - Tune, Two".into()),
        ("streampath", "/stream".into()),
        ("content", "audio/mpeg".into()),
        ("bitrate", "128".into()),
        ("samplerate", "44100".into()),
    ] {
        assert_eq!(stats[name], value, "{name}: {stats:#}");
    }
    assert!(get(web, "/stats?sid=7").contains("<STREAMPATH>/second</STREAMPATH>"));
    let none = get(web, "/stats?sid=9");
    assert!(none.contains("<STREAMSTATUS>0</STREAMSTATUS>"), "{none}");
    let seven = get(web, "/7.html?sid=2");
    assert!(
        seven.contains("<body>1,1,1,0,1,128,Me - Tune, Two</body>"),
        "{seven}"
    );
    let all = get(web, "/statistics");
    assert!(all.contains("<ACTIVESTREAMS>2</ACTIVESTREAMS>"), "{all}");
    let played: Value = serde_json::from_str(&get(web, "/played?sid=2&type=json")).unwrap();
    assert_eq!(played[0]["title"], "Me - Tune, Two", "{played:#}");

    let figures = |with: &str| {
        http::get(
            web,
            &format!("/admin.cgi?sid=2&mode=viewxml{with}"),
            DEADLINE,
        )
    };
    assert_eq!(figures("").status, 401);
    assert_eq!(figures(&format!("&pass={PUBLISH_KEY}")).status, 401);
    let listeners = figures(&format!("&page=3&pass={ADMIN_PASSWORD}")).text();
    let reported =
        "<LISTENERS><LISTENER><HOSTNAME>127.0.0.1</HOSTNAME><USERAGENT>EMPTY</USERAGENT>";
    assert!(listeners.contains(reported), "{listeners}");
    let whole = figures(&format!("&pass={ADMIN_PASSWORD}")).text();
    for part in [
        "<STREAMSOURCE>127.0.0.1",
        "<LISTENER>",
        "<SONGHISTORY><SONG><PLAYEDAT>",
    ] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let seven = figures(&format!("&page=7&pass={ADMIN_PASSWORD}")).text();
    assert!(
        seven.contains("<CURRENTLISTENERS>1</CURRENTLISTENERS>"),
        "{seven}"
    );
    let json = get(
        web,
        &format!("/admin.cgi?sid=2&mode=viewjson&page=3&pass={ADMIN_PASSWORD}"),
    );
    let listeners: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(listeners[0]["hostname"], "127.0.0.1", "{json}");
    drop(server);
    for source in [first, second] {
        source.join().unwrap();
    }
}

#[test]
fn liquidsoap_sends_as_to_shoutcast() {
    let server = server();
    // The program adds 1 to the configured port.
    let port = server.addr("shoutcast").port() - 1;
    let script = format!(
        "output.shoutcast(%mp3(bitrate=128), host=\"127.0.0.1\", port={port}, password=\"{PUBLISH_KEY}\", \
         name=\"Liq\", mksafe(sine()))"
    );
    let _source = Tool::liquidsoap(&script).start();
    wait_for_stream(&server, "stream");
    let mut listener = server.listen("/stream");
    assert_eq!(listener.status(), 200);
    assert_eq!(listener.header("icy-name"), Some("Liq"));
    listener.read_bytes(30_000, DEADLINE);
}
