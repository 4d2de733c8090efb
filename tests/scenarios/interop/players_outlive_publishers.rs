//! Players over RTMP stay connected while publishers come, hang, change and leave.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Player, Publisher, Server, Signal, Tool};

use crate::support::wire::Wire;
use crate::support::{
    DEADLINE, assert_joins, play_url, publish_rtmp, server_with_short_linger, wait_for_stream,
    wait_until,
};
use crate::support::{flv, metric};

/// Milliseconds by which audio may move against video: less than a frame of either.
const SKEW_MAX: i64 = 20;
/// Milliseconds of time jump against the clip that mark a tag as another publisher's turn.
const SAME_TURN: i64 = 100;

/// Returns the lag of each turn's audio behind its video, in milliseconds, beyond the clip's own lag.
fn skews(clip: &[u8], received: &[u8]) -> Vec<i64> {
    let times: HashMap<&[u8], u32> = flv::media(clip).map(|tag| (tag.data, tag.time)).collect();
    let turns = |kind| {
        let mut turns: Vec<i64> = Vec::new();
        for tag in flv::media(received).filter(|tag| tag.kind == kind && tag.data.len() > 50) {
            let delta = i64::from(tag.time) - i64::from(times[tag.data]);
            match turns.last() {
                Some(last) if (last - delta).abs() < SAME_TURN => {
                    let skew = (last - delta).abs();
                    assert!(skew < SKEW_MAX, "the pace changed: {last} {delta}");
                }
                _ => turns.push(delta),
            }
        }
        turns
    };
    let (audio, picture) = (turns(8), turns(9));
    assert_eq!(audio.len(), picture.len(), "{audio:?} {picture:?}");
    let pairs = audio.iter().zip(&picture);
    pairs.map(|(audio, picture)| audio - picture).collect()
}

#[test]
fn a_frozen_publisher_is_replaced_a_second_later() {
    let server = Server::start();
    let clip = Clip::Flv.seconds(60);
    let frozen = publish_rtmp(&server, &clip, "live/show");
    let url = play_url(&server, "live/show");
    let mut players = [Player::Ffmpeg, Player::Rtmpdump].map(|player| player.start(&url));
    let more = |players: &[testkit::Playing], bytes: u64, deadline| {
        let before: Vec<u64> = players.iter().map(testkit::Playing::written).collect();
        testkit::wait_until("more for every player", deadline, || {
            let mut pairs = players.iter().zip(&before);
            pairs.all(|(player, before)| player.written() > before + bytes)
        });
    };
    more(&players, 100_000, DEADLINE);
    frozen.signal(Signal::STOP);
    // The second of silence is what players have to survive.
    std::thread::sleep(Duration::from_secs(1));
    let mut second = publish_rtmp(&server, &clip, "live/show");
    more(&players, 200_000, DEADLINE);
    assert!(second.is_running(), "{}", second.stderr());

    let clip = std::fs::read(&clip).unwrap();
    for playing in &mut players {
        let player = playing.player();
        assert!(playing.process().is_running(), "{player:?} was let go");
        playing.process().kill();
        let received = std::fs::read(playing.file()).unwrap();
        for kind in [8, 9] {
            let times = flv::times(&received, kind);
            assert!(times.is_sorted(), "{player:?}: time steps back: {times:?}");
        }
        let skews = skews(&clip, &received);
        assert_eq!(skews.len(), 2, "{player:?} saw both: {skews:?}");
        for skew in [skews[0], skews[1], skews[0] - skews[1]] {
            assert!(skew.abs() < SKEW_MAX, "{player:?}: {skews:?}");
        }
    }
    // The replaced publisher notices its replacement when it wakes up.
    frozen.signal(Signal::CONT);
    let mut frozen = frozen;
    frozen.wait(DEADLINE);
    assert!(second.is_running());
}

#[test]
fn early_players_get_the_first_frame() {
    let server = server_with_short_linger();
    let url = play_url(&server, "live/show");
    let mut players = [Player::Ffmpeg, Player::Rtmpdump].map(|player| player.start(&url));
    wait_until("both to wait", || {
        metric(&server, "carillon_connections", "door=rtmp") == 2.0
    });
    let clip = Clip::Flv.seconds(8);
    let _publisher = publish_rtmp(&server, &clip, "live/show");
    let sent = framemd5::video(&framemd5::decoded(&clip));
    for playing in &mut players {
        playing.wait(DEADLINE);
        let join = assert_joins("pictures", &sent, &playing.pictures());
        assert_eq!((join.at, join.missing), (0, 0), "{:?}", playing.player());
    }
}

#[test]
fn a_player_that_waits_in_vain_is_reported() {
    let server = Server::builder().set("rtmp", "play_wait", "\"1s\"").start();
    let begun = Instant::now();
    let url = play_url(&server, "live/show");
    let finished = Tool::ffmpeg()
        .args(["-loglevel", "verbose", "-i", &url])
        .args(["-f", "null", "-"])
        .finish(DEADLINE);
    assert!(!finished.status.success());
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    // ffmpeg prints the description and not the code.
    let said = finished.stderr.to_lowercase();
    let is_said = said.contains("server error") && said.contains("live/show");
    assert!(is_said, "{said}");
}

#[test]
fn players_end_by_themselves_when_no_publisher_comes_back() {
    let server = Server::builder().set("ingest", "linger", "\"2s\"").start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(30), "live/show");
    let url = play_url(&server, "live/show");
    let mut players = [Player::Ffmpeg, Player::Rtmpdump].map(|player| player.start(&url));
    let mut wire = Wire::connect(server.addr("rtmp"), &[]);
    wire.play("show");
    wire.hear("NetStream.Play.Start", DEADLINE);
    for playing in &players {
        wait_until("media", || playing.written() > 50_000);
    }
    publisher.kill();
    let begun = Instant::now();
    wire.hear("NetStream.Play.UnpublishNotify", DEADLINE);
    let waited = begun.elapsed();
    assert!(waited > Duration::from_millis(1_500), "{waited:?}");
    for playing in &mut players {
        let status = playing.wait(DEADLINE);
        assert!(status.success(), "{:?}: {status}", playing.player());
    }
}

#[test]
fn codecs_change_in_mid_stream() {
    let server = server_with_short_linger();
    let (small, large) = (Clip::Flv.seconds(30), Clip::FlvLarger.seconds(4));
    let _first = publish_rtmp(&server, &small, "live/show");
    let url = play_url(&server, "live/show");
    let mut dump = Player::Rtmpdump.start(&url);
    // Each frame keeps its own size.
    let whole_size = ["-map", "0:v", "-fps_mode", "passthrough", "-autoscale", "0"];
    let mut decoding = Tool::ffmpeg()
        .args(["-i", &url])
        .args(whole_size)
        .args(["-f", "framemd5", "-"])
        .start();
    wait_until("two seconds for both", || {
        dump.written() > 120_000 && decoding.stdout().len() > 4_000
    });
    // It takes over, so that nobody lingers for as long as an encoder takes to begin.
    let mut second = publish_rtmp(&server, &large, "live/show");
    assert!(second.wait(DEADLINE).success(), "{}", second.stderr());
    dump.wait(DEADLINE);
    decoding.wait(DEADLINE);
    let pictures = |path: &std::path::Path| {
        let own_size = ["-an", "-autoscale", "0"];
        framemd5::video(&framemd5::decoded_by(Tool::ffmpeg(), path, &own_size))
    };
    let (small, large) = (pictures(&small), pictures(&large));
    let live = framemd5::parse(&String::from_utf8_lossy(&decoding.stdout()));
    for (who, got) in [("rtmpdump", pictures(dump.file())), ("ffmpeg", live)] {
        let change = got.iter().position(|frame| frame.md5 == large[0].md5);
        let change = change.unwrap_or_else(|| panic!("{who} saw nothing of the second"));
        let (before, after): (&[Frame], &[Frame]) = got.split_at(change);
        assert!(assert_joins(who, &small, before).matched > 25, "{who}");
        let join = assert_joins(who, &large, after);
        assert_eq!((join.at, join.missing), (0, 0), "{who}");
    }
    // The audio changed its rate as well, and its packets are all there.
    let sent = framemd5::audio(&framemd5::packets(Clip::FlvLarger.seconds(4)));
    let audio_frames = dump.audio_frames();
    let after = &audio_frames[audio_frames.len().saturating_sub(sent.len())..];
    assert_eq!(assert_joins("sounds", &sent, after).missing, 0);
}

#[test]
fn players_that_can_reconnect_are_asked_to_before_the_server_leaves() {
    let mut server = Server::builder()
        .env("CARILLON__DRAIN_TIMEOUT", "3s")
        .start();
    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = Publisher::CurrentFfmpeg.start(&Clip::Flv.seconds(30), &url);
    wait_for_stream(&server, "live/show");
    let mut able = Wire::connect(server.addr("rtmp"), &[("capsEx", 1.0)]);
    let mut unable = Wire::connect(server.addr("rtmp"), &[]);
    for wire in [&mut able, &mut unable] {
        wire.play("show");
        wire.hear("NetStream.Play.Start", DEADLINE);
    }
    server.process().signal(Signal::TERM);
    const REQUEST: &str = "NetConnection.Connect.ReconnectRequest";
    able.hear(REQUEST, DEADLINE);
    unable.hear_all(DEADLINE);
    // It would not know what it means.
    assert!(!unable.has_heard(REQUEST));
    able.hear_all(DEADLINE);
    assert_eq!(server.process().wait(DEADLINE).code(), Some(0));
}
