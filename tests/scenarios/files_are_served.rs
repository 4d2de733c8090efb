//! Files of a folder are played on demand: whole, by ranges, and over HLS; nothing else of the disk is.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use testkit::framemd5;
use testkit::hls::MediaPlaylist;
use testkit::http::{Response, deinterleave};
use testkit::{Clip, Server, Tool, wait_until};

use crate::bodies_of_every_container::{AAC, H264, Show, check_vlc, start_vlc};
use crate::browser::Browser;
use crate::hls_plays_everywhere::ChromiumPlayer;
use crate::support::{DEADLINE, connect, curl, publish_icecast};

/// Seconds of the film: some segments.
const SECONDS: u32 = 20;

/// A plain file, and the same as one of fragments.
const FILM: &str = "vod/film.mp4";
const FRAGMENTED: &str = "vod/sub folder/cut.mp4";

/// Bytes of a file that no socket's buffers hold.
const LARGE: usize = 64 << 20;

/// Bytes that were read from disk.
const BYTES: &str = "carillon_file_bytes_total";

/// A folder of films, below one with something that is not for everybody.
struct Library {
    outer: TempDir,
}

impl Library {
    fn make() -> Self {
        let library = Self {
            outer: tempfile::tempdir().unwrap(),
        };
        let folder = library.folder();
        fs::create_dir_all(folder.join("sub folder")).unwrap();
        let clip = Clip::FlvBframes.seconds(SECONDS);
        for (name, flags) in [
            ("film.mp4", "-faststart"),
            (
                "sub folder/cut.mp4",
                "+frag_keyframe+empty_moov+default_base_moof",
            ),
        ] {
            let _ = Tool::ffmpeg()
                .args(["-y", "-i"])
                .arg(&clip)
                .args(["-c", "copy", "-movflags", flags])
                .arg(folder.join(name))
                .run(DEADLINE);
        }
        library
    }

    fn folder(&self) -> PathBuf {
        self.outer.path().join("films")
    }

    fn file(&self, stream: &str) -> PathBuf {
        self.folder().join(stream.strip_prefix("vod/").unwrap())
    }

    fn serve(&self) -> Server {
        let folder = self.folder().display().to_string();
        Server::builder()
            .toml(&format!(
                "[[files]]\npath = \"vod\"\ndirectory = {folder:?}"
            ))
            .start()
    }
}

#[test]
fn curl_gets_the_ranges_it_asks_for() {
    let library = Library::make();
    let server = library.serve();
    let film = fs::read(library.file(FILM)).unwrap();
    let path = format!("/{FILM}?download=1");
    let length = film.len();
    let get = |arguments: &[&str]| curl(&server, &path, arguments);
    let whole = get(&[]);
    assert_eq!((whole.status, &whole.body), (200, &film));
    assert_eq!(whole.header("content-type"), Some("video/mp4"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").unwrap().to_owned();
    let middle = length / 2;
    for (asked, range) in [
        ("0-1".to_owned(), 0..2),
        (format!("{middle}-{}", middle + 99), middle..middle + 100),
        (format!("{middle}-"), middle..length),
        ("-500".to_owned(), length - 500..length),
        (format!("{}-{}", length - 1, length + 9), length - 1..length),
        ("0-99,100-199".to_owned(), 0..200),
    ] {
        let part = get(&["-r", &asked]);
        assert_eq!(part.status, 206, "{asked}");
        let told = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        assert_eq!(part.header("content-range"), Some(told.as_str()));
        assert_eq!(part.header("etag"), Some(tag.as_str()));
        assert_eq!(part.body, film[range], "{asked}");
    }
    let beyond = get(&["-r", &format!("{length}-")]);
    assert_eq!((beyond.status, beyond.body.len()), (416, 0));
    let told = format!("bytes */{length}");
    assert_eq!(beyond.header("content-range"), Some(told.as_str()));
    let several = get(&["-r", "0-0,-1"]);
    assert_eq!((several.status, several.body.len()), (200, length));
    for (known, status) in [(tag.as_str(), 206), ("\"another\"", 200)] {
        let asked = get(&["-r", "0-1", "-H", &format!("If-Range: {known}")]);
        assert_eq!(asked.status, status, "{known}");
    }
    let known = get(&["-H", &format!("If-None-Match: {tag}")]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = get(&["-I", "-r", "0-1"]);
    let announced = length.to_string();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), Some(announced.as_str()));
    assert_eq!(curl(&server, "/vod/none.mp4", &[]).status, 404);
    assert_eq!(curl(&server, "/vod/", &[]).status, 404);
    let metrics = server.metrics();
    let requests = |result| {
        metrics.get(&format!(
            "carillon_file_requests_total{{result=\"{result}\"}}"
        ))
    };
    assert_eq!(requests("beyond"), Some(1.0));
    assert_eq!(requests("part"), Some(7.0));
    assert!(metrics.get(BYTES) > Some(length as f64));
}

#[test]
fn nothing_beside_the_folder_is_served() {
    let library = Library::make();
    let (outer, folder) = (library.outer.path(), library.folder());
    fs::write(outer.join("secret.mp4"), "secret").unwrap();
    fs::write(folder.join(".hidden.mp4"), "secret").unwrap();
    fs::write(folder.join("notes.txt"), "secret").unwrap();
    symlink("../secret.mp4", folder.join("out.mp4")).unwrap();
    symlink(outer.join("secret.mp4"), folder.join("far.mp4")).unwrap();
    symlink(outer, folder.join("up")).unwrap();
    let server = library.serve();
    for path in [
        "/vod/../secret.mp4",
        "/vod/%2e%2e/secret.mp4",
        "/vod/%2E%2E%2Fsecret.mp4",
        "/vod/..%2fsecret.mp4",
        "/vod/%252e%252e/secret.mp4",
        "/vod/sub%20folder/../../secret.mp4",
        "/vod//secret.mp4",
        "/vod/./../secret.mp4",
        "/vod/out.mp4",
        "/vod/out.mp4/index.m3u8",
        "/vod/far.mp4",
        "/vod/up/secret.mp4",
        "/vod/.hidden.mp4",
        "/vod/notes.txt",
        "/vod/%00secret.mp4",
        "/vod/sub%20folder",
    ] {
        let answer = curl(&server, path, &[]);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.text().contains("secret\n") && answer.text() != "secret");
    }
    assert_eq!(
        curl(&server, &format!("/{FILM}"), &["-r", "0-1"]).status,
        206
    );
}

#[test]
fn a_live_stream_wins_over_a_file_of_its_name() {
    let library = Library::make();
    fs::copy(Clip::Mp3.seconds(4), library.folder().join("radio.mp3")).unwrap();
    let server = library.serve();
    let of_file = |answer: &Response| answer.header("etag").is_some();
    assert!(of_file(&curl(&server, "/vod/radio.mp3", &["-I"])));
    let publisher = publish_icecast(&server, Clip::Mp3, 60, "vod/radio.mp3");
    wait_until("the stream in place of the file", DEADLINE, || {
        !of_file(&curl(&server, "/vod/radio.mp3", &["-I"]))
    });
    drop(publisher);
    wait_until("the file again", DEADLINE, || {
        of_file(&curl(&server, "/vod/radio.mp3", &["-I"]))
    });
}

#[test]
fn players_that_ask_for_titles_get_them_between_the_sound() {
    let library = Library::make();
    let song = library.folder().join("song.mp3");
    let tags = ["artist=Björk", "title=Jóga", "comment=Homogenic"];
    let _ = Tool::ffmpeg()
        .args(["-y", "-i"])
        .arg(Clip::Mp3.seconds(SECONDS))
        .args(tags.iter().flat_map(|tag| ["-metadata", *tag]))
        .args(["-c", "copy"])
        .arg(&song)
        .run(DEADLINE);
    let _ = Tool::ffmpeg()
        .args(["-y", "-i"])
        .arg(Clip::Mp3.seconds(4))
        .args(["-c:a", "aac", "-b:a", "128k", "-f", "adts"])
        .arg(library.folder().join("no tags.aac"))
        .run(DEADLINE);
    let server = library.serve();
    for (path, told) in [
        ("/vod/song.mp3", "Björk - Jóga"),
        ("/vod/no%20tags.aac", "no tags"),
    ] {
        let seen = Tool::ffprobe()
            .args(["-v", "error", "-icy", "1", "-seekable", "0"])
            .args(["-of", "json", "-show_entries", "format_tags"])
            .arg(server.http_url(path))
            .run(DEADLINE);
        let seen: Value = serde_json::from_slice(&seen).unwrap();
        assert_eq!(seen["format"]["tags"]["StreamTitle"], told, "{seen}");
    }
    let file = fs::read(&song).unwrap();
    let asked = ["-H", "Icy-MetaData: 1"];
    let titled = curl(&server, "/vod/song.mp3", &asked);
    assert_eq!(titled.status, 200);
    assert_eq!(titled.header("accept-ranges"), Some("none"));
    assert_eq!(titled.header("etag"), None);
    let length = titled.body.len().to_string();
    assert_eq!(titled.header("content-length"), Some(length.as_str()));
    let interval = titled.header("icy-metaint").unwrap().parse().unwrap();
    let (sound, titles) = deinterleave(&titled.body, interval);
    let expected = (interval, "StreamTitle='Björk - Jóga';".to_owned());
    assert_eq!(titles, [expected]);
    let tag = file.len() - sound.len();
    // What follows the last block is not in `sound`.
    assert!(tag < 2 * interval && file.starts_with(b"ID3"), "{tag}");
    assert!(file.windows(sound.len()).any(|run| run == sound));
    for asked in [
        &["-H", "Icy-MetaData: 0"][..],
        &["-H", "Icy-MetaData: 1", "-r", "0-"],
        &["-H", "Icy-MetaData: 1", "-r", "5-"],
        &["-H", "Icy-MetaData: 1", "-r", "0-1"],
    ] {
        let plain = curl(&server, "/vod/song.mp3", asked);
        assert_eq!(plain.header("icy-metaint"), None, "{asked:?}");
        assert_eq!(plain.header("accept-ranges"), Some("bytes"), "{asked:?}");
    }
    let download = curl(&server, "/vod/song.mp3?download=1", &asked);
    assert!(download.body == file, "the file as it is");
    // Over ranges or not, ffmpeg hears the same.
    let packets = |arguments: &[&str]| {
        let ffmpeg = Tool::ffmpeg().args(arguments);
        framemd5::packets_by(ffmpeg, server.http_url("/vod/song.mp3"), &[])
    };
    let expected = framemd5::packets(&song);
    assert_eq!(packets(&["-icy", "1", "-seekable", "0"]), expected);
    assert_eq!(packets(&["-icy", "1"]), expected);
}

#[test]
fn chromium_plays_and_seeks_a_film() {
    let library = Library::make();
    let server = library.serve();
    let browser = Browser::open();
    browser.go(&server.http_url(&format!("/{FILM}")));
    let look = "const video = document.querySelector('video'); \
        return [video?.duration, video?.currentTime, video?.seeking, video?.error?.message];";
    let seen = || {
        let seen = browser.run(look);
        assert!(seen[3].is_null(), "{seen}");
        seen
    };
    let time = |seen: &Value| seen[1].as_f64().unwrap_or_default();
    wait_until("Chromium to play", DEADLINE, || time(&seen()) > 1.0);
    let duration = seen()[0].as_f64().unwrap();
    assert!((duration - f64::from(SECONDS)).abs() < 1.0, "{duration}");
    let half = duration / 2.0;
    browser.run(&format!(
        "document.querySelector('video').currentTime = {half}; return null;"
    ));
    wait_until("Chromium to go on from the middle", DEADLINE, || {
        let seen = seen();
        seen[2] == false && time(&seen) > half + 1.0
    });
}

/// Packets of each track, as ffprobe counts them.
fn packets(input: impl AsRef<Path>) -> Value {
    let counted = Tool::ffprobe()
        .args([
            "-v",
            "error",
            "-count_packets",
            "-of",
            "json",
            "-show_entries",
        ])
        .arg("stream=codec_type,nb_read_packets")
        .arg(input.as_ref())
        .run(DEADLINE);
    let counted: Value = serde_json::from_slice(&counted).unwrap();
    counted["streams"].clone()
}

#[test]
fn hls_has_every_packet_of_a_file() {
    let library = Library::make();
    let server = library.serve();
    for (stream, is_ranged) in [(FILM, false), (FRAGMENTED, true)] {
        let path = format!("/{}/index.m3u8", stream.replace(' ', "%20"));
        let text = server.get(&path).text();
        let playlist =
            MediaPlaylist::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(
            text.ends_with("#EXT-X-ENDLIST\n") && playlist.segments.len() > 2,
            "{text}"
        );
        assert_eq!(text.contains("#EXT-X-BYTERANGE"), is_ranged, "{text}");
        let listed = packets(server.http_url(&path));
        assert_eq!(listed, packets(library.file(stream)), "{stream}");
        assert_eq!(listed.as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn players_of_hls_play_files() {
    let files = [FILM, "vod/sub%20folder/cut.mp4"].map(|stream| Show {
        stream,
        clip: Clip::FlvBframes,
        picture: Some(&H264),
        sound: &AAC,
        bodies: &[],
    });
    let library = Library::make();
    let server = library.serve();
    let chromium = ChromiumPlayer::hls_js();
    for show in &files {
        let player = start_vlc(&server, show, "/index.m3u8");
        chromium.go(&server.http_url(&format!("/{}/index.m3u8", show.stream)));
        chromium.wait_until_played(show, 7.0);
        check_vlc(player, show, "/index.m3u8");
    }
}

#[test]
fn a_slow_client_delays_no_other() {
    let library = Library::make();
    let bytes: Vec<u8> = (0..LARGE).map(|at| (at / 4096) as u8).collect();
    fs::write(library.folder().join("large.ts"), &bytes).unwrap();
    let server = library.serve();
    let mut slow = connect(server.addr("http"));
    let request = b"GET /vod/large.ts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    slow.write_all(request).unwrap();
    // It is being sent, and takes nothing.
    wait_until("a read for the slow client", DEADLINE, || {
        server.metrics().get(BYTES) > Some(0.0)
    });
    let other = curl(&server, "/vod/large.ts", &[]);
    assert!(
        other.body == bytes,
        "the other client was not sent the file"
    );
    let read = server.metrics().get(BYTES);
    assert!(
        read < Some(2.0 * LARGE as f64),
        "the slow client's file was read to its end"
    );
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert!(
        Response::parse(&rest).body == bytes,
        "the slow client was not sent the file"
    );
}
