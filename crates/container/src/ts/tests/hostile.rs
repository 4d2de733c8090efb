//! For any announcement and any input the output can be read, and nothing panics.

use proptest::prelude::*;

use super::*;

const CODECS: [Codec; 9] = {
    use Codec::{Aac, Ac3, Av1, Eac3, H264, Hevc, Mp3, Opus};
    [H264, Hevc, Aac, Mp3, Opus, Ac3, Eac3, Av1, Codec::UNKNOWN]
};

fn config() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        Just(Vec::new()),
        Just(h264().config.to_vec()),
        Just(codecs::hevc().config.to_vec()),
        Just(aac().config.to_vec()),
        Just(media::codec::opus::head(2).to_vec()),
        (0..40usize).prop_map(|cut| h264().config[..cut].to_vec()),
        (0..90usize).prop_map(|cut| codecs::hevc().config[..cut].to_vec()),
    ]
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    let units = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..4);
    let units = units.prop_map(|units| {
        let units: Vec<_> = units.iter().map(|unit| &unit[..]).collect();
        prefixed(&units)
    });
    let heads = prop::sample::select(vec![
        &[0xFF, 0xFB, 0x90, 0x64][..],
        &[0xFF, 0xF1, 0x4C, 0x80, 0x20, 0x1F, 0xFC],
        &[0x0B, 0x77, 0, 0, 0x14, 0x40],
        &[0, 0, 0, 5, 0x65],
        &[0, 0, 1, 0x26, 1],
    ]);
    let tail = prop::collection::vec(any::<u8>(), 0..500);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..500),
        units,
        (heads, tail).prop_map(|(head, tail)| [head, &tail].concat()),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let framing = prop_oneof![3 => Just(Framing::Bare), 1 => Just(Framing::SelfFramed)];
    let track = (0u8..4, prop::sample::select(&CODECS[..]), framing, config());
    let track = track.prop_map(|(id, codec, framing, config)| {
        let rate = u32::from(id) * 16_000;
        announce(Track {
            id: TrackId(id),
            framing,
            sample_rate: rate,
            ..testing::track(codec, &config)
        })
    });
    let times = prop_oneof![8 => 0i64..5_000, 1 => any::<i64>()];
    let timed = (0u8..4, times.clone(), times, any::<bool>(), data());
    let timed = timed.prop_map(|(id, dts, pts, keyframe, data)| {
        let at = Timestamp::from_millis(dts);
        presented(sample(TrackId(id), at, keyframe, data), pts)
    });
    prop_oneof![4 => track, 30 => timed, 1 => Just(Item::Epoch)]
}

proptest! {
    #[test]
    fn anything_makes_a_stream_that_can_be_read(items in prop::collection::vec(item(), 0..120)) {
        let recorder = Recorder::of(&items);
        let demuxed = recorder.demux();
        prop_assert_eq!(demuxed.packets.len(), recorder.units.len());
        for join in recorder.joins() {
            demux(&recorder.bytes[join.begins..]);
        }
    }
}
