//! Refusals are reported at once, with their reason.

use media::{Codec, Kind, Track};

use super::source::{aac, tone};
use super::{opened, total, transcoded};
use crate::derived::tests::track_of;
use crate::transcode::decoder::with_replication;
use crate::transcode::{Caveat, Options, Transcoder, Unsupported, examine};

fn track(codec: Codec, config: &'static [u8]) -> Track {
    track_of(Kind::Audio, codec, config)
}

fn refusal(track: &Track) -> Unsupported {
    match Transcoder::open(track, Options::default()) {
        Ok(_) => panic!("{track:?} was taken"),
        Err(reason) => reason,
    }
}

#[test]
fn each_with_its_reason() {
    // 5.1 and 7.1 channels, no layout, USAC, AAC Main, AAC-LD, 960 samples, 44 101 Hz.
    for (config, reason) in [
        (&[0x12, 0x30][..], Unsupported::Channels(6)),
        (&[0x12, 0x38], Unsupported::Channels(8)),
        (&[0x12, 0x00], Unsupported::Layout),
        (&[0xF9, 0x48, 0x40, 0x00], Unsupported::ObjectType(42)),
        (&[0x0A, 0x10], Unsupported::ObjectType(1)),
        (&[0xBA, 0x10], Unsupported::ObjectType(23)),
        (&[0x12, 0x14], Unsupported::ShortFrames),
        (
            &[0x17, 0x80, 0x56, 0x22, 0x90],
            Unsupported::SampleRate(44_101),
        ),
        (&[], Unsupported::Configuration),
        (&[0x12], Unsupported::Configuration),
    ] {
        let track = track(Codec::Aac, config);
        assert_eq!(examine(&track), Err(reason.clone()));
        assert_eq!(refusal(&track), reason);
    }
    use Codec::{Flac, H264, Opus, Vorbis};
    for codec in [Vorbis, Opus, Flac, Codec::UNKNOWN, H264] {
        let track = track(codec, &[]);
        assert_eq!(examine(&track), Err(Unsupported::Codec(codec)));
        assert_eq!(refusal(&track), Unsupported::Codec(codec));
    }
}

#[test]
fn explicit_high_efficiency_is_taken_with_a_caveat() {
    // The core at 22.05 kHz, twice that after band replication; first plain, then with parametric stereo.
    let stereo = track(Codec::Aac, &[0x2B, 0x92, 0x08, 0x00]);
    let mono = track(Codec::Aac, &[0xEB, 0x8A, 0x08, 0x00]);
    for (track, parametric_stereo) in [(stereo, false), (mono, true)] {
        let caveat = high_efficiency(parametric_stereo);
        assert_eq!(opened(&track).caveat(), Some(caveat));
    }
}

/// Caveat of HE-AAC with a core at 22.05 kHz.
pub(super) fn high_efficiency(parametric_stereo: bool) -> Caveat {
    Caveat {
        core_rate: 22_050,
        parametric_stereo,
    }
}

#[test]
fn implicit_high_efficiency_shows_in_the_frames_and_its_core_is_heard() {
    let plain = aac(&tone(22_050, 2, 1_000, 2.0));
    let (transcoder, packets) = transcoded(&plain);
    assert_eq!(transcoder.caveat(), None);
    let mut source = plain.clone();
    for sample in &mut source.samples {
        sample.data = with_replication(&sample.data, 21).into();
    }
    let (transcoder, with_extension) = transcoded(&source);
    assert_eq!(transcoder.caveat(), Some(high_efficiency(false)));
    assert_eq!(transcoder.stats().bad_frames, 0);
    assert_eq!(with_extension, packets);
    assert!(total(&packets) >= plain.duration());
}
