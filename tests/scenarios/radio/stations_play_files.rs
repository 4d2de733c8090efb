//! A station plays files as one stream: no decoder reports an error at a join, titles are sent, publishers take over and the
//! station returns, and files that do not fit are refused with a reason.

use std::path::Path;

use testkit::{Server, Tool};

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::mount::{AUDIO, mp3, whole_units};
use crate::support::session::Driven;
use crate::support::station::{SECOND_BYTES, plays, serve, song, station};
use crate::support::{DEADLINE, decodes_quietly, file, order_as, wait_until};

/// Plays the station in a page, muted: without a sound device Firefox reports an error of anything that it plays aloud.
/// Browsers decode muted audio, too.
fn tune_in(browser: &dyn Driven, server: &Server) {
    browser.go(&server.http_url("/_/style.css"));
    browser.run(
        "const audio = document.createElement('audio'); window.audio = audio; window.failed = []; \
         for (const kind of ['error', 'ended']) \
             audio.addEventListener(kind, () => failed.push([kind, audio.error?.message])); \
         audio.muted = true; audio.src = '/radio.mp3'; document.body.append(audio); \
         audio.play().catch(error => failed.push(String(error))); return null;",
    );
}

/// Returns the seconds that the page has played; asserts that nothing has failed.
fn played(browser: &dyn Driven) -> f64 {
    let reported = browser.run("return {seconds: audio.currentTime, failed};");
    assert_eq!(reported["failed"], serde_json::json!([]), "{reported}");
    reported["seconds"].as_f64().expect("a number")
}

/// The songs differ in their encoding: a constant and a varying rate, a reservoir or none, a tag at the end. One was cut out of
/// another, so that it begins with frames that lack their data.
#[test]
fn browsers_play_on_over_joins_and_takeovers() {
    /// Largest length of a song in seconds.
    const SONG_MAX: f64 = 5.0;
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    song(folder.path(), "a", 4.1, &[]);
    song(folder.path(), "b", 3.7, &["-q:a", "4"]);
    let tagged = ["-b:a", "192k", "-reservoir", "0", "-write_id3v1", "1"];
    song(folder.path(), "c", 4.9, &tagged);
    song(elsewhere.path(), "live", 60.0, &[]);
    let whole = std::fs::read(elsewhere.path().join("live.mp3")).unwrap();
    let cut = &whole[5 * SECOND_BYTES..][..4 * SECOND_BYTES];
    std::fs::write(folder.path().join("d.mp3"), cut).unwrap();
    let server = serve(&folder, "linger = \"1s\"\n");
    wait_until("the station", || station(&server)["state"] == "playing");
    assert_eq!(station(&server)["refused_count"], 0);
    let (chromium, firefox) = (Browser::open(), Firefox::open());
    let browsers: [&dyn Driven; 2] = [&chromium, &firefox];
    for browser in browsers {
        tune_in(browser, &server);
    }
    for browser in browsers {
        wait_until("four joins", || played(browser) > 4.0 * SONG_MAX);
    }
    let mut live = mp3().publish(&server, &elsewhere.path().join("live.mp3"), "radio.mp3");
    wait_until("the publisher", || station(&server)["state"] == "away");
    // The browsers play longer than their buffers of the station, so they play the publisher.
    play_on(&browsers, 10.0);
    live.kill();
    wait_until("the station", || station(&server)["state"] == "playing");
    play_on(&browsers, 10.0);
    assert!(firefox.decoded_audio() > 0, "it decodes what it plays");
    assert_eq!(server.metrics().sum("carillon_departures_total", &[]), 0.0);
}

/// Waits until every page has played this many more seconds.
fn play_on(browsers: &[&dyn Driven], seconds: f64) {
    let until: Vec<f64> = browsers.iter().map(|it| played(*it) + seconds).collect();
    for (browser, until) in browsers.iter().zip(until) {
        wait_until("the browsers to play on", || played(*browser) > until);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_the_station_continues() {
    let folder = tempfile::tempdir().unwrap();
    song(folder.path(), "a", 60.0, &[]);
    song(folder.path(), "b", 60.0, &[]);
    song(folder.path(), "slow", 3.0, &["-ar", "22050"]);
    std::fs::write(folder.path().join("broken.mp3"), [0x55; 5_000]).unwrap();
    let server = serve(&folder, "");
    wait_until("the station", || plays(&server, "Band - Song a"));
    let now = station(&server);
    assert_eq!(now["tracks"], 2);
    assert_eq!(now["refused_count"], 2);
    let refused = now["refused"].to_string();
    for words in [
        "broken.mp3",
        "damaged",
        "slow.mp3",
        "it is MP3, 22050 Hz, stereo, and the station is MP3, 44100 Hz, stereo",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
        assert!(server.log().contains(words), "{words}: {}", server.log());
    }
    assert_eq!(now["next"], "Band - Song b");
    let skip = "{\"action\":\"skip\"}";
    let queue = |file: &str| format!("{{\"action\":\"queue\",\"file\":\"{file}\"}}");
    let [none, current, next] = ["none.mp3", "a.mp3", "b.mp3"].map(queue);
    for (name, content_type, body, status) in [
        ("radio.mp3", "application/json", &none[..], 404),
        ("radio.mp3", "application/json", &current, 409),
        ("radio.mp3", "application/json", &next, 202),
        ("radio.mp3", "application/json", &next, 409),
        ("other", "application/json", skip, 404),
        ("radio.mp3", "text/plain", skip, 415),
        (
            "radio.mp3",
            "application/json",
            "{\"action\":\"stop\"}",
            400,
        ),
        ("radio.mp3", "application/json", skip, 202),
    ] {
        let path = format!("stations/{name}");
        let answer = order_as(&server, "POST", &path, content_type, body);
        assert_eq!(answer.status, status, "{name} {body}: {}", answer.text());
    }
    wait_until("the next song", || plays(&server, "Band - Song b"));
    let now = station(&server);
    assert_eq!(now["history"][0]["outcome"], "skipped");
    assert_eq!(now["history"][0]["by"], "rotation");
    assert_eq!(now["current"]["by"], "request");
    assert_eq!(now["queue"], serde_json::json!([]));
}

/// Makes a file of AAC in the container of its extension.
fn aac_song(folder: &Path, file: &str, seconds: f32) {
    let noise = format!("anoisesrc=color=pink:amplitude=0.3:duration={seconds}:sample_rate=44100");
    let title = format!("title=Song {file}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &noise, "-ac", "2", "-c:a", "aac"])
        .args(["-b:a", "128k", "-metadata", &title])
        .args(["-metadata", "artist=Band"])
        .arg(folder.join(file))
        .run(DEADLINE);
}

#[test]
fn songs_in_mp4_and_in_adts_are_one_stream() {
    let folder = tempfile::tempdir().unwrap();
    for (file, seconds) in [
        ("a.m4a", 3.1),
        ("b.aac", 2.3),
        ("c.m4a", 2.7),
        ("d.mp4", 3.3),
    ] {
        aac_song(folder.path(), file, seconds);
    }
    let server = serve(&folder, "");
    wait_until("the station", || station(&server)["state"] == "playing");
    let now = station(&server);
    assert_eq!(now["tracks"], 4, "{now}");
    assert_eq!(now["refused_count"], 0, "{now}");
    assert_eq!(now["format"], "AAC-LC, 44100 Hz, stereo");
    let mut listener = server.listen("/radio.mp3");
    assert_eq!(listener.header("content-type"), Some("audio/aac"));
    listener.read_bytes(14 * SECOND_BYTES, DEADLINE);
    let titles: Vec<_> = station(&server)["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|track| track["title"].as_str().unwrap().to_owned())
        .collect();
    assert!(titles.len() >= 3, "three joints: {titles:?}");
    // An ADTS file has no title.
    for title in titles {
        assert!(title == "b" || title.starts_with("Band - Song "), "{title}");
    }
    let [_, aac, _] = AUDIO;
    let recorded = file(whole_units(&aac, listener.body()));
    decodes_quietly("the songs", recorded.path(), &["-f", "aac"]);
}
