//! Past that a new listener receives: a time, or as many bytes, and nothing of audio that was encoded differently.

use std::sync::Arc;
use std::time::Instant;

use fanout::{
    Entry, Follower, Format, Judgement, LaneSink, Lead, Packager, Policy, Preamble, Protocol,
    Reason, Settings, testing,
};
use media::{Codec, Item, Span, Track, TrackId};

use crate::support::{Encoder, FORMAT, Listener, TestFanout, frames};

/// A stream that new listeners receive four seconds of, or as many bytes.
fn radio(burst_bytes: u32) -> (TestFanout, Encoder) {
    let settings = Settings::default();
    let audio = Policy {
        burst: Span::from_millis(4_000),
        burst_bytes,
        ..settings.audio
    };
    let setup = TestFanout::new(Settings { audio, ..settings });
    let radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    (setup, radio)
}

/// A stream like [`radio`], of ten frames a second.
fn slow_radio(burst_bytes: u32) -> (TestFanout, Encoder) {
    let (setup, mut radio) = radio(burst_bytes);
    radio.frame_millis = 100;
    (setup, radio)
}

#[test]
fn a_burst_is_as_many_bytes_also_where_they_are_a_longer_time() {
    let (setup, mut radio) = slow_radio(20_000);
    radio.write(500).unwrap();
    // The lane opens with the past of the stream; later it has its own.
    for end in [500, 1_000] {
        setup.listen("radio", "").hears(end - 200..end);
        radio.write(500).unwrap();
    }
}

#[test]
fn a_burst_of_bytes_is_whole_where_listeners_may_begin_rarely() {
    let (setup, mut radio) = slow_radio(20_000);
    // As with titles interleaved with the audio.
    radio.key_every = 40;
    let _keeps_the_lane = setup.lane("radio");
    radio.write(559).unwrap();
    let heard = frames(&setup.listen("radio", "").read(20_000));
    assert_eq!(heard.first(), Some(&320));
}

#[test]
fn a_burst_of_bytes_is_no_older_than_eighty_seconds() {
    let (setup, mut radio) = slow_radio(1_000_000);
    radio.write(2_000).unwrap();
    setup.listen("radio", "").hears(1_199..2_000);
}

/// Starts a listener of a format that has times in it.
fn flv_listener(setup: &TestFanout) -> Listener {
    let flv = Format {
        name: "flv",
        protocol: Protocol::Flv,
        ..FORMAT
    };
    let lane = setup.lane_of("radio", flv).unwrap();
    setup.attach_as(setup.record("radio"), lane, "", None)
}

#[test]
fn formats_with_times_in_them_have_a_burst_of_time_alone() {
    let (setup, mut radio) = slow_radio(20_000);
    radio.write(500).unwrap();
    flv_listener(&setup).hears(459..500);
}

#[test]
fn a_burst_of_time_begins_where_decoders_can() {
    let (setup, mut radio) = radio(100_000);
    // One keyframe a second.
    radio.key_every = 50;
    radio.write(500).unwrap();
    flv_listener(&setup).hears(250..500);
}

#[test]
fn a_lane_keeps_the_bytes_of_a_burst_beyond_its_time() {
    let (setup, mut radio) = slow_radio(200_000);
    radio.size = 1_000;
    radio.frame_millis = 300;
    let _keeps_the_lane = setup.lane("radio");
    radio.write(1_000).unwrap();
    let heard = frames(&setup.listen("radio", "").read(200_000));
    assert!(heard.iter().copied().eq(800..1_000), "{heard:?}");
}

#[test]
fn who_takes_time_over_a_burst_of_bytes_is_not_behind() {
    let (setup, mut radio) = slow_radio(20_000);
    let lane = setup.lane("radio");
    radio.write(500).unwrap();
    let mut follower = Follower::new(&lane);
    follower.refresh();
    for (offset, expected) in [
        (30_000, Judgement::Keep),
        // A quarter and two seconds more.
        (23_500, Judgement::Keep),
        (22_000, Judgement::Skip),
        (2_000, Judgement::Drop(Reason::Lag)),
    ] {
        assert_eq!(follower.judge(offset), expected, "{offset}");
    }
}

/// Writes audio that is encoded differently from before.
fn change_audio(radio: &mut Encoder) {
    let other = Track {
        codec: Codec::Mp3,
        sample_rate: 22_050,
        channels: 1,
        ..testing::track(TrackId::AUDIO)
    };
    let mut items = vec![Item::Track(Arc::new(other))];
    radio.publisher.write(&mut items, Instant::now()).unwrap();
}

/// Packages frames so that a listener receives the previous frame first, as with titles.
struct Led;

impl Packager for Led {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        if let Item::Sample(sample) = item {
            sink.put(&sample.data);
            let lead = Some(Lead::new(sample.data.len(), 0));
            let preamble = Preamble {
                lead,
                ..Preamble::default()
            };
            sink.end_unit(sample.dts, Entry::Join(Arc::new(preamble)));
        }
    }
}

#[test]
fn what_leads_to_a_joiner_is_not_of_the_audio_before_either() {
    let (setup, mut radio) = radio(0);
    let (stream, play) = (setup.stream("radio"), setup.may_play("radio"));
    let lane = stream.lane(&play, FORMAT, || Box::new(Led), Instant::now());
    let lane = lane.unwrap();
    radio.write(100).unwrap();
    change_audio(&mut radio);
    radio.write(1).unwrap();
    let mut listener = setup.attach_as(setup.record("radio"), lane, "", None);
    listener.hears(100..101);
}

#[test]
fn new_listeners_begin_where_the_audio_has_become_another() {
    let (setup, mut radio) = radio(0);
    let mut present = setup.listen("radio", "");
    // The listener has begun, and not only connected.
    radio.write(1).unwrap();
    present.hears(0..1);
    radio.write(99).unwrap();
    change_audio(&mut radio);
    radio.write(10).unwrap();
    setup.listen("radio", "").hears(100..110);
    // The announcement is repeated without a change.
    change_audio(&mut radio);
    radio.write(10).unwrap();
    setup.listen("radio", "").hears(100..120);
    // Who was there goes on.
    present.hears(1..120);
}
