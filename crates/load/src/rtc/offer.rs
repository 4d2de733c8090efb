//! The offers of viewers and publishers.

use std::fmt;
use std::net::SocketAddr;

use container::rtp::PayloadFormat;
use webrtc::client::{Answer, ClientIdentity, OfferedFormat, OfferedMedia, write_offer};
use webrtc::ice::{Credentials, Transport};
use webrtc::sdp::{Direction, MediaKind};

const fn format(
    payload_type: u8,
    rtpmap: &'static str,
    parameters: &'static str,
    rtx: Option<u8>,
) -> OfferedFormat<'static> {
    OfferedFormat {
        payload_type,
        rtpmap,
        parameters,
        rtx,
    }
}

const OPUS: OfferedFormat<'_> = format(
    111,
    "opus/48000/2",
    "minptime=10;stereo=1;useinbandfec=1",
    None,
);
const H264_BASELINE: OfferedFormat<'_> = format(
    102,
    "H264/90000",
    "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    Some(103),
);
/// Offered video formats, more than browsers offer, so that every stream can be measured.
const VIDEO: &[OfferedFormat<'_>] = &[
    H264_BASELINE,
    format(
        104,
        "H264/90000",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f",
        Some(105),
    ),
    format(
        106,
        "H264/90000",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640028",
        Some(107),
    ),
    VP8,
    VP9,
    AV1,
    HEVC,
];
const VP8: OfferedFormat<'_> = format(96, "VP8/90000", "", Some(97));
const VP9: OfferedFormat<'_> = format(98, "VP9/90000", "profile-id=0", Some(99));
const AV1: OfferedFormat<'_> = format(45, "AV1/90000", "profile=0", Some(46));
const HEVC: OfferedFormat<'_> = format(
    47,
    "H265/90000",
    "level-id=93;profile-id=1;tier-flag=0",
    Some(48),
);

/// Returns the offer of a viewer that takes any audio and any video.
pub(super) fn of_viewer(
    ice: &Credentials,
    identity: &ClientIdentity,
) -> Result<String, fmt::Error> {
    let section = |kind, formats| OfferedMedia {
        kind,
        direction: Direction::RecvOnly,
        formats,
        ssrc: None,
    };
    let media = [
        section(MediaKind::Audio, &[OPUS]),
        section(MediaKind::Video, VIDEO),
    ];
    write_offer(ice, identity.fingerprint(), &media)
}

/// Returns the offer of a publisher of tracks in these formats, each from its own source.
pub(super) fn of_publisher(
    ice: &Credentials,
    identity: &ClientIdentity,
    tracks: &[(PayloadFormat, u32)],
) -> Result<String, fmt::Error> {
    let formats: Vec<[OfferedFormat<'_>; 1]> = tracks
        .iter()
        .map(|(format, _)| [without_repetitions(*format)])
        .collect();
    let media: Vec<_> = tracks
        .iter()
        .zip(&formats)
        .map(|((format, ssrc), formats)| OfferedMedia {
            kind: match format.kind() {
                media::Kind::Audio => MediaKind::Audio,
                media::Kind::Video => MediaKind::Video,
            },
            direction: Direction::SendOnly,
            formats,
            ssrc: Some(*ssrc),
        })
        .collect();
    write_offer(ice, identity.fingerprint(), &media)
}

/// Returns a format without retransmission: publishers repeat packets unchanged.
fn without_repetitions(format: PayloadFormat) -> OfferedFormat<'static> {
    let offered = match format {
        PayloadFormat::H264 => H264_BASELINE,
        PayloadFormat::Hevc => HEVC,
        PayloadFormat::Av1 => AV1,
        PayloadFormat::Vp8 => VP8,
        PayloadFormat::Vp9 => VP9,
        PayloadFormat::Opus => OPUS,
    };
    OfferedFormat {
        rtx: None,
        ..offered
    }
}

/// Chooses the address to send to, among the server's UDP addresses in the family of `server`, the address it answered from:
/// `server`'s own address if it is among them, else one on the loopback if the server is on it.
pub(super) fn choose_candidate(answer: &Answer, server: SocketAddr) -> Option<SocketAddr> {
    let addresses = || {
        let candidates = answer.candidates.iter();
        let udp = candidates.filter(|candidate| candidate.transport == Transport::Udp);
        let addresses = udp.map(|candidate| candidate.address);
        addresses.filter(|address| address.is_ipv4() == server.is_ipv4())
    };
    let is_loopback = server.ip().is_loopback();
    addresses()
        .find(|address| address.ip() == server.ip())
        .or_else(|| addresses().find(|address| is_loopback && address.ip().is_loopback()))
        .or_else(|| addresses().next())
}

#[cfg(test)]
mod tests {
    use webrtc::sdp::{Codec, Offer};
    use webrtc::srtp::Profile;

    use super::*;

    fn identity() -> ClientIdentity {
        ClientIdentity::generate(&[Profile::Aes128Gcm]).expect("an identity")
    }

    #[test]
    fn a_viewer_takes_all_that_is_relayed() {
        let ice = super::super::credentials().expect("randomness");
        let text = of_viewer(&ice, &identity()).expect("text");
        let offer = Offer::parse(&text).expect("an offer");
        let names: Vec<_> = offer.media[1]
            .formats
            .iter()
            .map(|format| format.codec.name())
            .collect();
        assert_eq!(names, ["h264", "h264", "h264", "vp8", "vp9", "av1", "h265"]);
        assert!(
            offer.media[1]
                .formats
                .iter()
                .all(|format| format.rtx.is_some())
        );
        assert_eq!(offer.media[0].formats[0].codec, Codec::Opus);
        assert!(offer.media.iter().all(|media| media.direction.receives()));
    }

    #[test]
    fn a_publisher_offers_what_it_has() {
        let ice = super::super::credentials().expect("randomness");
        let tracks = [(PayloadFormat::Vp8, 7), (PayloadFormat::Opus, 9)];
        let text = of_publisher(&ice, &identity(), &tracks).expect("text");
        let offer = Offer::parse(&text).expect("an offer");
        let media = &offer.media;
        assert_eq!(media[0].formats[0].codec, Codec::Vp8);
        assert_eq!(media[1].formats[0].codec, Codec::Opus);
        assert_eq!(
            (&media[0].sources[..], &media[1].sources[..]),
            (&[7][..], &[9][..])
        );
        assert!(
            media
                .iter()
                .all(|media| media.direction.sends() && !media.direction.receives())
        );
    }

    #[test]
    fn the_address_that_answered_is_preferred() {
        let candidates = |list: &[&str]| {
            let lines = list.iter().enumerate();
            let lines: String = lines
                .map(|(at, words)| format!("a=candidate:{at} 1 {words} typ host\r\n"))
                .collect();
            Answer::parse(&format!(
                "v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
                 a=fingerprint:sha-256 {}\r\n{lines}",
                vec!["00"; 32].join(":")
            ))
            .expect("an answer")
        };
        let choose = |list: &[&str], server: &str| {
            choose_candidate(&candidates(list), server.parse().expect("an address"))
                .map(|address| address.to_string())
        };
        let all = [
            "tcp 9 127.0.0.1 1",
            "udp 8 10.0.0.1 2",
            "udp 7 127.0.0.1 3",
            "udp 6 ::1 4",
        ];
        assert_eq!(choose(&all, "127.0.0.1:80").as_deref(), Some("127.0.0.1:3"));
        assert_eq!(choose(&all, "127.0.0.9:80").as_deref(), Some("127.0.0.1:3"));
        assert_eq!(choose(&all, "10.0.0.9:80").as_deref(), Some("10.0.0.1:2"));
        assert_eq!(choose(&all, "[::1]:80").as_deref(), Some("[::1]:4"));
        assert_eq!(choose(&all[..1], "127.0.0.1:80"), None);
    }
}
