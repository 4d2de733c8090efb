use media::{Codec, TICKS_PER_SECOND};
use proptest::prelude::*;

use super::*;
use crate::testing::{adts_frame as adts, mp3_frame as mp3};
use crate::testing::{pieces, samples, stream_bytes, tracks};

/// MPEG-1 layer III, 128 kb/s, 44.1 kHz, joint stereo, without and with padding; the same at
/// 64 kb/s; 48 kHz; 44.1 kHz mono.
const PLAIN: u32 = 0xFFFB_9064;
const PADDED: u32 = 0xFFFB_9264;
const SLOWER: u32 = 0xFFFB_5064;
const FASTER: u32 = 0xFFFB_9464;
const MONO: u32 = 0xFFFB_90C4;

/// Demuxes the pieces as they are cut.
fn demux(syntax: Syntax, pieces: &[&[u8]]) -> (Vec<Item>, u64) {
    let mut demuxer = Demuxer::new(syntax);
    let mut out = Vec::new();
    for piece in pieces {
        demuxer.push(piece, &mut out);
        assert!(demuxer.buffer.len() <= BUFFERED_BYTES_MAX);
    }
    demuxer.finish(&mut out);
    (out, demuxer.skipped_bytes())
}

/// The items of a stream of which each byte is handed on.
fn clean(syntax: Syntax, input: &[u8]) -> Vec<Item> {
    let (items, skipped) = demux(syntax, &[input]);
    assert_eq!((&stream_bytes(&items)[..], skipped), (input, 0));
    items
}

#[test]
fn a_clean_stream_passes_byte_for_byte() {
    let frames = [PLAIN, PADDED, SLOWER, PLAIN, PADDED];
    let input = frames.map(|bits| mp3(bits, 0xFF)).concat();
    let items = clean(Syntax::MpegAudio, &input);
    assert!(matches!(&items[0], Item::Track(track) if track.codec == Codec::Mp3));
    let samples = samples(&items);
    assert_eq!(samples.len(), 5);
    assert!(samples.iter().all(|it| it.keyframe && it.pts == it.dts));
    let last = 4 * 1_152 * TICKS_PER_SECOND / 44_100;
    assert_eq!(samples[4].dts.ticks(), last);
}

#[test]
fn once_locked_a_frame_is_handed_on_with_its_last_byte() {
    let mut demuxer = Demuxer::new(Syntax::MpegAudio);
    let mut out = Vec::new();
    for _ in 0..3 {
        demuxer.push(&mp3(PLAIN, 0), &mut out);
    }
    assert_eq!(samples(&out).len(), 3);
    out.clear();
    let frame = mp3(PADDED, 0);
    demuxer.push(&frame[..frame.len() - 1], &mut out);
    assert!(out.is_empty());
    demuxer.push(&frame[frame.len() - 1..], &mut out);
    assert_eq!(samples(&out).len(), 1);
}

#[test]
fn adts_tells_its_configuration() {
    let frames = [200, 201, 202, 203].map(|bytes| adts([0x12, 0x10], bytes, 0xFF));
    let items = clean(Syntax::Adts, &frames.concat());
    let track = tracks(&items)[0];
    assert_eq!(track.codec, Codec::Aac);
    assert_eq!((track.sample_rate, track.channels), (44_100, 2));
    assert_eq!(track.config, [0x12, 0x10][..]);
    let last = 3 * 1_024 * TICKS_PER_SECOND / 44_100;
    assert_eq!(samples(&items)[3].dts.ticks(), last);
}

#[test]
fn tags_and_file_tables_are_stripped() {
    let mut info = mp3(PLAIN, 0);
    info[36..40].copy_from_slice(b"Info");
    let frames: Vec<u8> = mp3(PLAIN, 1).repeat(4);
    // Sync words inside the tags must not be taken for frames.
    let id3v2 = [b"ID3\x04\0\0\0\0\x0D\x0C".as_slice(), &frames].concat();
    assert_eq!(frames.len(), 13 << 7 | 4);
    let id3v2 = [&id3v2[..9], &[0x04], &id3v2[10..]].concat();
    let id3v1 = [b"TAG".as_slice(), &[b'x'; 125]].concat();
    let mut ape = b"APETAGEX\xD0\x07\0\0\x40\0\0\0\x01\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0".to_vec();
    ape.extend([0xFF; 64]);
    let file = [&id3v2[..], &info, &frames, &id3v1].concat();
    let input = [&file[..], &ape, &file].concat();
    let (items, skipped) = demux(Syntax::MpegAudio, &[&input]);
    assert_eq!(stream_bytes(&items), frames.repeat(2));
    assert_eq!(tracks(&items).len(), 1);
    let foreign = 2 * (id3v2.len() + info.len() + id3v1.len()) + ape.len();
    assert_eq!(skipped, foreign as u64);
}

#[test]
fn garbage_costs_only_itself() {
    let frames = mp3(PLAIN, 0).repeat(4);
    let garbage = b"some \xFF\xFB\x90\x64 sync words \xFF\xFB\x90\x64 \xFF\xFF\xFF I TA AP";
    let input = [&garbage[..], &frames, garbage, &frames, b"\xFF"].concat();
    let (items, skipped) = demux(Syntax::MpegAudio, &[&input]);
    assert_eq!(stream_bytes(&items), frames.repeat(2));
    assert_eq!(skipped, 2 * garbage.len() as u64 + 1);
}

#[test]
fn a_new_format_is_a_new_track_and_time_continues() {
    let input = [PLAIN, FASTER, MONO].map(|bits| mp3(bits, 0).repeat(4));
    let items = clean(Syntax::MpegAudio, &input.concat());
    let formats = tracks(&items).into_iter();
    let formats = formats.map(|track| (track.sample_rate, track.channels));
    let expected = [(44_100, 2), (48_000, 2), (44_100, 1)];
    assert_eq!(formats.collect::<Vec<_>>(), expected);
    let samples = samples(&items);
    let end = samples.last().map(|it| (it.dts + it.duration).ticks());
    let expected = 8 * 1_152 * TICKS_PER_SECOND / 44_100 + 4 * 1_152 * TICKS_PER_SECOND / 48_000;
    assert_eq!(end, Some(expected));
}

#[test]
fn a_lying_tag_does_not_silence_the_stream() {
    let frames = mp3(PLAIN, 0).repeat(4);
    let input = [b"ID3\x04\0\0\x7F\x7F\x7F\x7F".as_slice(), &frames].concat();
    assert_eq!(stream_bytes(&demux(Syntax::MpegAudio, &[&input]).0), frames);
}

/// Parts that streams are made of, some of them broken.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let bits = prop::sample::select(vec![PLAIN, PADDED, SLOWER, FASTER, MONO]);
    prop_oneof![
        4 => (bits.clone(), any::<u8>(), 1usize..6).prop_map(|(bits, fill, count)| {
            mp3(bits, fill).repeat(count)
        }),
        1 => (bits, 1usize..400).prop_map(|(bits, cut)| mp3(bits, 0)[..cut.min(200)].to_vec()),
        3 => (0usize..300, any::<u8>(), 1usize..5).prop_map(|(payload, fill, count)| {
            adts([0x12, 0x10], payload + 1, fill).repeat(count)
        }),
        1 => prop::collection::vec(any::<u8>(), 0..64),
        1 => Just(b"ID3\x04\0\0\0\0\0\x20".to_vec()),
        1 => Just([b"TAG".as_slice(), &[0xFF; 125]].concat()),
        1 => Just(b"APETAGEX".to_vec()),
    ]
}

proptest! {
    #[test]
    fn the_cut_of_the_input_makes_no_difference(
        parts in prop::collection::vec(part(), 1..12),
        cuts in prop::collection::vec(1usize..700, 1..20),
        is_adts in any::<bool>(),
    ) {
        let syntax = if is_adts { Syntax::Adts } else { Syntax::MpegAudio };
        let input = parts.concat();
        let whole = demux(syntax, &[&input]);
        let cut = demux(syntax, &pieces(&input, &cuts));
        prop_assert_eq!(format!("{:?}", &whole), format!("{cut:?}"));
        // Every byte is in a frame or counted.
        prop_assert_eq!(stream_bytes(&whole.0).len() as u64 + whole.1, input.len() as u64);
        let times: Vec<_> = samples(&whole.0).iter().map(|sample| sample.dts).collect();
        prop_assert!(times.is_sorted());
    }
}

#[test]
fn nothing_makes_the_buffer_grow() {
    let claims = adts([0x12, 0x10], 0x1FFF - 7, 0xFF)[..7].repeat(40_000);
    for syntax in [Syntax::MpegAudio, Syntax::Adts] {
        for flood in [vec![0xFF; 300_000], vec![b'I'; 300_000], claims.clone()] {
            demux(syntax, &flood.chunks(100_000).collect::<Vec<_>>());
        }
    }
}
