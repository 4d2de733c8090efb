use proptest::prelude::*;
use proptest::sample::Index;
use rtc_sdp::description::session::SessionDescription;

use super::*;
use crate::ice::{Credentials, RANDOM_LEN, Transport};

const FINGERPRINT: &str = "7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:\
                           DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08";

/// Chromium's offer to a WHEP endpoint, shortened by header extensions and a few formats.
fn chromium() -> String {
    let transport = format!(
        "c=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\na=ice-ufrag:TdB7\r\n\
         a=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\na=ice-options:trickle\r\n\
         a=fingerprint:sha-256 {FINGERPRINT}\r\na=setup:actpass\r\n"
    );
    format!(
        "v=0\r\no=- 4611732854375898212 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
         a=group:BUNDLE 0 1\r\na=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126\r\n{transport}a=mid:0\r\n\
         a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level\r\n\
         a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
         a=recvonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=rtpmap:111 opus/48000/2\r\n\
         a=rtcp-fb:111 transport-cc\r\na=fmtp:111 minptime=10;useinbandfec=1\r\n\
         a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\na=rtpmap:0 PCMU/8000\r\n\
         m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 108 39 40 45 46 98 99\r\n{transport}\
         a=mid:1\r\na=recvonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=rtpmap:96 VP8/90000\r\n\
         a=rtcp-fb:96 goog-remb\r\na=rtcp-fb:96 transport-cc\r\na=rtcp-fb:96 ccm fir\r\n\
         a=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\na=rtpmap:97 rtx/90000\r\n\
         a=fmtp:97 apt=96\r\na=rtpmap:103 H264/90000\r\na=rtcp-fb:103 nack\r\n\
         a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f\r\n\
         a=rtpmap:104 rtx/90000\r\na=fmtp:104 apt=103\r\na=rtpmap:107 H264/90000\r\n\
         a=rtcp-fb:107 ccm fir\r\na=rtcp-fb:107 nack\r\na=rtcp-fb:107 nack pli\r\n\
         a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
         a=rtpmap:108 rtx/90000\r\na=fmtp:108 apt=107\r\na=rtpmap:39 H264/90000\r\n\
         a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f\r\n\
         a=rtpmap:40 rtx/90000\r\na=fmtp:40 apt=39\r\na=rtpmap:45 AV1/90000\r\n\
         a=fmtp:45 level-idx=5;profile=0;tier=0\r\na=rtpmap:46 rtx/90000\r\na=fmtp:46 apt=45\r\n\
         a=rtpmap:98 VP9/90000\r\na=fmtp:98 profile-id=2\r\na=rtpmap:99 rtx/90000\r\n\
         a=fmtp:99 apt=98\r\n"
    )
}

fn parsed(text: &str) -> Offer {
    Offer::parse(text).expect("an offer")
}

fn h264(text: &str) -> Codec {
    Codec::H264(H264Format {
        profile_level_id: ProfileLevelId::parse(text).expect("six digits"),
        fragments: true,
    })
}

fn sends(format: &OfferedFormat, ssrc: u32, rtx_ssrc: Option<u32>) -> Section<'_> {
    Section::Sends {
        format,
        parameters: None,
        ssrc,
        rtx_ssrc,
    }
}

fn receives<'a>(
    format: &'a OfferedFormat,
    parameters: Option<&'a str>,
    extensions: &'a [Extension],
) -> Section<'a> {
    Section::Receives {
        format,
        parameters,
        more: &[],
        layers: &[],
        extensions,
    }
}

#[test]
fn a_browsers_offer_is_read() {
    let offer = parsed(&chromium());
    assert_eq!(offer.ice.ufrag(), "TdB7");
    assert_eq!(offer.ice.password(), "ZxVHyLxWTDEZdb7pUvXZVLAY");
    let fingerprint = format!("sha-256 {FINGERPRINT}");
    assert_eq!(offer.fingerprint.to_string(), fingerprint);
    assert_eq!(offer.setup, Setup::Passive);
    let [audio, video] = &offer.media[..] else {
        panic!("two sections");
    };
    assert!(audio.usable && audio.kind == MediaKind::Audio && &*audio.mid == "0");
    assert!(video.usable && video.kind == MediaKind::Video && &*video.mid == "1");
    assert!(audio.direction.receives() && !audio.direction.sends());
    assert_eq!(audio.formats.len(), 1);
    let mid = audio.extension("urn:ietf:params:rtp-hdrext:sdes:mid");
    assert_eq!(mid, Some(4));
    let formats = video.formats.iter();
    let numbers: Vec<_> = formats.map(|f| (f.payload_type, f.rtx)).collect();
    let media = [96, 103, 107, 39, 45, 98];
    assert_eq!(numbers, media.map(|number| (number, Some(number + 1))));
    let all = Feedback {
        nack: true,
        pli: true,
        fir: true,
        remb: true,
        transport_cc: true,
    };
    assert_eq!(video.formats[0].feedback, all);
    assert_eq!(video.formats[3].feedback, Feedback::default());
}

#[test]
fn the_closest_h264_profile_is_chosen_and_only_with_fragments() {
    let offer = parsed(&chromium());
    let video = &offer.media[1];
    let chosen = |wanted| {
        let chosen = video.choose(wanted);
        chosen.map(|(format, fit)| (format.payload_type, fit))
    };
    assert_eq!(chosen(h264("42e01f")), Some((107, Fit::Exact)));
    assert_eq!(chosen(h264("4d4028")), Some((39, Fit::Exact)));
    assert_eq!(chosen(h264("42001f")), Some((39, Fit::Exceeds)));
    assert_eq!(chosen(h264("640028")), Some((39, Fit::Exceeds)));
    assert_eq!(chosen(Codec::Vp8), Some((96, Fit::Exact)));
    assert_eq!(chosen(Codec::Av1 { profile: 0 }), Some((45, Fit::Exact)));
    assert_eq!(chosen(Codec::Av1 { profile: 1 }), None);
    assert_eq!(chosen(Codec::Vp9 { profile: 0 }), None);
    assert_eq!(chosen(Codec::Vp9 { profile: 2 }), Some((98, Fit::Exact)));
    assert_eq!(chosen(Codec::H265 { profile: 1 }), None);
    assert_eq!(chosen(Codec::Opus), None);
    let fragmented = video.each(|codec| matches!(codec, Codec::H264(_)));
    let numbers: Vec<_> = fragmented.map(|format| format.payload_type).collect();
    assert_eq!(numbers, [107, 39]);
}

fn answer_to(offer: &Offer, sections: &[Section<'_>]) -> String {
    let fingerprint = format!("sha-256 {FINGERPRINT}").parse();
    let candidates = [Transport::Udp, Transport::Tcp].map(|transport| Candidate {
        address: ([192, 0, 2, 7], 8189).into(),
        transport,
    });
    let answer = Answer {
        offer,
        sections,
        session_id: u64::MAX,
        ice: &Credentials::generate(&[3; RANDOM_LEN]),
        fingerprint: &fingerprint.expect("a fingerprint"),
        candidates: &candidates,
        stream: "carillon",
        cname: "c4",
    };
    answer.to_string()
}

#[test]
fn an_answer_to_a_viewer() {
    let offer = parsed(&chromium());
    let (opus, _) = offer.media[0].choose(Codec::Opus).expect("opus");
    let (h264, _) = offer.media[1].choose(h264("42e01f")).expect("h264");
    let mut audio = sends(opus, 11, None);
    if let Section::Sends { parameters, .. } = &mut audio {
        *parameters = Some("minptime=10;stereo=1;sprop-stereo=1");
    }
    let text = answer_to(&offer, &[audio, sends(h264, 22, Some(23))]);
    let expected = format!(
        "v=0\r\no=- 9223372036854775807 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-lite\r\n\
         a=group:BUNDLE 0 1\r\na=msid-semantic: WMS *\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\n\
         a=mid:0\r\na=ice-ufrag:DDDDDDDDDDDDDDDD\r\na=ice-pwd:DDDDDDDDDDDDDDDDDDDDDDDD\r\n\
         a=fingerprint:sha-256 {FINGERPRINT}\r\na=setup:passive\r\n\
         a=candidate:1 1 udp 2130706431 192.0.2.7 8189 typ host\r\n\
         a=candidate:2 1 tcp 1526726399 192.0.2.7 8189 typ host tcptype passive\r\n\
         a=end-of-candidates\r\na=sendonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\n\
         a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;stereo=1;sprop-stereo=1\r\n\
         a=msid:carillon audio\r\na=ssrc:11 cname:c4\r\na=ssrc:11 msid:carillon audio\r\n\
         m=video 9 UDP/TLS/RTP/SAVPF 107 108\r\nc=IN IP4 0.0.0.0\r\n\
         a=rtcp:9 IN IP4 0.0.0.0\r\na=mid:1\r\na=ice-ufrag:DDDDDDDDDDDDDDDD\r\n\
         a=ice-pwd:DDDDDDDDDDDDDDDDDDDDDDDD\r\na=fingerprint:sha-256 {FINGERPRINT}\r\n\
         a=setup:passive\r\na=sendonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\n\
         a=rtpmap:107 H264/90000\r\n\
         a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
         a=rtcp-fb:107 nack\r\na=rtcp-fb:107 nack pli\r\na=rtcp-fb:107 ccm fir\r\n\
         a=rtpmap:108 rtx/90000\r\na=fmtp:108 apt=107\r\n\
         a=msid:carillon video\r\na=ssrc-group:FID 22 23\r\n\
         a=ssrc:22 cname:c4\r\na=ssrc:22 msid:carillon video\r\n\
         a=ssrc:23 cname:c4\r\na=ssrc:23 msid:carillon video\r\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn an_answer_to_a_publisher() {
    let sent = "a=sendonly\r\na=ssrc:5 cname:x\r\na=ssrc:6 cname:x\r\na=ssrc-group:FID 5 6";
    let text = chromium().replace("a=recvonly", sent);
    let text = text.replace("a=rtcp-mux\r\n", "a=rtcp-mux\r\na=rtcp-mux-only\r\n");
    let offer = parsed(&text);
    assert_eq!(offer.media[1].sources, [5, 6]);
    assert_eq!(offer.media[1].groups, [Group { media: 5, rtx: 6 }]);
    let vp8 = offer.media[1].each(|codec| codec == Codec::Vp8).next();
    let extensions = offer.media[0].extensions.clone();
    let video = receives(vp8.expect("vp8"), Some("max-fr=60"), &extensions[1..]);
    let answer = answer_to(&offer, &[Section::Rejected, video]);
    let given = "a=group:BUNDLE 1|m=audio 0 UDP/TLS/RTP/SAVPF 111|a=rtpmap:111 opus/48000/2|\
                 m=video 9 UDP/TLS/RTP/SAVPF 96 97|a=recvonly\r\na=rtcp-mux\r\na=rtcp-mux-only|\
                 a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid|a=fmtp:96 max-fr=60|\
                 a=rtcp-fb:96 goog-remb";
    for line in given.split('|') {
        assert!(answer.contains(&format!("{line}\r\n")), "{line}: {answer}");
    }
    assert!(!answer.contains("a=msid:") && !answer.contains("a=ssrc"));
    // The addresses are in the first section that is used.
    assert_eq!(answer.matches("a=end-of-candidates").count(), 1);
}

#[test]
fn layers_of_simulcast_are_named() {
    let layers = |line: &str| {
        let offer = parsed(&chromium().replace("a=mid:1", &format!("a=mid:1\r\n{line}")));
        offer.media[1].layers.clone()
    };
    assert_eq!(layers("a=rid:h send"), []);
    let names = ["h", "m", "l"].map(Box::from);
    assert_eq!(layers("a=simulcast:send h;~m,x;l"), names);
    assert_eq!(layers("a=simulcast:recv 1;2 send h;m;l"), names);
    assert_eq!(layers("a=simulcast:send h;;(;m;l"), names);
    assert_eq!(layers("a=simulcast:send"), []);
    let many = format!("a=simulcast:send {}", "x;".repeat(99));
    assert_eq!(layers(&many).len(), 8);
}

#[test]
fn data_channels_and_switched_off_sections_are_rejected() {
    let more = format!(
        "{}m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:2\r\n\
         m=video 0 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:3\r\n",
        chromium().replace("BUNDLE 0 1", "BUNDLE 0 1 2 3"),
    );
    let offer = parsed(&more);
    let usable: Vec<_> = offer.media.iter().map(|media| media.usable).collect();
    assert_eq!(usable, [true, true, false, false]);
    assert_eq!(offer.sections(MediaKind::Video).count(), 1);
    let answer = answer_to(&offer, &[]);
    // The format is described, because pion and werift look it up; where none is known it is 0.
    for line in [
        "m=application 0 UDP/DTLS/SCTP webrtc-datachannel",
        "m=audio 0 UDP/TLS/RTP/SAVPF 111",
        "a=rtpmap:111 opus/48000/2",
        "m=video 0 UDP/TLS/RTP/SAVPF 0",
    ] {
        assert!(answer.contains(&format!("{line}\r\n")), "{line}: {answer}");
    }
    assert!(!answer.contains("BUNDLE"));
}

/// Offer of GStreamer's `whepsrc`, whose default caps contain neither the packetization mode nor the channels.
fn whepsrc() -> String {
    let transport = format!(
        "c=IN IP4 0.0.0.0\r\na=setup:actpass\r\na=ice-ufrag:1KGnYNUnQfsshSN8f9TWzV9JAgu7a2/Y\r\n\
         a=ice-pwd:UV24c3byHGoT4ZHvDvJ3YKULoC4iZddl\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=recvonly\r\n\
         a=fingerprint:sha-256 {FINGERPRINT}\r\na=rtcp-mux-only\r\n"
    );
    let codecs = ["VP8", "VP9", "H264", "H265", "AV1"].into_iter().zip(101..);
    let pictures: String = codecs
        .map(|(name, number)| {
            format!(
                "a=rtpmap:{number} {name}/90000\r\na=rtcp-fb:{number} nack pli\r\n\
                 a=rtcp-fb:{number} ccm fir\r\na=rtcp-fb:{number} transport-cc\r\n"
            )
        })
        .collect();
    format!(
        "v=0\r\no=- 6458053733555993216 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n\
         a=ice-options:trickle\r\na=group:BUNDLE audio0 video1\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 96\r\n{transport}a=rtpmap:96 OPUS/48000\r\n\
         a=rtcp-fb:96 transport-cc\r\na=mid:audio0\r\n\
         m=video 0 UDP/TLS/RTP/SAVPF 101 102 103 104 105\r\n{transport}a=bundle-only\r\n\
         {pictures}a=mid:video1\r\n"
    )
}

#[test]
fn a_mode_or_channels_that_gstreamer_leaves_out_are_the_usual_ones() {
    let offer = parsed(&whepsrc());
    let chosen = |place: usize, wanted| {
        let found = offer.media[place].choose(wanted);
        found.map(|(format, _)| format.payload_type)
    };
    assert_eq!(chosen(0, Codec::Opus), Some(96));
    assert_eq!(chosen(1, h264("64001f")), Some(103));
    assert_eq!(chosen(1, Codec::Vp8), Some(101));
    let mono = parsed(&whepsrc().replace("OPUS/48000", "OPUS/48000/1"));
    let of_mono = mono.media[0].choose(Codec::Opus);
    assert!(of_mono.is_none(), "no such thing");
}

#[test]
fn a_rejected_section_has_what_peers_demand_of_each() {
    let more = format!(
        "{}m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:2\r\n\
         m=application 9 DTLS/SCTP 5000\r\na=mid:3\r\n",
        whepsrc().replace("OPUS/48000", "PCMU/8000"),
    );
    let answer = answer_to(&parsed(&more), &[]);
    let sections: Vec<&str> = answer.split("m=").skip(1).collect();
    let [audio, picture, data, old] = sections[..] else {
        panic!("{answer}");
    };
    let setup = "a=setup:passive\r\n";
    for section in sections {
        for line in [
            "a=ice-ufrag:",
            "a=ice-pwd:",
            "a=fingerprint:sha-256 ",
            setup,
        ] {
            assert!(section.contains(line), "{line} in {section}");
        }
        assert!(section.ends_with("a=inactive\r\n"), "{section}");
    }
    // Neither accepts what the other demands.
    for (section, lines) in [
        (audio, [true, false]),
        (picture, [true, false]),
        (data, [false, true]),
        (old, [false; 2]),
    ] {
        let has = ["a=rtcp-mux\r\n", "a=sctp-port:5000\r\n"].map(|line| section.contains(line));
        assert_eq!(has, lines, "{section}");
    }
}

#[test]
fn without_a_bundle_there_is_one_section() {
    let text = chromium().replace("a=group:BUNDLE 0 1\r\n", "");
    let error = Offer::parse(&text).map(|_| ());
    assert_eq!(error, Err(OfferError::NoBundle));
    let one = text.replacen("a=recvonly", "a=inactive", 1);
    assert!(parsed(&one).media.iter().all(|media| media.usable));
}

#[test]
fn a_peer_that_waits_for_the_handshake_is_answered_that_we_open_it() {
    let offer = parsed(&chromium().replace("actpass", "passive"));
    assert_eq!(offer.setup, Setup::Active);
    let (opus, _) = offer.media[0].choose(Codec::Opus).expect("opus");
    let section = receives(opus, None, &[]);
    let answer = answer_to(&offer, &[section, section]);
    assert_eq!(answer.matches("a=setup:active\r\n").count(), 2);
    assert!(!answer.contains("a=setup:passive"), "{answer}");
}

#[test]
fn other_digests_and_other_names_of_the_same_transport_are_read() {
    let long = vec!["0F"; 64].join(":");
    let text = chromium().replace(
        &format!("sha-256 {FINGERPRINT}"),
        &format!("sha-1 00\r\na=fingerprint:SHA-512 {long}"),
    );
    let offer = parsed(&text.replace("UDP/TLS", "TCP/DTLS"));
    assert_eq!(offer.fingerprint.to_string(), format!("sha-512 {long}"));
    assert!(offer.media.iter().all(|media| media.usable));
    let answer = answer_to(&offer, &[]);
    assert!(answer.contains("m=audio 0 TCP/DTLS/RTP/SAVPF "), "{answer}");
}

#[test]
fn session_level_transport_counts() {
    let moved = format!(
        "a=ice-ufrag:abcd\r\na=ice-pwd:1234567890123456789012\r\n\
                         a=fingerprint:SHA-256 {FINGERPRINT}\r\na=setup:active\r\na=extmap-allow"
    );
    let ice = "a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n";
    let fingerprint = format!("a=fingerprint:sha-256 {FINGERPRINT}\r\n");
    let text = chromium().replace(ice, "").replace(&fingerprint, "");
    let text = text.replace("a=setup:actpass\r\n", "");
    let text = text.replace("a=extmap-allow", &moved);
    assert_eq!(parsed(&text).ice.ufrag(), "abcd");
}

/// OBS's offer to a WHIP endpoint.
#[test]
fn an_encoders_offer_is_read() {
    let text = format!(
        "v=0\r\no=rtc 3767197920 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
         a=group:BUNDLE 0 1\r\na=group:LS 0 1\r\na=msid-semantic:WMS *\r\na=setup:actpass\r\n\
         a=ice-ufrag:jBob\r\na=ice-pwd:xTGlzzeOUAMRmS0JsNkGu3\r\n\
         a=ice-options:ice2,trickle\r\na=fingerprint:sha-256 {FINGERPRINT}\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\n\
         a=ssrc:1299378219 cname:oAtN8\r\na=ssrc:1299378219 msid:HXwI oAtN8-audio\r\n\
         a=msid:HXwI oAtN8-audio\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n\
         a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1\r\n\
         m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=sendonly\r\n\
         a=ssrc:1299378220 cname:oAtN8\r\na=msid:HXwI oAtN8-video\r\na=rtcp-mux\r\n\
         a=rtpmap:96 H264/90000\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\n\
         a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1\r\n"
    );
    let offer = parsed(&text);
    let [audio, video] = &offer.media[..] else {
        panic!("two sections");
    };
    assert!(audio.usable && audio.direction.sends() && !audio.direction.receives());
    assert_eq!(audio.formats[0].codec, Codec::Opus);
    let format = &video.formats[0];
    assert_eq!(format.codec, h264("42e01f"));
    assert_eq!((format.payload_type, format.rtx), (96, None));
    let feedback = Feedback {
        nack: true,
        pli: true,
        ..Feedback::default()
    };
    assert_eq!(format.feedback, feedback);
    assert_eq!(
        (&audio.sources[..], &video.sources[..]),
        (&[1299378219][..], &[1299378220][..])
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let good = chromium();
    let error = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        Offer::parse(&good.replace(from, to)).map(|_| ())
    };
    for (from, to, expected) in [
        ("v=0", "v=1", OfferError::Syntax),
        ("a=ice-pwd", "a=x", OfferError::Ice),
        ("TdB7", "T", OfferError::Ice),
        ("sha-256", "sha-1", OfferError::Fingerprint),
        (":19:08", ":19", OfferError::Fingerprint),
        ("actpass", "holdconn", OfferError::Setup),
        ("a=rtcp-mux\r\n", "", OfferError::NoRtcpMux),
        ("a=mid:1", "a=mid:0", OfferError::Mid),
        ("a=mid:1", "a=mid:a b", OfferError::Mid),
        ("UDP/TLS/RTP/SAVPF", "RTP/AVP", OfferError::NoMedia),
        ("s=-", &"x".repeat(70_000), OfferError::TooLong),
    ] {
        assert_eq!(error(from, to), Err(expected), "{from}");
    }
    let many = format!("{good}{}", "m=video 0 UDP/TLS/RTP/SAVPF 96\r\n".repeat(15));
    let error = Offer::parse(&many).map(|_| ());
    assert_eq!(error, Err(OfferError::TooManyMedia));
}

#[test]
fn fragments_are_read_and_written() {
    let text = "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n\
                m=audio 9 RTP/AVP 0\r\na=mid:0\r\n\
                a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host\r\n\
                a=end-of-candidates\r\n";
    let fragment = Fragment::parse(text).expect("a fragment");
    let ice = Credentials::parse("EsAw", "P2uYro0UCOQ4zxjKXaWCBui1").expect("fine");
    let expected = Fragment {
        ice: Some(ice.clone()),
        candidates: 1,
        is_last: true,
        mid: Some("0".into()),
    };
    assert_eq!(fragment, expected);

    let candidate = Candidate {
        address: "[2001:db8::1]:8189".parse().expect("an address"),
        transport: Transport::Udp,
    };
    let written = write_fragment(&ice, "audio", "0", &[candidate]);
    assert!(written.contains("a=candidate:1 1 udp 2130706431 2001:db8::1 8189 typ host\r\n"));
    assert_eq!(Fragment::parse(&written), Ok(expected));

    for (text, expected) in [
        ("a=ice-ufrag:EsAw\r\n", FragmentError::Ice),
        ("{}", FragmentError::Syntax),
        (&" ".repeat(20_000), FragmentError::TooLong),
    ] {
        assert_eq!(Fragment::parse(text), Err(expected));
    }
    assert_eq!(Fragment::parse("").map(|fragment| fragment.ice), Ok(None));
}

proptest! {
    /// Whatever becomes of an offer, its answer is SDP with as many sections.
    #[test]
    fn answers_are_sdp(
        cuts in prop::collection::vec((any::<Index>(), any::<Index>()), 0..6),
    ) {
        let mut lines: Vec<String> = chromium().lines().map(str::to_owned).collect();
        for (from, to) in cuts {
            let line = lines.remove(from.index(lines.len()));
            let at = to.index(lines.len());
            lines.insert(at, line);
        }
        let text = lines.join("\r\n") + "\r\n";
        if let Ok(offer) = Offer::parse(&text) {
            let sections: Vec<_> = offer.media.iter().map(|media| match media.formats.first() {
                Some(format) => sends(format, 1, Some(2)),
                None => Section::Rejected,
            }).collect();
            let answer = answer_to(&offer, &sections);
            let mut reader = std::io::Cursor::new(answer.as_bytes());
            let read = SessionDescription::unmarshal(&mut reader).expect("SDP");
            prop_assert_eq!(read.media_descriptions.len(), offer.media.len());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", tail in any::<bool>()) {
        let text = if tail { format!("{}{text}", chromium()) } else { text };
        drop(Offer::parse(&text));
        drop(Fragment::parse(&text));
    }
}
