//! Players that follow a script, on both ways of carrying a lane.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::rtmp::message::Kind;
use fanout::{Expected, Located, Origin, Reason};
use media::{Container, StreamName};

use crate::testing::{ScriptedPlayer, Show, TestServer, Way};

const WAIT: Duration = Duration::from_secs(20);
const LINGER: Duration = Duration::from_secs(20);
const OVER: [&str; 2] = ["onStatus NetStream.Play.UnpublishNotify", "control 1 1"];
const WAYS: [Way; 2] = [Way::Plain, Way::Secure];

/// A player that has heard so many frames of a show.
async fn playing(way: Way, frames: usize) -> (TestServer, Show, ScriptedPlayer) {
    let server = TestServer::new(WAIT, LINGER);
    let mut show = server.show("live/show");
    show.frames(frames);
    let mut player = ScriptedPlayer::playing(&server, way, "show").await;
    player.hear(&format!("audio {}", 40 * frames - 20)).await;
    (server, show, player)
}

fn media(heard: &[String]) -> Vec<&str> {
    let is_media = |said: &&str| said.starts_with("video") || said.starts_with("audio");
    heard.iter().map(String::as_str).filter(is_media).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_begins_at_the_last_keyframe_with_what_a_decoder_needs() {
    for way in WAYS {
        let server = TestServer::new(WAIT, LINGER);
        let mut show = server.show("live/show");
        show.frames(8);
        let mut player = ScriptedPlayer::playing(&server, way, "show").await;
        let heard = player.hear("audio 300").await;
        let (opening, media) = heard.split_at(5);
        assert_eq!(
            opening.join(", "),
            "control 0 1, onStatus NetStream.Play.Reset, onStatus NetStream.Play.Start, \
             |RtmpSampleAccess, onStatus NetStream.Data.Start",
        );
        assert_eq!(
            media.join(", "),
            "onMetaData, video header 200, audio header 200, video key 200 #5, audio 220 #5, \
             video 240 #6, audio 260 #6, video 280 #7, audio 300 #7",
            "{way:?}"
        );
        show.frames(1);
        assert_eq!(player.hear("audio").await, ["video 320 #8", "audio 340 #8"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_waits_for_its_stream_and_learns_that_it_does_not_come() {
    for way in WAYS {
        let server = TestServer::new(WAIT, LINGER);
        let mut early = ScriptedPlayer::playing(&server, way, "show").await;
        assert!(early.hears_nothing().await, "{way:?}");
        let mut show = server.show("live/show");
        show.frames(1);
        let heard = early.hear("video key 0").await;
        assert!(heard.iter().any(|said| said.ends_with("Play.Start")));
    }
    let server = TestServer::new(Duration::from_millis(50), LINGER);
    let mut player = ScriptedPlayer::playing(&server, Way::Plain, "show").await;
    let heard = player.hear_all().await;
    assert_eq!(heard, ["onStatus NetStream.Play.StreamNotFound"]);
}

/// Says the same of every stream.
struct Far(Located);

impl Origin for Far {
    fn expects(&self, _: &StreamName) -> Expected {
        Expected::Perhaps
    }

    fn locate(&self, _: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        Box::pin(std::future::ready(self.0))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_origin_brings_is_waited_for_however_impatient_players_are() {
    let of_origin = async |wait, located| {
        let server = TestServer::new(wait, LINGER);
        let origin = Arc::new(Far(located));
        server.context.registry.set_origin(origin);
        let player = ScriptedPlayer::playing(&server, Way::Plain, "show").await;
        (server, player)
    };
    // What is unavailable may be published here all the same.
    for (wait, located) in [
        (Duration::ZERO, Located::Coming),
        (WAIT, Located::Unavailable),
    ] {
        let (server, mut player) = of_origin(wait, located).await;
        assert!(player.hears_nothing().await);
        let mut show = server.show("live/show");
        show.frames(1);
        player.hear("video key 0").await;
    }
    let (_server, mut player) = of_origin(Duration::ZERO, Located::Unavailable).await;
    assert_eq!(player.hear_all().await, ["onStatus NetStream.Play.Failed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pausing_stops_between_messages_and_resuming_begins_at_a_keyframe() {
    for way in WAYS {
        let (_server, mut show, mut player) = playing(way, 2).await;
        player.switch("pause", true).await;
        let heard = player.hear("control 1").await;
        assert_eq!(heard[0], "onStatus NetStream.Pause.Notify", "{way:?}");
        show.frames(5);
        assert!(player.hears_nothing().await, "{way:?}");
        player.switch("pause", false).await;
        let heard = player.hear("video key").await;
        assert!(heard.iter().any(|said| said.ends_with("Unpause.Notify")));
        let expected = ["video header 200", "audio header 200", "video key 200 #5"];
        assert_eq!(media(&heard), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_may_do_without_pictures() {
    for way in WAYS {
        let (_server, mut show, mut player) = playing(way, 2).await;
        player.switch_and_ping("receiveVideo", false).await;
        // Nothing comes twice: what flows now is later than what it had.
        show.frames(2);
        let heard = player.hear("audio 140").await;
        let heard = media(&heard);
        assert!(heard[0].starts_with("audio header"), "{way:?}: {heard:?}");
        let is_new = |said: &&str| ["audio 100 #2", "audio 140 #3"].contains(said);
        assert!(heard[1..].iter().all(is_new), "{way:?}: {heard:?}");
        player.switch_and_ping("receiveVideo", true).await;
        show.frames(2);
        let heard = player.hear("audio 220").await;
        // From the next keyframe on.
        let expected = "video header 200, audio header 200, video key 200 #5, audio 220 #5";
        assert_eq!(media(&heard).join(", "), expected, "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_said_in_one_breath_is_lost() {
    for way in WAYS {
        let (_server, mut show, mut player) = playing(way, 2).await;
        player.switch_and_ping("pause", true).await;
        player.switch_and_ping("pause", false).await;
        show.frames(5);
        player.hear("video key 200").await;
        // Half a message stays half a message.
        let ping = player.ping();
        let (half, rest) = ping.split_at(5);
        let select = player.encode_command("receiveVideo", false);
        player.write(&[&select, half].concat()).await;
        show.frames(1);
        player.hear("audio 300").await;
        player.write(rest).await;
        player.hear("control 7 42").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_that_is_removed_is_gone() {
    for way in WAYS {
        let (server, _show, mut player) = playing(way, 1).await;
        let fanout = server.context.registry.fanout();
        let id = fanout.directory().list()[0].id;
        fanout.kick(id);
        assert!(player.hear_all().await.is_empty(), "{way:?}");
        assert_eq!(server.departure().reason, Reason::Kicked);
        assert_eq!(server.listeners(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_that_cannot_keep_up_is_heard() {
    for way in WAYS {
        let (_server, mut show, mut player) = playing(way, 1).await;
        // There is always more to send.
        let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(0);
        let endless = std::thread::spawn(move || {
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                show.large_frame(1 << 20);
                std::thread::yield_now();
            }
        });
        player.switch("pause", true).await;
        player.hear("onStatus NetStream.Pause.Notify").await;
        drop(stop);
        endless.join().expect("no panic");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_player_hears_of_the_end() {
    for way in WAYS {
        let (server, _show, mut player) = playing(way, 1).await;
        player.switch_and_ping("pause", true).await;
        server.context.registry.end_all();
        assert_eq!(player.hear_all().await, OVER, "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_becomes_something_else_is_refused_in_words() {
    for way in WAYS {
        let (server, _show, mut player) = playing(way, 1).await;
        let _radio = server.publish("live/show", Container::Ogg);
        let heard = player.hear_all().await;
        assert_eq!(heard, ["onStatus NetStream.Play.Failed"], "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_publisher_before_is_left_for_joiners() {
    let (server, _show, mut player) = playing(Way::Plain, 1).await;
    let mut radio = server.audio("live/show");
    radio.audio_frames(1);
    player.hear("audio").await;
    let mut joiner = ScriptedPlayer::playing(&server, Way::Plain, "show").await;
    let heard = joiner.hear("audio 4").await;
    let is_former = |said: &String| said.starts_with("video") || said == "onMetaData";
    assert!(!heard.iter().any(is_former), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_that_interrupts_without_end_is_refused() {
    for way in WAYS {
        let (_server, mut show, mut player) = playing(way, 1).await;
        let mut rounds = 0;
        loop {
            player.switch("pause", true).await;
            player.hear("control 1").await;
            player.switch("pause", false).await;
            player.hear("control 0").await;
            show.frames(5);
            // Either media begins anew, or it is over.
            let either = ["video key", "onStatus NetStream.Play.Failed"];
            let heard = player.hear_any(&either).await;
            if heard.concat().contains("Play.Failed") {
                break;
            }
            rounds += 1;
            assert!(rounds < 40, "{way:?}");
        }
        assert!(rounds > 5, "a few interruptions are permitted: {rounds}");
        assert!(player.hear_all().await.is_empty(), "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_plays_one_stream_after_the_other() {
    for way in WAYS {
        let server = TestServer::new(WAIT, LINGER);
        let (mut one, mut two) = (server.show("live/one"), server.show("live/two"));
        one.frames(1);
        two.frames(2);
        let mut player = ScriptedPlayer::playing(&server, way, "one").await;
        player.hear("audio 20").await;
        player.close().await;
        player.play("two").await;
        let heard = player.hear("audio 60").await;
        assert_eq!(media(&heard).len(), 6, "{way:?}: {heard:?}");
        // Also without a command between them.
        player.play("one").await;
        player.hear("video key 0").await;
        assert_eq!(server.departure().reason, Reason::Left);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn players_stay_while_the_publisher_is_away_and_learn_when_it_is_over() {
    for way in WAYS {
        let (server, show, mut player) = playing(way, 1).await;
        drop(show);
        assert!(player.hears_nothing().await, "{way:?}");
        let mut again = server.show("live/show");
        again.frames(1);
        let heard = player.hear("audio 60").await;
        assert!(heard.contains(&"video key 40 #0".to_owned()), "{heard:?}");
        drop(again);
        let now = std::time::Instant::now();
        server.context.registry.tick(now);
        server.context.registry.tick(now + 2 * LINGER);
        assert_eq!(player.hear_all().await, OVER, "{way:?}");
        assert_eq!(server.departure().reason, Reason::Ended);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_that_knows_the_request_is_asked_to_reconnect() {
    for way in WAYS {
        let server = TestServer::new(WAIT, LINGER);
        let mut show = server.show("live/show");
        show.frames(1);
        let mut knows = ScriptedPlayer::connect(&server, way, Some(1.0)).await;
        let mut waits = ScriptedPlayer::connect(&server, way, Some(1.0)).await;
        let mut plain = ScriptedPlayer::connect(&server, way, None).await;
        knows.play("show").await;
        plain.play("show").await;
        waits.play("absent").await;
        knows.hear("audio 20").await;
        plain.hear("audio 20").await;
        server.leaving.send_replace(true);
        server.context.registry.fanout().announce_leave();
        let code = "onStatus NetConnection.Connect.ReconnectRequest";
        assert_eq!(knows.hear("onStatus").await, [code], "{way:?}");
        assert_eq!(waits.hear("onStatus").await, [code], "{way:?}");
        show.frames(1);
        // Asked once, and media continues.
        for player in [&mut knows, &mut plain] {
            let heard = player.hear("audio 60").await;
            assert_eq!(heard, ["video 40 #1", "audio 60 #1"], "{way:?}");
        }
        drop(waits);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_played_is_refused_in_words() {
    let server = TestServer::new(Duration::ZERO, LINGER);
    let _radio = server.publish("live/radio", Container::Ogg);
    let failed = "onStatus NetStream.Play.Failed";
    for (name, reported) in [
        ("radio", failed),
        ("no//thing?", "onStatus NetStream.Play.StreamNotFound"),
        ("absent", "onStatus NetStream.Play.StreamNotFound"),
    ] {
        let mut player = ScriptedPlayer::playing(&server, Way::Plain, name).await;
        let heard = player.hear_all().await;
        assert_eq!(heard, [reported], "{name}");
    }
    assert_eq!(server.listeners(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_is_asked_with_the_key() {
    let server = TestServer::new(Duration::ZERO, LINGER);
    let mut show = server.show("live/secret");
    show.frames(1);
    for (query, reported) in [
        ("", "onStatus NetStream.Play.Failed"),
        ("?key=guess", "onStatus NetStream.Play.Failed"),
        ("?key=open%20sesame", "onStatus NetStream.Play.Start"),
    ] {
        let name = format!("secret{query}");
        let mut player = ScriptedPlayer::playing(&server, Way::Plain, &name).await;
        player.hear(reported).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_is_heard_while_the_gate_decides() {
    let server = TestServer::new(Duration::ZERO, LINGER);
    let mut show = server.show("live/show");
    show.frames(1);
    let mut player = ScriptedPlayer::playing(&server, Way::Plain, "undecided").await;
    assert!(player.hears_nothing().await);
    // It asks for another stream instead.
    player.play("show").await;
    player.hear("video key 0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_that_talks_without_end_is_let_go() {
    let (server, _show, mut player) = playing(Way::Plain, 1).await;
    for _ in 0..200 {
        player.send(Kind::Acknowledgement, 0, &[0; 4]).await;
        player.send(Kind::Other(77), 0, &[0; 200]).await;
    }
    player.hear_all().await;
    assert_eq!(server.departure().reason, Reason::Left);
}
