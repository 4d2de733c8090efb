//! Offers of browsers and encoders, and what is agreed on.

use container::rtp;
use media::Kind;
use proptest::prelude::*;
use webrtc::ice::{Credentials, RANDOM_LEN};
use webrtc::sdp::{Answer, Offer};

use super::super::{Agreed, Unusable, agree};

const FINGERPRINT: &str = "7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:\
                           DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08";

/// An offer of these sections, which begin with their `m=` lines.
pub(super) fn offer(sections: &[String]) -> String {
    let names: Vec<_> = (0..sections.len()).map(|at| at.to_string()).collect();
    let mut text = format!(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE {}\r\n",
        names.join(" ")
    );
    for (name, section) in names.iter().zip(sections) {
        let (first, rest) = section.split_once("\r\n").expect("lines");
        text.push_str(&format!(
            "{first}\r\nc=IN IP4 0.0.0.0\r\na=mid:{name}\r\na=ice-ufrag:TdB7\r\n\
             a=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\na=setup:actpass\r\n\
             a=fingerprint:sha-256 {FINGERPRINT}\r\na=rtcp-mux\r\n{rest}"
        ));
    }
    text
}

/// Opus under 111, as browsers offer it.
pub(super) fn audio() -> String {
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=sendonly\r\na=rtcp-rsize\r\n\
     a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\n"
        .to_owned()
}

/// A microphone like `audio()`, with feedback about each packet.
fn chromium_microphone() -> String {
    audio() + NUMBERED + "a=rtcp-fb:111 transport-cc\r\n"
}

/// The header extension for that.
pub(super) const NUMBERED: &str =
    "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n";

/// Video under 96, repeated under 97, with further attribute lines.
pub(in super::super) fn picture(format: rtp::PayloadFormat, more: &str) -> String {
    let name = format.encoding_name();
    let mode = match format {
        rtp::PayloadFormat::H264 => "a=fmtp:96 packetization-mode=1;profile-level-id=42e01f\r\n",
        _ => "",
    };
    format!(
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97\r\na=sendonly\r\na=rtpmap:96 {name}/90000\r\n{mode}\
         a=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n{more}"
    )
}

/// Feedback that a browser offers for video.
pub(super) const FEEDBACK: &str = "a=rtcp-rsize\r\na=rtcp-fb:96 goog-remb\r\n\
    a=rtcp-fb:96 transport-cc\r\na=rtcp-fb:96 ccm fir\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\n";

/// Offer of Chromium for its camera, shortened.
fn chromium_camera() -> String {
    "m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 108 45 46 98 99\r\na=sendonly\r\n\
     a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n\
     a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
     a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
     a=rtcp-rsize\r\na=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 goog-remb\r\n\
     a=rtcp-fb:96 transport-cc\r\na=rtcp-fb:96 nack\r\n\
     a=rtcp-fb:96 nack pli\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n\
     a=rtpmap:103 H264/90000\r\na=rtcp-fb:103 nack\r\n\
     a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f\r\n\
     a=rtpmap:104 rtx/90000\r\na=fmtp:104 apt=103\r\n\
     a=rtpmap:107 H264/90000\r\na=rtcp-fb:107 goog-remb\r\na=rtcp-fb:107 transport-cc\r\n\
     a=rtcp-fb:107 ccm fir\r\na=rtcp-fb:107 nack\r\na=rtcp-fb:107 nack pli\r\n\
     a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
     a=rtpmap:108 rtx/90000\r\na=fmtp:108 apt=107\r\na=rtpmap:45 AV1/90000\r\n\
     a=fmtp:45 level-idx=5;profile=0;tier=0\r\na=rtpmap:46 rtx/90000\r\na=fmtp:46 apt=45\r\n\
     a=rtpmap:98 VP9/90000\r\na=fmtp:98 profile-id=0\r\na=rtpmap:99 rtx/90000\r\n\
     a=fmtp:99 apt=98\r\na=ssrc-group:FID 5 6\r\na=ssrc:5 cname:x\r\na=ssrc:6 cname:x\r\n"
        .to_owned()
}

/// Offer of OBS for its video.
fn obs_picture() -> String {
    "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=sendonly\r\na=ssrc:1299378220 cname:oAtN8\r\n\
     a=msid:HXwI oAtN8-video\r\na=rtpmap:96 H264/90000\r\na=rtcp-fb:96 nack\r\n\
     a=rtcp-fb:96 nack pli\r\n\
     a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1\r\n"
        .to_owned()
}

pub(in super::super) fn agreed(sections: &[String]) -> Result<Agreed, Unusable> {
    agree(&Offer::parse(&offer(sections)).expect("a good offer"))
}

fn answer(sections: &[String]) -> String {
    let offer = Offer::parse(&offer(sections)).expect("a good offer");
    let agreed = agree(&offer).expect("usable");
    let answer = Answer {
        offer: &offer,
        sections: &agreed.sections(),
        session_id: 1,
        ice: &Credentials::generate(&[3; RANDOM_LEN]),
        fingerprint: &format!("sha-256 {FINGERPRINT}")
            .parse()
            .expect("a fingerprint"),
        candidates: &[],
        stream: "carillon",
        cname: "c4",
    };
    answer.to_string()
}

#[test]
fn browsers_send_h264_with_repetition_and_stereo() {
    let text = answer(&[chromium_microphone(), chromium_camera()]);
    assert!(text.contains("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"));
    assert!(
        text.contains("a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=128000")
    );
    // The first format is what a browser sends; all others that can be carried follow in its order.
    let line = "m=video 9 UDP/TLS/RTP/SAVPF 107 108 96 97 45 46 98 99\r\n";
    assert!(text.contains(line), "{text}");
    for map in ["96 VP8/90000", "45 AV1/90000", "98 VP9/90000"] {
        assert!(text.contains(&format!("a=rtpmap:{map}\r\n")), "{map}");
    }
    for line in ["nack", "nack pli", "ccm fir", "transport-cc"] {
        let is_so = text.contains(&format!("a=rtcp-fb:107 {line}\r\n"));
        assert!(is_so, "{line}");
    }
    assert!(text.contains("a=rtpmap:108 rtx/90000\r\na=fmtp:108 apt=107\r\n"));
    assert_eq!(text.matches("a=recvonly\r\n").count(), 2);
    // Their own congestion control receives feedback on the packets of both sections, and no other limit.
    assert!(text.contains("a=rtcp-fb:111 transport-cc\r\n"));
    assert_eq!(text.matches(NUMBERED).count(), 2);
    assert_eq!(text.matches("extmap").count(), 2, "{text}");
    assert!(!text.contains("goog-remb"));
    let agreed = agreed(&[audio(), chromium_camera()]).expect("usable");
    assert_eq!(agreed.codecs().collect::<Vec<_>>(), ["opus", "h264"]);
    assert!(agreed.layers().is_empty());
}

#[test]
fn another_codec_is_taken_when_it_is_offered_alone() {
    for (format, name) in [
        (rtp::PayloadFormat::Vp8, "vp8"),
        (rtp::PayloadFormat::Vp9, "vp9"),
        (rtp::PayloadFormat::Av1, "av1"),
        (rtp::PayloadFormat::Hevc, "h265"),
        (rtp::PayloadFormat::H264, "h264"),
    ] {
        let agreed = agreed(&[picture(format, FEEDBACK)]).expect("usable");
        assert_eq!(agreed.codecs().collect::<Vec<_>>(), [name]);
        let chosen = agreed.chosen().next().expect("a section");
        let best = &chosen.formats.best;
        let rtp = agree::rtp_format(best.codec);
        assert_eq!((rtp, best.rtx), (format, Some(97)));
        assert!(best.feedback.nack && best.feedback.remb);
    }
}

#[test]
fn without_numbered_packets_a_sender_learns_how_much_it_may_send() {
    let without_feedback = FEEDBACK.replace("a=rtcp-fb:96 transport-cc\r\n", "") + NUMBERED;
    for lines in [FEEDBACK, &without_feedback] {
        let camera = [picture(rtp::PayloadFormat::Vp8, lines)];
        let text = answer(&camera);
        assert!(text.contains("a=rtcp-fb:96 goog-remb\r\n"), "{text}");
        let is_so = !text.contains("transport-cc") && !text.contains("extmap");
        assert!(is_so, "{text}");
        let agreed = agreed(&camera).expect("usable");
        assert!(agreed.chosen().all(|chosen| chosen.takes_bit_rate()));
    }
}

#[test]
fn encoders_offer_less_and_get_it() {
    let text = answer(&[audio(), obs_picture()]);
    assert!(text.contains("m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"));
    assert!(text.contains("a=rtcp-fb:96 nack pli\r\n") && !text.contains("goog-remb"));
    // What webrtcbin of GStreamer offers.
    let gstreamer = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=sendonly\r\na=rtpmap:96 H264/90000\r\n\
                     a=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\na=rtcp-fb:96 ccm fir\r\n\
                     a=fmtp:96 packetization-mode=1;profile-level-id=42c01f;\
                     sprop-parameter-sets=Z0LAH9kA8BF+8BagQEBQ,aMuMsg==\r\na=ssrc:9 cname:u\r\n";
    let agreed = agreed(&[gstreamer.to_owned()]).expect("usable");
    let chosen = agreed.chosen().next().expect("a section");
    assert!(!chosen.takes_bit_rate(), "it did not ask");
    let sets = agree::parameter_sets(&chosen.formats.best.parameters);
    let first: Vec<_> = sets.iter().map(|set| set[0]).collect();
    assert_eq!(first, [0x67, 0x68]);
}

#[test]
fn what_sends_nothing_is_rejected_and_the_rest_taken() {
    let viewer = picture(rtp::PayloadFormat::Vp8, "").replace("sendonly", "recvonly");
    let data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=sctp-port:5000\r\n";
    let text = answer(&[viewer, audio(), data.to_owned()]);
    assert!(text.contains("a=group:BUNDLE 1\r\n"));
    assert!(text.contains("m=video 0 ") && text.contains("m=application 0 "));
    let both = picture(rtp::PayloadFormat::Vp8, "").replace("sendonly", "sendrecv");
    assert!(answer(&[both]).contains("a=recvonly\r\n"));
}

#[test]
fn what_cannot_be_published_is_refused_with_the_reason() {
    let refused = |sections: &[String]| agreed(sections).expect_err("it is refused");
    let silent = audio().replace("sendonly", "inactive");
    assert_eq!(refused(&[silent]), Unusable::SendsNothing);
    assert_eq!(refused(&[audio(), audio()]), Unusable::TooMany(Kind::Audio));
    let g711 = audio().replace("opus/48000/2", "PCMU/8000");
    let error = refused(&[chromium_camera(), g711]);
    assert_eq!(error, Unusable::NoFormat(Kind::Audio));
    let whole = picture(rtp::PayloadFormat::H264, "").replace("mode=1", "mode=0");
    let error = refused(&[whole]);
    assert_eq!(error, Unusable::NoFormat(Kind::Video));
    let is_so = error.to_string().contains("packetization-mode=1");
    assert!(is_so, "{error}");
    let same = picture(rtp::PayloadFormat::Vp8, "").replace("96", "111");
    assert_eq!(refused(&[audio(), same]), Unusable::SamePayloadType);
}

/// The attributes of simulcast with these layers.
pub(super) fn layers(names: &[&str]) -> String {
    let mut text = "a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
         a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
         a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\n\
         a=extmap:5 urn:3gpp:video-orientation\r\n"
        .to_owned();
    for name in names {
        text.push_str(&format!("a=rid:{name} send\r\n"));
    }
    text + &format!("a=simulcast:send {}\r\n", names.join(";"))
}

/// Offer of Chromium 156 for a camera with three encodings, shortened: sources are named in packets only.
fn chromium_simulcast() -> String {
    "m=video 9 UDP/TLS/RTP/SAVPF 107 108 96 97\r\na=extmap:1 urn:ietf:params:rtp-hdrext:toffset\r\n\
     a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time\r\n\
     a=extmap:3 urn:3gpp:video-orientation\r\n\
     a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n\
     a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
     a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
     a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\na=sendonly\r\n\
     a=msid:9f1c 7f0e\r\na=rtcp-rsize\r\na=rtpmap:107 H264/90000\r\na=rtcp-fb:107 goog-remb\r\n\
     a=rtcp-fb:107 transport-cc\r\na=rtcp-fb:107 ccm fir\r\na=rtcp-fb:107 nack\r\n\
     a=rtcp-fb:107 nack pli\r\n\
     a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
     a=rtpmap:108 rtx/90000\r\na=fmtp:108 apt=107\r\na=rtpmap:96 VP8/90000\r\n\
     a=rtcp-fb:96 nack\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n\
     a=rid:h send\r\na=rid:m send\r\na=rid:l send\r\na=simulcast:send h;m;l\r\n"
        .to_owned()
}

/// Offer of Firefox 153 for such a camera, shortened: it names sources as well, and gives extensions a
/// direction.
fn firefox_simulcast() -> String {
    "m=video 9 UDP/TLS/RTP/SAVPF 120 124\r\na=sendonly\r\n\
     a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
     a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time\r\n\
     a=extmap:5 urn:ietf:params:rtp-hdrext:toffset\r\n\
     a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay\r\n\
     a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n\
     a=extmap:8/sendonly urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
     a=extmap:9/sendonly urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\n\
     a=fmtp:120 max-fs=12288;max-fr=60\r\na=fmtp:124 apt=120\r\na=msid:{8b2} {77c}\r\n\
     a=rid:q send\r\na=rid:h send\r\na=rid:f send\r\na=rtcp-fb:120 nack\r\n\
     a=rtcp-fb:120 nack pli\r\na=rtcp-fb:120 ccm fir\r\na=rtcp-fb:120 goog-remb\r\n\
     a=rtcp-fb:120 transport-cc\r\na=rtcp-rsize\r\na=rtpmap:120 VP8/90000\r\n\
     a=rtpmap:124 rtx/90000\r\na=simulcast:send q;h;f\r\na=ssrc:271 cname:{c}\r\n\
     a=ssrc:272 cname:{c}\r\na=ssrc:273 cname:{c}\r\na=ssrc:371 cname:{c}\r\n\
     a=ssrc:372 cname:{c}\r\na=ssrc:373 cname:{c}\r\na=ssrc-group:FID 271 371\r\n\
     a=ssrc-group:FID 272 372\r\na=ssrc-group:FID 273 373\r\n"
        .to_owned()
}

#[test]
fn browsers_are_answered_with_their_layers_and_how_these_are_named() {
    for (camera, names, [mid, rid, repaired]) in [
        (chromium_simulcast(), ["h", "m", "l"], [9, 10, 11]),
        (firefox_simulcast(), ["q", "h", "f"], [3, 8, 9]),
    ] {
        let sections = [audio(), camera];
        let agreed = agreed(&sections).expect("usable");
        assert_eq!(agreed.layers(), names.map(Box::from));
        let tracks: Vec<_> = agreed.tracks().collect();
        assert_eq!(tracks[0], (Kind::Audio, ""));
        assert_eq!(tracks[1..], names.map(|name| (Kind::Video, name)));
        let text = answer(&sections);
        for line in [
            format!("a=extmap:{mid} urn:ietf:params:rtp-hdrext:sdes:mid"),
            format!("a=extmap:{rid} urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"),
            format!("a=extmap:{repaired} urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"),
            format!("a=rid:{} recv", names[0]),
            format!("a=rid:{} recv", names[2]),
            format!("a=simulcast:recv {}", names.join(";")),
        ] {
            let count = text.matches(&format!("{line}\r\n")).count();
            assert_eq!(count, 1, "{line}: {text}");
        }
        assert_eq!(text.matches("extmap").count(), 4, "{text}");
        assert!(text.contains("transport-cc\r\n") && text.contains("nack pli\r\n"));
    }
}

#[test]
fn layers_are_bounded_and_have_names_that_streams_may_have() {
    let of = |names: &[&str]| {
        let sections = [picture(rtp::PayloadFormat::Vp8, &layers(names))];
        let agreed = agreed(&sections).expect("usable");
        (agreed.layers().join(" "), answer(&sections))
    };
    let (names, text) = of(&["a", "b", "b", "x_y", "c", "d", "e", "f"]);
    assert_eq!(names, "a b c d");
    assert_eq!(names.split(' ').count(), agree::LAYERS_MAX);
    assert!(text.contains("a=simulcast:recv a;b;c;d\r\n"), "{text}");
    let is_so = !text.contains("rid:e") && !text.contains("orientation");
    assert!(is_so, "{text}");
    // Of one layer there is no choice, and one whose name is too long is none.
    for names in [&["a", "a", "x_y"][..], &["a", "seventeen-letters"], &[]] {
        let (names, text) = of(names);
        assert_eq!(names, "");
        let is_so = !text.contains("simulcast") && !text.contains("extmap");
        assert!(is_so, "{text}");
    }
    // Without the extension that names them, layers could not be distinguished.
    let nameless = layers(&["a", "b"]).replace("sdes:rtp-stream-id", "sdes:unknown");
    let sections = [picture(rtp::PayloadFormat::Vp8, &nameless)];
    assert!(agreed(&sections).expect("usable").layers().is_empty());
}

proptest! {
    /// Whatever lines an offer has, what is agreed on fits it.
    #[test]
    fn agreements_have_a_section_for_each(cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12)) {
        let text = offer(&[audio(), chromium_camera(), obs_picture()]);
        let mut lines: Vec<_> = text.lines().collect();
        for cut in cuts {
            lines.remove(cut.index(lines.len()));
        }
        if let Ok(offer) = Offer::parse(&(lines.join("\r\n") + "\r\n"))
            && let Ok(agreed) = agree(&offer)
        {
            prop_assert_eq!(agreed.sections().len(), offer.media.len());
            prop_assert!((1..=2).contains(&agreed.chosen().count()));
        }
    }
}
