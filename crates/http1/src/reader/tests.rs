//! Requests as real clients send them, and as hostile ones do.

use proptest::prelude::*;

use super::*;
use crate::{Body, ByteRange, Status, status_of};

fn read(bytes: &[u8]) -> Result<Option<(Head, usize)>, Error> {
    HeadReader::default().push(bytes)
}

/// Reads a head that must be complete and be all of the bytes, and again byte by byte.
fn head(text: &str) -> Head {
    let bytes = text.as_bytes();
    let (whole, consumed) = read(bytes).expect("a valid head").expect("a complete head");
    assert_eq!(consumed, bytes.len());
    let mut reader = HeadReader::default();
    for (at, byte) in bytes.iter().enumerate() {
        let got = reader.push(&[*byte]).expect("a valid head");
        // Complete only at the end.
        assert_eq!(got.is_some(), at + 1 == bytes.len());
        if let Some((slow, consumed)) = got {
            assert_eq!(consumed, 1);
            assert_eq!(format!("{slow:?}"), format!("{whole:?}"));
        }
    }
    assert!(reader.is_idle());
    whole
}

/// Facts that decide how a client is served.
fn facts(head: &Head) -> String {
    let (method, path) = (head.method(), head.path());
    let mut facts = format!("{method} {path} {:?} {:?}", head.version(), head.body());
    for (is_so, word) in [
        (head.keeps_alive(), " keeps"),
        (head.expects_continue(), " expects"),
        (head.wants_icy(), " icy"),
        (head.upgrades_to_tls(), " tls"),
    ] {
        facts += if is_so { word } else { "" };
    }
    if let Some(ByteRange { first, last }) = head.byte_range() {
        let last = last.map(|last| last.to_string()).unwrap_or_default();
        facts += &format!(" bytes {first}-{last}");
    }
    if let Some(login) = head.basic_auth() {
        facts += &format!(" {}", login.password.reveal());
    }
    if let Some(kind) = head.header("content-type") {
        facts += &format!(" {kind}");
    }
    for (name, value) in head.ice_headers() {
        facts += &format!(" {name}={value}");
    }
    facts
}

/// Demands the facts at the beginning of a row of the head behind them, in which a bar ends a line.
#[test]
fn sources_and_players_are_understood() {
    for row in [
        // libshout asks for options, then pokes, and then logs in.
        "OPTIONS * Http11 None keeps tls <- OPTIONS * HTTP/1.1|Host: localhost:8000|Connection: \
         Upgrade|Upgrade: TLS/1.0, HTTP/1.1|User-Agent: libshout/2.4.6||",
        "SOURCE /radio.ogg Http10 Length(0) keeps <- SOURCE /radio.ogg HTTP/1.0|Host: \
         localhost:8000|Connection: Keep-Alive|User-Agent: libshout/2.4.6|Content-Length: 0||",
        "PUT /radio.ogg Http11 UntilClose expects hackme1 application/ogg <- PUT /radio.ogg \
         HTTP/1.1|Host: localhost:8000|Authorization: Basic c291cmNlOmhhY2ttZTE=|User-Agent: \
         libshout/2.4.6|Content-Type: application/ogg|Expect: 100-continue||",
        "SOURCE /radio.ogg Http10 UntilClose hack:me application/ogg name=My Radio public=0 \
         audio-info=bitrate=128;channels=2;samplerate=44100 <- SOURCE /radio.ogg HTTP/1.0|Host: \
         localhost:8000|Authorization: Basic c291cmNlOmhhY2s6bWU=|User-Agent: ezstream/1.0.2|\
         Content-Type: application/ogg|ice-name: My Radio|ice-public: 0|ice-audio-info: \
         bitrate=128;channels=2;samplerate=44100||",
        // ffmpeg, now and in its legacy mode.
        "PUT /live one.mp3 Http11 UntilClose expects icy hackme1 audio/mpeg metadata=1 name=test \
         public=0 <- PUT /live%20one.mp3 HTTP/1.1|User-Agent: Lavf/61.7.100|Accept: */*|Expect: \
         100-continue|Connection: close|Host: 127.0.0.1:8000|Content-Type: audio/mpeg|\
         Icy-MetaData: 1|Ice-Name: test|Ice-Public: 0|Authorization: Basic c291cmNlOmhhY2ttZTE=||",
        "SOURCE /m Http11 UntilClose hackme1 audio/mpeg <- SOURCE /m HTTP/1.1|User-Agent: \
         Lavf/61.7.100|Host: 127.0.0.1:8000|Content-Type: audio/mpeg|Authorization: Basic \
         c291cmNlOmhhY2ttZTE=||",
        // DarkIce ends lines with LF, nsvcap with two CRs before it.
        "SOURCE /radio Http10 UntilClose hackme1 audio/mpeg bitrate=128 public=1 <- SOURCE /radio \
         HTTP/1.0\nAuthorization: Basic c291cmNlOmhhY2ttZTE=\nUser-Agent: DarkIce/1.4 \
         (http://code.google.com/p/darkice/)\nContent-type: audio/mpeg\nice-bitrate: \
         128\nice-public: 1\n|",
        "SOURCE /tv Ice10 UntilClose video/nsv <- SOURCE /tv ICE/1.0\r|content-type: video/nsv\r|\
         \r|",
        // Liquidsoap.
        "PUT /radio Http11 Chunked keeps expects hackme1 audio/aac \
         audio-info=channels=2;samplerate=44100 <- PUT /radio HTTP/1.1|Host: localhost|\
         Authorization: Basic c291cmNlOmhhY2ttZTE=|User-Agent: Liquidsoap/2.2.4|Expect: \
         100-continue|Transfer-Encoding: chunked|Content-Type: audio/aac|ice-audio-info: \
         channels=2;samplerate=44100||",
        "PUT /radio Http10 UntilClose expects <- PUT /radio HTTP/1.0|Expect: 100-continue||",
        // A browser, and what iOS asks first.
        "GET /radio.mp3 Http11 None keeps bytes 0- <- GET /radio.mp3 HTTP/1.1|Host: \
         radio.example:8000|Connection: keep-alive|User-Agent: Mozilla/5.0 (X11; Linux x86_64) \
         Chrome/140.0.0.0|Accept-Encoding: identity;q=1, *;q=0|Accept: */*|Sec-Fetch-Dest: audio|\
         Referer: http://radio.example/|Range: bytes=0-||",
        "GET /radio.mp3 Http11 None keeps icy bytes 0-1 metadata=1 <- GET /radio.mp3 HTTP/1.1|\
         Host: radio.example|X-Playback-Session-Id: 8D6F|Range: bytes=0-1|icy-metadata: 1|\
         Accept-Encoding: identity|User-Agent: AppleCoreMedia/1.0.0.20A362 (iPhone; U; CPU OS \
         16_0 like Mac OS X)||",
        // Sonos, VLC and ffplay.
        "GET /radio.mp3 Http11 None icy metadata=1 <- GET /radio.mp3 HTTP/1.1|CONNECTION: close|\
         ACCEPT-ENCODING: gzip|HOST: radio.example|USER-AGENT: Linux UPnP/1.0 Sonos/80.1 (ZPS12)|\
         ICY-METADATA: 1||",
        "GET /radio.ogg Http10 None icy bytes 0- metadata=1 <- GET /radio.ogg HTTP/1.0|Host: \
         radio.example|User-Agent: VLC/3.0.20|Range: bytes=0-|Connection: close|Icy-MetaData: 1||",
        "GET /live/show.flv Http11 None icy bytes 0- metadata=1 <- GET /live/show.flv HTTP/1.1|\
         User-Agent: Lavf/61.7.100|Accept: */*|Range: bytes=0-|Connection: close|Host: \
         127.0.0.1:8000|Icy-MetaData: 1||",
        // A relay of Icecast.
        "GET /admin/streamlist.txt Http10 None <- GET /admin/streamlist.txt HTTP/1.0|User-Agent: \
         Icecast 2.4.4||",
    ] {
        let (expected, text) = row.split_once(" <- ").expect("a head");
        let text = text.replace('|', "\r\n");
        assert_eq!(facts(&head(&text)), expected);
    }
}

#[test]
fn butt_puts_one_header_per_segment() {
    let lines = "PUT /stream HTTP/1.1|Authorization: Basic c291cmNlOmhhY2ttZTE=|\
        User-Agent: butt 0.1.37|Content-Type: audio/mpeg|ice-name: no name|ice-public: 0|\
        ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100";
    let mut reader = HeadReader::default();
    for line in lines.split('|') {
        let head = reader.push(format!("{line}\r\n").as_bytes());
        assert!(head.expect("a valid line").is_none(), "{line}");
    }
    let last = b"\r\n\xff\xfb\x90\x64";
    let head = reader.push(last).expect("a valid head");
    let (head, consumed) = head.expect("a complete head");
    assert_eq!(&last[consumed..], b"\xff\xfb\x90\x64");
    assert_eq!(head.body(), Body::UntilClose);
    assert!(!head.expects_continue());
    let audio = head.header("ice-audio-info").unwrap_or_default();
    assert!(audio.ends_with("ice-samplerate=44100"), "{audio}");
}

#[test]
fn butt_updates_titles_with_raw_bytes() {
    let head = head(
        "GET /admin/metadata?mode=updinfo&mount=/stream&song=Sigur Rós%20-%20Á%26E+ HTTP/1.0\r\n\
         Authorization: Basic c291cmNlOmhhY2ttZTE=\r\nUser-Agent: butt (Mozilla)\r\n\r\n",
    );
    assert_eq!(head.path(), "/admin/metadata");
    let song = head.query().get("song");
    assert_eq!(song.as_deref(), Some("Sigur Rós - Á&E+"));
    assert_eq!(head.query().get("mount").as_deref(), Some("/stream"));
}

#[test]
fn one_reader_reads_one_head_after_another() {
    let bytes = b"\r\n\nGET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\nHost: x\n\n";
    let mut reader = HeadReader::default();
    let (first, consumed) = reader.push(bytes).expect("valid").expect("complete");
    let rest = reader.push(&bytes[consumed..]).expect("valid");
    let (second, rest) = rest.expect("complete");
    assert_eq!((&*first.path(), &*second.path()), ("/a", "/b"));
    assert_eq!(consumed + rest, bytes.len());
    assert!(reader.is_idle());
    assert!(reader.push(b"GE").is_ok_and(|head| head.is_none()));
    assert!(!reader.is_idle());
}

#[test]
fn heads_are_bounded_in_bytes() {
    let limits = HeadLimits {
        bytes_max: 64,
        lines_max: 100,
    };
    let line = "GET /1234567890123456789012345678901234567890123456 HTTP/1.1\r\n";
    assert_eq!(line.len(), 62);
    let read = |text: String| HeadReader::new(limits).push(text.as_bytes());
    assert!(read(format!("{line}\r\n")).is_ok_and(|head| head.is_some()));
    let over = read(format!("{line}a\r\n")).map(|_| ());
    assert_eq!(over, Err(Error::HeadTooLong));

    // Neither an endless line nor endless empty lines are collected.
    for byte in [b'A', b'\n'] {
        let mut reader = HeadReader::default();
        let outcome = (0..64).find_map(|_| reader.push(&[byte; 1024]).err());
        assert_eq!(outcome, Some(Error::HeadTooLong));
        assert!(reader.line.capacity() <= 32 * 1024);
    }
}

#[test]
fn heads_are_bounded_in_lines() {
    let with = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(count));
    assert!(read(with(100).as_bytes()).is_ok_and(|head| head.is_some()));
    let over = read(with(101).as_bytes()).map(|_| ());
    assert_eq!(over, Err(Error::LinesTooMany));
}

#[test]
fn each_refusal_has_its_status() {
    let coded = "PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n";
    for (text, status) in [
        ("GET /\r\n", Status::BAD_REQUEST),
        ("GET / HTTP/2.0\r\n", Status::VERSION_NOT_SUPPORTED),
        (coded, Status::NOT_IMPLEMENTED),
        (&"a".repeat(20_000), Status::HEADER_FIELDS_TOO_LARGE),
    ] {
        let refused = read(text.as_bytes()).map(|_| ()).map_err(status_of);
        assert_eq!(refused, Err(status));
    }
}

/// Reads the first head of an input given in pieces, with the offset where it ends.
fn read_in_pieces(input: &[u8], piece: usize) -> Result<Option<(String, usize)>, Error> {
    let mut reader = HeadReader::new(HeadLimits {
        bytes_max: 128,
        lines_max: 4,
    });
    let mut before = 0;
    for piece in input.chunks(piece) {
        if let Some((head, consumed)) = reader.push(piece)? {
            return Ok(Some((format!("{head:?}"), before + consumed)));
        }
        before += piece.len();
    }
    Ok(None)
}

proptest! {
    #[test]
    fn segmentation_never_changes_a_head(
        lines in prop::collection::vec("[ -~\u{e9}]{0,30}(\r|\t|\u{0})?", 0..6),
        end in prop::sample::select(vec!["\n", "\r\n", "\r\r\n"]),
        piece in 1_usize..40,
    ) {
        let input = format!("GET /x HTTP/1.1{end}{}{end}{end}body", lines.join(end));
        let input = input.as_bytes();
        prop_assert_eq!(read_in_pieces(input, piece), read_in_pieces(input, input.len()));
    }

    #[test]
    fn garbage_is_refused_without_panic(input in prop::collection::vec(any::<u8>(), 0..300), piece in 1_usize..40) {
        let whole = read_in_pieces(&input, input.len().max(1));
        prop_assert_eq!(read_in_pieces(&input, piece), whole);
    }
}
