//! Loudness of audio in each codec that a meter decodes.

use media::{Sample, Track};

use super::source::{aac, mp3, tone};
use super::transcoded;
use crate::transcode::{Loudness, Meter};

/// The loudness of the second half, where encoders have settled.
fn measured(track: &Track, samples: &[Sample]) -> Loudness {
    let mut meter = Meter::open(track).expect("it can be decoded");
    let mut all = Loudness::default();
    for (at, sample) in samples.iter().enumerate() {
        let one = meter.push(sample).expect("honest media");
        if at >= samples.len() / 2 {
            all.frames += one.frames;
            all.clipped += one.clipped;
            all.peak = all.peak.max(one.peak);
            all.rate = one.rate;
        }
    }
    all
}

#[test]
fn the_peak_of_a_tone_is_that_of_its_source() {
    let source = aac(&tone(44_100, 2, 440, 2.0));
    let (transcoder, packets) = transcoded(&source);
    let opus = measured(transcoder.output(), &packets);
    let aac = measured(&source.track, &source.samples);
    let source = mp3(&tone(44_100, 2, 440, 2.0));
    let mp3 = measured(&source.track, &source.samples);
    assert_eq!((opus.rate, aac.rate, mp3.rate), (48_000, 44_100, 44_100));
    for one in [opus, aac, mp3] {
        assert!(one.frames >= 40_000, "{one:?}");
        assert_eq!(one.clipped, 0, "{one:?}");
        assert!((one.peak - aac.peak).abs() < 0.05, "{one:?} {aac:?}");
        assert!(one.peak > 0.1, "{one:?}");
    }
}

#[test]
fn what_cannot_be_decoded_counts_for_nothing() {
    let source = mp3(&tone(44_100, 2, 440, 1.0));
    let mut meter = Meter::open(&source.track).expect("it can be decoded");
    let damaged = Sample {
        data: bytes::Bytes::from_static(&[0x55; 417]),
        ..source.samples[0].clone()
    };
    assert_eq!(meter.push(&damaged), Ok(Loudness::default()));
    let track = Track {
        codec: media::Codec::Vorbis,
        ..Track::clone(&source.track)
    };
    assert!(Meter::open(&track).is_err());
}
