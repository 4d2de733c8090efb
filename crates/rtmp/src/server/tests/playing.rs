//! Messages of players, in their order.

use proptest::prelude::*;

use super::*;

const PAUSED: &str = "onStatus 0 @1 status NetStream.Pause.Notify | UserControl 000100000001";
const RESUMED: &str = "onStatus 0 @1 status NetStream.Unpause.Notify | UserControl 000000000001";

fn started(stream: u32) -> String {
    format!(
        "UserControl 0000{stream:08x} | onStatus 0 @{stream} status NetStream.Play.Reset | \
         onStatus 0 @{stream} status NetStream.Play.Start | \
         data @{stream} |RtmpSampleAccess true true | \
         data @{stream} onStatus NetStream.Data.Start"
    )
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
    client.control(Kind::WindowAckSize, 5_000_000);
    client.send(Kind::UserControl, 0, 0, &[0, 3, 0, 0, 0, 0, 0, 0, 1, 44]);
    client.quietly(
        0,
        "createStream 2 _ | FCSubscribe 3 _ show | getStreamLength 4 _ show",
    );
    client.hears(
        "_result 2 @0 1 | _result 3 @0 undefined | \
         onFCSubscribe 0 @0 status NetStream.Play.Start | _result 4 @0 0",
    );
    let request = client.play(1, "show?token=T");
    let id = request.id;
    assert_eq!((id.stream(), request.mode), (1, Mode::Live));
    assert_eq!(request.path.name, "live/show");
    let buffer = [0, 3, 0, 0, 0, 1, 0, 0, 0x75, 0x30];
    client.send(Kind::UserControl, 0, 0, &buffer);
    // Nothing before the stream is there.
    client.hears("");
    let playback = client.session.accept_play(id).unwrap();
    let everything = Playback {
        id,
        is_paused: false,
        audio: true,
        video: true,
    };
    assert_eq!(playback, everything);
    assert_eq!(client.session.playback(), Some(everything));
    client.hears(&started(1));
    assert_eq!(client.say(0, "deleteStream 6 _ 1"), [Event::Stop(id)]);
    assert_eq!(client.session.playback(), None);
}

#[test]
fn what_is_said_to_a_player_leaves_its_media_alone() {
    let mut client = Client::connected();
    client.played(1, "show");
    let output = client.session.output().clone();
    assert_eq!(chunk_streams(&output), [2, 5, 5, 7, 7]);
}

#[test]
fn any_message_stream_will_do() {
    for stream in [0, 1, 3] {
        let mut client = Client::connected();
        for _ in 0..stream {
            client.quietly(0, "createStream 2 _");
        }
        client.replies();
        let id = client.played(stream, "show");
        let stream = stream.max(1);
        assert_eq!(id.stream(), stream);
        client.hears(&started(stream));
    }
}

#[test]
fn play2_names_its_stream_inside() {
    let events = Client::connected().command(1, "play2", 0.0, |e| {
        e.null().object();
        e.key("oldStreamName").string("");
        e.key("streamName").string("mp4:show.mp4");
        e.key("transition").string("switch").end()
    });
    assert_eq!(to_play(&events).path.name, "live/show.mp4");
}

#[test]
fn pausing() {
    let (mut client, id) = Client::playing();
    for (words, replies, event) in [
        ("pause 0 _ true 1234", PAUSED, Some(Event::Pause(id))),
        ("pauseRaw 0 _ true 1234", PAUSED, None),
        ("pauseRaw 0 _ false 1234", RESUMED, Some(Event::Resume(id))),
        ("pause 0 _ false 1234", RESUMED, None),
    ] {
        assert_eq!(client.say(1, words), Vec::from_iter(event), "{words}");
        client.hears(replies);
    }
    // Flash's way to say "the other".
    assert_eq!(client.say(1, "pause 0 _"), [Event::Pause(id)]);
    assert!(client.session.playback().is_some_and(|p| p.is_paused));
    assert_eq!(client.say(1, "pause 0 _"), [Event::Resume(id)]);
    client.replies();
    // On the connection it means the one stream; on another stream it means nothing.
    assert_eq!(client.say(0, "pause 0 _ true 1234"), [Event::Pause(id)]);
    client.hears(PAUSED);
    client.quietly(2, "pause 0 _ false 1234");
    client.hears("");
}

#[test]
fn selecting_audio_and_video() {
    let (mut client, id) = Client::playing();
    let restarted = "onStatus 0 @1 status NetStream.Seek.Notify | \
        onStatus 0 @1 status NetStream.Play.Start";
    client.quietly(1, "receiveVideo 0 _ true 1234");
    client.hears(restarted);
    for (words, audio, video, replies) in [
        ("receiveVideo 0 _ false 1234", true, false, ""),
        ("receiveAudio 0 _ false 1234", false, false, ""),
        ("receiveAudio 0 _ true 1234", true, false, restarted),
        ("receiveVideo 0 _ true 1234", true, true, restarted),
    ] {
        let events = client.say(1, words);
        assert_eq!(events, [Event::Select { id, audio, video }], "{words}");
        client.hears(replies);
        client.quietly(1, words);
        client.replies();
    }
    client.quietly(1, "receiveAudio 0 _");
}

#[test]
fn wishes_before_the_stream_is_there_are_kept() {
    let mut client = Client::created();
    client.quietly(1, "receiveVideo 0 _ false 1234");
    let id = client.play(1, "show").id;
    client.quietly(1, "pause 0 _ true 1234 | seek 0 _ 9");
    assert_eq!(client.session.playback(), None);
    client.hears("");
    let playback = client.session.accept_play(id).unwrap();
    assert!(playback.is_paused && playback.audio && !playback.video);
    client.hears(&format!("{} | {PAUSED}", started(1)));

    // The selection outlives the request, but not the stream.
    let id = client.play(1, "other").id;
    let playback = client.session.accept_play(id).unwrap();
    assert!(!playback.is_paused && !playback.video);
    client.say(0, "deleteStream 0 _ 1");
    let id = client.play(1, "show").id;
    let playback = client.session.accept_play(id).unwrap();
    assert!(playback.audio && playback.video);
}

#[test]
fn there_is_nowhere_to_seek_to() {
    let (mut client, _) = Client::playing();
    client.quietly(1, "seek 0 _ 60000");
    client.hears("onStatus 0 @1 status NetStream.Seek.Notify");
}

#[test]
fn a_recorded_stream_has_positions_and_an_end() {
    let mut client = Client::created();
    let request = client.play(1, "mp4:film.mp4");
    let id = request.id;
    assert_eq!(request.passage, Passage::default());
    assert_eq!(request.path.file_kind, Some(FileKind::Mp4));
    assert_eq!(client.session.accept_recorded(id).map(|p| p.id), Ok(id));
    client.hears(&format!("UserControl 000400000001 | {}", started(1)));
    for (number, millis) in [("2500", 2_500), ("-1", 0), ("NaN", 0), ("1e300", u32::MAX)] {
        let to = Duration::from_millis(millis.into());
        let events = client.say(1, &format!("seek 0 _ {number}"));
        assert_eq!(events, [Event::Seek { id, to }], "{number}");
    }
    // The caller looks for the place.
    client.hears("");
    assert_eq!(client.session.sought(id, true), Ok(()));
    client.hears(
        "UserControl 000100000001 | onStatus 0 @1 status NetStream.Seek.Notify | \
         UserControl 000400000001 | UserControl 000000000001 | \
         onStatus 0 @1 status NetStream.Play.Start",
    );
    assert_eq!(client.session.sought(id, false), Ok(()));
    client.hears("onStatus 0 @1 error NetStream.Seek.InvalidTime");
    let length = Duration::from_secs(20);
    assert_eq!(client.session.complete(id, length), Ok(()));
    client.hears(
        "data @1 onPlayStatus NetStream.Play.Complete | \
         onStatus 0 @1 status NetStream.Play.Stop | UserControl 000100000001",
    );
    // It may go back from there, or ask for another stream, which has no positions unless it is accepted as such.
    assert_eq!(client.say(1, "seek 0 _ 0").len(), 1);
    let live = client.played(1, "show");
    client.replies();
    client.quietly(1, "seek 0 _ 0");
    assert_eq!(client.session.sought(id, true), Err(Withdrawn));
    assert_eq!(client.session.complete(live, length), Err(Withdrawn));
}

#[test]
fn players_say_where_they_begin_and_how_much_they_keep() {
    use Start::{Live, LiveOrRecorded, Recorded};
    let seconds = Duration::from_secs;
    for (words, start, duration) in [
        (" -2000", LiveOrRecorded, None),
        (" -2 -1", LiveOrRecorded, None),
        (" -1000", Live, None),
        (" -1", Live, None),
        (" 0", Recorded(Duration::ZERO), None),
        (" 5000 2000", Recorded(seconds(5)), Some(seconds(2))),
        (" NaN NaN", LiveOrRecorded, None),
        ("", LiveOrRecorded, None),
    ] {
        let events = Client::connected().say(1, &format!("play 0 _ film{words}"));
        let passage = to_play(&events).passage;
        assert_eq!(
            (passage.start, passage.duration),
            (start, duration),
            "{words}"
        );
    }
    let mut client = Client::connected();
    assert_eq!(client.session.buffer(), seconds(1));
    for (millis, cut) in [(3_000_u32, 0), (500, 0), (9_000, 1)] {
        let body = [&[0, 3, 0, 0, 0, 1][..], &millis.to_be_bytes()].concat();
        client.send(Kind::UserControl, 0, 0, &body[..10 - cut]);
    }
    assert_eq!(client.session.buffer(), Duration::from_millis(500));
}

#[test]
fn stopping_takes_back_what_is_undecided_too() {
    for accepts in [false, true] {
        for (stream, words) in [
            (1, "closeStream 0 _"),
            (0, "deleteStream 0 _ 1"),
            (1, "deleteStream 0 _"),
        ] {
            let mut client = Client::created();
            let id = client.play(1, "show").id;
            if accepts {
                client.session.accept_play(id).unwrap();
            }
            assert_eq!(client.say(stream, words), [Event::Stop(id)], "{words}");
            assert_eq!(client.session.accept_play(id), Err(Withdrawn));
            assert_eq!(client.session.end_play(id, "", client.now), Err(Withdrawn));
            let due = client.now + Duration::from_secs(10);
            assert_eq!(client.session.poll_timeout(), Some(due));
        }
    }
    let (mut client, id) = Client::playing();
    assert_eq!(client.say(1, "play 0 _ false"), [Event::Stop(id)]);
}

#[test]
fn another_play_takes_the_place_of_the_first() {
    let (mut client, first) = Client::playing();
    let second = client.play(1, "other").id;
    assert_eq!(client.session.playback(), None);
    let ended = client.session.end_play(first, "", client.now);
    assert_eq!(ended, Err(Withdrawn));
    client.hears("");
    client.session.accept_play(second).unwrap();
    client.hears(&started(1));
    assert_eq!(client.say(1, "closeStream 0 _"), [Event::Stop(second)]);
}

#[test]
fn one_stream_per_connection() {
    let (mut client, id) = Client::playing();
    client.quietly(1, "publish 0 _ other");
    client.hears("onStatus 0 @1 error NetStream.Publish.Rejected");
    client.quietly(2, "play 0 _ other");
    client.hears("onStatus 0 @2 error NetStream.Play.Failed");
    let got = client.session.playback().map(|playback| playback.id);
    assert_eq!(got, Some(id));
    // Media from a player is ignored.
    assert_eq!(client.send(Kind::Video, 1, 0, KEYFRAME), []);
    // Having stopped, it may publish.
    client.say(1, "closeStream 0 _");
    client.published("show");
    client.brings(Kind::Video, 0, KEYFRAME, Event::Video);
}

#[test]
fn the_end_of_a_stream_is_not_that_of_the_connection() {
    let (mut client, id) = Client::playing();
    client.now += Duration::from_secs(3_600);
    client.session.end_play(id, "over", client.now).unwrap();
    client.hears("onStatus 0 @1 status NetStream.Play.UnpublishNotify | UserControl 000100000001");
    assert!(!client.session.is_closed());
    assert_eq!(client.session.end_play(id, "", client.now), Err(Withdrawn));
    client.quietly(1, "closeStream 0 _");
    let due = client.now + Duration::from_secs(10);
    assert_eq!(client.session.poll_timeout(), Some(due));
    client.played(1, "show");
    client.hears(&started(1));
}

#[test]
fn refusals_in_the_terms_of_players() {
    for (rejection, code) in [
        (Rejection::StreamNotFound, "StreamNotFound"),
        (Rejection::Denied, "Failed"),
        (Rejection::Rejected, "Failed"),
        (Rejection::BadName, "Failed"),
        (Rejection::Failed, "Failed"),
    ] {
        let expected = format!("onStatus 0 @1 error NetStream.Play.{code}");
        let mut client = Client::connected();
        let id = client.play(1, "show").id;
        client.session.reject(id, rejection, "no").unwrap();
        client.hears(&expected);
        assert!(client.session.is_closed());
        assert_eq!(client.session.accept_play(id), Err(Withdrawn));

        let (mut client, _) = Client::playing();
        client.session.close_with(rejection, "no");
        client.hears(&expected);
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
    client.hears("");
}

#[test]
fn only_clients_that_can_are_asked_to_reconnect() {
    let asked = "onStatus 0 @0 status NetConnection.Connect.ReconnectRequest";
    for (capabilities, can, words) in [
        (None, false, ""),
        (Some(14.0), false, ""),
        (Some(1.0), true, asked),
    ] {
        let mut client = Client::new();
        assert!(!client.session.request_reconnect("before connect"));
        client.command(0, "connect", 1.0, |e| {
            e.object().key("app").string("live");
            if let Some(capabilities) = capabilities {
                e.key("capsEx").number(capabilities);
            }
            e.end()
        });
        client.played(1, "show");
        client.replies();
        assert_eq!(client.session.request_reconnect("moving"), can);
        client.hears(words);
        assert!(!client.session.is_closed());
    }
}

#[test]
fn peers_of_enhanced_rtmp_learn_what_we_can() {
    let connect = |member: fn(&mut Encoder<'_>)| {
        let mut client = Client::new();
        let events = client.command(0, "connect", 1.0, |e| {
            e.object().key("app").string("live");
            member(e);
            e.end()
        });
        (events, client.last_reply().payload)
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
        let is_so = matches!(&events[..], [Event::Connect(connect)] if connect.four_ccs == names);
        assert!(is_so, "{events:?}");
        let mut decoder = Decoder::new(&reply);
        decoder.value().unwrap();
        decoder.value().unwrap();
        let properties = decoder.value().unwrap().unwrap();
        let number = |value: Option<&Value<'_>>| value.and_then(Value::number);
        assert_eq!(number(properties.property("capsEx")), Some(15.0));
        let got = properties.property("fourCcList");
        assert_eq!(got, Some(&Value::StrictArray(vec![Value::String(b"*")])));
        for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
            let map = properties.property(map).unwrap();
            assert_eq!(number(map.property("*")), Some(4.0));
        }
    }
}

/// Something a player may send after its request.
fn any_wish() -> impl Strategy<Value = (&'static str, u32, Option<bool>)> {
    let names = "pause pauseRaw receiveAudio receiveVideo seek play closeStream";
    let name = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    (name, 0..3_u32, prop::option::of(any::<bool>()))
}

proptest! {
    /// The events alone give the same state as the session.
    #[test]
    fn events_tell_all_that_changes(wishes in prop::collection::vec(any_wish(), 0..40)) {
        let mut client = Client::created();
        let mut known = None;
        for (name, stream, value) in wishes {
            let value = value.map_or_else(|| "show".to_owned(), |value| value.to_string());
            let events = client.say(stream, &format!("{name} 0 _ {value}"));
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
