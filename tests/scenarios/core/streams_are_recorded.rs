//! Streams become files that play, whole, whatever happens to the publisher or the server, and whatever the operator changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::framemd5::{self, Frame};
use testkit::{Clip, Server};

use crate::support::recorded::{
    STREAM, finalised, probe, recording_into, recordings, server, wait_for_seconds,
};
use crate::support::{
    DEADLINE, assert_joins, delete, marks, order, publish_icecast, publish_rtmp, repeat_rtmp,
    round, rounds, wait_until,
};

#[test]
fn a_recording_has_every_frame_of_its_publisher() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let clip = Clip::FlvBframes.seconds(10);
    let mut publisher = publish_rtmp(&server, &clip, STREAM);
    publisher.wait(DEADLINE);
    let [file] = &finalised(&server, 1)[..] else {
        panic!("{:?}", recordings(&server));
    };
    let (sent, got) = (framemd5::decoded(&clip), framemd5::decoded(file));
    let (sent, got) = (framemd5::video(&sent), framemd5::video(&got));
    // A busy machine may begin the recording with a later group of frames.
    let missed = sent.len() - got.len();
    assert_eq!(marks(&got), marks(&sent[missed..]));
    assert!(missed % 25 == 0 && missed <= sent.len() / 2, "{missed}");
    let (start, duration) = probe(file);
    assert!(start.abs() < 0.001, "{start}");
    let whole = probe(&clip).1 - missed as f64 / 25.0;
    assert!((duration - whole).abs() <= 0.05, "{duration} {whole}");
    let (sent, got) = (framemd5::packets(&clip), framemd5::packets(file));
    let (sent, got) = (framemd5::audio(&sent), framemd5::audio(&got));
    assert_eq!(assert_joins("sound", &sent, &got).missing, 0);
    // The server sends viewers the same frames.
    let name = file.strip_prefix(root.path()).expect("a file of it");
    let url = server.http_url(&format!("/recordings/{}", name.display()));
    let played = framemd5::packets(&url);
    assert_eq!(marks(&framemd5::audio(&played)), marks(&got));
    assert_eq!(server.metrics().sum("carillon_record_gaps_total", &[]), 0.0);
}

#[test]
fn what_a_killed_server_has_recorded_plays_and_is_not_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let clip = Clip::Flv.seconds(20);
    let mut killed = server(root.path()).start();
    let _publisher = publish_rtmp(&killed, &clip, STREAM);
    wait_for_seconds(&killed, 5.0);
    let open = recordings(&killed);
    let seconds = open[0]["seconds"].as_f64().expect("a number");
    killed.process().kill();
    let part = PathBuf::from(open[0]["path"].as_str().expect("a path"));
    assert!(part.to_string_lossy().ends_with(".part"));
    // The unfinished file plays as it is.
    let (_, at_once) = probe(&part);
    assert!(at_once >= seconds - 0.1, "{at_once} {seconds}");
    let server = server(root.path()).start();
    let files = finalised(&server, 1);
    assert_eq!(recordings(&server)[0]["id"], open[0]["id"]);
    assert!(!part.exists());
    let (start, duration) = probe(&files[0]);
    assert!(
        start.abs() < 0.001 && duration >= seconds - 0.1,
        "{duration}"
    );
    let sent = framemd5::video(&framemd5::decoded(&clip));
    let got = framemd5::video(&framemd5::decoded(&files[0]));
    let join = framemd5::join(&sent, &got, 0).expect("a run");
    assert_eq!(join.at % 25, 0);
    // The publisher of the next run starts another recording.
    let _publisher = publish_rtmp(&server, &clip, STREAM);
    wait_until("another recording", || recordings(&server).len() == 2);
    assert!(files[0].exists());
}

#[test]
fn a_publisher_that_returns_is_in_the_same_recording() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let _first = repeat_rtmp(&server, Clip::Flv, STREAM);
    wait_for_seconds(&server, 2.0);
    // The old connection still hangs when the publisher connects again.
    let clip = Clip::Flv.seconds(4);
    let mut second = publish_rtmp(&server, &clip, STREAM);
    second.wait(DEADLINE);
    let files = finalised(&server, 1);
    let pictures = framemd5::video(&framemd5::decoded(&files[0]));
    assert!(framemd5::is_monotonic(&pictures));
    let sent = framemd5::video(&framemd5::decoded(&clip));
    let before = pictures.len() - sent.len();
    assert_eq!(marks(&pictures[before..]), marks(&sent));
    assert!(before >= 50, "{before}");
    let (start, duration) = probe(&files[0]);
    let wanted = pictures.len() as f64 / 25.0;
    assert!(
        start.abs() < 0.001 && (duration - wanted).abs() < 0.5,
        "{duration} {wanted}"
    );
}

#[test]
fn mp3_from_an_icecast_source_is_kept_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let mut publisher = publish_icecast(&server, Clip::Mp3, 6, "radio.mp3");
    publisher.wait(DEADLINE);
    let files = finalised(&server, 1);
    assert!(files[0].to_string_lossy().ends_with("Z-0.mp3"));
    let (_, duration) = probe(&files[0]);
    assert!((duration - 6.0).abs() < 0.5, "{duration}");
    let sent = framemd5::packets(Clip::Mp3.seconds(6));
    let got = framemd5::packets(&files[0]);
    // The first frame or two refer to frames before them that are not in the file, so they are silent.
    assert_eq!(assert_joins("sound", &sent, &got[2..]).missing, 0);
}

/// Posts a command for the stream's recording and returns the status.
fn command(server: &Server, action: &str) -> u16 {
    let path = format!("streams/{STREAM}/recording");
    let body = format!("{{\"action\": \"{action}\"}}");
    order(server, "POST", &path, &body)
}

#[test]
fn the_operator_begins_splits_ends_and_removes() {
    let root = tempfile::tempdir().unwrap();
    let server = recording_into(root.path()).start();
    assert_eq!(command(&server, "start"), 404);
    let _publisher = repeat_rtmp(&server, Clip::Flv, STREAM);
    assert_eq!(command(&server, "split"), 409);
    assert_eq!(command(&server, "sing"), 400);
    assert!(recordings(&server).is_empty(), "it was not asked for");
    let seconds = |index: usize| {
        let all = recordings(&server);
        all.get(index).and_then(|one| one["seconds"].as_f64())
    };
    assert_eq!(command(&server, "start"), 204);
    wait_until("a recording", || seconds(0) >= Some(1.0));
    assert_eq!(command(&server, "split"), 204);
    wait_until("a second one", || seconds(1) >= Some(1.0));
    assert_eq!(command(&server, "stop"), 204);
    let files = finalised(&server, 2);
    let pictures = files
        .iter()
        .map(|file| framemd5::video(&framemd5::decoded(file)));
    let pictures: Vec<Frame> = pictures.flatten().collect();
    let sent = rounds(&framemd5::video(&framemd5::decoded(round(Clip::Flv))));
    // Nothing is missing between the two recordings, and they begin with keyframes.
    let join = framemd5::join(&sent, &pictures, 0).expect("a run");
    assert_eq!(join.at % 25, 0);
    let id = recordings(&server)[0]["id"].as_str().unwrap().to_owned();
    delete(&server, &format!("recordings/{id}"));
    assert_eq!(order(&server, "GET", &format!("recordings/{id}"), ""), 404);
    wait_until("the file to go", || !files[0].exists());
    assert!(files[1].exists());
}

#[test]
fn the_end_of_the_server_closes_recordings() {
    let root = tempfile::tempdir().unwrap();
    let mut server = server(root.path())
        .env("CARILLON__DRAIN_TIMEOUT", "1s")
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, STREAM);
    wait_for_seconds(&server, 2.0);
    let path = recordings(&server)[0]["path"].as_str().unwrap().to_owned();
    server.terminate(DEADLINE + Duration::from_secs(10));
    let closed = Path::new(path.strip_suffix(".part").expect("it was open"));
    assert!(closed.exists() && !Path::new(&path).exists());
    assert!(probe(closed).1 >= 2.0);
}
