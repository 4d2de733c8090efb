//! Viewers play the recordings of a stream at its address: whole, by ranges, over HLS while they grow, from a time on, and in
//! clips.

use serde_json::Value;
use testkit::{Clip, Server, Tool, framemd5};

use crate::support::browser::Browser;
use crate::support::past::{STREAM, counted, has_seconds, is_final, newest, on_disk, server, text};
use crate::support::recorded::recording_into;
use crate::support::{
    DEADLINE, curl, marks, media_playlist, order, publish_icecast, publish_rtmp, wait_until,
};

/// Returns the viewers' list, newest first.
fn list(server: &Server, stream: &str) -> Vec<Value> {
    let answer = server.get(&format!("/{stream}/recordings.json"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer["recordings"].as_array().expect("a list").clone()
}

#[test]
fn a_recording_is_downloaded_and_played_at_the_streams_address() {
    let (_root, server) = server();
    let mut publisher = publish_rtmp(&server, &Clip::FlvBframes.seconds(14), STREAM);
    publisher.wait(DEADLINE);
    let one = newest(&server, STREAM, "a finalised recording", is_final);
    let (id, path) = (
        text(&one, "id"),
        format!("/{STREAM}/{}", text(&one, "file")),
    );
    assert_eq!(text(&one, "file"), format!("recordings/{id}.mp4"));
    let file = std::fs::read(on_disk(&server, id)).unwrap();
    let length = file.len();
    assert_eq!(one["bytes"].as_u64(), Some(length as u64));
    let kept = curl(&server, &format!("{path}?download=1"), &[]);
    assert!(kept.status == 200 && kept.body == file);
    let disposition = kept.header("content-disposition").unwrap();
    assert!(
        disposition.starts_with("attachment; filename=\"show-20"),
        "{disposition}"
    );
    let tag = kept.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{id}-{length:x}-1\""));
    for (asked, range) in [
        ("0-1", 0..2),
        ("20-99", 20..100),
        ("-500", length - 500..length),
    ] {
        let part = curl(&server, &path, &["-r", asked]);
        let reported = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        assert_eq!(
            (part.status, part.header("content-range")),
            (206, Some(reported.as_str()))
        );
        assert!(part.body == file[range], "{asked}");
    }
    assert_eq!(
        curl(&server, &path, &["-r", &format!("{length}-")]).status,
        416
    );
    let condition = format!("If-None-Match: {tag}");
    assert_eq!(curl(&server, &path, &["-H", &condition]).status, 304);
    // Over HLS the recording has every packet, and an end.
    let playlist = format!("/{STREAM}/{}", text(&one, "hls"));
    let parsed = media_playlist(&server, &playlist);
    assert!(parsed.segments.len() >= 2 && parsed.is_ended, "{parsed:?}");
    let listed = counted(server.http_url(&playlist));
    assert_eq!(listed, counted(on_disk(&server, id)));
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    // Other streams do not have the recording, and there is nothing else at its addresses.
    for wrong in [
        format!("/live/other/recordings/{id}.mp4"),
        format!("/live/other/recordings/{id}/index.m3u8"),
        format!("/{STREAM}/recordings/{id}.mp3"),
        format!("/{STREAM}/recordings/{}.mp4", "0".repeat(24)),
        format!("/{STREAM}/recordings/..%2f{id}.mp4"),
        format!("/{STREAM}/recordings/{id}/0-999999.m4s"),
        format!("/{STREAM}/recordings/{id}/9-3.m4s"),
        format!("/{STREAM}/recordings/{id}/x.m4s"),
    ] {
        assert_eq!(curl(&server, &wrong, &[]).status, 404, "{wrong}");
    }
    let browser = Browser::open();
    browser.go(&server.http_url(&path));
    wait_until("Chromium to play the recording", || {
        let seen = browser.run(
            "const video = document.querySelector('video'); \
             return [video?.currentTime ?? 0, video?.error?.message];",
        );
        assert!(seen[1].is_null(), "{seen}");
        seen[0].as_f64() > Some(1.0)
    });
}

#[test]
fn a_recording_is_watched_while_it_grows() {
    let (_root, server) = server();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(24), STREAM);
    let one = newest(&server, STREAM, "seven seconds", has_seconds(8.0));
    let id = text(&one, "id").to_owned();
    let path = format!("/{STREAM}/recordings/{id}.mp4");
    assert_eq!(text(&one, "state"), "open");
    let part = curl(&server, &path, &["-r", "0-"]);
    let length = part.body.len();
    let reported = format!("bytes 0-{}/{length}", length - 1);
    assert_eq!(
        (part.status, part.header("content-range")),
        (206, Some(reported.as_str()))
    );
    assert!(part.body.len() as u64 >= one["bytes"].as_u64().unwrap());
    // A client that follows the playlist from the beginning gets everything, up to the end, and listed segments stay.
    let playlist = format!("/{STREAM}/recordings/{id}/index.m3u8");
    let early = server.get(&playlist).text();
    assert!(
        early.contains("#EXT-X-PLAYLIST-TYPE:EVENT") && !early.contains("ENDLIST"),
        "{early}"
    );
    let listed = counted(server.http_url(&playlist));
    publisher.wait(DEADLINE);
    let one = newest(&server, STREAM, "a finalised recording", is_final);
    assert_eq!(text(&one, "id"), id);
    assert_eq!(listed, counted(on_disk(&server, &id)));
    let late = server.get(&playlist).text();
    let segments = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.ends_with(".m4s"));
        lines.map(str::to_owned).collect()
    };
    let (early, late) = (segments(&early), segments(&late));
    assert!(
        !early.is_empty() && late.starts_with(&early),
        "{early:?} {late:?}"
    );
    // The response that began with the open file is one version, the later one another.
    let tag = part.header("etag").unwrap();
    let asked = curl(
        &server,
        &path,
        &["-r", "0-1", "-H", &format!("If-Range: {tag}")],
    );
    assert_eq!(asked.status, 200);
}

#[test]
fn ffmpeg_plays_a_recording_while_it_is_written() {
    let (_root, server) = server();
    let mut publisher = publish_rtmp(&server, &Clip::FlvBframes.seconds(24), STREAM);
    let one = newest(&server, STREAM, "some seconds", has_seconds(8.0));
    assert_eq!(text(&one, "state"), "open");
    let url = server.http_url(&format!("/{STREAM}/{}", text(&one, "file")));
    let makes = [
        ("Debian's", Tool::ffmpeg()),
        ("current", Tool::current_ffmpeg()),
    ];
    let played = makes.map(|(make, ffmpeg)| (make, framemd5::packets_by(ffmpeg, &url, &[])));
    // Debian's ffmpeg does not seek at all within fragmented MP4 over HLS.
    let playlist = server.http_url(&format!("/{STREAM}/{}", text(&one, "hls")));
    let from_its_beginning = Tool::current_ffmpeg().args(["-live_start_index", "0"]);
    for (ffmpeg, url) in [
        (Tool::ffmpeg(), &url),
        (Tool::current_ffmpeg(), &url),
        (from_its_beginning, &playlist),
    ] {
        let ffmpeg = ffmpeg.args(["-ss", "5"]);
        let seen = framemd5::decoded_by(ffmpeg, url, &["-an", "-frames:v", "1"]);
        assert_eq!(seen.len(), 1, "{url}");
    }
    publisher.wait(DEADLINE);
    let one = newest(&server, STREAM, "a finalised recording", is_final);
    let whole = framemd5::packets(on_disk(&server, text(&one, "id")));
    for (make, played) in &played {
        for part in [framemd5::video, framemd5::audio] {
            let (got, whole) = (part(played), part(&whole));
            assert!(got.len() >= 8 * 25, "{make}: {} packets", got.len());
            assert_eq!(marks(&got), marks(&whole[..got.len()]), "{make}");
        }
    }
}

#[test]
fn clips_are_cut_from_several_recordings() {
    let (_root, server) = server();
    let clip = Clip::Flv.seconds(30);
    let mut publisher = publish_rtmp(&server, &clip, STREAM);
    let _ = newest(&server, STREAM, "some seconds", has_seconds(8.0));
    let path = format!("streams/{STREAM}/recording");
    let split = order(&server, "POST", &path, "{\"action\": \"split\"}");
    assert_eq!(split, 204);
    wait_until("a second recording", || {
        let all = list(&server, STREAM);
        all.len() == 2 && has_seconds(6.0)(&all[0])
    });
    publisher.wait(DEADLINE);
    wait_until("both finalised", || {
        list(&server, STREAM).iter().all(is_final)
    });
    let all = list(&server, STREAM);
    let (from, to) = (text(&all[1], "started"), text(&all[0], "ended"));
    // The clip has both recordings, except for frames that begin in the second of the end.
    let clip = format!("/{STREAM}/clip.mp4?from={from}&to={to}&download=1");
    let answer = curl(&server, &clip, &[]);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("video/mp4"))
    );
    let path = tempfile::NamedTempFile::with_suffix(".mp4").unwrap();
    std::fs::write(&path, &answer.body).unwrap();
    let got = framemd5::video(&framemd5::decoded(path.path()));
    let files = [1, 0].map(|at: usize| {
        let id = text(&all[at], "id");
        framemd5::video(&framemd5::decoded(on_disk(&server, id)))
    });
    let whole = files.concat();
    assert_eq!(marks(&got), marks(&whole[..got.len()]));
    assert!(
        whole.len() - got.len() <= 50,
        "{} {}",
        whole.len(),
        got.len()
    );
    assert!(got.len() > files[0].len(), "it goes on in the second one");
    assert!(framemd5::is_monotonic(&got));
    assert!(framemd5::is_monotonic(&framemd5::audio(
        &framemd5::packets(path.path())
    )));
    let probed = Tool::ffprobe()
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(["-show_entries", "format=start_time"])
        .arg(path.path())
        .run(DEADLINE);
    let begins: f64 = String::from_utf8(probed).unwrap().trim().parse().unwrap();
    assert!(begins.abs() < 0.1, "{begins}");
    for (query, status) in [
        ("", 400),
        ("from=x", 400),
        ("from=-10&to=-20", 400),
        ("from=-2h", 400),
        ("from=2001-01-01T00:00:00Z&to=2001-01-01T00:01:00Z", 404),
    ] {
        let answer = server.get(&format!("/{STREAM}/clip.mp4?{query}"));
        assert_eq!(answer.status, status, "{query}");
    }
}

#[test]
fn a_recorded_radio_stream_is_heard_again() {
    let (_root, server) = server();
    let mut publisher = publish_icecast(&server, Clip::Mp3, 6, "radio.mp3");
    let open = newest(&server, "radio.mp3", "a second", has_seconds(1.0));
    let path = format!("/radio.mp3/{}", text(&open, "file"));
    assert!(path.ends_with(".mp3") && open["hls"].is_null(), "{open}");
    let part = curl(&server, &path, &["-r", "0-"]);
    assert_eq!(part.status, 206);
    let reported = format!("/{}", part.body.len());
    assert!(part.header("content-range").unwrap().ends_with(&reported));
    publisher.wait(DEADLINE);
    let one = newest(&server, "radio.mp3", "a finalised recording", is_final);
    let file = std::fs::read(on_disk(&server, text(&one, "id"))).unwrap();
    let heard = curl(&server, &path, &[]);
    assert!(heard.status == 200 && heard.body == file);
    assert_eq!(heard.header("content-type"), Some("audio/mpeg"));
    let shifted = server.get("/radio.mp3/index.m3u8?at=start");
    assert_eq!(shifted.status, 404);
}

/// Script that returns the state of the recordings' player: its time, the end of its seekable range, and its error.
const PAST: &str = "const past = document.getElementById('past'); \
     const {seekable} = past; \
     return [past.currentTime, seekable.length ? seekable.end(seekable.length - 1) : 0, past.error?.message];";

#[test]
fn the_streams_page_lists_and_plays_its_recordings() {
    let (_root, server) = server();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), STREAM);
    let _ = newest(&server, STREAM, "some seconds", has_seconds(16.0));
    let browser = Browser::open();
    browser.go(&server.http_url(&format!("/{STREAM}/")));
    let plays_past = |what: &str, from: f64| {
        wait_until(what, || {
            let seen = browser.run(PAST);
            assert!(seen[2].is_null(), "{seen}");
            seen[0].as_f64() > Some(from)
        });
    };
    let press = |words: &str| {
        let script = format!(
            "const all = [...document.querySelectorAll('#recorded button')]; \
             const found = all.find(one => one.textContent === '{words}'); \
             found?.click(); return Boolean(found);"
        );
        wait_until(words, || browser.run(&script) == true);
    };
    // The player starts at the beginning of the live recording, and moves to another place in it.
    press("From the start");
    plays_past("the beginning", 1.0);
    let seen = browser.run(PAST);
    assert!(seen[1].as_f64() >= Some(6.0), "{seen}");
    browser.run("document.getElementById('past').currentTime = 5; return null;");
    plays_past("another place", 6.0);
    publisher.kill();
    let _ = newest(&server, STREAM, "a finalised recording", is_final);
    browser.go(&server.http_url(&format!("/{STREAM}/")));
    press("Play");
    plays_past("the file", 1.0);
    let link = browser.run("return document.querySelector('#recorded a').getAttribute('href');");
    let link = link.as_str().expect("an address").to_owned();
    assert!(link.ends_with(".mp4?download=1"), "{link}");
    assert_eq!(
        curl(&server, &format!("/{STREAM}/{link}"), &["-I"]).status,
        200
    );
}

#[test]
fn the_streams_page_shows_older_recordings_on_demand() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("radio.mp3/2026-01-05");
    std::fs::create_dir_all(&folder).unwrap();
    let clip = Clip::Mp3.seconds(3);
    for minute in 0..110 {
        let name = format!("{:02}-{:02}-00Z-0.mp3", minute / 60, minute % 60);
        std::fs::copy(&clip, folder.join(name)).unwrap();
    }
    let server = recording_into(root.path()).start();
    let browser = Browser::open();
    browser.go(&server.http_url("/radio.mp3/"));
    let rows = "return document.querySelectorAll('#recorded li').length;";
    for count in [50, 100, 110] {
        wait_until("rows", || browser.run(rows) == count);
        if count > 50 {
            // The first new row has the focus, so that a keyboard continues from there.
            let focused = "const all = [...document.querySelectorAll('#recorded li')]; \
                 return all.findIndex(one => one.contains(document.activeElement));";
            let expected = if count == 100 { 50 } else { 100 };
            wait_until("the focus", || browser.run(focused) == expected);
        }
        let is_there = "return !document.getElementById('more-recorded').hidden;";
        let expected = count < 110;
        wait_until("the button", || browser.run(is_there) == expected);
        browser.run("document.getElementById('more-recorded').click(); return null;");
    }
}
