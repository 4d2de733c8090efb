use std::fmt::Debug;

use crate::{Body, ByteRange, Error, Head, HeadReader, Version};

fn read(bytes: &[u8]) -> Result<Head, Error> {
    let mut reader = HeadReader::default();
    reader
        .push(bytes)
        .map(|head| head.expect("the head is complete").0)
}

fn request(line: &str, headers: &str) -> Result<Head, Error> {
    read(format!("{line}\r\n{headers}\r\n").as_bytes())
}

/// Demands of each row what it begins with: rows go on with a head, in which a bar ends a line.
#[track_caller]
fn assert_rows<T: Debug>(rows: &[&str], found: impl Fn(Result<Head, Error>) -> T) {
    for row in rows {
        let (expected, text) = row.split_once(' ').expect("a head");
        let found = found(read(text.replace('|', "\r\n").as_bytes()));
        assert_eq!(format!("{found:?}"), expected, "{text:?}");
    }
}

#[test]
fn paths_are_decoded_and_begin_with_a_slash() {
    for (target, path, query) in [
        ("/radio.mp3", "/radio.mp3", ""),
        ("radio.mp3", "/radio.mp3", ""),
        ("/a%20b?x=1?y", "/a b", "x=1?y"),
        ("/a b c", "/a b c", ""),
        ("/björk", "/björk", ""),
        ("/bj%F6rk", "/björk", ""),
        ("/%2e%2e/etc%2Fpasswd", "/../etc/passwd", ""),
        ("/%252e", "/%2e", ""),
        ("/a+b", "/a+b", ""),
        ("*", "*", ""),
        ("http://host:8000/radio?k=v", "/radio", "k=v"),
        ("HTTPS://host", "/", ""),
        ("http://host?k=/", "/", "k=/"),
        ("/http://host/x", "/http://host/x", ""),
        ("?a=b", "/", "a=b"),
    ] {
        let head = request(&format!("GET {target} HTTP/1.1"), "").expect(target);
        assert_eq!(head.path(), path, "{target}");
        assert_eq!(head.query().as_bytes(), query.as_bytes(), "{target}");
        assert_eq!(head.target(), target.as_bytes());
    }
}

#[test]
fn versions_are_reported() {
    for (line, expected) in [
        ("GET / HTTP/1.0", Ok(Version::Http10)),
        ("GET / HTTP/1.1", Ok(Version::Http11)),
        ("GET / http/1.1 ", Ok(Version::Http11)),
        ("GET / HTTP/1.2", Ok(Version::Http11)),
        ("SOURCE /m ICE/1.0", Ok(Version::Ice10)),
        ("SOURCE /m x-audiocast", Ok(Version::XAudiocast)),
        ("GET / HTTP/2.0", Err(Error::VersionUnsupported)),
        ("GET / HTTP/0.9", Err(Error::VersionUnsupported)),
        ("GET / RTSP/1.0", Err(Error::VersionUnsupported)),
        ("GET / ICE/1.1", Err(Error::VersionUnsupported)),
        ("GET / HTTP/1.11", Err(Error::RequestLineMalformed)),
        ("GET / HTTP/11", Err(Error::RequestLineMalformed)),
        ("GET / HTTP", Err(Error::RequestLineMalformed)),
        ("GET /", Err(Error::RequestLineMalformed)),
        ("GET  HTTP/1.1", Err(Error::RequestLineMalformed)),
        ("GET", Err(Error::RequestLineMalformed)),
        ("G(T / HTTP/1.1", Err(Error::RequestLineMalformed)),
        ("GET /\t HTTP/1.1", Err(Error::RequestLineMalformed)),
        ("GET /\x1b HTTP/1.1", Err(Error::RequestLineMalformed)),
        ("GET /\0 HTTP/1.1", Err(Error::ControlByte)),
        ("G\0T / HTTP/1.1", Err(Error::ControlByte)),
        ("GET /a\r\r", Err(Error::ControlByte)),
    ] {
        let version = request(line, "").map(|head| head.version());
        assert_eq!(version, expected, "{line}");
    }
}

#[test]
fn an_audiocast_login_is_a_request() {
    let head = request("SOURCE open sesame /radio", "x-audiocast-name: Old\r\n").expect("a head");
    assert_eq!(head.version(), Version::XAudiocast);
    assert_eq!((head.method(), &*head.path()), ("SOURCE", "/radio"));
    assert_eq!(head.body(), Body::UntilClose);
    let credentials = head.basic_auth().expect("a password");
    assert_eq!(credentials.user, "source");
    assert_eq!(credentials.password.reveal(), "open sesame");
    assert_eq!(head.ice_headers().collect::<Vec<_>>(), [("name", "Old")]);
}

#[test]
fn headers_are_found_whatever_their_case() {
    let headers = "HOST:\r\nX-A: 1\r\nx-a:\t two \r\nX-B: a: b\r\n";
    let head = request("GET / HTTP/1.1", headers).expect("a head");
    assert_eq!(head.header("Host"), Some(""));
    assert_eq!(head.header_values("x-A").collect::<Vec<_>>(), ["1", "two"]);
    assert_eq!(head.header("x-b"), Some("a: b"));
    assert_eq!(head.header("x-c"), None);
    let names: Vec<_> = head.headers().map(|(name, _)| name).collect();
    assert_eq!(names, ["host", "x-a", "x-a", "x-b"]);
}

#[test]
fn values_are_text_whatever_their_bytes() {
    let head = read(b"PUT /m HTTP/1.1\r\nIce-Name: Bj\xf6rk FM\r\nice-genre: Caf\xc3\xa9\r\n\r\n");
    let head = head.expect("a head");
    let ice: Vec<_> = head.ice_headers().collect();
    assert_eq!(ice, [("name", "Björk FM"), ("genre", "Café")]);
}

#[test]
fn hosts_are_read_by_proxies_and_need_no_syntax() {
    for host in ["", "[", "host:port:x", "a b", "h//listen/x", "\u{fffd}"] {
        let head = request("GET / HTTP/1.1", &format!("Host: {host}\r\n")).expect(host);
        assert_eq!(head.conforms(), Ok(()), "{host}");
    }
}

#[test]
fn what_only_sources_may_do_is_reported() {
    let rows = [
        "Ok(()) GET / HTTP/1.1|Host: h||",
        "Ok(()) |GET /a?b HTTP/1.0|X:\t y ||",
        "Ok(()) OPTIONS * HTTP/1.1|host: h||",
        "Ok(()) GET HTTP://H:80/x HTTP/1.1|Host: h:80||",
        "Ok(()) GET http://h?x HTTP/1.0||",
        "Err(HostMissing) GET / HTTP/1.1||",
        "Err(HostConflict) GET / HTTP/1.0|Host: a|Host: a||",
        "Err(HostConflict) GET http://a/ HTTP/1.1|Host: b||",
        "Err(HostConflict) GET http://a@b/ HTTP/1.1|Host: b||",
        "Err(LineEndMalformed) GET / HTTP/1.1\nHost: h||",
        "Err(LineEndMalformed) GET / HTTP/1.1|Host: h\n|",
        "Err(LineEndMalformed) GET / HTTP/1.1|Host: h|\n",
        "Err(LineEndMalformed) GET / HTTP/1.1\r|Host: h||",
        "Err(EmptyLines) ||GET / HTTP/1.1|Host: h||",
        "Err(RequestLineMalformed) GET  / HTTP/1.1|Host: h||",
        "Err(RequestLineMalformed) GET /  HTTP/1.1|Host: h||",
        "Err(RequestLineMalformed) GET / HTTP/1.1 |Host: h||",
        "Err(RequestLineMalformed) GET / http/1.1|Host: h||",
        "Err(RequestLineMalformed) GET / ICE/1.0|Host: h||",
        "Err(TargetMalformed) GET /a b HTTP/1.1|Host: h||",
        "Err(TargetMalformed) GET x HTTP/1.1|Host: h||",
        "Err(TargetMalformed) GET /x#y HTTP/1.1|Host: h||",
        "Err(TargetMalformed) CONNECT h:80 HTTP/1.1|Host: h:80||",
        "Err(ControlByte) GET / HTTP/1.1|Host: h|X: \x1b||",
        "Err(CodingUnsupported) POST / HTTP/1.1|Host: h|Transfer-Encoding: identity||",
    ];
    let conforms = |head: Result<Head, Error>| head.expect("it can be understood").conforms();
    assert_rows(&rows, conforms);
    let latin1 = read(b"GET /bj\xf6rk HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(conforms(latin1), Ok(()));
}

#[test]
fn malformed_headers_are_refused() {
    for (line, error) in [
        ("no colon", Error::HeaderMalformed),
        (": no name", Error::HeaderMalformed),
        ("space : before", Error::HeaderMalformed),
        ("Content-Length : 5", Error::HeaderMalformed),
        ("bad(name): x", Error::HeaderMalformed),
        (" folded", Error::HeaderFolded),
        ("\tfolded: x", Error::HeaderFolded),
        ("a: b\rc: d", Error::ControlByte),
        ("X: y\rTransfer-Encoding: chunked", Error::ControlByte),
        ("Transfer-Encoding : chunked", Error::HeaderMalformed),
        ("a: b\0", Error::ControlByte),
        ("a: b\r\r", Error::ControlByte),
    ] {
        let got = request("GET / HTTP/1.1", &format!("Host: h\r\n{line}\r\n")).map(|_| ());
        assert_eq!(got, Err(error), "{line:?}");
    }
}

#[test]
fn bodies_are_delimited_without_doubt() {
    let rows = [
        "Ok(None) GET / HTTP/1.1||",
        "Ok(None) source /m HTTP/1.1||",
        "Ok(Length(12)) POST / HTTP/1.1|Content-Length: 12||",
        "Ok(Length(0)) SOURCE /m HTTP/1.0|Content-Length: 0||",
        "Ok(UntilClose) PUT /m HTTP/1.1||",
        "Ok(UntilClose) SOURCE /m HTTP/1.0||",
        "Ok(UntilClose) SOURCE /m ICE/1.0||",
        "Ok(UntilClose) PUT /m HTTP/1.1|Transfer-Encoding: identity||",
        "Ok(Chunked) PUT /m HTTP/1.1|Transfer-Encoding: Chunked||",
        "Err(ContentLengthRepeated) GET / HTTP/1.1|Content-Length: 5|Content-Length: 5||",
        "Err(ContentLengthRepeated) POST / HTTP/1.1|Content-Length: 4|Content-Length: 5||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: 5, 5||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: 1 2||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: +5||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: -1||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length:||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: 0x10||",
        "Err(ContentLengthMalformed) PUT /m HTTP/1.1|Content-Length: 18446744073709551616||",
        "Err(LengthAndCoding) PUT /m HTTP/1.1|Content-Length: 5|Transfer-Encoding: chunked||",
        "Err(LengthAndCoding) PUT /m HTTP/1.1|Transfer-Encoding: identity|Content-Length: 5||",
        "Err(CodingBeforeHttp11) PUT /m HTTP/1.0|Transfer-Encoding: chunked||",
        "Err(CodingUnsupported) PUT /m HTTP/1.1|Transfer-Encoding: gzip, chunked||",
        "Err(CodingUnsupported) PUT /m HTTP/1.1|Transfer-Encoding: chunked\u{b}||",
        "Err(CodingUnsupported) PUT /m HTTP/1.1|Transfer-Encoding: chunked|Transfer-Encoding: identity||",
    ];
    assert_rows(&rows, |head| head.map(|head| head.body()));
}

#[test]
fn connections_persist_when_both_sides_can_tell_where_the_request_ends() {
    let rows = [
        "Ok(true) GET / HTTP/1.1||",
        "Ok(false) GET / HTTP/1.1|Connection: Close||",
        "Ok(false) GET / HTTP/1.1|Connection: te|Connection: x, CLOSE||",
        "Ok(false) GET / HTTP/1.0||",
        "Ok(true) GET / HTTP/1.0|Connection: Keep-Alive||",
        "Ok(true) SOURCE /m HTTP/1.0|Connection: Keep-Alive|Content-Length: 0||",
        "Ok(false) PUT /m HTTP/1.1||",
        "Ok(true) PUT /m HTTP/1.1|Transfer-Encoding: chunked||",
        "Ok(false) GET / ICE/1.0|Connection: keep-alive||",
    ];
    assert_rows(&rows, |head| head.map(|head| head.keeps_alive()));
}

#[test]
fn tls_is_asked_for_in_the_words_of_libshout_and_no_others() {
    let rows = [
        "Ok(true) OPTIONS * HTTP/1.1|Connection: Upgrade|Upgrade: TLS/1.0, HTTP/1.1||",
        "Ok(true) GET / HTTP/1.1|Connection: keep-alive, upgrade|Upgrade: h2c|Upgrade: tls/1.3||",
        "Ok(false) OPTIONS * HTTP/1.1|Upgrade: TLS/1.0||",
        "Ok(false) OPTIONS * HTTP/1.1|Connection: Upgrade||",
        "Ok(false) OPTIONS * HTTP/1.0|Connection: Upgrade|Upgrade: TLS/1.0||",
        "Ok(false) GET / HTTP/1.1|Connection: Upgrade|Upgrade: h2c, websocket, TLSé, TLS||",
    ];
    assert_rows(&rows, |head| head.map(|head| head.upgrades_to_tls()));
}

#[test]
fn a_websocket_is_asked_for_by_get_and_in_both_headers() {
    let rows = [
        "Ok(true) GET / HTTP/1.1|Connection: keep-alive, Upgrade|Upgrade: WebSocket||",
        "Ok(false) GET / HTTP/1.0|Connection: keep-alive, Upgrade|Upgrade: WebSocket||",
        "Ok(false) HEAD / HTTP/1.1|Connection: keep-alive, Upgrade|Upgrade: WebSocket||",
        "Ok(false) GET / HTTP/1.1|Upgrade: websocket||",
        "Ok(false) GET / HTTP/1.1|Connection: Upgrade||",
        "Ok(false) GET / HTTP/1.1|Connection: Upgrade|Upgrade: h2c, websockets||",
    ];
    assert_rows(&rows, |head| head.map(|head| head.upgrades_to_websocket()));
}

#[test]
fn ranges_tell_probes_from_players() {
    let range = |value: &str| {
        let head = request("GET / HTTP/1.1", &format!("Range: {value}\r\n"));
        head.expect(value).byte_range()
    };
    for (value, last) in [("bytes=0-", None), ("bytes=0-1", Some(1))] {
        assert_eq!(range(value), Some(ByteRange { first: 0, last }));
    }
    for nonsense in "bytes=-500 bytes=0-1,5-6 bytes=a-b items=0-1 bytes= ".split(' ') {
        assert_eq!(range(nonsense), None, "{nonsense}");
    }
}

#[test]
fn tokens_are_read_and_not_printed() {
    let header = "Authorization: bearer opensesame\r\n";
    let head = request("POST /m/whip HTTP/1.1", header).expect("a head");
    let token = head.bearer_token().expect("a token");
    assert_eq!(token.reveal(), "opensesame");
    assert!(!format!("{token:?}").contains("opensesame"));
}
