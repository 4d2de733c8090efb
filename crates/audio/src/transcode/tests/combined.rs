//! Combined Opus packets, judged by libopus.

use media::codec::opus::{Combiner, Frames, RATE};
use opus::{Application, Bitrate, Channels, Decoder, Encoder};
use proptest::prelude::*;

/// Packets of one tone that becomes another one and, in between, silence.
fn packets(
    channels: Channels,
    application: Application,
    bits: i32,
    is_variable: bool,
    frame_millis: usize,
) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(RATE, channels, application).expect("libopus");
    encoder
        .set_bitrate(Bitrate::Bits(bits))
        .and_then(|()| encoder.set_vbr(is_variable))
        .expect("libopus takes it");
    let count = channels as usize;
    let samples = RATE as usize / 1_000 * frame_millis;
    let frame = |number: usize| -> Vec<i16> {
        let sample = |at: usize| {
            let at = (number * samples + at / count) as f64;
            let pitch = if number.is_multiple_of(7) {
                0.09
            } else {
                0.031
            };
            let level = if number % 11 < 2 { 0.0 } else { 9_000.0 };
            (level * (at * pitch).sin()) as i16
        };
        (0..samples * count).map(sample).collect()
    };
    let encode = |number| encoder.encode_vec(&frame(number), 1_275).expect("sound");
    (0..48).map(encode).collect()
}

/// Decodes packets, one after another.
fn decode(channels: Channels, packets: &[Vec<u8>]) -> Vec<i16> {
    let mut decoder = Decoder::new(RATE, channels).expect("libopus");
    let count = channels as usize;
    let mut audio = Vec::new();
    let mut space = vec![0; RATE as usize * 120 / 1_000 * count];
    for packet in packets {
        let samples = decoder
            .decode(packet, &mut space, false)
            .expect("it is Opus");
        audio.extend_from_slice(&space[..samples * count]);
    }
    audio
}

/// Combines packets of at most `most` samples and `bytes_max` bytes.
fn combine(packets: &[Vec<u8>], most: u64, bytes_max: usize) -> Vec<Vec<u8>> {
    let (mut combiner, mut combined) = (Combiner::default(), Vec::new());
    let mut finish = |combiner: &mut Combiner| {
        let mut out = Vec::new();
        combiner.finish(&mut out);
        combined.extend((!out.is_empty()).then_some(out));
    };
    for packet in packets {
        let frames = Frames::parse(packet).expect("libopus made it");
        let is_full = combiner.samples() + frames.samples() > most;
        if is_full || !combiner.takes(&frames, bytes_max) {
            finish(&mut combiner);
        }
        combiner.push(&frames);
    }
    finish(&mut combiner);
    combined
}

#[test]
fn combined_packets_audio_as_the_packets_did() {
    let mut shapes = 0;
    for (channels, application, bits, is_variable, frame_millis) in [
        (Channels::Stereo, Application::Audio, 128_000, true, 20),
        (Channels::Stereo, Application::Audio, 128_000, false, 20),
        (Channels::Mono, Application::Audio, 96_000, true, 10),
        (Channels::Mono, Application::Voip, 16_000, true, 20),
        (Channels::Mono, Application::Voip, 12_000, false, 60),
        (Channels::Stereo, Application::Voip, 32_000, true, 40),
        (Channels::Stereo, Application::LowDelay, 64_000, true, 5),
    ] {
        let sent = packets(channels, application, bits, is_variable, frame_millis);
        let whole = decode(channels, &sent);
        for most in [960, 1_920, 2_880, 5_760] {
            let combined = combine(&sent, most, 1_188);
            shapes += usize::from(combined.len() < sent.len());
            let longest = combined.iter().map(Vec::len).max();
            assert!(longest <= Some(1_188), "{longest:?}");
            assert!(
                decode(channels, &combined) == whole,
                "{channels:?}, {bits} b/s, {most}"
            );
        }
    }
    assert!(shapes >= 15, "{shapes} were combined at all");
}

#[test]
fn libopus_finds_the_frames_that_went_in() {
    let sent = packets(Channels::Stereo, Application::Audio, 96_000, true, 20);
    for packet in combine(&sent, 2_880, 1_188) {
        let theirs = opus::packet::parse(&packet).expect("it is Opus");
        let ours = Frames::parse(&packet).expect("it is Opus");
        assert!(theirs.frames.iter().copied().eq(ours.iter()));
        assert_eq!(ours.iter().len(), 3);
        let samples = opus::packet::get_nb_samples(&packet, RATE);
        assert!(matches!(samples, Ok(2_880)), "{samples:?}");
    }
}

proptest! {
    /// Whatever bytes come, both parsers agree on whether they are a packet, and on its frames.
    #[test]
    fn libopus_reads_any_bytes_alike(toc: u8, rest in proptest::collection::vec(any::<u8>(), 0..80)) {
        let bytes = [&[toc][..], &rest].concat();
        let theirs = opus::packet::parse(&bytes).ok();
        let ours = Frames::parse(&bytes);
        prop_assert_eq!(theirs.is_some(), ours.is_some());
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            prop_assert!(theirs.frames.iter().copied().eq(ours.iter()));
        }
    }
}
