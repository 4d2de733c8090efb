//! Chromium watches and publishes over WebRTC: by our pages, and by nothing but RFC 9725 and WHEP.

use serde_json::Value;
use testkit::{Clip, PUBLISH_KEY, Player, Server, wait_until};

use crate::browser::Browser;
use crate::support::{DEADLINE, play_url, publish_icecast, publish_rtmp, wait_for_stream};

/// A WHEP client that knows nothing of us: `STREAM` stands for the stream's path.
const WHEP: &str = "
    window.figures = {};
    window.failure = null;
    (async () => {
        const pc = new RTCPeerConnection();
        window.pc = pc;
        pc.addTransceiver('audio', {direction: 'recvonly'});
        pc.addTransceiver('video', {direction: 'recvonly'});
        const video = document.createElement('video');
        video.muted = true;
        video.autoplay = true;
        document.body.append(video);
        const media = new MediaStream();
        video.srcObject = media;
        pc.ontrack = event => media.addTrack(event.track);
        video.requestVideoFrameCallback?.(() => { figures.firstFrame = performance.now() - asked; });
        await pc.setLocalDescription(await pc.createOffer());
        const asked = performance.now();
        const answer = await fetch('STREAM/whep', {
            method: 'POST',
            headers: {'Content-Type': 'application/sdp'},
            body: pc.localDescription.sdp,
        });
        if (answer.status !== 201) throw new Error(await answer.text());
        window.session = new URL(answer.headers.get('Location'), location.href).href;
        await pc.setRemoteDescription({type: 'answer', sdp: await answer.text()});
        setInterval(async () => {
            for (const s of (await pc.getStats()).values()) {
                if (s.type === 'inbound-rtp') figures[s.kind] = {
                    packets: s.packetsReceived, lost: s.packetsLost, frames: s.framesDecoded,
                    energy: s.totalAudioEnergy, seconds: s.totalSamplesDuration, nacks: s.nackCount,
                };
                if (s.type === 'transport') figures.cipher = s.srtpCipher;
            }
        }, 100);
    })().catch(error => { window.failure = String(error); });
";

fn figures(browser: &Browser) -> Value {
    let failure = browser.run("return window.failure;");
    assert!(failure.is_null(), "{failure}");
    browser.run("return window.figures;")
}

/// Opens a bare session on a page of the server, for the origin's sake.
fn watch(browser: &Browser, server: &Server, stream: &str) {
    browser.go(&server.http_url("/status-json.xsl"));
    browser.run(&WHEP.replace("STREAM", stream));
}

/// Waits until so many pictures were shown and so many seconds heard, and demands that nothing was lost.
fn assert_watched(browser: &Browser, frames: u64, seconds: f64) -> Value {
    wait_until("pictures and sound", DEADLINE, || {
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

#[test]
fn chromium_watches_the_demo_and_a_stream_over_rtmp_with_sound() {
    let server = Server::builder().arg("--demo").start();
    let clip = Clip::Flv.seconds(90);
    let _publisher = publish_rtmp(&server, &clip, "live/show");
    wait_for_stream(&server, "live/show");
    let browser = Browser::open();
    for stream in ["/demo", "/live/show"] {
        watch(&browser, &server, stream);
        let figures = assert_watched(&browser, 60, 2.0);
        assert_eq!(figures["cipher"], "AEAD_AES_128_GCM", "{figures}");
        let first = figures["firstFrame"].as_f64().unwrap();
        assert!(first < 1_000.0, "the first picture after {first} ms");
        let ended = browser.run(
            "window.ended = null; \
             fetch(session, {method: 'DELETE'}).then(answer => { window.ended = answer.status; }); \
             return null;",
        );
        assert!(ended.is_null());
        wait_until("the session to end", DEADLINE, || {
            browser.run("return window.ended;") == 200
                && server.api("listeners")["listeners"] == serde_json::json!([])
        });
    }
}

#[test]
fn a_radio_over_icecast_is_heard_over_webrtc() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let browser = Browser::open();
    watch(&browser, &server, "/radio.mp3");
    wait_until("sound", DEADLINE, || {
        let now = figures(&browser);
        now["audio"]["seconds"].as_f64() >= Some(2.0) && now["audio"]["energy"].as_f64() > Some(0.0)
    });
}

/// Waits until the page says it.
fn says(browser: &Browser, words: &str) {
    let mut last = Value::Null;
    wait_until(words, DEADLINE, || {
        last = browser.run("return document.querySelector('[role=status]').textContent;");
        last.as_str().is_some_and(|text| text.contains(words))
    });
}

#[test]
fn the_player_page_plays_with_low_delay_and_goes_back() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    browser.go(&server.http_url("/demo/#live"));
    says(&browser, "Playing with low delay.");
    let shown = "const v = document.querySelector('video'); \
        return [v.hidden, v.srcObject !== null, v.videoWidth, \
            v.getVideoPlaybackQuality().totalVideoFrames, document.getElementById('note').hidden];";
    wait_until("pictures", DEADLINE, || {
        browser.run(shown)[3].as_u64() > Some(60)
    });
    let state = browser.run(shown);
    assert_eq!(
        (&state[0], &state[1], &state[2]),
        (&false.into(), &true.into(), &640.into())
    );
    assert_eq!(state[4], true, "{state}");
    browser.screenshot("low-delay");
    browser.run("document.getElementById('live').click(); return null;");
    says(&browser, "Playing.");
    assert_eq!(browser.run(shown)[1], false);
    wait_until("the session to end", DEADLINE, || {
        !server.api("listeners").to_string().contains("webrtc")
    });
}

#[test]
fn the_player_page_says_why_low_delay_does_not_work() {
    // Nobody can be reached there, so no session connects.
    let server = Server::builder()
        .arg("--demo")
        .set("webrtc", "public_ips", "[\"192.0.2.1\"]")
        .start();
    let browser = Browser::open();
    browser.go(&server.http_url("/demo/#live"));
    says(&browser, "Playing.");
    let note = browser.run("return document.getElementById('note').innerText;");
    let note = note.as_str().unwrap();
    assert!(
        note.contains("Low delay does not work here") && note.contains("media port"),
        "{note}"
    );
}

#[test]
fn a_camera_in_chromium_is_seen_and_heard_everywhere() {
    let server = Server::start();
    let camera = Browser::open_with(&[
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
    ]);
    camera.go(&server.http_url("/live/cam/publish"));
    says(&camera, "Ready.");
    camera.run(
        "document.getElementById('key').value = 'wrong'; document.getElementById('go').click(); \
         return null;",
    );
    says(&camera, "key is wrong");
    camera.screenshot("publish-wrong-key");
    camera.run(&format!(
        "document.getElementById('key').value = '{PUBLISH_KEY}'; \
         document.getElementById('go').click(); return null;"
    ));
    says(&camera, "On air.");
    wait_for_stream(&server, "live/cam");
    wait_until("figures", DEADLINE, || {
        let text = camera.run("return document.getElementById('figures').innerText;");
        text.as_str().is_some_and(|text| text.contains("b/s sent"))
    });
    camera.screenshot("publish");

    let viewer = Browser::open();
    watch(&viewer, &server, "/live/cam");
    assert_watched(&viewer, 60, 2.0);

    let mut player = Player::Ffmpeg.start(&play_url(&server, "live/cam"));
    wait_until("pictures over RTMP", DEADLINE, || {
        player.written() > 100_000
    });
    player.process().kill();
    let flv = server
        .listen("/live/cam.flv")
        .read_bytes(100_000, DEADLINE)
        .len();
    assert!(flv >= 100_000, "{flv} bytes of FLV");

    camera.run("document.getElementById('stop').click(); return null;");
    says(&camera, "Stopped.");
    wait_until("the publisher to be gone", DEADLINE, || {
        server
            .metrics()
            .get("carillon_publishers{protocol=\"whip\"}")
            == Some(0.0)
    });
}
