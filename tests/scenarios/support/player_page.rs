//! Driver of the player page, in Chromium and in Firefox alike: the protocol by which the page plays, and the media that it has
//! decoded so far.

use serde_json::Value;
use testkit::{Clip, Process, Server};

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::session::Driven;
use crate::support::{publish_icecast, publish_rtmp, wait_until};

/// Script that counts the media that the page's WebRTC sessions decode: audio samples, without silence, and frames. It runs
/// before a session begins.
pub(crate) const COUNT_SESSIONS: &str = r"
    window.sessions = {sound: 0, frames: 0};
    const Original = window.RTCPeerConnection;
    window.RTCPeerConnection = class extends Original {
        constructor(...rest) {
            super(...rest);
            setInterval(async () => {
                for (const s of (await this.getStats()).values()) {
                    if (s.type !== 'inbound-rtp') continue;
                    if (s.kind === 'video') window.sessions.frames = s.framesDecoded;
                    else if (s.totalAudioEnergy > 0) window.sessions.sound = s.totalSamplesReceived;
                }
            }, 100);
        }
    };
";

/// Script that returns the fields of [`Played`].
const PLAYED: &str = r"
    const player = document.getElementById('player');
    const {way = '', state = ''} = player?.dataset ?? {};
    const media = [...document.querySelectorAll('video, audio')].find(media => !media.hidden);
    const session = way === 'webrtc' ? window.sessions : null;
    return {
        way, state,
        seconds: media?.currentTime ?? 0,
        frames: session?.frames ?? media?.getVideoPlaybackQuality?.().totalVideoFrames ?? 0,
        sound: session?.sound ?? media?.webkitAudioDecodedByteCount ?? null,
        status: document.getElementById('status')?.textContent,
        note: document.getElementById('note')?.textContent,
    };
";

/// Browser that reports how much audio its elements have decoded.
pub(crate) trait PageBrowser: Driven {
    /// Returns the audio that the page's visible element has decoded so far, in any unit, for browsers whose pages cannot count
    /// it themselves.
    fn decoded_audio(&self) -> u64;
}

impl PageBrowser for Browser {
    fn decoded_audio(&self) -> u64 {
        0
    }
}

impl PageBrowser for Firefox {
    fn decoded_audio(&self) -> u64 {
        Self::decoded_audio(self)
    }
}

/// Starts a server with the demo, a stream without and one with B-frames, and a radio.
pub(crate) fn published() -> (Server, [Process; 3]) {
    // Firefox takes no candidate on the loopback, so the host's own addresses are used.
    let server = Server::builder()
        .arg("--demo")
        .set("webrtc", "listen", "\"0.0.0.0:0\"")
        .start();
    let publishers = [
        publish_rtmp(&server, &Clip::Flv.seconds(240), "live/show"),
        publish_rtmp(&server, &Clip::FlvBframes.seconds(240), "live/reordered"),
        publish_icecast(&server, Clip::Mp3, 240, "radio.mp3"),
    ];
    (server, publishers)
}

/// Media that a page has played so far.
#[derive(Debug)]
pub(crate) struct Played {
    /// Protocol, as in the parameter `way`.
    pub(crate) way: String,
    pub(crate) state: String,
    /// Time of the element in seconds.
    pub(crate) seconds: f64,
    /// Number of frames decoded.
    pub(crate) frames: u64,
    /// Amount of audio decoded: bytes, frames or samples.
    pub(crate) audio: u64,
    /// The page's text about its state, and its additional note.
    pub(crate) status: String,
    pub(crate) note: String,
}

impl Played {
    pub(crate) fn of(browser: &impl PageBrowser) -> Self {
        let said = browser.run(PLAYED);
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        let audio = said["sound"].as_u64();
        Self {
            way: text("way"),
            state: text("state"),
            seconds: said["seconds"].as_f64().unwrap_or_default(),
            frames: said["frames"].as_u64().unwrap_or_default(),
            audio: audio.unwrap_or_else(|| browser.decoded_audio()),
            status: text("status"),
            note: text("note"),
        }
    }

    /// Returns whether the page plays by this protocol.
    pub(crate) fn is_by(&self, way: &str) -> bool {
        self.way == way && self.state == "playing"
    }
}

/// Waits until the page plays by this protocol, and then until it has played a stretch of time, video if the stream has it, and
/// audio.
pub(crate) fn plays_on(browser: &impl PageBrowser, way: &str, has_pictures: bool) {
    /// Seconds of the stretch; and frames, of 25 a second.
    const STRETCH: (f64, u64) = (1.5, 25);
    let mut now = Played::of(browser);
    wait_until(&format!("the page to play by {way}"), || {
        now = Played::of(browser);
        now.is_by(way)
    });
    let before = now;
    let mut last = Played::of(browser);
    wait_until(&format!("a stretch by {way}"), || {
        last = Played::of(browser);
        assert_eq!(last.way, way, "{last:?}");
        last.seconds >= before.seconds + STRETCH.0
            && (!has_pictures || last.frames >= before.frames + STRETCH.1)
            && last.audio > before.audio
            && last.state == "playing"
    });
    assert!(last.status.starts_with("Playing"), "{last:?}");
    assert_eq!(last.note, "", "{last:?}");
}

/// Returns the protocols that the page offers.
pub(crate) fn offered(browser: &impl Driven) -> Vec<String> {
    let names = "return [...document.getElementById('protocol').options].map(one => one.value);";
    let names = browser.run(names);
    let names = names.as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str).map(str::to_owned);
    names.filter(|name| name != "auto").collect()
}
