//! Clocks that jitter, jump, drift and restart; sources that change.

use media::{Sample, Span, Timestamp};
use proptest::prelude::*;

use super::source::{START, Source, aac, mp3, sweep, tone};
use super::{assert_forward, assert_seamless, assert_whole, opened, push, total, transcoded, wave};
use crate::transcode::Stats;
use crate::transcode::clock::{BRIDGE_MAX, TOLERANCE};

fn run(source: &Source) -> (Stats, Vec<Sample>) {
    let (transcoder, packets) = transcoded(source);
    (transcoder.stats(), packets)
}

/// `source` with the samples from `from` on stamped `by` later.
fn moved(mut source: Source, from: usize, by: Span) -> Source {
    for sample in &mut source.samples[from..] {
        sample.pts += by;
    }
    source
}

#[test]
fn rounding_and_jitter_within_the_tolerance_change_nothing() {
    let exact = aac(&sweep(44_100, 2.0));
    let (mut rounded, mut jittery) = (exact.clone(), exact.clone());
    for sample in &mut rounded.samples {
        sample.pts = Timestamp::from_millis(sample.pts.millis());
    }
    for (at, sample) in jittery.samples.iter_mut().enumerate().skip(1) {
        sample.pts += Span::from_millis([-55, 0, 30, 55, -20][at % 5]);
    }
    let expected = run(&exact);
    assert_eq!(run(&rounded), expected, "rounded to milliseconds");
    assert_eq!(run(&jittery), expected, "with jitter");
}

#[test]
fn a_gap_is_filled() {
    let by = Span::from_millis(500);
    let source = moved(aac(&sweep(44_100, 2.0)), 40, by);
    let (stats, packets) = run(&source);
    assert_eq!((stats.gaps, stats.overlaps, stats.jumps), (1, 0, 0));
    assert_eq!(stats.filled_samples, 24_000);
    assert_whole(&packets, source.duration());
}

#[test]
fn lost_frames_are_made_up_for() {
    let mut source = mp3(&tone(44_100, 2, 1_000, 3.0));
    source.samples.drain(30..37);
    let (transcoder, packets) = transcoded(&source);
    let stats = transcoder.stats();
    assert_eq!((stats.gaps, stats.bad_frames), (1, 0));
    assert_whole(&packets, source.duration());
    // References of frames after the gap to frames within it do not become noise.
    let heard = wave::heard(transcoder.output(), &packets);
    let peak = heard.iter().map(|frame| frame[0].abs()).fold(0.0, f32::max);
    assert!(peak < 0.75, "{peak}");
}

#[test]
fn an_overlap_is_left_out() {
    let by = Span::from_millis(-300);
    let source = moved(aac(&sweep(44_100, 2.0)), 40, by);
    let (stats, packets) = run(&source);
    assert_eq!((stats.gaps, stats.overlaps, stats.jumps), (0, 1, 0));
    // Each frame's share is rounded down.
    assert!((14_380..=14_400).contains(&stats.skipped_samples));
    assert_whole(&packets, source.duration());
}

#[test]
fn a_clock_set_forward_is_followed() {
    let by = Span::from_millis(3_600_000);
    let source = moved(aac(&sweep(44_100, 2.0)), 40, by);
    let (stats, packets) = run(&source);
    assert_eq!((stats.gaps, stats.jumps), (0, 1));
    let mut starts = packets.iter().map(|packet| packet.pts);
    let at = starts.position(|pts| pts == source.samples[40].pts);
    let at = at.expect("a packet begins where the clock went on");
    assert_seamless(&packets[..at]);
    assert_seamless(&packets[at..]);
    assert_forward(&packets);
}

#[test]
fn a_clock_set_back_continues_from_where_the_output_is() {
    let by = Span::from_millis(-4_000);
    let source = moved(aac(&sweep(44_100, 2.0)), 40, by);
    let (stats, packets) = run(&source);
    assert_eq!((stats.overlaps, stats.jumps), (0, 1));
    assert_seamless(&packets);
    assert!(total(&packets) < Span::from_millis(2_150));
}

#[test]
fn a_clock_that_runs_slow_is_kept_up_with() {
    // Frames of 23.2 ms stamped 23 ms apart.
    let mut source = aac(&tone(44_100, 2, 500, 20.0));
    for (at, sample) in source.samples.iter_mut().enumerate() {
        sample.pts = START + Span::from_millis(23 * at as i64);
    }
    let (stats, packets) = run(&source);
    assert!(stats.overlaps >= 2, "{stats:?}");
    assert_seamless(&packets);
    let last = packets.last().expect("packets");
    let lead = last.pts + last.duration - source.samples.last().expect("samples").pts;
    assert!(lead < TOLERANCE + Span::from_millis(50), "{lead:?}");
}

#[test]
fn another_configuration_continues_without_a_gap() {
    let first = aac(&tone(44_100, 2, 1_000, 1.0));
    let second = aac(&tone(48_000, 1, 1_000, 1.0)).shifted(first.duration());
    let mut transcoder = opened(&first.track);
    let mut packets = Vec::new();
    push(&mut transcoder, &first.samples, &mut packets);
    let retuned = transcoder.retune(&second.track, &mut packets);
    retuned.expect("it can be transcoded");
    push(&mut transcoder, &second.samples, &mut packets);
    transcoder.finish(&mut packets);
    let length = first.duration() + second.duration();
    assert_whole(&packets, length);
    let heard = wave::heard(transcoder.output(), &packets);
    for inside in [&heard[9_600..38_400], &heard[62_400..86_400]] {
        for channel in [0, 1] {
            let note = wave::amplitude(inside, channel, 1_000.0);
            assert!((note - 0.5).abs() < 0.05, "{note}");
        }
    }
}

#[test]
fn mp3_may_change_rate_and_channels_by_itself() {
    let mut both = mp3(&tone(44_100, 2, 1_000, 1.0));
    let second = mp3(&tone(24_000, 1, 1_000, 1.0)).shifted(both.duration());
    both.samples.extend(second.samples);
    let (stats, packets) = run(&both);
    assert_eq!((stats.bad_frames, stats.gaps, stats.overlaps), (0, 0, 0));
    assert_seamless(&packets);
}

#[test]
fn several_mp3_frames_in_one_sample_are_several_frames() {
    let source = mp3(&sweep(44_100, 1.0));
    let mut packed = source.clone();
    let packs = source.samples.chunks(3).map(|frames| Sample {
        data: frames
            .iter()
            .flat_map(|frame| frame.data.to_vec())
            .collect(),
        ..frames[0].clone()
    });
    packed.samples = packs.collect();
    assert_eq!(run(&packed), run(&source));
}

#[test]
fn finishing_twice_or_early_is_nothing() {
    let source = aac(&sweep(44_100, 0.3));
    let mut transcoder = opened(&source.track);
    let mut packets = Vec::new();
    transcoder.finish(&mut packets);
    assert!(packets.is_empty());
    push(&mut transcoder, &source.samples[..1], &mut packets);
    transcoder.finish(&mut packets);
    let once = packets.len();
    transcoder.finish(&mut packets);
    assert_eq!(packets.len(), once);
    push(&mut transcoder, &source.samples[1..], &mut packets);
    transcoder.finish(&mut packets);
    assert_forward(&packets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the stamps are, output runs forward, and what is made up is bounded by what
    /// arrived.
    #[test]
    fn any_stamps_give_a_forward_timeline(
        steps in prop::collection::vec(prop_oneof![
            Just(0_i64),
            -200_i64..200,
            -3_000_i64..3_000,
            any::<i64>(),
        ], 12),
    ) {
        let mut source = aac(&tone(48_000, 2, 440, 0.3));
        let mut shift = Span::ZERO;
        for (sample, step) in source.samples.iter_mut().zip(steps) {
            shift = shift + Span::from_millis(step);
            sample.pts += shift;
        }
        let (stats, packets) = run(&source);
        assert_forward(&packets);
        let bound = stats.gaps * 48 * BRIDGE_MAX.millis() as u64;
        prop_assert!(stats.filled_samples <= bound);
    }
}
