//! Hostile peers, and careless ones.

use proptest::prelude::*;

use super::*;

const COMMANDS: &str = "connect createStream publish play play2 deleteStream closeStream FCPublish \
    FCUnpublish releaseStream getStreamLength _checkbw pause pauseRaw seek receiveAudio receiveVideo \
    FCSubscribe FCUnsubscribe setPlaylist _result _error onStatus ";

#[test]
fn every_command_may_lack_arguments() {
    for name in COMMANDS.split(' ') {
        let mut full = BytesMut::new();
        command::encode(&mut full, name, 7.0).null().null();
        let after_name = 3 + name.len();
        for cut in [0, after_name, after_name + 9, after_name + 10, full.len()] {
            let stages = [
                Client::new(),
                Client::connected(),
                Client::publishing(),
                Client::playing().0,
            ];
            for mut client in stages {
                for kind in [Kind::CommandAmf0, Kind::CommandAmf3] {
                    for stream in [0, 1, 77] {
                        match client.try_send(kind, stream, 0, &full[..cut]) {
                            Ok(_) | Err(Error::CommandBeforeConnect) => {}
                            Err(error) => panic!("{name}: {error}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn commands_before_connect_are_refused_and_media_is_ignored() {
    let mut client = Client::new();
    assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
    let data = client.send(Kind::DataAmf0, 1, 0, &string("@setDataFrame"));
    assert_eq!(data, []);
    let mut body = BytesMut::new();
    command::encode(&mut body, "createStream", 2.0);
    let got = client.try_send(Kind::CommandAmf0, 0, 0, &body);
    assert_eq!(got, Err(Error::CommandBeforeConnect));
    client.hears(REFUSED);
    assert!(client.session.is_closed());
}

const REFUSED: &str = "_error 1 @0 error NetConnection.Connect.Rejected";

#[test]
fn connect_as_oddly_as_it_comes() {
    let arrays = amf(|e| {
        e.string("connect").number(1.0).ecma_array(0);
        e.key("tcurl").string("'rtmp://h/live/ live=1'");
        e.key("app").string("live/");
        e.key("objectEncoding").number(3.0);
        e.key("fourCcList").null();
        e.key("capsEx").number(f64::NAN).end()
    });
    let mut client = Client::new();
    let events = client.send(Kind::CommandAmf0, 0, 0, &arrays);
    assert!(matches!(&events[..], [Event::Connect(connect)] if connect.app == "live"));
    assert_eq!(client.publish("show").path.name, "live/show");

    let mut client = Client::new();
    let events = client.send(Kind::CommandAmf0, 0, 0, &string("connect"));
    assert_eq!(events, [Event::Connect(Box::default())]);
    assert_eq!(client.publish("").path.name, "");
}

#[test]
fn deep_nesting_is_refused_in_words() {
    let nested = [0x03, 0, 1, b'k'].repeat(10_000);
    let body = [&amf(|e| e.string("connect").number(1.0))[..], &nested].concat();
    let mut client = Client::new();
    let got = client.try_send(Kind::CommandAmf0, 0, 0, &body);
    assert!(matches!(got, Err(Error::MalformedCommand(_))), "{got:?}");
    client.hears(REFUSED);

    // As metadata it is opaque.
    let body = [&string("onMetaData")[..], &nested].concat();
    Client::publishing().brings(Kind::DataAmf0, 0, &body, Event::Metadata);
}

#[test]
fn limits_are_refused_in_words() {
    let announced = [0x06, 0, 0, 0, 0xff, 0xff, 0xff, 9, 1, 0, 0, 0];
    let mut client = Client::publishing();
    let got = client.feed(&announced);
    let is_told = matches!(got, Err(Error::MessageTooLong { length, .. }) if length == 0xff_ffff);
    assert!(is_told, "{got:?}");
    client.hears("onStatus 0 @1 error NetConnection.Connect.Rejected");
    // A closed session is deaf.
    assert_eq!(client.feed(&announced), Ok(vec![]));
}

#[test]
fn message_streams_are_counted() {
    let mut client = Client::connected();
    for _ in 0..9 {
        client.quietly(0, "createStream 2 _");
    }
    let last = client.replies().split_off(7).join(" | ");
    assert_eq!(
        last,
        "_result 2 @0 8 | _error 2 @0 error NetConnection.Call.Failed"
    );
    client.say(0, "deleteStream 0 _ 3");
    client.quietly(0, "createStream 3 _");
    client.hears("_result 3 @0 3");
}

#[test]
fn what_an_undecided_publisher_makes_us_hold_is_bounded() {
    let mut client = Client::connected();
    let id = client.publish("show").id;
    let header = [AVC_HEADER, &[0; 4_000]].concat();
    for _ in 0..1_000 {
        assert_eq!(client.send(Kind::Video, 1, 0, &header), []);
    }
    client.session.accept_publish(id).unwrap();
    let events = client.feed(&[]).unwrap();
    let bytes = events.iter().map(|event| match event {
        Event::Video(media) => media.payload.len(),
        other => panic!("{other:?}"),
    });
    assert!((1..=32 << 10).contains(&bytes.sum::<usize>()));
}

/// One message that some client might send.
fn any_message() -> impl Strategy<Value = (Kind, u32, u32, Vec<u8>)> {
    let app = amf(|e| e.object().key("app").string("live").end());
    let argument = prop_oneof![
        Just(vec![5]),
        Just(vec![6]),
        Just(vec![1, 0]),
        Just(vec![1, 1]),
        (0..3_u8).prop_map(|n| amf(|e| e.number(f64::from(n))).to_vec()),
        "[a-z?=/]{0,8}".prop_map(|s| string(&s).to_vec()),
        Just(app.to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    let names: Vec<_> = COMMANDS.split(' ').collect();
    let arguments = prop::collection::vec(argument, 0..4);
    let command = (prop::sample::select(names), 0..3_u8, arguments);
    let command = command.prop_map(|(name, transaction, arguments)| {
        let mut body = BytesMut::new();
        command::encode(&mut body, name, f64::from(transaction));
        (Kind::CommandAmf0, [&body[..], &arguments.concat()].concat())
    });
    let kinds = [1, 2, 3, 4, 5, 6, 8, 9, 15, 17, 18, 20, 22, 99].map(Kind::from_wire);
    let noise = prop::collection::vec(any::<u8>(), 0..40);
    let other = (prop::sample::select(kinds.to_vec()), noise);
    let video = Just((Kind::Video, AVC_HEADER.to_vec()));
    let body = prop_oneof![5 => command, 2 => other, 2 => video];
    (body, 0..3_u32, any::<u32>())
        .prop_map(|((kind, body), stream, time)| (kind, stream, time, body))
}

/// Feeds pieces, accepting every publisher and player; returns all results.
fn transcript(pieces: &[&[u8]]) -> (Vec<Event>, Vec<u8>, Option<Error>) {
    let mut client = Client::new();
    let mut events = Vec::new();
    let mut output = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            let result = client.session.read(&mut input, client.now);
            match &result {
                Ok(Some(Event::Publish(request))) => {
                    client.session.accept_publish(request.id).unwrap();
                }
                Ok(Some(Event::Play(request))) => {
                    client.session.accept_play(request.id).unwrap();
                }
                _ => {}
            }
            output.extend_from_slice(&client.session.output().split());
            match result {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, output, Some(error)),
            }
        }
    }
    (events, output, None)
}

proptest! {
    #[test]
    fn conversations_do_not_depend_on_segments(
        messages in prop::collection::vec(any_message(), 0..25),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        noise in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let client = Client::new();
        let mut body = BytesMut::new();
        command::encode(&mut body, "connect", 1.0);
        let mut bytes = client.encode(Kind::CommandAmf0, 0, 0, &body);
        for (kind, stream, time, body) in &messages {
            bytes.unsplit(client.encode(*kind, *stream, *time, body));
        }
        bytes.extend_from_slice(&noise);
        let whole = transcript(&[&bytes]);
        prop_assert!(!whole.0.is_empty());
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(&transcript(&pieces), &whole);
        let bytewise: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(transcript(&bytewise), whole);
    }
}
