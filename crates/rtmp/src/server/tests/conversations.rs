//! What well-known encoders send, in their order.

use super::*;

const CONNECTED: [&str; 3] = [
    "WindowAckSize 002625a0",
    "SetPeerBandwidth 002625a002",
    "_result 1 @0 status NetConnection.Connect.Success",
];
const STARTED: [&str; 2] = [
    "UserControl 000000000001",
    "onStatus 0 @1 status NetStream.Publish.Start",
];

fn null(e: &mut Encoder<'_>) {
    e.null();
}

fn named(name: &str) -> impl FnOnce(&mut Encoder<'_>) {
    let name = name.to_owned();
    move |e| {
        e.null().string(&name);
    }
}

#[test]
fn librtmp_and_obs() {
    let mut client = Client::new();
    client.send(Kind::SetChunkSize, 0, 0, &4096_u32.to_be_bytes());
    client.chunk_size = 4096;
    let connect = client.connect("live", "rtmp://h/live");
    assert_eq!(connect.app, "live");
    assert!(connect.flash_version.starts_with("FMLE/3.0"));
    assert_eq!(client.replies(), CONNECTED);
    client.send(Kind::WindowAckSize, 0, 0, &2_500_000_u32.to_be_bytes());

    assert_eq!(
        client.command(0, "releaseStream", 2.0, named("show?key=K")),
        []
    );
    assert_eq!(client.command(0, "FCPublish", 3.0, named("show?key=K")), []);
    assert_eq!(client.command(0, "createStream", 4.0, null), []);
    assert_eq!(
        client.replies(),
        [
            "_result 2 @0 null",
            "_result 3 @0 undefined",
            "onFCPublish 0 @0 status NetStream.Publish.Start",
            "_result 4 @0 1",
        ]
    );

    let request = client.publish("show?key=K");
    assert_eq!(request.path.name, "live/show");
    assert_eq!(request.path.parameter("key").as_deref(), Some("K"));
    assert_eq!(request.mode, Mode::Live);
    assert!(
        client.replies().is_empty(),
        "nothing before the gate has spoken"
    );
    let again = |e: &mut Encoder<'_>| {
        e.null().string("show?key=K").string("live");
    };
    assert_eq!(client.command(1, "publish", 6.0, again), []);
    assert!(client.replies().is_empty(), "one answer for both");
    client.session.accept_publish(request.id).unwrap();
    assert_eq!(client.replies(), STARTED);
    assert_eq!(client.command(1, "publish", 7.0, again), []);
    assert_eq!(client.replies(), STARTED[1..], "it is what it has");

    let name = amf(|e| {
        e.string("onMetaData");
    });
    let body = [name, metadata_value()].concat();
    let sent = [
        &amf(|e| {
            e.string("@setDataFrame");
        })[..],
        &body,
    ]
    .concat();
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 0, &sent),
        [Event::Metadata(media(0, &body))]
    );
    assert_eq!(
        client.send(Kind::Video, 1, 0, AVC_HEADER),
        [Event::Video(media(0, AVC_HEADER))]
    );
    assert_eq!(
        client.send(Kind::Audio, 1, 23, AAC_HEADER),
        [Event::Audio(media(23, AAC_HEADER))]
    );
    let large = [KEYFRAME, &[7; 50_000]].concat();
    assert_eq!(
        client.send(Kind::Video, 1, 40, &large),
        [Event::Video(media(40, &large))]
    );

    let events = client.command(0, "FCUnpublish", 6.0, named("show?key=K"));
    assert_eq!(events, [Event::Unpublish(request.id)]);
    assert_eq!(
        client.replies(),
        [
            "_result 6 @0 undefined",
            "onFCUnpublish 0 @0 status NetStream.Unpublish.Success",
            "onStatus 0 @1 status NetStream.Unpublish.Success",
        ]
    );
    let events = client.command(0, "deleteStream", 7.0, |e| {
        e.null().number(1.0);
    });
    assert_eq!(events, []);
    assert!(client.replies().is_empty());
}

#[test]
fn ffmpeg_with_a_slash_in_the_key() {
    let mut client = Client::new();
    client.connect("live/show?key=a", "rtmp://h:1935/live/show?key=a");
    client.command(0, "releaseStream", 2.0, named("b"));
    client.command(0, "FCPublish", 3.0, named("b"));
    client.command(0, "createStream", 4.0, null);
    client.command(0, "_checkbw", 5.0, null);
    assert_eq!(
        client.replies()[6..],
        ["_result 4 @0 1", "_result 5 @0 null"].map(String::from)
    );
    let request = client.publish("b");
    assert_eq!(request.path.name, "live/show");
    assert_eq!(request.path.parameter("key").as_deref(), Some("a/b"));
    client.session.accept_publish(request.id).unwrap();
    // ffmpeg adopts our chunk size.
    client.send(Kind::SetChunkSize, 0, 0, &65_536_u32.to_be_bytes());
    client.chunk_size = 65_536;
    let frame = [KEYFRAME, &[1; 100_000]].concat();
    assert_eq!(client.send(Kind::Video, 1, 7, &frame).len(), 1);
    let events = client.command(0, "deleteStream", 8.0, |e| {
        e.null().number(1.0);
    });
    assert_eq!(events, [Event::Unpublish(request.id)]);
}

#[test]
fn fmle_publishes_again_on_the_same_connection() {
    let mut client = Client::connected();
    for round in 0..3 {
        client.command(0, "releaseStream", 2.0, named("show"));
        client.command(0, "FCPublish", 3.0, named("show"));
        client.command(0, "createStream", 4.0, null);
        assert_eq!(
            client.replies()[3],
            "_result 4 @0 1",
            "stream ids are given out again"
        );
        let request = client.publish("show");
        client.session.accept_publish(request.id).unwrap();
        assert_eq!(client.replies(), STARTED);
        assert_eq!(client.send(Kind::Audio, 1, round, AAC_HEADER).len(), 1);
        assert_eq!(
            client.command(0, "FCUnpublish", 5.0, named("show")),
            [Event::Unpublish(request.id)]
        );
        client.command(1, "closeStream", 0.0, null);
        client.command(0, "deleteStream", 0.0, |e| {
            e.null().number(1.0);
        });
        assert_eq!(client.send(Kind::Audio, 1, round, AAC_HEADER), []);
        client.replies();
    }
}

#[test]
fn haivision_creates_its_stream_first() {
    let mut client = Client::connected();
    client.command(0, "createStream", 2.0, null);
    client.command(0, "_checkbw", 3.0, null);
    client.command(0, "FCPublish", 4.0, named("show"));
    assert_eq!(
        client.replies(),
        [
            "_result 2 @0 1",
            "_result 3 @0 null",
            "_result 4 @0 undefined",
            "onFCPublish 0 @0 status NetStream.Publish.Start",
        ]
    );
    let request = client.publish("show");
    client.session.accept_publish(request.id).unwrap();
    assert_eq!(client.replies(), STARTED);
}

#[test]
fn gstreamer_speaks_enhanced_rtmp_all_at_once() {
    let mut client = Client::new();
    let mut bytes = BytesMut::new();
    let mut body = BytesMut::new();
    let e = &mut command::encode(&mut body, "connect", 1.0);
    e.object();
    e.key("app").string("live");
    e.key("tcUrl").string("rtmp://[::1]:1935/live");
    e.key("fourCcList")
        .strict_array(2)
        .string("hvc1")
        .string("Opus");
    e.key("capsEx").number(1.0);
    e.end();
    bytes.unsplit(client.encode(Kind::CommandAmf0, 0, 0, &body));
    let calls: [(&str, f64); 3] = [
        ("releaseStream", 2.0),
        ("FCPublish", 3.0),
        ("createStream", 4.0),
    ];
    for (name, transaction) in calls {
        let mut body = BytesMut::new();
        command::encode(&mut body, name, transaction)
            .null()
            .string("show");
        bytes.unsplit(client.encode(Kind::CommandAmf0, 0, 0, &body));
    }
    let events = client.feed(&bytes).unwrap();
    let [Event::Connect(connect)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (&connect.four_ccs[..], connect.capabilities),
        (&["hvc1".into(), "Opus".into()][..], 1)
    );

    // The reply names the codecs that may be sent, to clients that named some.
    let output = client.session.output().clone();
    assert!(output.windows(10).any(|w| w == b"fourCcList"));
    assert_eq!(client.replies()[..3], CONNECTED.map(String::from));
    let request = client.publish("show");
    assert_eq!(request.path.host.as_deref(), Some("::1"));
    client.session.accept_publish(request.id).unwrap();
    // GStreamer fails on any other first status, and on stream 0.
    assert_eq!(client.replies(), STARTED);
}

#[test]
fn plain_clients_are_told_nothing_of_enhanced_rtmp() {
    let mut client = Client::new();
    client.connect("live", "rtmp://h/live");
    assert!(
        !client
            .session
            .output()
            .windows(10)
            .any(|w| w == b"fourCcList")
    );
}

#[test]
fn amf3_marked_messages_are_amf0_inside() {
    let mut client = Client::connected();
    let marked = |name: &str| {
        let mut body = BytesMut::from(&[0][..]);
        command::encode(&mut body, name, 2.0).null().string("show");
        body
    };
    client.send(Kind::CommandAmf3, 0, 0, &marked("createStream"));
    assert_eq!(client.replies(), ["_result 2 @0 1"]);
    let events = client.send(Kind::CommandAmf3, 1, 0, &marked("publish"));
    let [Event::Publish(request)] = &events[..] else {
        panic!("{events:?}");
    };
    client.session.accept_publish(request.id).unwrap();
    let text = amf(|e| {
        e.string("onTextData").string("hello");
    });
    let body = [&[0], &text[..]].concat();
    assert_eq!(
        client.send(Kind::DataAmf3, 1, 3, &body),
        [Event::Data(media(3, &text))]
    );
}

#[test]
fn publishing_without_createstream_or_type() {
    let mut client = Client::connected();
    let events = client.command(0, "publish", 2.0, named("show"));
    let [Event::Publish(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(request.mode, Mode::Live);
    client.session.accept_publish(request.id).unwrap();
    assert_eq!(
        client.replies()[1],
        "onStatus 0 @0 status NetStream.Publish.Start"
    );
    assert_eq!(client.send(Kind::Audio, 0, 1, AAC_HEADER).len(), 1);
    let events = client.command(0, "deleteStream", 3.0, |e| {
        e.null().number(1.0);
    });
    assert_eq!(events, [Event::Unpublish(request.id)]);
}

#[test]
fn modes_in_any_case() {
    for (text, mode) in [
        ("LIVE", Mode::Live),
        ("Record", Mode::Record),
        ("append", Mode::Append),
        ("x", Mode::Live),
    ] {
        let mut client = Client::connected();
        let events = client.command(1, "publish", 0.0, |e| {
            e.null().string("s").string(text);
        });
        assert!(matches!(&events[..], [Event::Publish(request)] if request.mode == mode));
    }
}

#[test]
fn configuration_sent_too_early_is_not_lost() {
    let mut client = Client::connected();
    client.command(0, "createStream", 2.0, null);
    assert_eq!(
        client.send(Kind::Video, 1, 0, AVC_HEADER),
        [],
        "nothing was asked for"
    );
    let request = client.publish("show");
    let body = [
        amf(|e| {
            e.string("onMetaData");
        }),
        metadata_value(),
    ]
    .concat();
    assert_eq!(client.send(Kind::DataAmf0, 1, 0, &body), []);
    assert_eq!(client.send(Kind::Video, 1, 0, AVC_HEADER), []);
    assert_eq!(client.send(Kind::Audio, 1, 0, AAC_HEADER), []);
    assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
    assert_eq!(client.send(Kind::Video, 1, 9, &[0x17; 400_000]), []);
    client.session.accept_publish(request.id).unwrap();
    assert_eq!(
        client.feed(&[]).unwrap(),
        [
            Event::Metadata(media(0, &body)),
            Event::Video(media(0, AVC_HEADER)),
            Event::Audio(media(0, AAC_HEADER)),
        ]
    );
    assert_eq!(client.send(Kind::Video, 1, 40, KEYFRAME).len(), 1);
}

#[test]
fn metadata_and_data_keep_their_bytes() {
    let mut client = Client::publishing();
    let value = metadata_value();
    let string = |text: &str| {
        amf(|e| {
            e.string(text);
        })
    };
    let body = [string("onMetaData"), value.clone()].concat();
    let junk = amf(|e| {
        e.number(0.0).number(1.0);
    });
    for prefix in [
        Bytes::new(),
        string("@setDataFrame"),
        [junk, string("@setDataFrame")].concat().into(),
    ] {
        let sent = [prefix, body.clone().into()].concat();
        assert_eq!(
            client.send(Kind::DataAmf0, 1, 5, &sent),
            [Event::Metadata(media(5, &body))]
        );
    }
    let cue = [string("onCuePoint"), value].concat();
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 6, &cue),
        [Event::Data(media(6, &cue))]
    );
    // A value we cannot decode is not our concern.
    let odd = [&string("onMetaData")[..], &[0xee; 9]].concat();
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 7, &odd),
        [Event::Metadata(media(7, &odd))]
    );
    let noise = [0xee; 9];
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 8, &noise),
        [Event::Data(media(8, &noise))]
    );
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 9, &string("@setDataFrame")),
        []
    );
    assert_eq!(
        client.send(Kind::DataAmf0, 1, 9, &string("@clearDataFrame")),
        []
    );
}

#[test]
fn aggregates_are_taken_apart() {
    let mut client = Client::publishing();
    let sub = |kind: u8, time: u8, body: &[u8]| {
        let head = [kind, 0, 0, body.len() as u8, 0, 0, time, 0, 0, 0, 0];
        [&head[..], body, &[0; 4]].concat()
    };
    let body = [sub(9, 10, KEYFRAME), sub(8, 33, AAC_HEADER)].concat();
    assert_eq!(
        client.send(Kind::Aggregate, 1, 1_000, &body),
        [
            Event::Video(media(1_000, KEYFRAME)),
            Event::Audio(media(1_023, AAC_HEADER))
        ]
    );
}

#[test]
fn refusals() {
    for (rejection, code) in [
        (Rejection::BadName, "NetStream.Publish.BadName"),
        (Rejection::Denied, "NetStream.Publish.Denied"),
        (Rejection::Rejected, "NetStream.Publish.Rejected"),
    ] {
        let mut client = Client::connected();
        client.command(0, "createStream", 2.0, null);
        client.replies();
        let request = client.publish("show");
        client.session.reject(request.id, rejection, "no").unwrap();
        assert_eq!(client.replies(), [format!("onStatus 0 @1 error {code}")]);
        assert!(client.session.is_closed());
        assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
        assert_eq!(client.session.accept_publish(request.id), Err(Withdrawn));
    }
}

#[test]
fn a_taken_over_publisher_is_told() {
    let mut client = Client::publishing();
    client.session.close_with(Rejection::BadName, "taken over");
    assert_eq!(
        client.replies(),
        ["onStatus 0 @1 error NetStream.Publish.BadName"]
    );
    assert!(client.session.is_closed());
    client.session.close_with(Rejection::BadName, "taken over");
    assert!(client.replies().is_empty());
}

#[test]
fn a_withdrawn_request_cannot_be_accepted() {
    let mut client = Client::connected();
    let first = client.publish("show");
    let events = client.command(1, "closeStream", 0.0, null);
    assert_eq!(events, [Event::Unpublish(first.id)]);
    let second = client.publish("show");
    assert_eq!(client.session.accept_publish(first.id), Err(Withdrawn));
    assert_eq!(
        client.session.reject(first.id, Rejection::Denied, ""),
        Err(Withdrawn)
    );
    assert_eq!(client.session.accept_publish(second.id), Ok(()));
}

#[test]
fn one_stream_per_connection() {
    let mut client = Client::publishing();
    assert_eq!(client.command(1, "publish", 6.0, named("show")), []);
    assert_eq!(client.replies(), STARTED[1..]);
    assert_eq!(client.command(2, "publish", 6.0, named("other")), []);
    assert_eq!(
        client.replies(),
        ["onStatus 0 @2 error NetStream.Publish.BadName"]
    );
    assert_eq!(
        client.send(Kind::Audio, 1, 0, AAC_HEADER).len(),
        1,
        "the first goes on"
    );
    assert_eq!(client.command(3, "play", 7.0, named("show")), []);
    assert_eq!(
        client.replies(),
        ["onStatus 0 @3 error NetStream.Play.Failed"]
    );
}

#[test]
fn players_are_asked_about() {
    let mut client = Client::connected();
    client.command(0, "createStream", 2.0, null);
    client.command(0, "getStreamLength", 3.0, named("show"));
    assert_eq!(client.replies(), ["_result 2 @0 1", "_result 3 @0 0"]);
    let events = client.command(1, "play", 4.0, |e| {
        e.null().string("show").number(-2000.0);
    });
    let [Event::Play(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(request.path.name, "live/show");
    client
        .session
        .reject(request.id, Rejection::StreamNotFound, "no such stream")
        .unwrap();
    assert_eq!(
        client.replies(),
        ["onStatus 0 @1 error NetStream.Play.StreamNotFound"]
    );
    assert!(client.session.is_closed());
}

#[test]
fn unknown_commands_are_answered_if_they_ask() {
    let mut client = Client::connected();
    client.command(0, "whatIsThis", 9.0, null);
    client.command(0, "noAnswerWanted", 0.0, null);
    client.command(0, "_result", 3.0, null);
    client.command(0, "connect", 4.0, null);
    assert_eq!(
        client.replies(),
        [
            "_result 9 @0 null",
            "_error 4 @0 error NetConnection.Connect.Rejected"
        ]
    );
}
