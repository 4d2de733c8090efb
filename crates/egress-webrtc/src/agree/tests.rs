use std::sync::Arc;

use bytes::Bytes;
use media::{Codec as MediaCodec, Framing, TrackId};

use super::*;

const FINGERPRINT: &str = "19:08:19:08:19:08:19:08:19:08:19:08:19:08:19:08:\
                           19:08:19:08:19:08:19:08:19:08:19:08:19:08:19:08";

const OPUS: &str = "111 opus/48000/2 minptime=10;useinbandfec=1";
const VP8: &str = "96 VP8/90000 ";
const VP9: &str = "98 VP9/90000 profile-id=0";
const AV1: &str = "45 AV1/90000 profile=0";
const HEVC: &str = "49 H265/90000 profile-id=1";
const BASELINE: &str =
    "107 H264/90000 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f";
const MAIN: &str =
    "39 H264/90000 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f";
const WHOLE: &str =
    "41 H264/90000 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f";

/// A section of an offer: its kind, its direction, and its formats, each with RTX as the next number.
fn section(mid: usize, kind: &str, direction: &str, formats: &[&str]) -> String {
    let mut numbers = String::new();
    let mut lines = String::new();
    for format in formats {
        let mut words = format.splitn(3, ' ');
        let number: u8 = words.next().expect("a number").parse().expect("a number");
        let (encoding, parameters) = (words.next().expect("a name"), words.next());
        numbers += &format!(" {number}");
        lines += &format!("a=rtpmap:{number} {encoding}\r\n");
        if let Some(parameters) = parameters.filter(|text| !text.is_empty()) {
            lines += &format!("a=fmtp:{number} {parameters}\r\n");
        }
        if kind == "video" {
            let rtx = number + 1;
            numbers += &format!(" {rtx}");
            lines += &format!("a=rtpmap:{rtx} rtx/90000\r\na=fmtp:{rtx} apt={number}\r\n");
        }
    }
    format!(
        "m={kind} 9 UDP/TLS/RTP/SAVPF{numbers}\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\n\
         a={direction}\r\na=rtcp-mux\r\n{lines}"
    )
}

/// An offer of these sections, with further lines at the end of the last one.
fn offer_and(sections: &[(&str, &str, &[&str])], lines: &str) -> Offer {
    let mids: Vec<_> = (0..sections.len()).map(|mid| mid.to_string()).collect();
    let mut text = format!(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE {}\r\n\
         a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n\
         a=fingerprint:sha-256 {FINGERPRINT}\r\na=setup:actpass\r\n",
        mids.join(" "),
    );
    for (mid, (kind, direction, formats)) in sections.iter().enumerate() {
        text += &section(mid, kind, direction, formats);
    }
    Offer::parse(&(text + lines)).expect("a well-formed offer")
}

fn offer(sections: &[(&str, &str, &[&str])]) -> Offer {
    offer_and(sections, "")
}

/// The offer of a browser that takes these video formats.
fn browser(pictures: &[&str]) -> Offer {
    offer(&[
        ("audio", "recvonly", &[OPUS]),
        ("video", "recvonly", pictures),
    ])
}

fn track(id: TrackId, kind: Kind, codec: MediaCodec, config: &[u8]) -> Track {
    Track {
        id,
        kind,
        codec,
        framing: Framing::Bare,
        config: Bytes::copy_from_slice(config),
        sample_rate: 0,
        channels: 2,
        flv: None,
    }
}

fn h264([a, b, c]: [u8; 3]) -> Track {
    pictures(MediaCodec::H264, &[1, a, b, c, 0xFF, 0xE0, 0])
}

/// A video track with the configuration `record`.
fn pictures(codec: MediaCodec, record: &[u8]) -> Track {
    track(TrackId::VIDEO, Kind::Video, codec, record)
}

fn opus(id: u8) -> Track {
    track(TrackId(id), Kind::Audio, MediaCodec::Opus, b"OpusHead")
}

fn aac() -> Track {
    let config = [0x12, 0x10];
    track(TrackId::AUDIO, Kind::Audio, MediaCodec::Aac, &config)
}

/// The payload types of each section: that of the media and that of retransmissions.
fn sent(agreed: &Agreed) -> Vec<Option<(u8, Option<u8>)>> {
    let sections = agreed.sections();
    let each = sections.iter().map(|section| match section {
        Section::Sends {
            format, rtx_ssrc, ..
        } => {
            assert_eq!(rtx_ssrc.is_some(), format.rtx.is_some());
            Some((format.payload_type, format.rtx))
        }
        _ => None,
    });
    each.collect()
}

#[test]
fn each_codec_finds_its_number() {
    let baseline = [0x42, 0xC0, 0x1F];
    let high = [0x64, 0x00, 0x28];
    let all = browser(&[WHOLE, VP8, VP9, AV1, HEVC, BASELINE, MAIN]);
    let vp9 = |record: &[u8]| pictures(MediaCodec::Vp9, record);
    let hevc = |profile| pictures(MediaCodec::Hevc, &[1, profile, 0, 0]);
    let av1 = pictures(MediaCodec::Av1, &[0x81, 0x08, 0, 0]);
    let vp8 = pictures(MediaCodec::Vp8, &[0, 31, 0x80, 1, 1, 1, 0, 0]);
    let long = vp9(&[1, 0, 0, 0, 0, 31, 0x80, 1, 1, 1, 0, 0]);
    for (track, number, exceeds) in [
        (h264(baseline), 107, false),
        (h264([0x4D, 0x40, 0x28]), 39, false),
        (h264(high), 39, true),
        (hevc(1), 49, false),
        (hevc(2), 49, true),
        (av1, 45, false),
        (vp9(&[0, 31, 0x80, 1, 1, 1, 0, 0]), 98, false),
        (long, 98, false),
        (vp8, 96, false),
    ] {
        let agreed = agree(&all, &[track, opus(0)], PictureOrder::Presented);
        let agreed = agreed.expect("all are offered");
        let numbers = [Some((111, None)), Some((number, Some(number + 1)))];
        assert_eq!(sent(&agreed), numbers);
        assert_eq!(agreed.exceeds(), exceeds, "{number}");
    }
}

#[test]
fn a_picture_that_is_not_offered_names_both_sides() {
    let taken = "the player takes vp8, vp9 (profile 0), av1 (profile 0)";
    let firefox = browser(&[VP8, VP9, AV1]);
    let high = format!("the stream's picture is h264 (64001f); {taken}");
    let vp9 = format!("the stream's picture is vp9 (profile 2); {taken}");
    let whole = "the stream's picture is h264 (42c01f); the player takes h264 in whole packets";
    let hevc = "the stream's picture is h265 (profile 1); the player takes h264 (42e01f)";
    for (offer, track, expected) in [
        (&firefox, h264([0x64, 0, 0x1F]), &high[..]),
        (
            &firefox,
            pictures(MediaCodec::Vp9, &[1, 0, 0, 0, 2, 31, 0xA0]),
            &vp9,
        ),
        (&browser(&[WHOLE]), h264([0x42, 0xC0, 0x1F]), whole),
        (
            &browser(&[BASELINE]),
            pictures(MediaCodec::Hevc, &[1, 1]),
            hevc,
        ),
    ] {
        let error = agree(offer, &[track, opus(0)], PictureOrder::Presented);
        let error = error.expect_err("it is not offered");
        assert!(matches!(error, Unplayable::Picture { .. }));
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn either_side_may_have_only_one_of_the_two() {
    let (both, picture) = (browser(&[BASELINE]), h264([0x42, 0xC0, 0x1F]));
    let only_audio = agree(&both, &[opus(0)], PictureOrder::Unknown).expect("a radio station");
    assert_eq!(sent(&only_audio), [Some((111, None)), None]);
    let mute = agree(&both, &[picture.clone(), aac()], PictureOrder::Presented)
        .expect("sound that cannot be carried");
    assert_eq!(sent(&mute), [None, Some((107, Some(108)))]);

    let ears = offer(&[("audio", "recvonly", &[OPUS])]);
    let heard =
        agree(&ears, &[picture.clone(), opus(0)], PictureOrder::Reordered).expect("a listener");
    assert_eq!(sent(&heard), [Some((111, None))]);
    let error = agree(&both, &[picture.clone(), opus(0)], PictureOrder::Reordered);
    let error = error.expect_err("its picture cannot be shown in time");
    assert_eq!(error, Unplayable::Reordered);
    assert!(error.to_string().contains("-bf 0 -g 60"), "{error}");
    let eyes = offer(&[("video", "sendrecv", &[BASELINE])]);
    let seen = agree(&eyes, &[picture.clone(), opus(0)], PictureOrder::Unknown).expect("a viewer");
    assert_eq!(sent(&seen), [Some((107, Some(108)))]);

    let error = agree(&ears, &[picture, aac()], PictureOrder::Presented);
    let error = error.expect_err("nothing to hear").to_string();
    assert_eq!(
        error,
        "the stream has h264 (42c01f), aac; the player takes opus"
    );
    let error = agree::<Track>(&both, &[], PictureOrder::Unknown);
    let error = error.expect_err("nothing at all").to_string();
    let nothing = "the stream has nothing that is known here; the player takes opus, h264 (42e01f)";
    assert_eq!(error, nothing);
}

#[test]
fn an_offer_that_only_sends_is_refused_as_such() {
    let sends = offer(&[
        ("audio", "sendonly", &[OPUS]),
        ("video", "inactive", &[VP8]),
    ]);
    let error = agree(&sends, &[opus(0)], PictureOrder::Unknown).expect_err("it does not listen");
    assert_eq!(error, Unplayable::NotReceiving);
}

#[test]
fn the_first_section_that_receives_and_the_publishers_own_audio_are_taken() {
    let offer = offer(&[
        ("video", "sendonly", &[VP8]),
        ("video", "recvonly", &[BASELINE]),
        ("video", "recvonly", &[BASELINE]),
        ("audio", "recvonly", &[OPUS]),
    ]);
    let mut own = opus(0);
    own.channels = 1;
    let tracks = [h264([0x42, 0xC0, 0x1F]), opus(200), own].map(Arc::new);
    let agreed = agree(&offer, &tracks, PictureOrder::Presented).expect("it is offered");
    let (video, audio) = (Some((107, Some(108))), Some((111, None)));
    assert_eq!(sent(&agreed), [None, video, None, audio]);
    let sections = agreed.sections();
    let Section::Sends {
        parameters, ssrc, ..
    } = sections[3]
    else {
        panic!("the sound is sent");
    };
    assert_eq!(parameters, Some(OPUS_MONO));
    assert_eq!(ssrc, codes::ssrc(Carried::Opus));
}

#[test]
fn a_players_limit_on_packets_of_audio_is_kept() {
    let limit = |lines: &str| {
        let offer = offer_and(&[("audio", "recvonly", &[OPUS])], lines);
        let agreed = agree(&offer, &[opus(0)], PictureOrder::Unknown).expect("sound");
        agreed.of(Kind::Audio).expect("sound").packet_time
    };
    assert_eq!(limit(""), None);
    assert_eq!(limit("a=ptime:20\r\n"), Some(Duration::from_millis(20)));
    let both = "a=ptime:20\r\na=maxptime:60\r\n";
    assert_eq!(limit(both), Some(Duration::from_millis(60)));
    for nonsense in ["maxptime:0", "maxptime:", "maxptime:-3", "ptime:99999"] {
        assert_eq!(limit(&format!("a={nonsense}\r\n")), None, "{nonsense}");
    }
}
