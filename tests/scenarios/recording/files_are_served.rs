//! Files of a folder are served on demand: whole, by ranges, and over HLS; nothing else on the disk is served.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;
use testkit::http::{Response, deinterleave};
use testkit::{Clip, Tool, framemd5};

use crate::support::browser::Browser;
use crate::support::films::of_one_keyframe;
use crate::support::hls_page::ChromiumPlayer;
use crate::support::library::{BYTES, FILM, FRAGMENTED, Library, SECONDS};
use crate::support::past::counted;
use crate::support::shows::{AAC, H264, Show, check_vlc, start_vlc};
use crate::support::{
    DEADLINE, connect, curl, file, media_playlist, publish_icecast, remux, wait_until,
};

/// Size of a file in bytes that no socket's buffers hold.
const LARGE: usize = 64 << 20;

#[test]
fn a_live_stream_wins_over_a_file_of_its_name() {
    let library = Library::make();
    fs::copy(Clip::Mp3.seconds(4), library.folder().join("radio.mp3")).unwrap();
    let server = library.serve();
    let of_file = |answer: &Response| answer.header("etag").is_some();
    assert!(of_file(&curl(&server, "/vod/radio.mp3", &["-I"])));
    let publisher = publish_icecast(&server, Clip::Mp3, 60, "vod/radio.mp3");
    wait_until("the stream in place of the file", || {
        !of_file(&curl(&server, "/vod/radio.mp3", &["-I"]))
    });
    drop(publisher);
    wait_until("the file again", || {
        of_file(&curl(&server, "/vod/radio.mp3", &["-I"]))
    });
}

#[test]
fn players_that_ask_for_titles_get_them_between_the_audio() {
    let library = Library::make();
    let song = library.folder().join("song.mp3");
    let tags = "-metadata artist=Björk -metadata title=Jóga -metadata comment=Homogenic";
    remux(Tool::ffmpeg(), &Clip::Mp3.seconds(SECONDS), tags, &song);
    let untagged = library.folder().join("no tags.aac");
    remux(
        Tool::ffmpeg(),
        &Clip::Mp3.seconds(4),
        "-c:a aac -b:a 128k",
        &untagged,
    );
    let server = library.serve();
    for (path, reported) in [
        ("/vod/song.mp3", "Björk - Jóga"),
        ("/vod/no%20tags.aac", "no tags"),
    ] {
        let seen = Tool::ffprobe()
            .args(["-v", "error", "-icy", "1", "-seekable", "0"])
            .args(["-of", "json", "-show_entries", "format_tags"])
            .arg(server.http_url(path))
            .run(DEADLINE);
        let seen: Value = serde_json::from_slice(&seen).unwrap();
        assert_eq!(seen["format"]["tags"]["StreamTitle"], reported, "{seen}");
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
    let (audio, titles) = deinterleave(&titled.body, interval);
    let expected = (interval, "StreamTitle='Björk - Jóga';".to_owned());
    assert_eq!(titles, [expected]);
    let tag = file.len() - audio.len();
    // `audio` lacks the bytes after the last block.
    assert!(tag < 2 * interval && file.starts_with(b"ID3"), "{tag}");
    assert!(file.windows(audio.len()).any(|run| run == audio));
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
    // ffmpeg receives the same packets with ranges and without.
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
    wait_until("Chromium to play", || time(&seen()) > 1.0);
    let duration = seen()[0].as_f64().unwrap();
    assert!((duration - f64::from(SECONDS)).abs() < 1.0, "{duration}");
    let half = duration / 2.0;
    browser.run(&format!(
        "document.querySelector('video').currentTime = {half}; return null;"
    ));
    wait_until("Chromium to go on from the middle", || {
        let seen = seen();
        seen[2] == false && time(&seen) > half + 1.0
    });
}

#[test]
fn hls_has_every_packet_of_a_file() {
    let library = Library::make();
    let server = library.serve();
    for (stream, is_ranged) in [(FILM, false), (FRAGMENTED, true)] {
        let path = format!("/{}/index.m3u8", stream.replace(' ', "%20"));
        let (text, playlist) = (server.get(&path).text(), media_playlist(&server, &path));
        assert!(
            text.ends_with("#EXT-X-ENDLIST\n") && playlist.segments.len() > 2,
            "{text}"
        );
        assert_eq!(text.contains("#EXT-X-BYTERANGE"), is_ranged, "{text}");
        let listed = counted(server.http_url(&path));
        assert_eq!(listed, counted(library.file(stream)), "{stream}");
        assert_eq!(listed.as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_film_of_one_keyframe_plays_over_hls() {
    let library = Library::make();
    let film = library.folder().join("one.mp4");
    of_one_keyframe(&film, 400);
    let server = library.serve();
    let path = "/vod/one.mp4/index.m3u8";
    let (text, playlist) = (server.get(path).text(), media_playlist(&server, path));
    assert!(playlist.segments.len() > 20, "{text}");
    assert!(!text.contains("INDEPENDENT"), "{text}");
    assert_eq!(counted(server.http_url(path)), counted(film));
}

#[test]
fn a_film_whose_audio_begins_first_is_cut_as_its_playlist_says() {
    let library = Library::make();
    let film = library.folder().join("late.mp4");
    let clip = Clip::FlvBframes.seconds(SECONDS);
    let _ = Tool::ffmpeg()
        .args(["-y", "-i"])
        .arg(&clip)
        .args(["-itsoffset", "1.5", "-i"])
        .arg(&clip)
        .args(["-map", "1:v", "-map", "0:a", "-c", "copy"])
        .arg(&film)
        .run(DEADLINE);
    let server = library.serve();
    let path = "/vod/late.mp4/index.m3u8";
    let (text, playlist) = (server.get(path).text(), media_playlist(&server, path));
    let audio_frames = |media: &Path| framemd5::audio(&framemd5::packets(media)).len() as f64;
    let per_second = audio_frames(&film) / f64::from(SECONDS);
    let body = |uri: &str| server.get(&format!("/vod/late.mp4/{uri}")).body;
    let last = playlist.segments.len() - 1;
    assert!(last >= 1, "{text}");
    // In the last segment the video continues after the audio.
    for segment in &playlist.segments[..last] {
        let (map, reported) = (
            segment.map.as_ref().unwrap(),
            segment.file.as_ref().unwrap(),
        );
        let whole = file(&[body(&map.uri), body(&reported.uri)].concat());
        let (lasts, reported) = (
            audio_frames(whole.path()) / per_second,
            reported.duration.as_secs_f64(),
        );
        assert!((lasts - reported).abs() < 0.2, "{lasts} {text}");
        assert!(reported.round() <= playlist.target.as_secs_f64(), "{text}");
    }
    assert_eq!(counted(server.http_url(path)), counted(film));
}

#[test]
fn players_of_hls_play_files() {
    let files = [FILM, "vod/sub%20folder/cut.mp4"].map(|stream| Show {
        stream,
        clip: Clip::FlvBframes,
        picture: Some(&H264),
        audio: &AAC,
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
    // The slow client's file is being sent, and the client reads nothing.
    wait_until("a read for the slow client", || {
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
