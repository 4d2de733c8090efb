//! Past that a new listener receives: a time, or as many bytes, and nothing of audio that was encoded differently.

use std::sync::Arc;
use std::time::Instant;

use fanout::{
    Entry, Follower, Format, Judgement, LaneSink, Lead, Packager, Policy, Preamble, Protocol,
    Reason, Settings, testing,
};
use media::{Codec, Item, Span, Track, TrackId};

use crate::support::{Encoder, FORMAT, Listener, TestFanout, frames};

/// Four seconds, or as many bytes.
fn burst(bytes: u32) -> Settings {
    let settings = Settings::default();
    Settings {
        audio: Policy {
            burst: Span::from_millis(4_000),
            burst_bytes: bytes,
            ..settings.audio
        },
        ..settings
    }
}

/// Frames of 100 bytes, ten a second.
fn slow_radio(setup: &TestFanout) -> Encoder {
    let mut radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    radio.frame_millis = 100;
    radio
}

#[test]
fn a_burst_is_as_many_bytes_also_where_they_are_a_longer_time() {
    let setup = TestFanout::new(burst(20_000));
    let mut radio = slow_radio(&setup);
    radio.write(500).unwrap();
    // The lane opens with the past of the stream; later it has its own.
    for end in [500, 1_000] {
        let mut listener = setup.listen("radio", "");
        let heard = frames(&listener.read(20_000));
        assert!(heard.iter().copied().eq(end - 200..end), "{heard:?}");
        radio.write(500).unwrap();
    }
}

#[test]
fn a_burst_of_bytes_is_whole_where_listeners_may_begin_rarely() {
    let setup = TestFanout::new(burst(20_000));
    let mut radio = slow_radio(&setup);
    // As with titles interleaved with the audio.
    radio.key_every = 40;
    let _keeps_the_lane = setup.lane("radio");
    radio.write(559).unwrap();
    let heard = frames(&setup.listen("radio", "").read(20_000));
    assert_eq!(heard.first(), Some(&320));
}

#[test]
fn a_burst_of_bytes_is_no_older_than_eighty_seconds() {
    let setup = TestFanout::new(burst(1_000_000));
    let mut radio = slow_radio(&setup);
    radio.write(2_000).unwrap();
    let heard = frames(&setup.listen("radio", "").read(80_100));
    assert!(heard.iter().copied().eq(1_199..2_000), "{heard:?}");
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
    let setup = TestFanout::new(burst(20_000));
    let mut radio = slow_radio(&setup);
    radio.write(500).unwrap();
    let heard = frames(&flv_listener(&setup).read(4_100));
    assert!(heard.iter().copied().eq(459..500), "{heard:?}");
}

#[test]
fn a_burst_of_time_begins_where_decoders_can() {
    let setup = TestFanout::new(burst(100_000));
    let mut radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    // One keyframe a second.
    radio.key_every = 50;
    radio.write(500).unwrap();
    let heard = frames(&flv_listener(&setup).read(25_000));
    assert!(heard.iter().copied().eq(250..500), "{heard:?}");
}

#[test]
fn a_lane_keeps_the_bytes_of_a_burst_beyond_its_time() {
    let setup = TestFanout::new(burst(200_000));
    let mut radio = slow_radio(&setup);
    radio.size = 1_000;
    radio.frame_millis = 300;
    let _keeps_the_lane = setup.lane("radio");
    radio.write(1_000).unwrap();
    let heard = frames(&setup.listen("radio", "").read(200_000));
    assert!(heard.iter().copied().eq(800..1_000), "{heard:?}");
}

#[test]
fn who_takes_time_over_a_burst_of_bytes_is_not_behind() {
    let setup = TestFanout::new(burst(20_000));
    let mut radio = slow_radio(&setup);
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
    let setup = TestFanout::new(burst(0));
    let mut radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    let (stream, play) = (setup.stream("radio"), setup.may_play("radio"));
    let lane = stream.lane(&play, FORMAT, || Box::new(Led), Instant::now());
    let lane = lane.unwrap();
    radio.write(100).unwrap();
    change_audio(&mut radio);
    radio.write(1).unwrap();
    let mut listener = setup.attach_as(setup.record("radio"), lane, "", None);
    assert_eq!(frames(&listener.read(100)), [100]);
}

#[test]
fn new_listeners_begin_where_the_audio_has_become_another() {
    let setup = TestFanout::new(burst(0));
    let mut radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    let mut present = setup.listen("radio", "");
    // The listener has begun, and not only connected.
    radio.write(1).unwrap();
    assert_eq!(frames(&present.read(100)), [0]);
    radio.write(99).unwrap();
    change_audio(&mut radio);
    radio.write(10).unwrap();
    let heard = frames(&setup.listen("radio", "").read(1_000));
    assert!(heard.iter().copied().eq(100..110), "{heard:?}");
    // The announcement is repeated without a change.
    change_audio(&mut radio);
    radio.write(10).unwrap();
    let heard = frames(&setup.listen("radio", "").read(2_000));
    assert!(heard.iter().copied().eq(100..120), "{heard:?}");
    let heard = frames(&present.read(11_900));
    assert!(heard.iter().copied().eq(1..120), "who was there goes on");
}
