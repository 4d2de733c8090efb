use super::*;

const DATE: HttpDate = HttpDate(784_111_777);
const SERVER: &str = "Icecast 2.4.4 (Carillon)";

fn head(request: &str) -> Head {
    let mut reader = http1::HeadReader::default();
    let (head, _) = reader.push(request.as_bytes()).unwrap().unwrap();
    head
}

fn source() -> Vec<(String, String)> {
    [
        ("ice-name", "Radio Björk"),
        ("Ice-Public", "1"),
        ("ice-description", "All day\r\nSet-Cookie: x"),
        ("ice-audio-info", "ice-samplerate=44100;ice-bitrate=128"),
        ("icy-name", "another"),
        ("icy-metaint", "8192"),
        ("user-agent", "butt"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn stream_head(request: &str) -> String {
    let head = head(request);
    let replies = Replies::new(&head, SERVER, DATE);
    String::from_utf8(replies.stream("audio/mpeg", &source(), head.wants_icy(), None)).unwrap()
}

const COMMON: &str = "Server: Icecast 2.4.4 (Carillon)\r\n\
    Connection: Close\r\n\
    Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Content-Type: audio/mpeg\r\n\
    Cache-Control: no-cache, no-store\r\n\
    Expires: Mon, 26 Jul 1997 05:00:00 GMT\r\n\
    Pragma: no-cache\r\n\
    Access-Control-Allow-Origin: *\r\n\
    Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n\
    Access-Control-Allow-Headers: Origin, Accept, X-Requested-With, Content-Type, \
    Authorization, Icy-MetaData, Range\r\n\
    Access-Control-Expose-Headers: icy-metaint, icy-name, icy-description, icy-genre, icy-url, \
    icy-br, icy-pub, ice-audio-info, Server, Content-Type\r\n\
    Access-Control-Max-Age: 86400\r\n\
    icy-name: Radio Björk\r\n\
    icy-pub: 1\r\n\
    icy-description: All daySet-Cookie: x\r\n\
    ice-audio-info: ice-samplerate=44100;ice-bitrate=128\r\n\
    icy-br: 128\r\n";

#[test]
fn players_get_what_they_know_from_icecast() {
    let vlc = "GET /radio HTTP/1.1\r\nHost: h:8000\r\nUser-Agent: VLC/3.0.20 LibVLC/3.0.20\r\n\
        Range: bytes=0-\r\nConnection: close\r\nIcy-MetaData: 1\r\n\r\n";
    let ffmpeg = "GET /radio HTTP/1.1\r\nUser-Agent: Lavf/61.1.100\r\nAccept: */*\r\n\
        Range: bytes=0-\r\nConnection: close\r\nHost: h:8000\r\nIcy-MetaData: 1\r\n\r\n";
    let sonos = "GET /radio HTTP/1.1\r\nHost: h\r\nUser-Agent: Linux UPnP/1.0 Sonos/80.1\r\n\
        Icy-MetaData: 1\r\nConnection: close\r\n\r\n";
    for request in [vlc, ffmpeg, sonos] {
        let expected = format!("HTTP/1.0 200 OK\r\n{COMMON}icy-metaint: 16000\r\n\r\n");
        assert_eq!(stream_head(request), expected);
    }
    let chrome = "GET /radio HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nRange: bytes=0-\r\n\
        Sec-Fetch-Dest: audio\r\nUser-Agent: Mozilla/5.0 Chrome/140\r\n\r\n";
    let old = "GET /radio HTTP/1.0\r\nUser-Agent: mpg123/1.31\r\n\r\n";
    for (request, version) in [(chrome, "HTTP/1.1"), (old, "HTTP/1.0")] {
        let expected = format!("{version} 200 OK\r\n{COMMON}\r\n");
        assert_eq!(stream_head(request), expected);
    }
}

#[test]
fn listeners_learn_how_far_apart_keyframes_are() {
    let request = head("GET /live/show.flv HTTP/1.1\r\n\r\n");
    let reply = |millis| {
        let keyframes = Keyframes {
            interval: Some(media::Span::from_millis(millis)),
            on_request: false,
        };
        let replies = Replies::new(&request, SERVER, DATE);
        String::from_utf8(replies.stream("video/x-flv", &[], false, Some(keyframes))).unwrap()
    };
    let usual = reply(2_000);
    let interval = "\r\nX-Keyframe-Interval: 2.0\r\n";
    assert!(usual.contains(interval), "{usual}");
    assert!(!usual.contains("X-Notice"), "{usual}");
    let long = reply(8_300);
    for words in [
        "\r\nX-Keyframe-Interval: 8.3\r\n",
        "\r\nX-Notice: The publisher sends a keyframe every 8.3 s; ",
    ] {
        assert!(long.contains(words), "{long}");
    }
}

#[test]
fn an_explicit_bit_rate_wins() {
    let headers = [
        ("ice-audio-info", "bitrate=96"),
        ("ice-bitrate", "128"),
        ("icy-br", "64"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = [("ice-audio-info", "bitrate=96"), ("icy-br", "128")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(listener_headers(&headers), expected);
}

#[test]
fn a_source_cannot_make_a_reply_long() {
    let headers: Vec<_> = (0..500)
        .map(|number| (format!("ice-x{number}"), "y".to_owned()))
        .collect();
    assert_eq!(listener_headers(&headers).len(), SOURCE_HEADERS_MAX);
}

#[test]
fn a_source_cannot_begin_a_line_of_a_reply() {
    let planted = "x\r\nSet-Cookie: a=b\r\n\r\n<script>\n\0";
    let headers: Vec<_> = [
        ("ice-audio-info", format!("ice-bitrate=1{planted};b=c")),
        ("ice-bitrate", planted.to_owned()),
        ("ice-public", planted.to_owned()),
        ("icy-name", planted.to_owned()),
        (&format!("ice-{planted}"), "y".to_owned()),
        ("ice-a: b\r\nSet-Cookie", "y".to_owned()),
        ("ice-a\nset-cookie", "y".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    let head = head("GET /radio HTTP/1.1\r\n\r\n");
    for headers in [&headers[..], &headers[..1]] {
        let reply = Replies::new(&head, SERVER, DATE).stream("audio/mpeg", headers, true, None);
        let reply = String::from_utf8(reply).unwrap();
        let (lines, body) = reply.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "");
        for line in lines.split("\r\n") {
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
            let name = line.to_ascii_lowercase();
            assert!(!name.starts_with("set-cookie"), "{line}");
        }
        assert!(lines.contains("\r\nicy-br: "), "{lines}");
    }
}

#[test]
fn errors_may_be_read_by_scripts_too() {
    let head = head("HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n");
    let replies = Replies::new(&head, SERVER, DATE);
    let reply = replies.text(Status::NOT_FOUND, &[("X-A", "b")], "no such stream\n");
    let reply = String::from_utf8(reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(reply.contains("\r\nAccess-Control-Allow-Origin: *\r\n"));
    assert!(reply.contains("\r\nContent-Length: 15\r\n"));
    assert!(reply.ends_with("X-A: b\r\n\r\n"), "HEAD has no body");
}
