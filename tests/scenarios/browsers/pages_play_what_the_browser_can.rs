//! The player page picks the protocol by which a browser can play most of a stream, and says so when there is none.

use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool};

use crate::support::browser::Browser;
use crate::support::pages::{plays_by, says, shows_pictures, text};
use crate::support::titles::set_title;
use crate::support::{
    DEADLINE, publish_by, publish_icecast, publish_rtmp, wait_for_stream, wait_until,
};

/// Publishes a clip with codecs that Debian's ffmpeg cannot put into FLV.
fn publish_new(server: &Server, clip: Clip, stream: &str, options: &[&str]) -> Process {
    let url = server.rtmp_url(stream, PUBLISH_KEY);
    let publisher = publish_by(Tool::current_ffmpeg(), &clip.seconds(60), options, &url);
    wait_for_stream(server, stream);
    publisher
}

#[test]
fn what_flv_cannot_bring_to_the_page_comes_by_webrtc() {
    let server = Server::start();
    let _vp9 = publish_new(&server, Clip::FlvVp9, "live/vp9", &[]);
    let _av1 = publish_new(&server, Clip::FlvAv1, "live/av1", &[]);
    let browser = Browser::open();
    for stream in ["vp9", "av1"] {
        browser.go(&server.http_url(&format!("/live/{stream}/")));
        plays_by(&browser, "webrtc");
        shows_pictures(&browser);
        assert_eq!(text(&browser, "#note"), "");
    }
}

#[test]
fn a_page_says_what_its_browser_cannot_play() {
    let server = Server::start();
    let _both = publish_new(&server, Clip::FlvHevc, "live/both", &[]);
    let _picture = publish_new(&server, Clip::FlvHevc, "live/picture", &["-an"]);
    let browser = Browser::open();
    browser.go(&server.http_url("/live/picture/"));
    says(&browser, "This browser cannot play the stream.");
    for address in ["/live/both/", "/live/both/#live"] {
        browser.go(&server.http_url(address));
        plays_by(&browser, "http");
        let note = text(&browser, "#note");
        let note = note.as_str().unwrap();
        assert!(
            note.contains("cannot show the picture, which is HEVC"),
            "{note}"
        );
        let has_wish = address.ends_with("#live");
        assert_eq!(
            note.contains("takes no HEVC over WebRTC"),
            has_wish,
            "{note}"
        );
    }
    let tracks = &server.api("streams")["streams"][0]["tracks"];
    let codecs: Vec<_> = tracks.as_array().unwrap().iter().collect();
    assert!(
        codecs.iter().any(|track| track["codec"] == "hevc"),
        "{tracks}"
    );
    let refusal = server.get("/live/both.mp3");
    assert_eq!(refusal.status, 406);
    assert!(
        refusal.text().contains("carries HEVC and AAC"),
        "{}",
        refusal.text()
    );
}

#[test]
fn a_page_that_is_refused_over_webrtc_plays_another_way_and_says_why() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::FlvBframes.seconds(60), "live/show");
    let browser = Browser::open();
    for (address, is_wish) in [("/live/show/", false), ("/live/show/#live", true)] {
        browser.go("about:blank");
        browser.go(&server.http_url(address));
        plays_by(&browser, "flv");
        shows_pictures(&browser);
        // The page mentions the lack of WebRTC only to a viewer who chose it.
        let note = text(&browser, "#note");
        let note = note.as_str().unwrap();
        let is_said = note.contains("WebRTC does not work here") && note.contains("B-frames");
        assert_eq!(is_said, is_wish, "{note}");
    }
}

/// Each publisher of a stream that keeps its viewers has other tracks than the one before. The page restarts its player when
/// the server reports the change, and does not wait for tracks that never come.
#[test]
fn a_page_follows_publishers_with_other_tracks() {
    const NOTE_WORDS: &str = "window.said = []; \
        const status = document.querySelector('#status'); \
        new MutationObserver(() => said.push(status.textContent)) \
            .observe(status, {childList: true, characterData: true, subtree: true}); \
        return null;";
    // Script that returns whether the visible element has decoded video and audio.
    const DECODED: &str = "const m = [...document.querySelectorAll('video, audio')].find(m => !m.hidden); \
        return m && !m.paused && m.currentTime > 1 \
            ? [m.webkitVideoDecodedByteCount > 0, m.webkitAudioDecodedByteCount > 0] : null;";
    let server = Server::start();
    let browser = Browser::open();
    let clip = Clip::Flv.seconds(60);
    let tracks: [(&[&str], [bool; 2]); 4] = [
        (&["-an"], [true, false]),
        (&[], [true, true]),
        (&["-an"], [true, false]),
        (&["-vn"], [false, true]),
    ];
    for (turn, (options, expected)) in tracks.into_iter().enumerate() {
        let url = server.rtmp_url("live/show", PUBLISH_KEY);
        let mut publisher = publish_by(Tool::ffmpeg(), &clip, options, &url);
        if turn == 0 {
            wait_for_stream(&server, "live/show");
            browser.go(&server.http_url("/live/show/?way=flv"));
            browser.run(NOTE_WORDS);
        }
        let what = format!("publisher {turn} with pictures and sound {expected:?}");
        wait_until(&what, || {
            browser.run(DECODED) == serde_json::json!(expected)
        });
        says(&browser, "Playing");
        publisher.kill();
    }
    let said = browser.run("return said;").to_string();
    assert!(!said.contains("cannot play"), "it gave up: {said}");
}

#[test]
fn without_media_source_extensions_pictures_come_by_webrtc() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let browser = Browser::open();
    browser.before_each_page("delete window.MediaSource; delete window.ManagedMediaSource;");
    browser.go(&server.http_url("/live/show/"));
    plays_by(&browser, "webrtc");
    shows_pictures(&browser);
}

#[test]
fn a_radio_page_shows_each_title_and_loads_nothing_for_pictures() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let browser = Browser::open();
    browser.go(&server.http_url("/radio.mp3/"));
    plays_by(&browser, "http");
    for title in ["First", "Second"] {
        assert_eq!(set_title(&server, &format!("song={title}")), 200);
        wait_until(title, || text(&browser, "#title") == title);
    }
    let loaded = "return performance.getEntriesByType('resource').map(one => one.name).join();";
    let scripts = browser.run(loaded);
    let scripts = scripts.as_str().unwrap();
    assert!(
        ["mpegts.js", "hls.js"]
            .iter()
            .all(|library| !scripts.contains(library))
            && scripts.contains("player.js"),
        "{scripts}"
    );
    let small = Tool::new("curl")
        .args("-s --compressed -w %{size_download} -o /dev/null".split(' '))
        .arg(server.http_url("/_/mpegts.js"))
        .run(DEADLINE);
    let small: u32 = String::from_utf8(small).unwrap().parse().unwrap();
    assert!(small < 70_000, "{small} bytes");
    let packed = Tool::new("curl")
        .args(["-s", "--compressed"])
        .arg(server.http_url("/_/mpegts.js"))
        .run(DEADLINE);
    assert!(
        packed == server.get("/_/mpegts.js").body,
        "both are one file"
    );
}
