//! Joiners see video soon, and one stream's long groups of pictures take no memory from others.

use std::time::{Duration, Instant};

use crate::support::{Encoder, FORMAT, TestFanout, frames, wait_until};
use fanout::{Follower, Format, LaneRefused, Protocol, Settings};
use media::Span;

const MIB: usize = 1024 * 1024;

/// Interval of a stream in which only the first frame is a keyframe, unless the test sets one.
const NEVER: u64 = u64::MAX;

fn of(name: &'static str, protocol: Protocol) -> Format {
    Format {
        name,
        protocol,
        ..FORMAT
    }
}

fn camera(setup: &TestFanout, name: &str, size: usize) -> Encoder {
    let mut camera = Encoder::video(setup.publish(name, 1).unwrap(), size);
    camera.key_every = NEVER;
    camera
}

/// One keyframe, then only frames predicted from it: a browser that gets no request for more.
#[test]
fn a_stream_of_one_keyframe_stays_within_the_memory_and_leaves_room_for_others() {
    let setup = TestFanout::with_memory(16 * MIB);
    let fanout = setup.registry.fanout();
    let mut greedy = camera(&setup, "greedy", 25_000);
    greedy.write(1).unwrap();
    let lanes = ["a", "b", "c"].map(|name| {
        let format = of(name, Protocol::Http);
        setup.lane_of("greedy", format).unwrap()
    });
    for _ in 0..1_500 {
        greedy.write(1).unwrap();
        assert!(fanout.log_bytes() <= 16 * MIB + 16 * MIB / 10);
    }
    let mut other = Encoder::video(setup.publish("other", 1).unwrap(), 5_000);
    other.write(100).unwrap();
    let _others = setup.lane("other");
    other.write(100).unwrap();
    let mut listener = setup.listen("other", "");
    assert!(frames(&listener.read(25 * 5_000)).into_iter().eq(175..200));
    // The greedy stream continues and is never closed.
    greedy.write(500).unwrap();
    assert!(fanout.log_bytes() <= 16 * MIB + 16 * MIB / 10);
    greedy.key_every = 1;
    greedy.write(1).unwrap();
    let follower = Follower::new(&lanes[0]);
    assert!(
        follower.entry(Span::ZERO).is_some(),
        "it may be joined again"
    );
}

/// However many formats strangers request, each stream has one.
#[test]
fn each_stream_has_its_first_lane_when_memory_is_short() {
    let setup = TestFanout::with_memory(8 * MIB);
    let mut greedy = camera(&setup, "greedy", 100_000);
    greedy.write(1).unwrap();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut lanes = Vec::new();
    let mut refused = 0;
    for name in names {
        match setup.lane_of("greedy", of(name, Protocol::Http)) {
            Ok(lane) => lanes.push(lane),
            Err(reason) => {
                assert_eq!(reason, LaneRefused::Memory);
                refused += 1;
            }
        }
        greedy.write(30).unwrap();
    }
    assert!(lanes.len() >= 2 && refused > 0, "{} lanes", lanes.len());
    assert_eq!(setup.registry.fanout().lanes_refused(), refused);
    assert!(setup.registry.fanout().log_pressure() >= 1.0);
    let _other = camera(&setup, "other", 1_000);
    assert!(setup.lane_of("other", FORMAT).is_ok());
}

#[test]
fn a_join_at_an_old_keyframe_has_the_publisher_asked_whatever_the_protocol() {
    for protocol in Protocol::ALL {
        let setup = TestFanout::new(Settings::default());
        let mut camera = camera(&setup, "show", 1_000);
        let now = Instant::now();
        let mut lanes = Vec::new();
        // Its keyframe is 1.6 s old, then 2.4 s, and then there has been a wish.
        let soon = now + Duration::from_millis(100);
        for (frames, now, is_asked) in [(40, now, false), (20, now, true), (0, soon, false)] {
            camera.write(frames).unwrap();
            lanes.push(setup.lane_of("show", of("x", protocol)).unwrap());
            let asks = camera.publisher.takes_keyframe_request(now);
            assert_eq!(asks, is_asked, "{protocol:?}: {frames} frames");
        }
    }
}

#[test]
fn keyframes_are_asked_for_regularly_while_a_listener_cannot_ask() {
    let setup = TestFanout::new(Settings::default());
    let start = Instant::now();
    let mut camera = camera(&setup, "show", 1_000);
    camera.write(1).unwrap();
    // Response of the encoder to a request: the next frame is a keyframe.
    let mut asked_at = Vec::new();
    let film = |camera: &mut Encoder, asked_at: &mut Vec<u64>| {
        for _ in 0..500 {
            let at = camera.next * 40;
            let now = start + Duration::from_millis(at);
            if camera.publisher.takes_keyframe_request(now) {
                asked_at.push(at);
                camera.key_every = camera.next;
            }
            camera.write(1).unwrap();
            camera.key_every = NEVER;
        }
    };
    let receiver = setup.lane_of("show", of("rtp", Protocol::Webrtc)).unwrap();
    film(&mut camera, &mut asked_at);
    assert!(asked_at.is_empty(), "receivers of RTP ask: {asked_at:?}");
    drop(receiver);
    let _listener = setup.lane_of("show", of("flv", Protocol::Flv)).unwrap();
    film(&mut camera, &mut asked_at);
    assert!((5..=8).contains(&asked_at.len()), "in 20 s at {asked_at:?}");
}

/// Thirty seconds are the most of the past that a listener receives; beyond that, it waits for the next keyframe.
#[test]
fn a_keyframe_of_long_ago_is_not_started_at() {
    let setup = TestFanout::new(Settings::default());
    let mut camera = camera(&setup, "show", 1_000);
    let _keeps_the_lane = setup.lane("show");
    // Forty seconds.
    camera.write(1_000).unwrap();
    let mut joiner = setup.listen("show", "");
    camera.write(20).unwrap();
    camera.key_every = 1_020;
    camera.write(5).unwrap();
    assert!(frames(&joiner.read(5_000)).into_iter().eq(1_020..1_025));
    wait_until(|| setup.registry.fanout().listeners() == 1);
}

#[test]
fn the_keyframe_interval_is_known() {
    let (setup, mut camera) = TestFanout::show(1_000);
    camera.key_every = 200;
    let facts = |camera: &Encoder| camera.publisher.stream().info().keyframes.unwrap();
    assert_eq!(facts(&camera).interval, None);
    camera.write(500).unwrap();
    let long = facts(&camera);
    assert_eq!(long.interval, Some(Span::from_millis(8_000)));
    assert!(long.words().unwrap().contains("every 8.0 s"));
    camera.publisher.takes_keyframe_request(Instant::now());
    assert_eq!(facts(&camera).words(), None, "its encoder can be asked");
    let _radio = Encoder::audio(setup.publish("radio", 1).unwrap());
    let radio = setup.registry.list().into_iter().next().unwrap();
    assert_eq!(radio.info().keyframes, None);
}
