//! Film on the server, opened in the programs that people use for films: it opens, has its length, and plays on from its
//! middle.

use std::path::Path;

use serde_json::Value;
use testkit::Server;

use crate::support::recorded::probe;
use crate::support::session::Driven;
use crate::support::vlc::Vlc;
use crate::support::wait_until;

/// Seconds of a film that are played before a seek, and after it.
const PLAYED: f64 = 0.5;

/// Seconds by which a browser's length may be off.
const APART_MAX: f64 = 0.1;

/// A film, as players find it.
pub(crate) struct Film {
    url: String,
    /// Address of an idle page of the same server.
    page: String,
    seconds: f64,
}

impl Film {
    /// Returns a recording below the folder `root`, which is served as `recordings`.
    pub(crate) fn recording(server: &Server, root: &Path, file: &Path) -> Self {
        let name = file.strip_prefix(root).expect("a file of it");
        Self {
            url: server.http_url(&format!("/recordings/{}", name.display())),
            page: server.http_url("/_/style.css"),
            seconds: probe(file).1,
        }
    }

    /// Asserts that a browser plays the film if it reports support for this kind of media, and otherwise shows no frame of it.
    pub(crate) fn plays_where_it_can(&self, browser: &dyn Driven, kind: &str) {
        browser.go(&self.page);
        let said = browser.run(&format!(
            "return document.createElement('video').canPlayType('{kind}');"
        ));
        println!("{kind}: {said}");
        match said.as_str() {
            Some("") => self.shows_nothing_in(browser),
            _ => self.plays_in(browser),
        }
    }

    /// Plays the film's beginning, its middle, and its end in a browser.
    pub(crate) fn plays_in(&self, browser: &dyn Driven) {
        self.open_in(browser);
        let look = || {
            let seen = look(browser);
            assert!(seen["error"].is_null(), "{seen}");
            seen
        };
        let time = || number(&look(), "time");
        let frames = || number(&look(), "frames");
        wait_until("it to play", || time() > PLAYED && frames() > 0.0);
        let seconds = number(&look(), "seconds");
        assert!(
            (seconds - self.seconds).abs() < APART_MAX,
            "{seconds} {}",
            self.seconds
        );
        let before = frames();
        let middle = seconds / 2.0;
        for (what, from) in [
            ("it to play on from its middle", middle),
            ("it to play its end", seconds - 1.0),
        ] {
            browser.run(&format!("video.currentTime = {from}; return null;"));
            wait_until(what, || time() > from + PLAYED);
        }
        wait_until("it to end", || look()["ended"] == true);
        assert!(frames() > before + 20.0, "{before} {}", frames());
    }

    /// Asserts that a browser without a decoder for the film's video reports an error, or plays the audio alone.
    pub(crate) fn shows_nothing_in(&self, browser: &dyn Driven) {
        self.open_in(browser);
        wait_until("it to be refused, or heard", || {
            let seen = look(browser);
            !seen["error"].is_null() || number(&seen, "time") > PLAYED
        });
        let seen = look(browser);
        assert_eq!(seen["frames"], 0, "{seen}");
    }

    fn open_in(&self, browser: &dyn Driven) {
        browser.go(&self.page);
        browser.run(&format!(
            "const video = document.createElement('video'); window.video = video; \
             video.muted = true; video.src = '{}'; document.body.append(video); \
             video.play().catch(() => {{}}); return null;",
            self.url
        ));
    }

    /// Plays the film's beginning and its middle in VLC, video and audio.
    pub(crate) fn plays_in_vlc(&self) {
        let vlc = Vlc::open(&self.url);
        wait_until("VLC to play it", || vlc.time() >= 1);
        let seconds = f64::from(vlc.length());
        // VLC reports whole seconds.
        assert!(
            (seconds - self.seconds).abs() <= 1.0,
            "{seconds} {}",
            self.seconds
        );
        let before = vlc.decoded();
        let middle = vlc.length() / 2;
        vlc.seek(middle);
        wait_until("VLC to play on from its middle", || {
            let [pictures, audio_frames] = vlc.decoded();
            vlc.time() > middle && pictures > before[0] && audio_frames > before[1]
        });
        let said = vlc.log();
        for trouble in ["cannot start codec", "cannot seek", "cannot demux"] {
            assert!(!said.contains(trouble), "{said}");
        }
    }
}

fn look(browser: &dyn Driven) -> Value {
    browser.run(
        "return {time: video.currentTime, seconds: video.duration, ended: video.ended, \
         error: video.error?.message ?? video.error?.code, \
         frames: video.getVideoPlaybackQuality().totalVideoFrames};",
    )
}

fn number(seen: &Value, key: &str) -> f64 {
    seen[key].as_f64().unwrap_or_default()
}
