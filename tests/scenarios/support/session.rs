//! Browser sessions over WHIP and WHEP, by the specifications alone: without our pages.

use std::net::SocketAddr;

use serde_json::{Value, json};
use testkit::{PUBLISH_KEY, Server};

use crate::support::browser::Browser;
use crate::support::wait_until;

/// Script with the common part of all sessions: one offer, one answer, and a restart of ICE (RFC 9725 §4.3.3).
const SESSION: &str = r"
    window.failure = null;
    window.fail = error => { window.failure = String(error?.stack ?? error); };
    // The answer with a proxy's address instead of the server's, or with its addresses over TCP alone.
    window.by = (sdp, via) => !via ? sdp : via === 'tcp'
        ? sdp.replace(/^a=candidate:.* udp .*\r\n/gim, '')
        : sdp.replace(/^a=candidate:.* tcp .*\r\n/gim, '')
        .replace(/^(a=candidate:\S+ \d+ udp \d+) \S+ \d+/gim, `$1 ${via[0]} ${via[1]}`);
    window.open_session = async (pc, url, key, via) => {
        const headers = {'Content-Type': 'application/sdp'};
        if (key) headers.Authorization = `Bearer ${key}`;
        const asked = performance.now();
        await pc.setLocalDescription(await pc.createOffer());
        const answer = await fetch(url, {method: 'POST', headers, body: pc.localDescription.sdp});
        if (answer.status !== 201) throw new Error(await answer.text());
        const session = {
            asked,
            url: new URL(answer.headers.get('Location'), location.href).href,
            tag: answer.headers.get('ETag'),
            answer: by(await answer.text(), via),
        };
        await pc.setRemoteDescription({type: 'answer', sdp: session.answer});
        return session;
    };
    window.restart_session = async (pc, session) => {
        await pc.setLocalDescription(await pc.createOffer({iceRestart: true}));
        const lines = pc.localDescription.sdp.split('\r\n');
        const first = start => lines.find(line => line.startsWith(start));
        const fragment = [
            first('a=ice-ufrag:'), first('a=ice-pwd:'), first('m='), first('a=mid:'), '',
        ].join('\r\n');
        const answer = await fetch(session.url, {
            method: 'PATCH',
            headers: {'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': session.tag},
            body: fragment,
        });
        if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
        session.tag = answer.headers.get('ETag');
        const news = await answer.text();
        for (const name of ['ice-ufrag', 'ice-pwd']) {
            const line = news.match(new RegExp(`^a=${name}:.*$`, 'm'))[0].trim();
            session.answer = session.answer.replace(new RegExp(`^a=${name}:.*$`, 'gm'), line);
        }
        await pc.setRemoteDescription({type: 'answer', sdp: session.answer});
    };
";

/// Script that watches a stream; `figures` returns statistics.
const WHEP: &str = r"
    window.figures = {};
    window.watch = async (url, via) => {
        const pc = new RTCPeerConnection();
        window.pc = pc;
        pc.addTransceiver('audio', {direction: 'recvonly'});
        pc.addTransceiver('video', {direction: 'recvonly'});
        const video = document.createElement('video');
        // Muted sound would count as silence.
        video.muted = false;
        video.autoplay = true;
        document.body.append(video);
        window.video = video;
        const media = new MediaStream();
        video.srcObject = media;
        pc.ontrack = event => media.addTrack(event.track);
        const asked = performance.now();
        video.requestVideoFrameCallback?.(() => { figures.firstFrame = performance.now() - asked; });
        window.session = await open_session(pc, url, null, via);
        setInterval(async () => {
            for (const s of (await pc.getStats()).values()) {
                if (s.type === 'inbound-rtp') figures[s.kind] = {
                    packets: s.packetsReceived, lost: s.packetsLost, frames: s.framesDecoded, received: s.framesReceived,
                    dropped: s.framesDropped, energy: s.totalAudioEnergy,
                    seconds: s.totalSamplesDuration, nacks: s.nackCount, plis: s.pliCount,
                    freezes: s.freezeCount,
                    // What was made up for sound that had not come; silence is made up for silence.
                    concealed: s.concealedSamples - s.silentConcealedSamples,
                    playout: s.estimatedPlayoutTimestamp,
                    // How long what was played had waited for its time, on average, in seconds.
                    held: s.jitterBufferDelay / s.jitterBufferEmittedCount,
                };
                if (s.type === 'codec') figures[s.mimeType.split('/')[0] + 'Codec'] = s.mimeType;
                if (s.type === 'transport') figures.cipher = s.srtpCipher;
            }
            figures.at = performance.now();
            // By how much what is heard is ahead of what is seen, in seconds.
            const [heard, seen] = [figures.audio?.playout, figures.video?.playout];
            figures.apart = heard && seen ? (heard - seen) / 1e3 : null;
        }, 100);
    };
";

/// Script that publishes the tracks of `media`, its video in one codec, with `encodings` in several sizes, and through a proxy
/// if there is one; `sending` is statistics.
const WHIP: &str = r"
    window.sending = {};
    window.publish = async (url, key, media, codec, encodings, via) => {
        const pc = new RTCPeerConnection();
        window.publisher = pc;
        for (const track of media.getTracks()) {
            const isPicture = track.kind === 'video';
            const sendEncodings = isPicture && encodings ? encodings : [{}];
            const transceiver = pc.addTransceiver(track, {direction: 'sendonly', sendEncodings});
            if (!isPicture) continue;
            const codecs = RTCRtpSender.getCapabilities('video').codecs;
            transceiver.setCodecPreferences(codecs.filter(c => c.mimeType.toLowerCase() === codec));
        }
        window.publication = await open_session(pc, url, key, via);
        setInterval(async () => {
            const now = {at: performance.now()};
            for (const s of (await pc.getStats()).values()) {
                if (s.type === 'outbound-rtp') now[s.kind] = {
                    packets: s.packetsSent, bytes: s.bytesSent, frames: s.framesSent, width: s.frameWidth,
                };
            }
            window.sending = now;
        }, 100);
    };
";

/// Driver of a browser: Chromium or Firefox.
pub(crate) trait Driven {
    /// Goes to a page and waits until it is loaded.
    fn go(&self, url: &str);
    /// Runs a function body; returns its result.
    fn run(&self, script: &str) -> Value;
}

impl Driven for Browser {
    fn go(&self, url: &str) {
        Self::go(self, url);
    }

    fn run(&self, script: &str) -> Value {
        Self::run(self, script)
    }
}

/// Opens an idle page of the server, for the origin's sake, and gives it the functions to watch and to publish.
pub(crate) fn prepare(browser: &impl Driven, server: &Server) {
    browser.go(&server.http_url("/_/style.css"));
    browser.run(&[SESSION, WHEP, WHIP].concat());
}

/// Starts an asynchronous script; errors go to `failure`.
pub(crate) fn begin(browser: &impl Driven, script: &str) {
    browser.run(&format!(
        "(async () => {{ {script} }})().catch(fail); return null;"
    ));
}

/// Watches a stream (`/name`), through a proxy if there is one.
pub(crate) fn watch_by(
    browser: &impl Driven,
    server: &Server,
    stream: &str,
    via: Option<SocketAddr>,
) {
    prepare(browser, server);
    let via = via.map_or(Value::Null, |via| json!([via.ip().to_string(), via.port()]));
    begin(browser, &format!("await watch('{stream}/whep', {via});"));
}

/// Watches a stream.
pub(crate) fn watch(browser: &impl Driven, server: &Server, stream: &str) {
    watch_by(browser, server, stream, None);
}

/// Publishes the fake camera and microphone of a browser that has them, the video in one codec.
pub(crate) fn publish_camera(browser: &impl Driven, server: &Server, stream: &str, codec: &str) {
    prepare(browser, server);
    publish_camera_to(browser, &format!("/{stream}/whip"), codec);
}

/// Publishes the camera to an address, from a page that is prepared.
pub(crate) fn publish_camera_to(browser: &impl Driven, url: &str, codec: &str) {
    begin(
        browser,
        &format!(
            "const media = await navigator.mediaDevices.getUserMedia({{audio: true, video: true}}); \
             await publish('{url}', '{PUBLISH_KEY}', media, 'video/{codec}');"
        ),
    );
}

/// Publishes the camera as 1280×720 and, by `encodings`, in further sizes.
pub(crate) fn publish_layers(
    browser: &impl Driven,
    server: &Server,
    stream: &str,
    encodings: &Value,
) {
    prepare(browser, server);
    begin(
        browser,
        &format!(
            "const video = {{width: 1280, height: 720, frameRate: 15}}; \
             const media = await navigator.mediaDevices.getUserMedia({{audio: true, video}}); \
             await publish('/{stream}/whip', '{PUBLISH_KEY}', media, 'video/h264', {encodings});"
        ),
    );
}

/// Returns the browser's figures on its session, which must be free of errors.
pub(crate) fn figures(browser: &impl Driven) -> Value {
    let failure = browser.run("return window.failure;");
    assert!(failure.is_null(), "{failure}");
    browser.run("return window.figures;")
}

/// Returns the number of frames decoded so far.
pub(crate) fn frames(browser: &impl Driven) -> u64 {
    figures(browser)["video"]["frames"].as_u64().unwrap_or(0)
}

/// Waits until this many more frames were decoded.
pub(crate) fn wait_for_frames(browser: &impl Driven, more: u64) {
    let wanted = frames(browser) + more;
    wait_until("more pictures", || frames(browser) >= wanted);
}

/// Waits until this many frames were shown and this many seconds of audio played, and asserts that nothing was lost.
pub(crate) fn assert_watched(browser: &impl Driven, frames: u64, seconds: f64) -> Value {
    wait_until("pictures and sound", || {
        let now = figures(browser);
        now["video"]["frames"].as_u64() >= Some(frames)
            && now["audio"]["seconds"].as_f64() >= Some(seconds)
    });
    let figures = figures(browser);
    assert_eq!(figures["video"]["lost"], 0, "{figures}");
    assert_eq!(figures["audio"]["lost"], 0, "{figures}");
    assert!(
        figures["audio"]["energy"].as_f64() > Some(0.0),
        "silence: {figures}"
    );
    figures
}
