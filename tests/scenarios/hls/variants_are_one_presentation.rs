//! Streams of a group, and a stream with its renditions, are one programme in several qualities: one playlist, one description,
//! and a page that lets the viewer choose.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::hls::{MediaPlaylist, MultivariantPlaylist};
use testkit::{Clip, Process, Server, Tool};

use crate::support::browser::Browser;
use crate::support::pages::{plays_by, says};
use crate::support::{DEADLINE, publish_rtmp, wait_until};

const GROUP: &str =
    "[[variants]]\nname = \"live/show\"\nstreams = [\"low/show\", \"live/show_270\"]\n";

/// Length of the clips in seconds, longer than any test here takes.
const SECONDS: u32 = 120;

/// Time between the starts of the publishers: more than a player that mistook one clock for the other could bridge.
const APART: Duration = Duration::from_secs(10);

/// Starts a server with a group of two sizes, both published.
fn published() -> (Server, [Process; 2]) {
    let server = Server::builder().toml(GROUP).start();
    let publishers = publish_both(&server, "low/show", "live/show_270");
    (server, publishers)
}

/// Publishes 320×180 and 480×270.
fn publish_both(server: &Server, small: &str, large: &str) -> [Process; 2] {
    [
        publish(server, Clip::Flv, small),
        publish(server, Clip::FlvLarger, large),
    ]
}

fn publish(server: &Server, clip: Clip, stream: &str) -> Process {
    publish_rtmp(server, &clip.seconds(SECONDS), stream)
}

/// Waits until a stream has sent media of this length.
fn wait_for_media(server: &Server, stream: &str, length: Duration) {
    wait_until(&format!("{length:?} of {stream}"), || {
        let text = server
            .get(&format!("/{stream}/hls/live.m3u8?_parts"))
            .text();
        MediaPlaylist::parse(&text).is_ok_and(|playlist| playlist.duration() > length)
    });
}

fn multivariant(server: &Server, path: &str) -> MultivariantPlaylist {
    let text = server.get(path).text();
    MultivariantPlaylist::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the state of a page, once each quality has been measured.
fn description(server: &Server, page: &str) -> Value {
    let mut document = Value::Null;
    wait_until("measured qualities", || {
        document = serde_json::from_str(&server.get(&format!("{page}info.json")).text()).unwrap();
        let qualities = document["qualities"].as_array();
        qualities.is_some_and(|all| all.len() == 2 && all.iter().all(|one| one["bitrate"].is_u64()))
    });
    document
}

/// Returns the address with this label, relative to the page.
fn address(offer: &Value, label: &str) -> Value {
    let mut addresses = offer["addresses"].as_array().unwrap().iter();
    let found = addresses.find(|one| one["label"] == label);
    found.unwrap_or_else(|| panic!("{label}: {offer}"))["path"].clone()
}

#[test]
fn players_see_a_programme_for_each_quality() {
    let (server, _publishers) = published();
    let said = Tool::ffprobe()
        .args(["-show_programs", "-of", "json"])
        .arg(server.http_url("/live/show/index.m3u8"))
        .run(DEADLINE);
    let said: Value = serde_json::from_slice(&said).unwrap();
    let programs = said["programs"].as_array().unwrap();
    let sizes: Vec<_> = programs
        .iter()
        .map(|program| {
            let streams = program["streams"].as_array().unwrap();
            assert_eq!(streams.len(), 2, "picture and sound: {program}");
            let picture = streams.iter().find(|one| one["codec_type"] == "video");
            let picture = picture.unwrap_or_else(|| panic!("{program}"));
            [picture["width"].clone(), picture["height"].clone()]
        })
        .collect();
    assert_eq!(sizes, [[json!(480), json!(270)], [json!(320), json!(180)]]);
}

#[test]
fn the_page_learns_of_each_quality() {
    let (server, _publishers) = published();
    let document = description(&server, "/live/show/");
    assert_eq!(document["live"], true);
    assert_eq!(address(&document, "HLS"), "../show/index.m3u8");
    assert_eq!(address(&document, "FLV"), "../show_270.flv");
    let qualities = document["qualities"].as_array().unwrap();
    for (quality, (name, stream, size, page)) in qualities.iter().zip([
        ("270p", "live/show_270", (480, 270), "../show_270"),
        ("180p", "low/show", (320, 180), "../../low/show"),
    ]) {
        assert_eq!(
            (&quality["name"], &quality["stream"]),
            (&json!(name), &json!(stream))
        );
        assert_eq!(
            (&quality["width"], &quality["height"]),
            (&json!(size.0), &json!(size.1))
        );
        let addresses = ["FLV", "HLS"].map(|label| address(quality, label));
        let expected = [format!("{page}.flv"), format!("{page}/index.m3u8")];
        assert_eq!(
            addresses.map(|one| one.as_str().unwrap().to_owned()),
            expected
        );
        assert_eq!(quality["webrtc"]["path"], format!("{page}/whep"));
        assert_eq!(quality["tracks"].as_array().map(Vec::len), Some(2));
    }
    let single: Value = serde_json::from_str(&server.get("/low/show/info.json").text()).unwrap();
    assert_eq!(
        (single.get("qualities"), &single["live"]),
        (None, &json!(true))
    );
}

/// Chooses a quality as a person does.
fn choose_quality(browser: &Browser, name: &str) {
    let chosen = browser.run(&format!(
        "const choice = document.getElementById('quality'); \
         const option = [...choice.options].find(({{text}}) => text === '{name}'); \
         if (!option) return [...choice.options].map(({{text}}) => text); \
         choice.value = option.value; choice.dispatchEvent(new Event('change')); return true;"
    ));
    assert_eq!(chosen, true, "{name}");
}

/// Waits until video of this height is shown and the page says that the player is playing.
fn shows_height(browser: &Browser, height: u32) {
    wait_until(&format!("pictures of {height} lines"), || {
        let shown = browser.run("return document.querySelector('video').videoHeight;");
        shown == height
    });
}

/// Waits until playback has advanced by a second.
fn continues(browser: &Browser) {
    let time = "return document.querySelector('video').currentTime;";
    let from = browser.run(time).as_f64().unwrap();
    wait_until("playback to go on", || {
        browser.run(time).as_f64() > Some(from + 1.0)
    });
}

/// The publishers start at different times, so that one moment has different timestamps in their streams.
#[test]
fn the_viewer_chooses_whatever_the_way() {
    let server = Server::builder().toml(GROUP).start();
    let _small = publish(&server, Clip::Flv, "low/show");
    wait_for_media(&server, "low/show", APART);
    let _large = publish(&server, Clip::FlvLarger, "live/show_270");
    let browser = Browser::open();
    // The video is at most 225 pixels high here.
    browser.resize(400, 900);
    for way in ["hls", "flv", "webrtc"] {
        browser.go(&server.http_url(&format!("/live/show/?way={way}")));
        plays_by(&browser, way);
        wait_until("the choice", || {
            let count = browser.run("return document.getElementById('quality').options.length;");
            count == 3
        });
        let chosen = browser.run("return document.getElementById('quality').value;");
        assert_eq!(chosen, "-1", "{way}");
        if way != "hls" {
            shows_height(&browser, 180);
        }
        for (name, height) in [("270p", 270), ("180p", 180), ("270p", 270)] {
            choose_quality(&browser, name);
            shows_height(&browser, height);
            plays_by(&browser, way);
            continues(&browser);
        }
        choose_quality(&browser, "Auto quality");
        plays_by(&browser, way);
        says(&browser, "Playing");
    }
}

#[test]
fn a_quality_that_ends_leaves_the_others() {
    let server = Server::builder()
        .toml(GROUP)
        .set("ingest", "linger", "\"1s\"")
        .start();
    let [mut small, _large] = publish_both(&server, "low/show", "live/show_270");
    let browser = Browser::open();
    browser.go(&server.http_url("/live/show/?way=flv"));
    plays_by(&browser, "flv");
    choose_quality(&browser, "180p");
    shows_height(&browser, 180);
    small.kill();
    wait_until("one quality", || {
        multivariant(&server, "/live/show/index.m3u8")
            .variants
            .len()
            == 1
    });
    shows_height(&browser, 270);
    plays_by(&browser, "flv");
    continues(&browser);
}
