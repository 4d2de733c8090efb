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
fn versions_are_told() {
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
    ] {
        assert_eq!(
            request(line, "").map(|head| head.version()),
            expected,
            "{line}"
        );
    }
}

#[test]
fn an_audiocast_login_is_a_request() {
    let head = request("SOURCE open sesame /radio", "x-audiocast-name: Old\r\n").expect("a head");
    assert_eq!(
        (head.version(), head.method()),
        (Version::XAudiocast, "SOURCE")
    );
    assert_eq!(
        (head.path().as_ref(), head.body()),
        ("/radio", Body::UntilClose)
    );
    let credentials = head.basic_auth().expect("a password");
    assert_eq!(
        (credentials.user.as_str(), credentials.password.reveal()),
        ("source", "open sesame")
    );
    assert_eq!(head.ice_headers().collect::<Vec<_>>(), [("name", "Old")]);
}

#[test]
fn headers_are_found_whatever_their_case() {
    let head = request(
        "GET / HTTP/1.1",
        "HOST:\r\nX-A: 1\r\nx-a:\t two \r\nX-B: a: b\r\n",
    );
    let head = head.expect("a head");
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
fn what_only_sources_may_do_is_told() {
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"[..], Ok(())),
        (b"\r\nGET /a?b HTTP/1.0\r\nX:\t y \r\n\r\n", Ok(())),
        (b"OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n", Ok(())),
        (b"GET HTTP://H:80/x HTTP/1.1\r\nHost: h:80\r\n\r\n", Ok(())),
        (b"GET http://h?x HTTP/1.0\r\n\r\n", Ok(())),
        (b"GET /bj\xf6rk HTTP/1.1\r\nHost: h\r\n\r\n", Ok(())),
        (b"GET / HTTP/1.1\r\n\r\n", Err(Error::HostMissing)),
        (
            b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
            Err(Error::HostConflict),
        ),
        (
            b"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
            Err(Error::HostConflict),
        ),
        (
            b"GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n",
            Err(Error::HostConflict),
        ),
        (
            b"GET / HTTP/1.1\nHost: h\r\n\r\n",
            Err(Error::LineEndMalformed),
        ),
        (
            b"GET / HTTP/1.1\r\nHost: h\n\r\n",
            Err(Error::LineEndMalformed),
        ),
        (
            b"GET / HTTP/1.1\r\nHost: h\r\n\n",
            Err(Error::LineEndMalformed),
        ),
        (
            b"GET / HTTP/1.1\r\r\nHost: h\r\n\r\n",
            Err(Error::LineEndMalformed),
        ),
        (
            b"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::EmptyLines),
        ),
        (
            b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::RequestLineMalformed),
        ),
        (
            b"GET /  HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::RequestLineMalformed),
        ),
        (
            b"GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
            Err(Error::RequestLineMalformed),
        ),
        (
            b"GET / http/1.1\r\nHost: h\r\n\r\n",
            Err(Error::RequestLineMalformed),
        ),
        (
            b"GET / ICE/1.0\r\nHost: h\r\n\r\n",
            Err(Error::RequestLineMalformed),
        ),
        (
            b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::TargetMalformed),
        ),
        (
            b"GET x HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::TargetMalformed),
        ),
        (
            b"GET /x#y HTTP/1.1\r\nHost: h\r\n\r\n",
            Err(Error::TargetMalformed),
        ),
        (
            b"CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n",
            Err(Error::TargetMalformed),
        ),
        (
            b"GET / HTTP/1.1\r\nHost: h\r\nX: \x1b\r\n\r\n",
            Err(Error::ControlByte),
        ),
        (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n",
            Err(Error::CodingUnsupported),
        ),
    ] {
        let head = read(bytes).expect("it can be understood");
        assert_eq!(head.conforms(), expected, "{}", bytes.escape_ascii());
    }
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
        ("a: b\0", Error::ControlByte),
        ("a: b\r\r", Error::ControlByte),
    ] {
        let got = request("GET / HTTP/1.1", &format!("Host: h\r\n{line}\r\n")).map(|_| ());
        assert_eq!(got, Err(error), "{line:?}");
    }
}

#[test]
fn bodies_are_delimited_without_doubt() {
    for (line, headers, expected) in [
        ("GET / HTTP/1.1", "", Ok(Body::None)),
        (
            "POST / HTTP/1.1",
            "Content-Length: 12\r\n",
            Ok(Body::Length(12)),
        ),
        ("PUT /m HTTP/1.1", "", Ok(Body::UntilClose)),
        ("SOURCE /m HTTP/1.0", "", Ok(Body::UntilClose)),
        ("SOURCE /m ICE/1.0", "", Ok(Body::UntilClose)),
        (
            "SOURCE /m HTTP/1.0",
            "Content-Length: 0\r\n",
            Ok(Body::Length(0)),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: Chunked\r\n",
            Ok(Body::Chunked),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: identity\r\n",
            Ok(Body::UntilClose),
        ),
        ("source /m HTTP/1.1", "", Ok(Body::None)),
        (
            "GET / HTTP/1.1",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            Err(Error::ContentLengthRepeated),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: 5, 5\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: 1 2\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: +5\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: -1\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length:\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: 0x10\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: 18446744073709551616\r\n",
            Err(Error::ContentLengthMalformed),
        ),
        (
            "PUT /m HTTP/1.1",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            Err(Error::LengthAndCoding),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
            Err(Error::LengthAndCoding),
        ),
        (
            "PUT /m HTTP/1.0",
            "Transfer-Encoding: chunked\r\n",
            Err(Error::CodingBeforeHttp11),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: gzip, chunked\r\n",
            Err(Error::CodingUnsupported),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: chunked\u{b}\r\n",
            Err(Error::CodingUnsupported),
        ),
        (
            "PUT /m HTTP/1.1",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            Err(Error::CodingUnsupported),
        ),
    ] {
        let body = request(line, headers).map(|head| head.body());
        assert_eq!(body, expected, "{line} {headers:?}");
    }
}

#[test]
fn connections_persist_when_both_sides_can_tell_where_the_request_ends() {
    for (line, headers, expected) in [
        ("GET / HTTP/1.1", "", true),
        ("GET / HTTP/1.1", "Connection: Close\r\n", false),
        (
            "GET / HTTP/1.1",
            "Connection: te\r\nConnection: x, CLOSE\r\n",
            false,
        ),
        ("GET / HTTP/1.0", "", false),
        ("GET / HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        (
            "SOURCE /m HTTP/1.0",
            "Connection: Keep-Alive\r\nContent-Length: 0\r\n",
            true,
        ),
        ("PUT /m HTTP/1.1", "", false),
        ("PUT /m HTTP/1.1", "Transfer-Encoding: chunked\r\n", true),
        ("GET / ICE/1.0", "Connection: keep-alive\r\n", false),
    ] {
        let head = request(line, headers).expect(line);
        assert_eq!(head.keeps_alive(), expected, "{line} {headers:?}");
    }
}

#[test]
fn tls_is_asked_for_in_the_words_of_libshout_and_no_others() {
    for (line, headers, expected) in [
        (
            "OPTIONS * HTTP/1.1",
            "Connection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1",
            "Connection: keep-alive, upgrade\r\nUpgrade: h2c\r\nUpgrade: tls/1.3\r\n",
            true,
        ),
        ("OPTIONS * HTTP/1.1", "Upgrade: TLS/1.0\r\n", false),
        ("OPTIONS * HTTP/1.1", "Connection: Upgrade\r\n", false),
        (
            "OPTIONS * HTTP/1.0",
            "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n",
            false,
        ),
        (
            "GET / HTTP/1.1",
            "Connection: Upgrade\r\nUpgrade: h2c, websocket, TLSé, TLS\r\n",
            false,
        ),
    ] {
        let head = request(line, headers).expect(line);
        assert_eq!(head.upgrades_to_tls(), expected, "{line} {headers:?}");
    }
}

#[test]
fn a_websocket_is_asked_for_by_get_and_in_both_headers() {
    let both = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";
    for (line, headers, expected) in [
        ("GET / HTTP/1.1", both, true),
        ("GET / HTTP/1.0", both, false),
        ("HEAD / HTTP/1.1", both, false),
        ("GET / HTTP/1.1", "Upgrade: websocket\r\n", false),
        ("GET / HTTP/1.1", "Connection: Upgrade\r\n", false),
        (
            "GET / HTTP/1.1",
            "Connection: Upgrade\r\nUpgrade: h2c, websockets\r\n",
            false,
        ),
    ] {
        let head = request(line, headers).expect(line);
        assert_eq!(head.upgrades_to_websocket(), expected, "{line} {headers:?}");
    }
}

#[test]
fn ranges_tell_probes_from_players() {
    let range = |value: &str| {
        request("GET / HTTP/1.1", &format!("Range: {value}\r\n"))
            .expect(value)
            .byte_range()
    };
    assert_eq!(
        range("bytes=0-"),
        Some(ByteRange {
            first: 0,
            last: None
        })
    );
    assert_eq!(
        range("bytes=0-1"),
        Some(ByteRange {
            first: 0,
            last: Some(1)
        })
    );
    for nonsense in [
        "bytes=-500",
        "bytes=0-1,5-6",
        "bytes=a-b",
        "items=0-1",
        "bytes=",
        "",
    ] {
        assert_eq!(range(nonsense), None, "{nonsense}");
    }
}

#[test]
fn tokens_are_read_and_not_printed() {
    let head = request(
        "POST /m/whip HTTP/1.1",
        "Authorization: bearer opensesame\r\n",
    );
    let token = head.expect("a head").bearer_token().expect("a token");
    assert_eq!(token.reveal(), "opensesame");
    assert!(!format!("{token:?}").contains("opensesame"));
}
