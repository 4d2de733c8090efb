//! Real media of every format over a bad network: what comes out is what went in.

use testkit::Clip;

use super::media_clips::{Media, of_clip};
use super::*;

/// The network is good at first: the beginning of a session cannot be repaired, only sent again.
const FIRST: Duration = Duration::from_millis(60);

const BAD: Link = Link {
    delay: Duration::from_millis(20),
    jitter: Duration::from_millis(8),
    lost: 30,
    doubled: 20,
};

/// Sends all of it and returns what the stream got of the track.
fn received(media: &Media, has_rtx: bool) -> Trial {
    let (section, payload_type) = match media.format {
        PayloadFormat::Opus => (audio() + "a=rtcp-fb:111 nack\r\n", 111),
        format => (picture(format, FEEDBACK), 96),
    };
    let mut line = Line::of_media(media, 200, payload_type);
    if has_rtx && media.format != PayloadFormat::Opus {
        line.rtx = Some((97, 201));
    }
    let quiet = Link::delayed(20);
    let mut trial = Trial::new(&offer(&[section]), vec![line], quiet);
    trial.run(FIRST);
    trial.link = BAD;
    trial.run(Duration::from_secs(4));
    trial
}

/// The samples of the items are those of the media, but for what is lost at the very end.
fn check(media: &Media, has_rtx: bool) {
    let format = media.format;
    let id = match format {
        PayloadFormat::Opus => TrackId::AUDIO,
        _ => TrackId::VIDEO,
    };
    let trial = received(media, has_rtx);
    let expected_items = media.expected();
    let expected = samples(&expected_items, id);
    let came = trial.recording.samples(id);
    assert!(expected.len() >= 40, "{format:?}");
    let count = came.len();
    assert!(count + 2 >= expected.len(), "{format:?}: {count}");
    for (number, (came, wanted)) in came.iter().zip(&expected).enumerate() {
        assert!(came.data == wanted.data, "{format:?}, sample {number}");
        assert_eq!(came.keyframe, wanted.keyframe, "{format:?}, {number}");
        assert_eq!(came.duration, wanted.duration);
    }
    // All times keep their distances, to the tick.
    for (came, wanted) in came.windows(2).zip(expected.windows(2)) {
        let (a, b) = (came[1].pts - came[0].pts, wanted[1].pts - wanted[0].pts);
        assert_eq!(a, b, "{format:?}");
        assert_eq!(came[1].dts - came[0].dts, wanted[1].dts - wanted[0].dts);
    }
    let tracks = expected_items.iter().filter_map(|item| match item {
        Item::Track(track) => Some(track.as_ref()),
        _ => None,
    });
    let recorded = trial.recording.tracks(id);
    let is_so = recorded.iter().map(|track| track.as_ref()).eq(tracks);
    assert!(is_so, "{format:?}");
    let counts = trial.counts();
    assert_eq!(counts.lost.value(), 0, "{format:?}: {counts:?}");
    let is_so = counts.recovered.value() > 0 && counts.superfluous.value() > 0;
    assert!(is_so, "{counts:?}");
    assert!(trial.plis.is_empty(), "{format:?}");
}

#[test]
fn every_format_survives_a_bad_network() {
    for (clip, format, has_rtx) in [
        (Clip::Flv, PayloadFormat::H264, true),
        (Clip::Flv, PayloadFormat::H264, false),
        (Clip::FlvHevc, PayloadFormat::Hevc, true),
        (Clip::FlvAv1, PayloadFormat::Av1, true),
        (Clip::FlvVp9, PayloadFormat::Vp9, true),
        (Clip::FlvOpus, PayloadFormat::Opus, false),
    ] {
        check(&of_clip(clip, format), has_rtx);
    }
}

#[test]
fn h264_with_b_frames() {
    let media = of_clip(Clip::FlvBframes, PayloadFormat::H264);
    check(&media, true);
    let trial = received(&media, true);
    let came = trial.recording.samples(TrackId::VIDEO);
    // Each is presented on time; the reordering delay is learned first.
    let sent = media.samples.iter().zip(&came);
    let shift = millis(media.samples[0].pts, came[0].pts);
    let late = sent.filter(|(sent, came)| (millis(sent.pts, came.pts) - shift).abs() > 0.01);
    assert!(late.count() <= 6);
    assert!(came.iter().any(|sample| sample.pts > sample.dts));
}
