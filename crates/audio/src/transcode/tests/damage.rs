//! Frames that are not what they should be.

use bytes::Bytes;
use media::Sample;
use proptest::prelude::*;

use super::source::{Source, aac, adts, mp3, sweep, tone};
use super::{assert_forward, assert_seamless, assert_whole, opened, push, transcoded, wave};

fn sources() -> [(&'static str, Source); 3] {
    [
        ("AAC", aac(&tone(44_100, 2, 1_000, 2.0))),
        ("ADTS", adts(&tone(44_100, 2, 1_000, 2.0))),
        ("MP3", mp3(&tone(44_100, 2, 1_000, 2.0))),
    ]
}

#[test]
fn bad_frames_are_concealed_and_counted() {
    for (name, mut source) in sources() {
        let whole = source.duration();
        for at in [20, 40, 41] {
            source.samples[at].data = Bytes::from_static(b"\xFF\xFF no frame at all");
        }
        let (transcoder, packets) = transcoded(&source);
        let stats = transcoder.stats();
        assert_eq!(stats.bad_frames, 3, "{name}");
        assert_eq!(stats.frames, source.samples.len() as u64, "{name}");
        assert_eq!((stats.gaps, stats.overlaps), (0, 0), "{name}");
        assert_whole(&packets, whole);
        // One frame repeated: the note continues through the hole, and nothing is louder than it was.
        let heard = wave::heard(transcoder.output(), &packets);
        let hole = source.samples[20].pts - source.samples[0].pts;
        let hole = (hole.seconds() * 48_000.0) as usize - 312;
        let level = wave::rms(&heard[hole..hole + 1_000], 0);
        assert!(level > 0.1, "{name}: {level} in the hole");
        let peak = heard.iter().map(|frame| frame[0].abs()).fold(0.0, f32::max);
        assert!(peak < 0.75, "{name}: {peak}");
    }
}

#[test]
fn a_long_failure_is_silence_and_audio_comes_back() {
    let mut source = aac(&tone(44_100, 2, 1_000, 3.0));
    for sample in &mut source.samples[20..80] {
        sample.data = Bytes::from_static(&[0xFF; 40]);
    }
    let (transcoder, packets) = transcoded(&source);
    assert_eq!(transcoder.stats().bad_frames, 60);
    let heard = wave::heard(transcoder.output(), &packets);
    let silent = &heard[48_000..76_800];
    assert!(wave::rms(silent, 0) < 0.001);
    let back = &heard[100_000..130_000];
    assert!((wave::amplitude(back, 0, 1_000.0) - 0.5).abs() < 0.05);
}

#[test]
fn nothing_but_damage_is_silence_or_nothing() {
    let noise = |at: usize| -> Bytes {
        (0..300_usize)
            .map(|byte| ((byte * 31 + at * 17) ^ (byte >> 3)) as u8)
            .collect()
    };
    for (name, mut source) in sources() {
        for (at, sample) in source.samples.iter_mut().enumerate() {
            sample.data = noise(at);
        }
        let (transcoder, packets) = transcoded(&source);
        let stats = transcoder.stats();
        assert!(stats.bad_frames > stats.frames / 2, "{name}: {stats:?}");
        assert_seamless(&packets);
    }
}

#[test]
fn an_endless_sample_is_one_bad_frame() {
    for (name, source) in sources() {
        let mut transcoder = opened(&source.track);
        let mut packets = Vec::new();
        push(&mut transcoder, &source.samples[..4], &mut packets);
        let frames = transcoder.stats().frames;
        let endless = Sample {
            data: vec![0xFF; 1 << 20].into(),
            ..source.samples[4].clone()
        };
        push(&mut transcoder, &[endless], &mut packets);
        let stats = transcoder.stats();
        assert_eq!((stats.frames, stats.bad_frames), (frames + 1, 1), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Bits that flip on the way: always packets, always in time, never a panic that gets out.
    #[test]
    fn flipped_bits_never_stop_it(
        flips in prop::collection::vec((0_usize..24, 0_usize..4_000), 1..40),
    ) {
        for mut source in [aac(&sweep(44_100, 0.5)), mp3(&sweep(44_100, 0.6))] {
            for (at, bit) in &flips {
                let sample = &mut source.samples[at % 20];
                let mut data = sample.data.to_vec();
                let bit = bit % (8 * data.len());
                data[bit / 8] ^= 0x80 >> (bit % 8);
                sample.data = data.into();
            }
            let mut transcoder = opened(&source.track);
            let mut packets = Vec::new();
            for sample in &source.samples {
                if transcoder.push(sample, &mut packets).is_err() {
                    break;
                }
            }
            transcoder.finish(&mut packets);
            assert_forward(&packets);
        }
    }
}
