//! Real media, packetized and depacketized.

use media::codec::hevc::HevcConfig;
use media::{Framing, TrackId};
use testkit::Clip;

use super::super::{PAYLOAD_BYTES, Packetizer, PayloadFormat, Payloads};
use super::media_clips::{all, of_clip};
use super::{Media, Outcome, Receiver};

#[test]
fn every_frame_comes_back_byte_for_byte_at_its_time() {
    for media in all() {
        let format = media.format;
        let start = media.samples[0].pts;
        let is_reordered = media.samples.iter().any(|sample| sample.pts != sample.dts);
        for payload_bytes in [64, 500, PAYLOAD_BYTES] {
            let outcome = Outcome::of(format, &media.packets(payload_bytes));
            let frames = outcome.frames();
            assert!(frames.len() >= 50, "{format:?}: {} frames", frames.len());
            assert!(frames == media.expected(), "{format:?} in {payload_bytes}");
            assert_eq!(outcome.keyframes_wanted, 0, "{format:?}");
            for (sent, came) in media.samples.iter().zip(&outcome.samples) {
                assert_eq!(came.keyframe, sent.keyframe, "{format:?}");
                assert_eq!(came.track, TrackId(5));
                let at = (sent.pts - start).ticks();
                assert!(is_reordered || (came.pts.ticks(), came.dts) == (at, came.pts));
            }
        }
    }
}

#[test]
fn b_frames_are_presented_when_they_were_to_be() {
    let media = of_clip(Clip::FlvBframes, PayloadFormat::H264);
    let outcome = Outcome::of(PayloadFormat::H264, &media.packets(PAYLOAD_BYTES));
    let start = media.samples[0].pts;
    // The reordering depth is learned from the first frames that overtake others.
    let pairs = media.samples.iter().zip(&outcome.samples);
    let late = pairs.filter(|(sent, came)| came.pts.ticks() != (sent.pts - start).ticks());
    assert!(late.count() <= 6);
    assert!(outcome.samples.iter().all(|came| came.dts <= came.pts));
    let mut pairs = outcome.samples.windows(2);
    assert!(pairs.all(|pair| pair[0].dts <= pair[1].dts));
    assert!(outcome.samples.iter().any(|came| came.dts < came.pts));
}

#[test]
fn configurations_are_found_in_band() {
    for media in all() {
        let mut receiver = Receiver::new(media.format);
        let packets = media.packets(PAYLOAD_BYTES);
        packets.iter().for_each(|packet| receiver.push(packet));
        let size = (media.format != PayloadFormat::Opus).then_some((320, 180));
        assert_eq!(receiver.depacketizer.dimensions(), size);
        let outcome = receiver.outcome;
        let [track] = &outcome.tracks[..] else {
            panic!("{:?}: {} tracks", media.format, outcome.tracks.len());
        };
        assert_eq!(PayloadFormat::of(track), Some(media.format));
        assert_eq!(track.framing, Framing::Bare);
        let (sent, came) = (&media.track.config[..], &track.config[..]);
        match media.format {
            PayloadFormat::H264 => assert_eq!(came, sent),
            PayloadFormat::Hevc => {
                let (sent, came) = (HevcConfig::parse(sent), HevcConfig::parse(came));
                assert_eq!(sent, came, "without the other units that the record has");
                let dimensions = came.and_then(|config| config.dimensions());
                assert_eq!(dimensions, Some((320, 180)));
            }
            PayloadFormat::Vp9 => assert_eq!(came, sent),
            // SVT-AV1 gives ffmpeg another sequence header than it sends.
            PayloadFormat::Av1 => assert_eq!(came[..6], sent[..6]),
            PayloadFormat::Vp8 => assert_eq!(came.len(), 12),
            PayloadFormat::Opus => {
                assert_eq!((track.sample_rate, track.channels), (48_000, 2));
                assert_eq!(came[..12], sent[..12], "both OpusHead, stereo");
            }
        }
    }
}

#[test]
fn pieces_of_a_frame_are_equal_when_the_last_is_padded() {
    for (clip, format) in [
        (Clip::Flv, PayloadFormat::H264),
        (Clip::FlvHevc, PayloadFormat::Hevc),
        (Clip::FlvAv1, PayloadFormat::Av1),
        (Clip::FlvVp9, PayloadFormat::Vp9),
    ] {
        let media = of_clip(clip, format);
        let mut packetizer = Packetizer::new(format, &media.track, PAYLOAD_BYTES);
        let mut payloads = Payloads::default();
        let (mut sent, mut padded) = (0, 0);
        for sample in &media.samples {
            payloads.clear();
            if packetizer.push(sample, &mut payloads).is_err() {
                continue;
            }
            payloads.level();
            // Before a keyframe come parameter sets, and what the encoder says of itself.
            let has_sets =
                matches!(format, PayloadFormat::H264 | PayloadFormat::Hevc) && sample.keyframe;
            let runs: Vec<_> = payloads.runs(64).collect();
            let sends = runs.len();
            assert!(sends <= if has_sets { 3 } else { 1 }, "{format:?}: {sends}");
            let packets = payloads.packets();
            let length =
                |index: usize| packets[index].range.len() + usize::from(packets[index].padding);
            for run in runs {
                let lengths: Vec<_> = run.map(length).collect();
                let first = lengths[0];
                let are_equal = lengths.iter().all(|one| *one == first);
                assert!(are_equal, "{format:?}: {lengths:?}");
                padded += lengths.iter().sum::<usize>();
            }
            sent += payloads.bytes().len();
        }
        let cost = padded as f64 / sent as f64 - 1.0;
        assert!(cost < 0.002, "{format:?}: {cost} of its bytes are padding");
    }
}

#[test]
fn pictures_that_may_be_left_out_are_reported() {
    for (clip, format) in [
        (Clip::FlvBframes, PayloadFormat::H264),
        (Clip::FlvHevc, PayloadFormat::Hevc),
    ] {
        let media = of_clip(clip, format);
        let mut packetizer = Packetizer::new(format, &media.track, PAYLOAD_BYTES);
        let mut payloads = Payloads::default();
        let mut kept = Vec::new();
        let mut left_out = 0;
        for sample in &media.samples {
            let Ok(picture) = packetizer.push(sample, &mut payloads) else {
                continue;
            };
            assert_eq!(picture.keyframe, sample.keyframe);
            assert!(!(picture.keyframe && picture.is_disposable));
            if picture.is_disposable && picture.is_reordered {
                left_out += 1;
            } else {
                kept.push((sample.pts, picture.is_reordered));
            }
        }
        assert!(left_out > 10, "{format:?}: {left_out}");
        // Exactly the frames that are left and still out of order are reported.
        let mut latest = kept[0].0;
        for (pts, is_reordered) in kept {
            assert_eq!(is_reordered, pts < latest, "{format:?}");
            latest = latest.max(pts);
        }
    }
    let media = of_clip(Clip::Flv, PayloadFormat::H264);
    let mut packetizer = Packetizer::new(PayloadFormat::H264, &media.track, PAYLOAD_BYTES);
    for sample in &media.samples {
        let pushed = packetizer.push(sample, &mut Payloads::default());
        assert!(pushed.is_ok_and(|picture| !picture.is_reordered));
    }
}

#[test]
fn a_lost_packet_costs_no_more_than_the_wait_for_a_keyframe() {
    for media in all() {
        let format = media.format;
        let packets = media.packets(500);
        let expected = media.expected();
        let step = packets.len() / 23 + 1;
        for lost in (0..packets.len()).step_by(step) {
            let mut left = packets.clone();
            left.remove(lost);
            let outcome = Outcome::of(format, &left);
            check_subset(&media, &outcome, &expected);
            let missing = expected.len() - outcome.samples.len();
            // A keyframe comes every 25 frames; one that is cut loses everything that refers to it.
            let most = if format == PayloadFormat::Opus { 1 } else { 25 };
            assert!(missing <= most, "{format:?}: {missing} after packet {lost}");
            if missing > 0 && format != PayloadFormat::Opus {
                assert_eq!(outcome.keyframes_wanted, 1, "{format:?}, packet {lost}");
            }
        }
    }
}

/// The output is part of the input, in the same order.
fn check_subset(media: &Media, outcome: &Outcome, expected: &[Vec<u8>]) {
    let mut sent = expected.iter();
    for frame in outcome.frames() {
        let is_next = sent.any(|sent| *sent == frame);
        assert!(is_next, "{:?}: a frame that was not sent", media.format);
    }
}
