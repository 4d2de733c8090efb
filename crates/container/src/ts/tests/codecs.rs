//! Each codec as players expect it.

use media::codec::aac::AdtsHeader;
use media::codec::hevc::HevcConfig;
use media::codec::nal::{self, Packing};
use media::codec::opus;

use super::super::{Unsupported, can_mux, check};
use super::*;
use crate::testing::HEVC_SETS;

pub(super) fn hevc() -> Track {
    let [vps, sps, pps] = HEVC_SETS;
    let record = HevcConfig::write(&[vps], &[sps], &[pps]).expect("readable sets");
    track(Codec::Hevc, &record)
}

/// Returns the NAL units of a video frame, which begins with a start code.
pub(super) fn units(pes: &Pes) -> Vec<Vec<u8>> {
    assert!(pes.payload.starts_with(&[0, 0, 0, 1]));
    let units = nal::units(&pes.payload, Packing::StartCodes);
    units.map(<[u8]>::to_vec).collect()
}

/// The frames of a PES packet, of which none is cut.
pub(super) fn adts(pes: &Pes) -> Vec<Vec<u8>> {
    let mut rest = &pes.payload[..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let header = AdtsHeader::parse(rest).expect("a header");
        let (frame, after) = rest.split_at(header.frame_bytes);
        frames.push(frame.to_vec());
        rest = after;
    }
    frames
}

/// Returns frames with these NAL units, the first of them a keyframe, as they are written.
fn pictures(track: Track, samples: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let mut items = vec![announce(track)];
    for (number, data) in samples.iter().enumerate() {
        let at = Timestamp::from_millis(40 * number as i64);
        items.push(sample(TrackId::VIDEO, at, number == 0, data.clone()));
    }
    let packets = Recorder::demuxed(&items).packets;
    packets.iter().map(units).collect()
}

/// Returns the payloads of an audio track that has one sample, and its entry in the map.
fn heard(track: Track, data: &[u8]) -> (u8, Vec<u8>, Vec<u8>) {
    let data = sample(track.id, Timestamp::ZERO, true, data);
    let demuxed = Recorder::demuxed(&[announce(track), data]);
    let (_, stream_type, descriptors) = demuxed.maps[0].streams[0].clone();
    let pes = &demuxed.packets[0];
    assert!(pes.random_access);
    (stream_type, descriptors, pes.payload.clone())
}

#[test]
fn keyframes_get_the_sets_they_lack_and_all_a_delimiter() {
    let (key, other) = (slice(true, 300), slice(false, 20));
    let samples = [prefixed(&[&key, &key]), prefixed(&[&other])];
    let got = pictures(h264(), &samples);
    assert_eq!(got[0], [&[9, 0xF0][..], SPS, PPS, &key, &key]);
    assert_eq!(got[1], [&[9, 0xF0][..], &other]);
}

#[test]
fn what_a_sample_brings_is_not_written_twice() {
    let (key, other) = (slice(true, 300), slice(false, 20));
    let (delimiter, sps): (&[u8], _) = (&[9, 0x10], [SPS, &[1]].concat());
    let samples = [
        prefixed(&[delimiter, &sps, PPS, &key]),
        prefixed(&[&other, delimiter]),
    ];
    let got = pictures(h264(), &samples);
    assert_eq!(got[0], [delimiter, &sps, PPS, &key]);
    assert_eq!(got[1], [delimiter, &other]);
    // Half of them would leave the decoder with sets that do not belong together.
    let half = [prefixed(&[&sps, &key])];
    let got = pictures(h264(), &half);
    assert_eq!(got[0], [&[9, 0xF0][..], SPS, PPS, &sps, &key]);
}

#[test]
fn lengths_of_every_size_and_start_codes_are_read() {
    let key = slice(true, 200);
    for bytes in [1, 2, 4] {
        let mut record = h264().config.to_vec();
        record[4] = 0xFC | (bytes as u8 - 1);
        let data = [&(key.len() as u32).to_be_bytes()[4 - bytes..], &key].concat();
        assert_eq!(pictures(track(Codec::H264, &record), &[data])[0][3], key);
    }
    let bare = track(Codec::H264, b"");
    let data = [&[0, 0, 1][..], SPS, &[0, 0, 0, 1], PPS, &[0, 0, 1], &key].concat();
    let got = pictures(bare.clone(), &[data]);
    assert_eq!(got[0], [&[9, 0xF0][..], SPS, PPS, &key]);
    // Without sets from anywhere no decoder can start.
    assert!(pictures(bare, &[[&[0, 0, 1][..], &key].concat()]).is_empty());
}

#[test]
fn hevc_has_three_kinds_of_set_and_delimiters_of_its_layers() {
    let [vps, sps, pps] = HEVC_SETS;
    let key = [&[0x26, 0x01][..], &fill(400)].concat();
    let upper = [&[0x00, 0x03][..], &fill(40)].concat();
    let samples: [&[&[u8]]; 3] = [&[&key], &[&upper], &[pps, &key]];
    let got = pictures(hevc(), &samples.map(prefixed));
    assert_eq!(got[0], [&[0x46, 0x01, 0x50][..], vps, sps, pps, &key]);
    assert_eq!(got[1], [&[0x46, 0x03, 0x50][..], &upper]);
    assert_eq!(got[2], [&[0x46, 0x01, 0x50][..], pps, &key]);
}

#[test]
fn broken_samples_are_left_out_and_nothing_else() {
    let (key, other) = (slice(true, 300), slice(false, 20));
    let good = prefixed(&[&other]);
    let mut cut = prefixed(&[&other, &other]);
    cut.pop();
    let samples = [
        prefixed(&[&key]),
        cut,
        b"\xFF\xFF\xFF\xFF".to_vec(),
        [&prefixed(&[&other])[..], &[0, 0, 0, 5]].concat(),
        Vec::new(),
        prefixed(&[b"", b""]),
        good,
    ];
    let got = pictures(h264(), &samples);
    assert_eq!(got.len(), 2);
    assert_eq!(got[1][1], other);
}

#[test]
fn aac_is_in_adts_frames() {
    let access_unit = fill(171);
    let (stream_type, descriptors, payload) = heard(aac(), &access_unit);
    assert_eq!((stream_type, descriptors.len()), (AAC, 0));
    let header = AdtsHeader::parse(&payload).expect("a header");
    let shape = (header.sample_rate, header.channel_configuration);
    assert_eq!(shape, (48_000, 2));
    assert_eq!(payload[AdtsHeader::BYTES..], access_unit);
    assert_eq!(heard(framed(Codec::Aac), &payload).2, payload);
}

#[test]
fn mp3_of_both_rates_has_its_own_type() {
    for (rate, head, stream_type) in [(44_100, 0xFFFB_9064_u32, 3), (22_050, 0xFFF3_80C4, 4)] {
        for mut mp3 in [track(Codec::Mp3, b""), framed(Codec::Mp3)] {
            mp3.sample_rate = rate;
            let frame = [&head.to_be_bytes()[..], &fill(300)].concat();
            assert_eq!(heard(mp3, &frame), (stream_type, Vec::new(), frame));
        }
    }
}

#[test]
fn dolby_is_registered() {
    for (codec, id, stream_type, name) in [
        (Codec::Ac3, 8, 0x81, b"AC-3"),
        (Codec::Eac3, 16, 0x87, b"EAC3"),
    ] {
        let frame = [&[0x0B, 0x77, 0, 0, 0x14, id << 3][..], &fill(500)].concat();
        let registration = [&[5, 4][..], name].concat();
        let found = heard(track(codec, b""), &frame);
        assert_eq!(found, (stream_type, registration, frame));
    }
}

#[test]
fn opus_has_control_headers_and_a_layout() {
    let packet = |length: usize| [&[0xFC][..], &fill(length - 1)].concat();
    let mut track = track(Codec::Opus, &opus::head(2));
    for (length, size) in [
        (1, &[1][..]),
        (254, &[254]),
        (255, &[255, 0]),
        (256, &[255, 1]),
        (1_275, &[255, 255, 255, 255, 255, 0]),
    ] {
        let (stream_type, descriptors, payload) = heard(track.clone(), &packet(length));
        assert_eq!(stream_type, 6);
        assert_eq!(descriptors, b"\x05\x04Opus\x7F\x02\x80\x02");
        assert_eq!(payload, [&[0x7F, 0xE0], size, &packet(length)].concat());
    }
    track.config = opus::head(1).to_vec().into();
    assert_eq!(heard(track, &packet(9)).1[9], 1);
}

#[test]
fn surround_opus_is_carried_in_the_usual_order() {
    let mut head = opus::head(2)[..18].to_vec();
    head[9] = 6;
    let refused = Err(Unsupported::Layout(Codec::Opus));
    let layouts: [(&[u8], _); 7] = [
        (&[1, 4, 2, 0, 4, 1, 2, 3, 5], Ok(())),
        (&[1, 4, 2, 0, 4, 1, 2, 3], refused),
        (&[1, 4, 2, 0, 1, 2, 3, 4, 5], refused),
        (&[1, 6, 0, 0, 4, 1, 2, 3, 5], refused),
        (&[255, 4, 2, 0, 4, 1, 2, 3, 5], refused),
        (&[0], refused),
        (&[], refused),
    ];
    for (layout, expected) in layouts {
        let surround = track(Codec::Opus, &[&head, layout].concat());
        assert_eq!(check(&surround), expected, "{layout:?}");
    }
}

#[test]
fn what_cannot_be_carried_says_why() {
    use Codec::{Av1, Flac, Vorbis, Vp9};
    for codec in [Av1, Vp9, Vorbis, Flac, Codec::UNKNOWN] {
        let refused = Err(Unsupported::Codec(codec));
        assert_eq!(check(&track(codec, b"")), refused);
    }
    for (track, name) in [
        (track(Codec::H264, b"\x02"), "config"),
        (track(Codec::Hevc, b"\x02"), "config"),
        (track(Codec::Aac, b""), "config"),
        // A program config element, and USAC.
        (track(Codec::Aac, &[0x11, 0x80, 0, 0]), "layout"),
        (track(Codec::Aac, &[0xF9, 0x48, 0x40, 0]), "layout"),
        (framed(Codec::Opus), "framing"),
    ] {
        let why = check(&track).expect_err("it cannot be carried");
        assert_eq!(why.name(), name, "{why}");
    }
    let why = Unsupported::Codec(Av1).to_string();
    assert_eq!(why, "MPEG-TS players know no way to carry AV1");
    assert!(can_mux(&h264()) && can_mux(&hevc()) && can_mux(&aac()));
    let mut picture = aac();
    picture.kind = Kind::Video;
    assert!(!can_mux(&picture));
}

#[test]
fn what_is_no_frame_is_left_out() {
    let [aac_framed, mp3] = [Codec::Aac, Codec::Mp3].map(framed);
    let [ac3, opus] = [Codec::Ac3, Codec::Opus].map(|codec| track(codec, b""));
    for track in [aac_framed, mp3, ac3, opus, aac()] {
        let mut items = vec![announce(track)];
        // A packet of Opus may be of any bytes, but for this one.
        for data in [Vec::new(), b"\x03".to_vec(), vec![0xFF; 70_000]] {
            items.push(sample(TrackId::AUDIO, Timestamp::ZERO, true, data));
        }
        let kept = Recorder::of(&items).units.len();
        let allowed = usize::from(matches!(&items[0], Item::Track(t) if **t == aac()));
        assert_eq!(kept, allowed);
    }
}
