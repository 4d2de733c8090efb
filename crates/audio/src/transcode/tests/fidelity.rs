//! The audio is preserved: notes, level, channels, time.

use media::{Codec, Framing, Span};

use super::source::{START, Source, aac, adts, mp3, sweep, tone};
use super::{assert_whole, opened, total, transcoded, wave};

/// Opus's pre-skip at 48 kHz, as it is compiled into libopus: 6.5 ms.
const PRE_SKIP: usize = 312;

/// Sources of every kind that this crate takes.
fn sweeps() -> [(&'static str, Source); 6] {
    [
        ("AAC 44.1 kHz", aac(&sweep(44_100, 3.0))),
        ("AAC 48 kHz", aac(&sweep(48_000, 3.0))),
        ("ADTS 22.05 kHz", adts(&sweep(22_050, 3.0))),
        ("MP3 44.1 kHz", mp3(&sweep(44_100, 3.0))),
        ("MP3 48 kHz", mp3(&sweep(48_000, 3.0))),
        ("MP3 24 kHz", mp3(&sweep(24_000, 3.0))),
    ]
}

#[test]
fn it_is_what_ffmpeg_decodes_of_the_source_and_at_the_same_time() {
    for (name, source) in sweeps() {
        let (transcoder, packets) = transcoded(&source);
        assert_eq!(packets[0].pts, START, "{name}");
        assert_eq!(transcoder.caveat(), None, "{name}");
        let stats = transcoder.stats();
        let faults = [stats.bad_frames, stats.gaps, stats.overlaps, stats.jumps];
        assert_eq!(faults, [0; 4], "{name}");
        let heard = wave::heard(transcoder.output(), &packets);
        let original = wave::original(&source);
        // ffmpeg drops the pre-skip, which is as much of the source.
        let inside = PRE_SKIP + 9_600..original.len() - 9_600;
        let original = &original[inside.clone()];
        let heard = &heard[inside.start - PRE_SKIP..inside.end - PRE_SKIP];
        let (shift, alike) = wave::best_shift(original, heard, 96);
        assert_eq!(shift, 0, "{name}: alike {alike}");
        for channel in [0, 1] {
            let alike = wave::likeness(original, heard, channel);
            assert!(alike > 0.995, "{name}: channel {channel} is alike {alike}");
            let level = wave::rms(heard, channel) / wave::rms(original, channel);
            let apart = (20.0 * level.log10()).abs();
            assert!(apart < 1.0, "{name}: channel {channel} is at {level}");
        }
    }
}

#[test]
fn a_note_stays_that_note() {
    for (name, source) in [
        ("AAC stereo", aac(&tone(44_100, 2, 1_000, 2.0))),
        ("AAC mono", aac(&tone(44_100, 1, 1_000, 2.0))),
        ("MP3 stereo", mp3(&tone(44_100, 2, 1_000, 2.0))),
        ("MP3 mono", mp3(&tone(48_000, 1, 1_000, 2.0))),
    ] {
        let (transcoder, packets) = transcoded(&source);
        let heard = wave::heard(transcoder.output(), &packets);
        let inside = &heard[9_600..57_600];
        for channel in [0, 1] {
            let note = wave::amplitude(inside, channel, 1_000.0);
            assert!((20.0 * (note / 0.5).log10()).abs() < 1.0, "{name}: {note}");
            for other in [500.0, 900.0, 1_100.0, 2_000.0, 3_000.0] {
                let stray = wave::amplitude(inside, channel, other);
                assert!(stray < note / 100.0, "{name}: {stray} at {other} Hz");
            }
        }
    }
}

#[test]
fn every_packet_time_is_exact() {
    let source = aac(&sweep(44_100, 2.0));
    let (transcoder, packets) = transcoded(&source);
    let lasts = Span::from_millis(20);
    assert!(packets.iter().all(|packet| packet.duration == lasts));
    assert!(packets.iter().all(|packet| packet.keyframe));
    assert_whole(&packets, source.duration());
    let heard = wave::heard(transcoder.output(), &packets);
    let frames = total(&packets).ticks() as u64 * 48_000 / media::TICKS_PER_SECOND as u64;
    assert_eq!(heard.len() as u64, frames - PRE_SKIP as u64);
}

#[test]
fn it_is_never_more_than_a_tenth_of_a_second_behind() {
    for (name, source) in sweeps() {
        let mut transcoder = opened(&source.track);
        let mut packets = Vec::new();
        let mut worst = Span::ZERO;
        for sample in &source.samples {
            transcoder.push(sample, &mut packets).expect("honest media");
            let taken = sample.pts + sample.duration;
            let last = packets.last();
            let given = last.map_or(START, |packet| packet.pts + packet.duration);
            worst = worst.max(taken - given);
        }
        assert!(worst < Span::from_millis(100), "{name}: {worst:?}");
    }
}

#[test]
fn the_output_track_is_what_webrtc_signals() {
    for source in [aac(&tone(44_100, 1, 440, 0.2)), mp3(&sweep(48_000, 0.2))] {
        let (transcoder, packets) = transcoded(&source);
        let output = transcoder.output();
        assert_eq!(output.id, source.track.id);
        assert_eq!((output.codec, output.framing), (Codec::Opus, Framing::Bare));
        assert_eq!((output.sample_rate, output.channels), (48_000, 2));
        let head = *b"OpusHead\x01\x02\x38\x01\x80\xBB\0\0\0\0\0";
        assert_eq!(output.config[..], head);
        assert!(packets.iter().all(|packet| packet.track == output.id));
    }
}

#[test]
fn the_bitrate_is_kept_and_mono_takes_half() {
    for (source, wanted) in [
        (aac(&sweep(48_000, 4.0)), 128_000.0),
        (aac(&tone(48_000, 1, 440, 4.0)), 64_000.0),
    ] {
        let (_, packets) = transcoded(&source);
        let bytes: usize = packets.iter().map(|packet| packet.data.len()).sum();
        let rate = 8.0 * bytes as f64 / total(&packets).seconds();
        assert!(rate < 1.15 * wanted, "{rate} b/s of {wanted}");
    }
}
