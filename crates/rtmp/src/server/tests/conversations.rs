//! Messages of well-known encoders, in their order.

use super::*;

const CONNECTED: &str = "WindowAckSize 002625a0 | SetPeerBandwidth 002625a002 | \
    _result 1 @0 status NetConnection.Connect.Success";
const STARTED: &str = "UserControl 000000000001 | onStatus 0 @1 status NetStream.Publish.Start";

#[test]
fn librtmp_and_obs() {
    let mut client = Client::new();
    client.chunks_of(4096);
    let connect = client.connect("live", "rtmp://h/live");
    assert_eq!(connect.app, "live");
    assert!(connect.flash_version.starts_with("FMLE/3.0"));
    client.hears(CONNECTED);
    client.control(Kind::WindowAckSize, 2_500_000);

    client.quietly(0, "releaseStream 2 _ show?key=K | FCPublish 3 _ show?key=K");
    client.quietly(0, "createStream 4 _");
    client.hears(
        "_result 2 @0 null | _result 3 @0 undefined | \
         onFCPublish 0 @0 status NetStream.Publish.Start | _result 4 @0 1",
    );

    let request = client.publish("show?key=K");
    assert_eq!(request.path.name, "live/show");
    assert_eq!(request.path.parameter("key").as_deref(), Some("K"));
    assert_eq!(request.mode, Mode::Live);
    // Nothing before the gate has spoken, and then one answer for both.
    client.hears("");
    client.quietly(1, "publish 6 _ show?key=K live");
    client.hears("");
    client.session.accept_publish(request.id).unwrap();
    client.hears(STARTED);
    // It is what it has.
    client.quietly(1, "publish 7 _ show?key=K live");
    client.hears("onStatus 0 @1 status NetStream.Publish.Start");

    let body = metadata();
    let sent = [&string("@setDataFrame")[..], &body].concat();
    let events = client.send(Kind::DataAmf0, 1, 0, &sent);
    assert_eq!(events, [Event::Metadata(media(0, &body))]);
    client.brings(Kind::Video, 0, AVC_HEADER, Event::Video);
    client.brings(Kind::Audio, 23, AAC_HEADER, Event::Audio);
    let large = [KEYFRAME, &[7; 50_000]].concat();
    client.brings(Kind::Video, 40, &large, Event::Video);

    let events = client.say(0, "FCUnpublish 6 _ show?key=K");
    assert_eq!(events, [Event::Unpublish(request.id)]);
    client.hears(
        "_result 6 @0 undefined | onFCUnpublish 0 @0 status NetStream.Unpublish.Success | \
         onStatus 0 @1 status NetStream.Unpublish.Success",
    );
    client.quietly(0, "deleteStream 7 _ 1");
    client.hears("");
}

#[test]
fn ffmpeg_with_a_slash_in_the_key() {
    let mut client = Client::new();
    client.connect("live/show?key=a", "rtmp://h:1935/live/show?key=a");
    client.quietly(
        0,
        "releaseStream 2 _ b | FCPublish 3 _ b | createStream 4 _ | _checkbw 5 _",
    );
    let replies = client.replies().split_off(6);
    assert_eq!(replies, ["_result 4 @0 1", "_result 5 @0 null"]);
    let request = client.publish("b");
    assert_eq!(request.path.name, "live/show");
    assert_eq!(request.path.parameter("key").as_deref(), Some("a/b"));
    client.session.accept_publish(request.id).unwrap();
    // ffmpeg adopts our chunk size.
    client.chunks_of(65_536);
    let frame = [KEYFRAME, &[1; 100_000]].concat();
    assert_eq!(client.send(Kind::Video, 1, 7, &frame).len(), 1);
    let events = client.say(0, "deleteStream 8 _ 1");
    assert_eq!(events, [Event::Unpublish(request.id)]);
}

#[test]
fn fmle_publishes_again_on_the_same_connection() {
    let mut client = Client::connected();
    for round in 0..3 {
        client.quietly(
            0,
            "releaseStream 2 _ show | FCPublish 3 _ show | createStream 4 _",
        );
        // Stream ids are given out again.
        assert_eq!(client.replies()[3], "_result 4 @0 1");
        let id = client.published("show");
        client.hears(STARTED);
        assert_eq!(client.send(Kind::Audio, 1, round, AAC_HEADER).len(), 1);
        let events = client.say(0, "FCUnpublish 5 _ show");
        assert_eq!(events, [Event::Unpublish(id)]);
        client.say(1, "closeStream 0 _");
        client.say(0, "deleteStream 0 _ 1");
        assert_eq!(client.send(Kind::Audio, 1, round, AAC_HEADER), []);
        client.replies();
    }
}

#[test]
fn gstreamer_speaks_enhanced_rtmp_all_at_once() {
    let mut client = Client::new();
    let connect = amf(|e| {
        e.string("connect").number(1.0).object();
        e.key("app").string("live");
        e.key("tcUrl").string("rtmp://[::1]:1935/live");
        e.key("fourCcList").strict_array(2);
        e.string("hvc1").string("Opus");
        e.key("capsEx").number(1.0).end()
    });
    let mut bytes = client.encode(Kind::CommandAmf0, 0, 0, &connect);
    let calls = "releaseStream 2 _ show | FCPublish 3 _ show | createStream 4 _ show";
    for words in calls.split(" | ") {
        let mut body = BytesMut::new();
        write_command(&mut body, words);
        bytes.unsplit(client.encode(Kind::CommandAmf0, 0, 0, &body));
    }
    let events = client.feed(&bytes).unwrap();
    let [Event::Connect(connect)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(connect.four_ccs, ["hvc1", "Opus"]);
    assert_eq!(connect.capabilities, 1);

    // The reply names the codecs that may be sent, to clients that named some.
    let output = client.session.output().clone();
    assert!(output.windows(10).any(|w| w == b"fourCcList"));
    assert_eq!(client.replies()[..3].join(" | "), CONNECTED);
    let request = client.publish("show");
    assert_eq!(request.path.host.as_deref(), Some("::1"));
    client.session.accept_publish(request.id).unwrap();
    // GStreamer fails on any other first status, and on stream 0.
    client.hears(STARTED);
}

#[test]
fn plain_clients_learn_nothing_of_enhanced_rtmp() {
    let mut client = Client::new();
    client.connect("live", "rtmp://h/live");
    let mut said = client.session.output().windows(10);
    assert!(!said.any(|w| w == b"fourCcList"));
}

#[test]
fn amf3_marked_messages_are_amf0_inside() {
    let mut client = Client::connected();
    let marked = |words: &str| {
        let mut body = BytesMut::from(&[0][..]);
        write_command(&mut body, words);
        body
    };
    client.send(Kind::CommandAmf3, 0, 0, &marked("createStream 2 _ show"));
    client.hears("_result 2 @0 1");
    let events = client.send(Kind::CommandAmf3, 1, 0, &marked("publish 2 _ show"));
    let id = to_publish(&events).id;
    client.session.accept_publish(id).unwrap();
    let text = amf(|e| e.string("onTextData").string("hello"));
    let events = client.send(Kind::DataAmf3, 1, 3, &[&[0], &text[..]].concat());
    assert_eq!(events, [Event::Data(media(3, &text))]);
}

#[test]
fn publishing_without_createstream_or_type() {
    let mut client = Client::connected();
    let request = to_publish(&client.say(0, "publish 2 _ show"));
    assert_eq!(request.mode, Mode::Live);
    client.session.accept_publish(request.id).unwrap();
    let replies = client.replies().split_off(1);
    assert_eq!(replies, ["onStatus 0 @0 status NetStream.Publish.Start"]);
    assert_eq!(client.send(Kind::Audio, 0, 1, AAC_HEADER).len(), 1);
    let events = client.say(0, "deleteStream 3 _ 1");
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
        let events = Client::connected().say(1, &format!("publish 0 _ s {text}"));
        assert_eq!(to_publish(&events).mode, mode, "{text}");
    }
}

#[test]
fn configuration_sent_too_early_is_not_lost() {
    let mut client = Client::created();
    // Nothing was asked for.
    assert_eq!(client.send(Kind::Video, 1, 0, AVC_HEADER), []);
    let id = client.publish("show").id;
    let body = metadata();
    for (kind, time, sent) in [
        (Kind::DataAmf0, 0, &body[..]),
        (Kind::Video, 0, AVC_HEADER),
        (Kind::Audio, 0, AAC_HEADER),
        (Kind::Video, 0, KEYFRAME),
        (Kind::Video, 9, &[0x17; 400_000]),
    ] {
        assert_eq!(client.send(kind, 1, time, sent), []);
    }
    client.session.accept_publish(id).unwrap();
    let expected = [
        Event::Metadata(media(0, &body)),
        Event::Video(media(0, AVC_HEADER)),
        Event::Audio(media(0, AAC_HEADER)),
    ];
    assert_eq!(client.feed(&[]).unwrap(), expected);
    assert_eq!(client.send(Kind::Video, 1, 40, KEYFRAME).len(), 1);
}

#[test]
fn metadata_and_data_keep_their_bytes() {
    let mut client = Client::publishing();
    let body = metadata();
    let junk = amf(|e| e.number(0.0).number(1.0));
    let set = string("@setDataFrame");
    for prefix in [&[][..], &set, &[&junk[..], &set].concat()] {
        let events = client.send(Kind::DataAmf0, 1, 5, &[prefix, &body].concat());
        assert_eq!(events, [Event::Metadata(media(5, &body))]);
    }
    let cue = [&string("onCuePoint")[..], &body].concat();
    client.brings(Kind::DataAmf0, 6, &cue, Event::Data);
    // A value we cannot decode is not our concern.
    let odd = [&string("onMetaData")[..], &[0xee; 9]].concat();
    client.brings(Kind::DataAmf0, 7, &odd, Event::Metadata);
    client.brings(Kind::DataAmf0, 8, &[0xee; 9], Event::Data);
    for alone in [set, string("@clearDataFrame")] {
        assert_eq!(client.send(Kind::DataAmf0, 1, 9, &alone), []);
    }
}

#[test]
fn aggregates_are_taken_apart() {
    let mut client = Client::publishing();
    let sub = |kind: u8, time: u8, body: &[u8]| {
        let head = [kind, 0, 0, body.len() as u8, 0, 0, time, 0, 0, 0, 0];
        [&head[..], body, &[0; 4]].concat()
    };
    let body = [sub(9, 10, KEYFRAME), sub(8, 33, AAC_HEADER)].concat();
    let expected = [
        Event::Video(media(1_000, KEYFRAME)),
        Event::Audio(media(1_023, AAC_HEADER)),
    ];
    assert_eq!(client.send(Kind::Aggregate, 1, 1_000, &body), expected);
}

#[test]
fn refusals() {
    for (rejection, code) in [
        (Rejection::BadName, "BadName"),
        (Rejection::Denied, "Denied"),
        (Rejection::Rejected, "Rejected"),
    ] {
        let mut client = Client::created();
        let id = client.publish("show").id;
        client.session.reject(id, rejection, "no").unwrap();
        client.hears(&format!("onStatus 0 @1 error NetStream.Publish.{code}"));
        assert!(client.session.is_closed());
        assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
        assert_eq!(client.session.accept_publish(id), Err(Withdrawn));
    }
}

#[test]
fn a_taken_over_publisher_is_reported() {
    let mut client = Client::publishing();
    for words in ["onStatus 0 @1 error NetStream.Publish.BadName", ""] {
        client.session.close_with(Rejection::BadName, "taken over");
        client.hears(words);
        assert!(client.session.is_closed());
    }
}

#[test]
fn a_withdrawn_request_cannot_be_accepted() {
    let mut client = Client::connected();
    let first = client.publish("show").id;
    assert_eq!(client.say(1, "closeStream 0 _"), [Event::Unpublish(first)]);
    let second = client.publish("show").id;
    let session = &mut client.session;
    assert_eq!(session.accept_publish(first), Err(Withdrawn));
    let rejected = session.reject(first, Rejection::Denied, "");
    assert_eq!(rejected, Err(Withdrawn));
    assert_eq!(session.accept_publish(second), Ok(()));
}

#[test]
fn one_stream_per_connection() {
    let mut client = Client::publishing();
    client.quietly(2, "publish 6 _ other");
    client.hears("onStatus 0 @2 error NetStream.Publish.BadName");
    // The first goes on.
    client.brings(Kind::Audio, 0, AAC_HEADER, Event::Audio);
    client.quietly(3, "play 7 _ show");
    client.hears("onStatus 0 @3 error NetStream.Play.Failed");
}

#[test]
fn unknown_commands_are_answered_if_they_ask() {
    let mut client = Client::connected();
    client.quietly(
        0,
        "whatIsThis 9 _ | noAnswerWanted 0 _ | _result 3 _ | connect 4 _",
    );
    client.hears("_result 9 @0 null | _error 4 @0 error NetConnection.Connect.Rejected");
}
