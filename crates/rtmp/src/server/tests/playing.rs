//! What players send, in their order.

use proptest::prelude::*;

use super::*;

const PAUSED: [&str; 2] = [
    "onStatus 0 @1 status NetStream.Pause.Notify",
    "UserControl 000100000001",
];
const RESUMED: [&str; 2] = [
    "onStatus 0 @1 status NetStream.Unpause.Notify",
    "UserControl 000000000001",
];

fn started(stream: u32) -> Vec<String> {
    vec![
        format!("UserControl 0000{stream:08x}"),
        format!("onStatus 0 @{stream} status NetStream.Play.Reset"),
        format!("onStatus 0 @{stream} status NetStream.Play.Start"),
        format!("data @{stream} |RtmpSampleAccess true true"),
        format!("data @{stream} onStatus NetStream.Data.Start"),
    ]
}

fn null(e: &mut Encoder<'_>) {
    e.null();
}

fn truth(value: bool) -> impl FnOnce(&mut Encoder<'_>) {
    move |e| {
        e.null().boolean(value).number(1_234.0);
    }
}

/// The messages in `bytes` with the chunk streams their headers name, all of which must be full.
fn chunk_streams(mut bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    while let [first, ..] = bytes {
        assert_eq!(first >> 6, 0, "a full header");
        found.push(first & 0x3f);
        let length = usize::from(bytes[5]) << 8 | usize::from(bytes[6]);
        bytes = &bytes[12 + length..];
    }
    found
}

#[test]
fn librtmp_and_rtmpdump() {
    let mut client = Client::connected();
    client.send(Kind::WindowAckSize, 0, 0, &5_000_000_u32.to_be_bytes());
    client.send(Kind::UserControl, 0, 0, &[0, 3, 0, 0, 0, 0, 0, 0, 1, 44]);
    client.command(0, "createStream", 2.0, null);
    client.command(0, "FCSubscribe", 3.0, |e| {
        e.null().string("show");
    });
    assert_eq!(
        client.replies(),
        [
            "_result 2 @0 1",
            "_result 3 @0 undefined",
            "onFCSubscribe 0 @0 status NetStream.Play.Start",
        ]
    );
    let request = client.play(1, "show?token=T");
    assert_eq!((request.id.stream(), request.mode), (1, Mode::Live));
    assert_eq!(request.path.name, "live/show");
    client.send(
        Kind::UserControl,
        0,
        0,
        &[0, 3, 0, 0, 0, 1, 0, 0, 0x75, 0x30],
    );
    assert!(
        client.replies().is_empty(),
        "nothing before the stream is there"
    );
    let playback = client.session.accept_play(request.id).unwrap();
    let id = request.id;
    let everything = Playback {
        id,
        is_paused: false,
        audio: true,
        video: true,
    };
    assert_eq!(playback, everything);
    assert_eq!(client.session.playback(), Some(everything));
    assert_eq!(client.replies(), started(1));
    let events = client.command(0, "deleteStream", 6.0, |e| {
        e.null().number(1.0);
    });
    assert_eq!(events, [Event::Stop(id)]);
    assert_eq!(client.session.playback(), None);
}

#[test]
fn what_is_said_to_a_player_leaves_its_media_alone() {
    let mut client = Client::connected();
    let request = client.play(1, "show");
    client.session.accept_play(request.id).unwrap();
    let output = client.session.output().clone();
    assert_eq!(chunk_streams(&output), [2, 5, 5, 7, 7]);
}

#[test]
fn any_message_stream_will_do() {
    for stream in [0, 1, 3] {
        let mut client = Client::connected();
        for _ in 0..stream {
            client.command(0, "createStream", 2.0, null);
        }
        client.replies();
        let request = client.play(stream, "show");
        let stream = stream.max(1);
        assert_eq!(request.id.stream(), stream);
        client.session.accept_play(request.id).unwrap();
        assert_eq!(client.replies(), started(stream));
    }
}

#[test]
fn play2_names_its_stream_inside() {
    let mut client = Client::connected();
    let events = client.command(1, "play2", 0.0, |e| {
        e.null().object();
        e.key("oldStreamName").string("");
        e.key("streamName").string("mp4:show.mp4");
        e.key("transition").string("switch").end();
    });
    assert!(
        matches!(&events[..], [Event::Play(request)] if request.path.name == "live/show.mp4"),
        "{events:?}"
    );
}

#[test]
fn pausing() {
    let (mut client, id) = Client::playing();
    for (name, paused, replies, event) in [
        ("pause", true, PAUSED, Some(Event::Pause(id))),
        ("pauseRaw", true, PAUSED, None),
        ("pauseRaw", false, RESUMED, Some(Event::Resume(id))),
        ("pause", false, RESUMED, None),
    ] {
        let events = client.command(1, name, 0.0, truth(paused));
        assert_eq!(events, Vec::from_iter(event));
        assert_eq!(client.replies(), replies);
    }
    // Flash's way to say "the other".
    assert_eq!(client.command(1, "pause", 0.0, null), [Event::Pause(id)]);
    assert!(client.session.playback().is_some_and(|p| p.is_paused));
    assert_eq!(client.command(1, "pause", 0.0, null), [Event::Resume(id)]);
    client.replies();
    // On the connection it means the one stream; on another stream it means nothing.
    assert_eq!(
        client.command(0, "pause", 0.0, truth(true)),
        [Event::Pause(id)]
    );
    assert_eq!(client.replies(), PAUSED);
    assert_eq!(client.command(2, "pause", 0.0, truth(false)), []);
    assert!(client.replies().is_empty());
}

#[test]
fn selecting_audio_and_video() {
    let (mut client, id) = Client::playing();
    let select = |audio, video| Event::Select { id, audio, video };
    let restarted = [
        "onStatus 0 @1 status NetStream.Seek.Notify",
        "onStatus 0 @1 status NetStream.Play.Start",
    ];
    assert_eq!(client.command(1, "receiveVideo", 0.0, truth(true)), []);
    assert_eq!(client.replies(), restarted);
    for (name, wanted, event) in [
        ("receiveVideo", false, select(true, false)),
        ("receiveAudio", false, select(false, false)),
        ("receiveAudio", true, select(true, false)),
        ("receiveVideo", true, select(true, true)),
    ] {
        assert_eq!(client.command(1, name, 0.0, truth(wanted)), [event]);
        let replies = client.replies();
        assert_eq!(replies, if wanted { &restarted[..] } else { &[] });
        assert_eq!(client.command(1, name, 0.0, truth(wanted)), []);
        client.replies();
    }
    assert_eq!(client.command(1, "receiveAudio", 0.0, null), []);
}

#[test]
fn wishes_before_the_stream_is_there_are_kept() {
    let mut client = Client::connected();
    client.command(0, "createStream", 2.0, null);
    client.replies();
    assert_eq!(client.command(1, "receiveVideo", 0.0, truth(false)), []);
    let request = client.play(1, "show");
    assert_eq!(client.command(1, "pause", 0.0, truth(true)), []);
    client.command(1, "seek", 0.0, |e| {
        e.null().number(9.0);
    });
    assert_eq!(client.session.playback(), None);
    assert!(client.replies().is_empty());
    let playback = client.session.accept_play(request.id).unwrap();
    assert!(playback.is_paused && playback.audio && !playback.video);
    let replies = client.replies();
    assert_eq!(replies[..5], started(1));
    assert_eq!(replies[5..], PAUSED.map(String::from));

    // The selection outlives the request, but not the stream.
    let request = client.play(1, "other");
    let playback = client.session.accept_play(request.id).unwrap();
    assert!(!playback.is_paused && !playback.video);
    client.command(0, "deleteStream", 0.0, |e| {
        e.null().number(1.0);
    });
    let request = client.play(1, "show");
    let playback = client.session.accept_play(request.id).unwrap();
    assert!(playback.audio && playback.video);
}

#[test]
fn there_is_nowhere_to_seek_to() {
    let (mut client, _) = Client::playing();
    let events = client.command(1, "seek", 0.0, |e| {
        e.null().number(60_000.0);
    });
    assert_eq!(events, []);
    assert_eq!(
        client.replies(),
        ["onStatus 0 @1 status NetStream.Seek.Notify"]
    );
}

#[test]
fn a_recorded_stream_has_positions_and_an_end() {
    let mut client = Client::connected();
    client.command(0, "createStream", 2.0, null);
    let request = client.play(1, "mp4:film.mp4");
    let id = request.id;
    assert_eq!(request.passage, Passage::default());
    assert_eq!(request.path.file_kind, Some(FileKind::Mp4));
    client.replies();
    assert_eq!(client.session.accept_recorded(id).map(|p| p.id), Ok(id));
    let expected = [vec!["UserControl 000400000001".to_owned()], started(1)].concat();
    assert_eq!(client.replies(), expected);
    let seek = |client: &mut Client, to: f64| {
        client.command(1, "seek", 0.0, |e| {
            e.null().number(to);
        })
    };
    for (number, millis) in [
        (2_500.0, 2_500),
        (-1.0, 0),
        (f64::NAN, 0),
        (1e300, u32::MAX),
    ] {
        let to = Duration::from_millis(millis.into());
        assert_eq!(seek(&mut client, number), [Event::Seek { id, to }]);
    }
    assert_eq!(client.replies(), [""; 0], "the caller looks for the place");
    assert_eq!(client.session.sought(id, true), Ok(()));
    assert_eq!(
        client.replies(),
        [
            "UserControl 000100000001",
            "onStatus 0 @1 status NetStream.Seek.Notify",
            "UserControl 000400000001",
            "UserControl 000000000001",
            "onStatus 0 @1 status NetStream.Play.Start",
        ]
    );
    assert_eq!(client.session.sought(id, false), Ok(()));
    let invalid = "onStatus 0 @1 error NetStream.Seek.InvalidTime";
    assert_eq!(client.replies(), [invalid]);
    let length = Duration::from_secs(20);
    assert_eq!(client.session.complete(id, length), Ok(()));
    assert_eq!(
        client.replies(),
        [
            "data @1 onPlayStatus NetStream.Play.Complete",
            "onStatus 0 @1 status NetStream.Play.Stop",
            "UserControl 000100000001",
        ]
    );
    // It may go back from there, or ask for another stream, which has no positions unless it is accepted as such.
    assert_eq!(seek(&mut client, 0.0).len(), 1);
    let live = client.play(1, "show");
    client.session.accept_play(live.id).unwrap();
    client.replies();
    assert_eq!(seek(&mut client, 0.0), []);
    assert_eq!(client.session.sought(id, true), Err(Withdrawn));
    assert_eq!(client.session.complete(live.id, length), Err(Withdrawn));
}

#[test]
fn players_say_where_they_begin_and_how_much_they_keep() {
    let seconds = Duration::from_secs;
    for (start, duration, passage) in [
        (Some(-2_000.0), None, (Start::LiveOrRecorded, None)),
        (Some(-2.0), Some(-1.0), (Start::LiveOrRecorded, None)),
        (Some(-1_000.0), None, (Start::Live, None)),
        (Some(-1.0), None, (Start::Live, None)),
        (Some(0.0), None, (Start::Recorded(Duration::ZERO), None)),
        (
            Some(5_000.0),
            Some(2_000.0),
            (Start::Recorded(seconds(5)), Some(seconds(2))),
        ),
        (
            Some(f64::NAN),
            Some(f64::NAN),
            (Start::LiveOrRecorded, None),
        ),
        (None, None, (Start::LiveOrRecorded, None)),
    ] {
        let mut client = Client::connected();
        let events = client.command(1, "play", 0.0, |e| {
            e.null().string("film");
            for number in [start, duration].into_iter().flatten() {
                e.number(number);
            }
        });
        let [Event::Play(request)] = &events[..] else {
            panic!("{events:?}")
        };
        let found = (request.passage.start, request.passage.duration);
        assert_eq!(found, passage);
    }
    let mut client = Client::connected();
    assert_eq!(client.session.buffer(), seconds(1));
    for (millis, cut) in [(3_000_u32, 0), (500, 0), (9_000, 1)] {
        let mut body = vec![0, 3, 0, 0, 0, 1];
        body.extend_from_slice(&millis.to_be_bytes());
        body.truncate(body.len() - cut);
        client.send(Kind::UserControl, 0, 0, &body);
    }
    assert_eq!(client.session.buffer(), Duration::from_millis(500));
}

#[test]
fn stopping_takes_back_what_is_undecided_too() {
    for accepts in [false, true] {
        for (stream, name, argument) in [
            (1, "closeStream", None),
            (0, "deleteStream", Some(1.0)),
            (1, "deleteStream", None),
        ] {
            let mut client = Client::connected();
            client.command(0, "createStream", 2.0, null);
            let id = client.play(1, "show").id;
            if accepts {
                client.session.accept_play(id).unwrap();
            }
            let events = client.command(stream, name, 0.0, |e| {
                e.null();
                if let Some(argument) = argument {
                    e.number(argument);
                }
            });
            assert_eq!(events, [Event::Stop(id)]);
            assert_eq!(client.session.accept_play(id), Err(Withdrawn));
            assert_eq!(client.session.end_play(id, "", client.now), Err(Withdrawn));
            let due = client.now + Duration::from_secs(10);
            assert_eq!(client.session.poll_timeout(), Some(due));
        }
    }
    let (mut client, id) = Client::playing();
    let events = client.command(1, "play", 0.0, |e| {
        e.null().boolean(false);
    });
    assert_eq!(events, [Event::Stop(id)]);
}

#[test]
fn another_play_takes_the_place_of_the_first() {
    let (mut client, first) = Client::playing();
    let second = client.play(1, "other").id;
    assert_eq!(client.session.playback(), None);
    assert_eq!(
        client.session.end_play(first, "", client.now),
        Err(Withdrawn)
    );
    assert!(client.replies().is_empty());
    client.session.accept_play(second).unwrap();
    assert_eq!(client.replies(), started(1));
    assert_eq!(
        client.command(1, "closeStream", 0.0, null),
        [Event::Stop(second)]
    );
}

#[test]
fn one_stream_per_connection() {
    let (mut client, id) = Client::playing();
    for (name, reply) in [
        ("publish", "onStatus 0 @1 error NetStream.Publish.Rejected"),
        ("play", "onStatus 0 @2 error NetStream.Play.Failed"),
    ] {
        let stream = if name == "play" { 2 } else { 1 };
        let events = client.command(stream, name, 0.0, |e| {
            e.null().string("other");
        });
        assert_eq!(events, []);
        assert_eq!(client.replies(), [reply]);
    }
    assert_eq!(
        client.session.playback().map(|playback| playback.id),
        Some(id)
    );
    // Media from a player is ignored.
    assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
    // Having stopped, it may publish.
    client.command(1, "closeStream", 0.0, null);
    let request = client.publish("show");
    client.session.accept_publish(request.id).unwrap();
    assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME).len(), 1);
}

#[test]
fn the_end_of_a_stream_is_not_that_of_the_connection() {
    let (mut client, id) = Client::playing();
    client.now += Duration::from_secs(3_600);
    client.session.end_play(id, "over", client.now).unwrap();
    assert_eq!(
        client.replies(),
        [
            "onStatus 0 @1 status NetStream.Play.UnpublishNotify",
            "UserControl 000100000001",
        ]
    );
    assert!(!client.session.is_closed());
    assert_eq!(client.session.end_play(id, "", client.now), Err(Withdrawn));
    assert_eq!(client.command(1, "closeStream", 0.0, null), []);
    let due = client.now + Duration::from_secs(10);
    assert_eq!(client.session.poll_timeout(), Some(due));
    let id = client.play(1, "show").id;
    client.session.accept_play(id).unwrap();
    assert_eq!(client.replies(), started(1));
}

#[test]
fn refusals_in_the_terms_of_players() {
    for (rejection, code) in [
        (Rejection::StreamNotFound, "NetStream.Play.StreamNotFound"),
        (Rejection::Denied, "NetStream.Play.Failed"),
        (Rejection::Rejected, "NetStream.Play.Failed"),
        (Rejection::BadName, "NetStream.Play.Failed"),
        (Rejection::Failed, "NetStream.Play.Failed"),
    ] {
        let mut client = Client::connected();
        let id = client.play(1, "show").id;
        client.session.reject(id, rejection, "no").unwrap();
        assert_eq!(client.replies(), [format!("onStatus 0 @1 error {code}")]);
        assert!(client.session.is_closed());
        assert_eq!(client.session.accept_play(id), Err(Withdrawn));

        let (mut client, _) = Client::playing();
        client.session.close_with(rejection, "no");
        assert_eq!(client.replies(), [format!("onStatus 0 @1 error {code}")]);
    }
}

#[test]
fn a_player_may_be_silent_for_ever() {
    let mut client = Client::connected();
    let id = client.play(1, "show").id;
    assert_eq!(client.session.poll_timeout(), None, "while it waits");
    client.session.accept_play(id).unwrap();
    client.replies();
    assert_eq!(client.session.poll_timeout(), None);
    let late = client.now + Duration::from_secs(1 << 20);
    client.session.handle_timeout(late).unwrap();
    assert!(client.replies().is_empty());
    // It may still ping us.
    client.send(Kind::UserControl, 0, 0, &[0, 6, 1, 2, 3, 4]);
    assert_eq!(client.replies(), ["UserControl 000701020304"]);
}

#[test]
fn only_clients_that_can_are_asked_to_reconnect() {
    for (capabilities, can) in [(None, false), (Some(14.0), false), (Some(1.0), true)] {
        let mut client = Client::new();
        assert!(!client.session.request_reconnect("before connect"));
        client.command(0, "connect", 1.0, |e| {
            e.object().key("app").string("live");
            if let Some(capabilities) = capabilities {
                e.key("capsEx").number(capabilities);
            }
            e.end();
        });
        let id = client.play(1, "show").id;
        client.session.accept_play(id).unwrap();
        client.replies();
        assert_eq!(client.session.request_reconnect("moving"), can);
        let asked = "onStatus 0 @0 status NetConnection.Connect.ReconnectRequest".to_owned();
        assert_eq!(client.replies(), Vec::from_iter(can.then_some(asked)));
        assert!(!client.session.is_closed());
    }
}

#[test]
fn peers_of_enhanced_rtmp_are_told_what_we_can() {
    let connect = |member: fn(&mut Encoder<'_>)| {
        let mut client = Client::new();
        let events = client.command(0, "connect", 1.0, |e| {
            e.object().key("app").string("live");
            member(e);
            e.end();
        });
        let output = client.session.output().split();
        let mut input = &output[..];
        let mut reply = Bytes::new();
        while let Some(message) = client.heard.read(&mut input).unwrap() {
            reply = message.payload;
        }
        (events, reply)
    };
    let members: [fn(&mut Encoder<'_>); 3] = [
        |e| {
            e.key("fourCcList").strict_array(1).string("hvc1");
        },
        |e| {
            e.key("videoFourCcInfoMap").object();
            e.key("hvc1").number(1.0).end();
            e.key("audioFourCcInfoMap").object().end();
        },
        |e| {
            e.key("capsEx").number(0.0);
        },
    ];
    for (member, names) in members.into_iter().zip([&["hvc1"][..], &["hvc1"], &[]]) {
        let (events, reply) = connect(member);
        assert!(
            matches!(&events[..], [Event::Connect(connect)] if connect.four_ccs == names),
            "{events:?}"
        );
        let mut decoder = Decoder::new(&reply);
        decoder.value().unwrap();
        decoder.value().unwrap();
        let properties = decoder.value().unwrap().unwrap();
        let number = |value: Option<&Value<'_>>| value.and_then(Value::number);
        assert_eq!(number(properties.property("capsEx")), Some(15.0));
        assert_eq!(
            properties.property("fourCcList"),
            Some(&Value::StrictArray(vec![Value::String(b"*")]))
        );
        for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
            let map = properties.property(map).unwrap();
            assert_eq!(number(map.property("*")), Some(4.0));
        }
    }
}

#[test]
fn thousands_of_sessions_take_little() {
    fn may_go_to_another_thread<T: Send + 'static>(_: &T) {}

    let (client, _) = Client::playing();
    may_go_to_another_thread(&client.session);
    assert!(size_of::<Session>() <= 768, "{}", size_of::<Session>());
}

/// Something a player may send after its request.
fn any_wish() -> impl Strategy<Value = (&'static str, u32, Option<bool>)> {
    let name = prop::sample::select(vec![
        "pause",
        "pauseRaw",
        "receiveAudio",
        "receiveVideo",
        "seek",
        "play",
        "closeStream",
    ]);
    (name, 0..3_u32, prop::option::of(any::<bool>()))
}

proptest! {
    /// The events alone give the same state as the session.
    #[test]
    fn events_tell_all_that_changes(wishes in prop::collection::vec(any_wish(), 0..40)) {
        let mut client = Client::connected();
        client.command(0, "createStream", 2.0, null);
        let mut known = None;
        for (name, stream, value) in wishes {
            let events = client.command(stream, name, 0.0, |e| {
                e.null();
                match value {
                    Some(value) => e.boolean(value),
                    None => e.string("show"),
                };
            });
            for event in events {
                known = match (event, known) {
                    (Event::Play(request), _) => Some(client.session.accept_play(request.id).unwrap()),
                    (Event::Stop(id), Some(Playback { id: playing, .. })) if id == playing => None,
                    (Event::Pause(id), Some(before)) if id == before.id && !before.is_paused => {
                        Some(Playback { is_paused: true, ..before })
                    }
                    (Event::Resume(id), Some(before)) if id == before.id && before.is_paused => {
                        Some(Playback { is_paused: false, ..before })
                    }
                    (Event::Select { id, audio, video }, Some(before)) if id == before.id => {
                        prop_assert_ne!((before.audio, before.video), (audio, video));
                        Some(Playback { audio, video, ..before })
                    }
                    (event, _) => panic!("{event:?} while {known:?}"),
                };
            }
            prop_assert_eq!(client.session.playback(), known);
            client.replies();
        }
    }
}
