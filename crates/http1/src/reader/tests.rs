//! Requests as real clients send them, and as hostile ones do.

use proptest::prelude::*;

use super::*;
use crate::{Body, Status, Version, status_of};

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
        assert_eq!(
            got.is_some(),
            at + 1 == bytes.len(),
            "complete only at the end"
        );
        if let Some((slow, consumed)) = got {
            assert_eq!(consumed, 1);
            assert_eq!(format!("{slow:?}"), format!("{whole:?}"));
        }
    }
    assert!(reader.is_idle());
    whole
}

fn password(head: &Head) -> String {
    head.basic_auth()
        .expect("credentials")
        .password
        .reveal()
        .to_owned()
}

#[test]
fn libshout_asks_for_options_first() {
    let head = head(
        "OPTIONS * HTTP/1.1\r\nHost: localhost:8000\r\nConnection: Upgrade\r\n\
         Upgrade: TLS/1.0, HTTP/1.1\r\nUser-Agent: libshout/2.4.6\r\n\r\n",
    );
    assert_eq!((head.method(), head.path().as_ref()), ("OPTIONS", "*"));
    assert_eq!((head.body(), head.keeps_alive()), (Body::None, true));
    assert_eq!(head.header("upgrade"), Some("TLS/1.0, HTTP/1.1"));
    assert_eq!(head.basic_auth(), None);
}

#[test]
fn libshout_pokes_before_it_logs_in() {
    let poke = head(
        "SOURCE /radio.ogg HTTP/1.0\r\nHost: localhost:8000\r\nConnection: Keep-Alive\r\n\
         User-Agent: libshout/2.4.6\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!((poke.body(), poke.keeps_alive()), (Body::Length(0), true));
    assert_eq!(poke.basic_auth(), None);
}

#[test]
fn ezstream_sources() {
    let head = head(
        "SOURCE /radio.ogg HTTP/1.0\r\nHost: localhost:8000\r\n\
         Authorization: Basic c291cmNlOmhhY2s6bWU=\r\nUser-Agent: ezstream/1.0.2\r\n\
         Content-Type: application/ogg\r\nice-name: My Radio\r\nice-public: 0\r\n\
         ice-audio-info: bitrate=128;channels=2;samplerate=44100\r\n\r\n",
    );
    assert_eq!((head.method(), head.version()), ("SOURCE", Version::Http10));
    assert_eq!((head.body(), head.keeps_alive()), (Body::UntilClose, false));
    assert_eq!(password(&head), "hack:me");
    assert_eq!(head.audio_info().bitrate, Some(128));
    assert_eq!(head.ice_headers().next(), Some(("name", "My Radio")));
}

#[test]
fn libshout_puts() {
    let head = head(
        "PUT /radio.ogg HTTP/1.1\r\nHost: localhost:8000\r\n\
         Authorization: Basic c291cmNlOmhhY2ttZTE=\r\nUser-Agent: libshout/2.4.6\r\n\
         Content-Type: application/ogg\r\nExpect: 100-continue\r\n\r\n",
    );
    assert!(head.expects_continue());
    assert_eq!(head.body(), Body::UntilClose);
}

#[test]
fn ffmpeg_puts() {
    let head = head(
        "PUT /live%20one.mp3 HTTP/1.1\r\nUser-Agent: Lavf/61.7.100\r\nAccept: */*\r\n\
         Expect: 100-continue\r\nConnection: close\r\nHost: 127.0.0.1:8000\r\n\
         Content-Type: audio/mpeg\r\nIcy-MetaData: 1\r\nIce-Name: test\r\nIce-Public: 0\r\n\
         Authorization: Basic c291cmNlOmhhY2ttZTE=\r\n\r\n",
    );
    assert_eq!(
        (head.path().as_ref(), head.body()),
        ("/live one.mp3", Body::UntilClose)
    );
    assert!(head.expects_continue() && !head.keeps_alive());
    assert_eq!(password(&head), "hackme1");
}

#[test]
fn ffmpeg_sources_in_legacy_mode() {
    let head = head(
        "SOURCE /m HTTP/1.1\r\nUser-Agent: Lavf/61.7.100\r\nHost: 127.0.0.1:8000\r\n\
         Content-Type: audio/mpeg\r\nAuthorization: Basic c291cmNlOmhhY2ttZTE=\r\n\r\n",
    );
    assert_eq!(
        (head.version(), head.body()),
        (Version::Http11, Body::UntilClose)
    );
}

#[test]
fn butt_puts_one_header_per_segment() {
    let lines = [
        "PUT /stream HTTP/1.1\r\n",
        "Authorization: Basic c291cmNlOmhhY2ttZTE=\r\n",
        "User-Agent: butt 0.1.37\r\n",
        "Content-Type: audio/mpeg\r\n",
        "ice-name: no name\r\n",
        "ice-public: 0\r\n",
        "ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100\r\n",
    ];
    let mut reader = HeadReader::default();
    for line in lines {
        assert!(
            reader
                .push(line.as_bytes())
                .expect("a valid line")
                .is_none()
        );
    }
    let last = b"\r\n\xff\xfb\x90\x64";
    let (head, consumed) = reader
        .push(last)
        .expect("a valid head")
        .expect("a complete head");
    assert_eq!(&last[consumed..], b"\xff\xfb\x90\x64");
    assert_eq!(
        (head.body(), head.expects_continue()),
        (Body::UntilClose, false)
    );
    assert_eq!(head.audio_info().sample_rate, Some(44_100));
}

#[test]
fn butt_updates_titles_with_raw_bytes() {
    let head = head(
        "GET /admin/metadata?mode=updinfo&mount=/stream&song=Sigur Rós%20-%20Á%26E+ HTTP/1.0\r\n\
         Authorization: Basic c291cmNlOmhhY2ttZTE=\r\nUser-Agent: butt (Mozilla)\r\n\r\n",
    );
    assert_eq!(head.path(), "/admin/metadata");
    assert_eq!(
        head.query().get("song").as_deref(),
        Some("Sigur Rós - Á&E+")
    );
    assert_eq!(head.query().get("mount").as_deref(), Some("/stream"));
}

#[test]
fn darkice_ends_lines_with_lf() {
    let head = head(
        "SOURCE /radio HTTP/1.0\nAuthorization: Basic c291cmNlOmhhY2ttZTE=\n\
         User-Agent: DarkIce/1.4 (http://code.google.com/p/darkice/)\n\
         Content-type: audio/mpeg\nice-bitrate: 128\nice-public: 1\n\r\n",
    );
    assert_eq!(
        (head.body(), head.header("content-type")),
        (Body::UntilClose, Some("audio/mpeg"))
    );
    assert!(head.ice_headers().any(|pair| pair == ("bitrate", "128")));
}

#[test]
fn nsvcap_ends_lines_with_two_crs() {
    let head = head("SOURCE /tv ICE/1.0\r\r\ncontent-type: video/nsv\r\r\n\r\r\n");
    assert_eq!(
        (head.version(), head.header("Content-Type")),
        (Version::Ice10, Some("video/nsv"))
    );
}

#[test]
fn liquidsoap_puts_in_chunks() {
    let head = head(
        "PUT /radio HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic c291cmNlOmhhY2ttZTE=\r\n\
         User-Agent: Liquidsoap/2.2.4\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\
         Content-Type: audio/aac\r\nice-audio-info: channels=2;samplerate=44100\r\n\r\n",
    );
    assert_eq!(
        (head.body(), head.expects_continue()),
        (Body::Chunked, true)
    );
}

#[test]
fn liquidsoap_sources_and_expects_in_http_1_0() {
    let head = head("PUT /radio HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(
        (head.body(), head.expects_continue()),
        (Body::UntilClose, true)
    );
}

#[test]
fn a_browser_plays() {
    let head = head(
        "GET /radio.mp3 HTTP/1.1\r\nHost: radio.example:8000\r\nConnection: keep-alive\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0\r\n\
         Accept-Encoding: identity;q=1, *;q=0\r\nAccept: */*\r\nSec-Fetch-Dest: audio\r\n\
         Referer: http://radio.example/\r\nRange: bytes=0-\r\n\r\n",
    );
    assert_eq!(
        (head.body(), head.keeps_alive(), head.wants_icy()),
        (Body::None, true, false)
    );
    assert_eq!(
        head.byte_range().map(|range| (range.first, range.last)),
        Some((0, None))
    );
}

#[test]
fn ios_probes() {
    let head = head(
        "GET /radio.mp3 HTTP/1.1\r\nHost: radio.example\r\nX-Playback-Session-Id: 8D6F\r\n\
         Range: bytes=0-1\r\nicy-metadata: 1\r\nAccept-Encoding: identity\r\n\
         User-Agent: AppleCoreMedia/1.0.0.20A362 (iPhone; U; CPU OS 16_0 like Mac OS X)\r\n\r\n",
    );
    assert_eq!(
        head.byte_range().map(|range| (range.first, range.last)),
        Some((0, Some(1)))
    );
    assert!(head.wants_icy());
}

#[test]
fn sonos_vlc_and_ffplay_play() {
    let sonos = head(
        "GET /radio.mp3 HTTP/1.1\r\nCONNECTION: close\r\nACCEPT-ENCODING: gzip\r\n\
         HOST: radio.example\r\nUSER-AGENT: Linux UPnP/1.0 Sonos/80.1 (ZPS12)\r\n\
         ICY-METADATA: 1\r\n\r\n",
    );
    assert!(sonos.wants_icy() && !sonos.keeps_alive());
    let vlc = head(
        "GET /radio.ogg HTTP/1.0\r\nHost: radio.example\r\nUser-Agent: VLC/3.0.20\r\n\
         Range: bytes=0-\r\nConnection: close\r\nIcy-MetaData: 1\r\n\r\n",
    );
    assert!(vlc.wants_icy() && vlc.version() == Version::Http10);
    let ffplay = head(
        "GET /live/show.flv HTTP/1.1\r\nUser-Agent: Lavf/61.7.100\r\nAccept: */*\r\n\
         Range: bytes=0-\r\nConnection: close\r\nHost: 127.0.0.1:8000\r\nIcy-MetaData: 1\r\n\r\n",
    );
    assert_eq!(ffplay.path(), "/live/show.flv");
}

#[test]
fn an_icecast_relay_asks() {
    let head = head("GET /admin/streamlist.txt HTTP/1.0\r\nUser-Agent: Icecast 2.4.4\r\n\r\n");
    assert_eq!(
        (head.path().as_ref(), head.keeps_alive()),
        ("/admin/streamlist.txt", false)
    );
}

#[test]
fn one_reader_reads_one_head_after_another() {
    let bytes = b"\r\n\nGET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\nHost: x\n\n";
    let mut reader = HeadReader::default();
    let (first, consumed) = reader.push(bytes).expect("valid").expect("complete");
    let (second, rest) = reader
        .push(&bytes[consumed..])
        .expect("valid")
        .expect("complete");
    assert_eq!(
        (first.path().as_ref(), second.path().as_ref()),
        ("/a", "/b")
    );
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
    let fits = format!("{line}\r\n");
    assert!(
        HeadReader::new(limits)
            .push(fits.as_bytes())
            .is_ok_and(|head| head.is_some())
    );
    let over = format!("{line}a\r\n");
    assert_eq!(
        HeadReader::new(limits).push(over.as_bytes()).map(|_| ()),
        Err(Error::HeadTooLong)
    );

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
    assert_eq!(
        read(with(101).as_bytes()).map(|_| ()),
        Err(Error::LinesTooMany)
    );
}

#[test]
fn smuggling_is_refused() {
    for hostile in [
        &b"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: y\0\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n",
        b"G\0T / HTTP/1.1\r\n\r\n",
        b"GET /a\r\r\r\n\r\n",
    ] {
        let error = read(hostile).expect_err("must be refused");
        assert_eq!(
            status_of(error),
            Status::BAD_REQUEST,
            "{}",
            String::from_utf8_lossy(hostile)
        );
    }
}

#[test]
fn each_refusal_has_its_status() {
    for (bytes, status) in [
        (b"GET /\r\n".to_vec(), Status::BAD_REQUEST),
        (
            b"GET / HTTP/2.0\r\n".to_vec(),
            Status::VERSION_NOT_SUPPORTED,
        ),
        (
            b"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n".to_vec(),
            Status::NOT_IMPLEMENTED,
        ),
        (vec![b'a'; 20_000], Status::HEADER_FIELDS_TOO_LARGE),
    ] {
        assert_eq!(read(&bytes).map(|_| ()).map_err(status_of), Err(status));
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
        prop_assert_eq!(
            read_in_pieces(&input, piece),
            read_in_pieces(&input, input.len().max(1))
        );
    }
}
