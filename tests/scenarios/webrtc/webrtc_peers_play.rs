//! Independent WebRTC peers connect, agree on keys, and decode what is sealed for them.

use serde_json::json;
use testkit::wait_until;
use webrtc::ice::Transport;
use webrtc::srtp::Profile;

use crate::support::DEADLINE;
use crate::support::aiortc::{FRAMES, Viewer};
use crate::support::browser::Browser;
use crate::support::relay::Relay;

#[test]
fn aiortc_decodes_picture_and_sound() {
    let mut viewer = Viewer::start();
    let offer = viewer.read();
    let relay = Relay::start(offer.as_str().unwrap());
    viewer.write(&json!(relay.answer()));
    let counts = viewer.read();
    let report = relay.stop();
    assert!(
        counts["video"].as_u64() >= Some(FRAMES),
        "{counts} {report:?}"
    );
    assert!(
        counts["audio"].as_u64() >= Some(FRAMES),
        "{counts} {report:?}"
    );
    assert_eq!(counts["size"], json!([320, 180]));
    assert_eq!(report.profile, Some(Profile::Aes128Gcm));
}

/// A WHEP page's script, without the POST.
const PAGE: &str = "
    window.pc = new RTCPeerConnection();
    pc.addTransceiver('audio', {direction: 'recvonly'});
    pc.addTransceiver('video', {direction: 'recvonly'});
    const video = document.createElement('video');
    video.muted = true;
    video.autoplay = true;
    document.body.append(video);
    pc.ontrack = event => { video.srcObject = event.streams[0]; };
    pc.createOffer().then(offer => pc.setLocalDescription(offer)).then(() => {
        window.offer = pc.localDescription.sdp;
    });
";

/// A publish page's script, with a canvas as camera and a tone as microphone.
const PUBLISH_PAGE: &str = "
    window.pc = new RTCPeerConnection();
    const canvas = document.createElement('canvas');
    const pen = canvas.getContext('2d');
    let hue = 0;
    setInterval(() => { pen.fillStyle = `hsl(${hue++},90%,50%)`; pen.fillRect(0, 0, 300, 150); }, 40);
    const context = new AudioContext();
    const tone = context.createOscillator();
    const microphone = context.createMediaStreamDestination();
    tone.connect(microphone);
    tone.start();
    pc.addTransceiver(microphone.stream.getTracks()[0], {direction: 'sendonly'});
    pc.addTransceiver(canvas.captureStream(25).getTracks()[0], {direction: 'sendonly'});
    pc.createOffer().then(offer => pc.setLocalDescription(offer)).then(() => {
        window.offer = pc.localDescription.sdp;
    });
";

/// Runs the page, and gives its offer to a relay and the relay's answer to it.
fn agree(browser: &Browser, page: &str, transport: Transport) -> Relay {
    browser.go("about:blank");
    browser.run(page);
    wait_until("an offer", DEADLINE, || {
        browser.run("return window.offer;").is_string()
    });
    let offer = browser.run("return window.offer;");
    let relay = Relay::start_over(transport, offer.as_str().unwrap());
    let answer = json!({"type": "answer", "sdp": relay.answer()});
    browser.run(&format!(
        "window.failed = null; \
         pc.setRemoteDescription({answer}).catch(e => {{ window.failed = e.message; }});"
    ));
    relay
}

#[test]
fn chromium_publishes_picture_and_sound() {
    let browser = Browser::open();
    let relay = agree(&browser, PUBLISH_PAGE, Transport::Udp);
    wait_until("packets to be sent", DEADLINE, || {
        let sent = browser.run(
            "window.sent ??= {}; \
             pc.getStats().then(report => { \
                 for (const s of report.values()) \
                     if (s.type === 'outbound-rtp') sent[s.kind] = s.packetsSent; \
             }); \
             return window.failed ?? sent;",
        );
        assert!(!sent.is_string(), "{sent}");
        sent["audio"].as_u64() >= Some(100) && sent["video"].as_u64() >= Some(100)
    });
    let report = relay.stop();
    assert!(report.sounds > 90 && report.pictures > 90, "{report:?}");
    assert_eq!(report.refused, 0, "{report:?}");
    assert_eq!(report.profile, Some(Profile::Aes128Gcm));
}

#[test]
fn chromium_decodes_picture_and_sound() {
    let browser = Browser::open();
    let relay = agree(&browser, PAGE, Transport::Udp);
    let stats = || {
        browser.run(
            "if (window.failed) return window.failed; \
             window.stats ??= {}; \
             pc.getStats().then(report => { \
                 for (const s of report.values()) { \
                     if (s.type === 'inbound-rtp') stats[s.kind] = s; \
                     if (s.type === 'transport') stats.transport = s; \
                 } \
             }); \
             return stats;",
        )
    };
    wait_until("pictures to be decoded", DEADLINE, || {
        let stats = stats();
        assert!(!stats.is_string(), "{stats}");
        stats["video"]["framesDecoded"].as_u64() >= Some(FRAMES)
    });
    let stats = stats();
    for kind in ["audio", "video"] {
        assert_eq!(stats[kind]["packetsLost"], 0, "{stats}");
        assert!(
            stats[kind]["packetsReceived"].as_u64() >= Some(FRAMES),
            "{stats}"
        );
    }
    // Nothing was missing, and everything could be decoded. A browser on a busy machine drops pictures that
    // are too late to be shown.
    for count in ["nackCount", "pliCount"] {
        assert_eq!(stats["video"][count], 0, "{stats}");
    }
    assert_eq!(
        stats["transport"]["srtpCipher"], "SRTP_AEAD_AES_128_GCM",
        "{stats}"
    );
    let closed = "return pc.getTransceivers()[0].receiver.transport.state;";
    assert_eq!(browser.run(closed), "connected");
    let report = relay.stop();
    assert_eq!(report.profile, Some(Profile::Aes128Gcm));
    assert_eq!((report.lost, report.nacked), (0, 0), "{report:?}");
    assert!(report.reports > 0, "{report:?}");
    wait_until("the goodbye to arrive", DEADLINE, || {
        browser.run(closed) == "closed"
    });
}

/// Waits until `count` pictures are decoded. Returns how many were.
fn wait_for_pictures(browser: &Browser, count: u64) -> u64 {
    let mut decoded = 0;
    wait_until("pictures to be decoded", DEADLINE, || {
        let found = browser.run(
            "pc.getStats().then(report => { \
                 for (const s of report.values()) \
                     if (s.type === 'inbound-rtp' && s.kind === 'video') \
                         window.decoded = s.framesDecoded; \
             }); \
             return window.failed ?? window.decoded ?? 0;",
        );
        assert!(!found.is_string(), "{found}");
        decoded = found.as_u64().unwrap();
        decoded >= count
    });
    decoded
}

/// For networks that block UDP.
#[test]
fn chromium_decodes_over_tcp() {
    let browser = Browser::open();
    let relay = agree(&browser, PAGE, Transport::Tcp);
    wait_for_pictures(&browser, 100);
    let report = relay.stop();
    assert_eq!(report.profile, Some(Profile::Aes128Gcm));
}

#[test]
fn chromium_restarts_ice_and_goes_on() {
    let browser = Browser::open();
    let relay = agree(&browser, PAGE, Transport::Udp);
    let before = wait_for_pictures(&browser, 25);
    browser.run(
        "window.offer = null; \
         pc.createOffer({iceRestart: true}).then(offer => pc.setLocalDescription(offer)) \
             .then(() => { window.offer = pc.localDescription.sdp; });",
    );
    wait_until("another offer", DEADLINE, || {
        browser.run("return window.offer;").is_string()
    });
    let offer = browser.run("return window.offer;");
    let answer = json!({"type": "answer", "sdp": relay.restart(offer.as_str().unwrap())});
    browser.run(&format!(
        "pc.setRemoteDescription({answer}).catch(e => {{ window.failed = e.message; }});"
    ));
    // Longer than a browser goes on without an answer to its checks.
    wait_for_pictures(&browser, before + 10 * 25);
    let state = browser.run("return [pc.iceConnectionState, pc.connectionState];");
    assert_eq!(state[1], "connected", "{state}");
    let report = relay.stop();
    assert!(report.restarted, "{report:?}");
}
