//! Listeners keep their stream and their connection while its source changes: to the fallback when the publisher leaves, and
//! back when it returns. No decoder reports an error at either change.

use std::time::Instant;

use testkit::Server;

use crate::support::mount::{AUDIO, Mount, assert_decodes, is_of, mp3, rules, whole_units};
use crate::support::{DEADLINE, ROUND_SECONDS, metric, wait_for_stream, wait_until};

#[test]
fn audio_continues_over_both_switches() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::builder().toml(&rules()).start();
    // All files are made before the first is published, because publishers end with their files.
    let mut files = AUDIO
        .map(|kind| [1, 2].map(|seed| kind.make(&folder, seed, ROUND_SECONDS)))
        .into_iter();
    let mut mounts = AUDIO.map(|kind| Mount::begin(kind, files.next().unwrap(), &server));
    for mount in &mut mounts {
        mount.hears(0);
        mount.more();
    }
    let mut left = Vec::new();
    for mount in &mut mounts {
        mount.studio.kill();
        left.push(Instant::now());
    }
    for (mount, left) in mounts.iter_mut().zip(left) {
        mount.hears(1);
        let silence = mount.listener.longest_gap(left);
        println!("{}: {silence:?} without sound", mount.stream);
        mount.more();
    }
    assert_eq!(
        metric(&server, "carillon_publishers", "protocol=fallback"),
        3.0
    );
    for mount in &mut mounts {
        mount.studio = mount.kind.publish(&server, &mount.files[0], &mount.stream);
    }
    for mount in &mut mounts {
        mount.hears(0);
        mount.more();
        assert!(!mount.listener.ended(), "{}: one connection", mount.stream);
    }
    mounts.iter().for_each(assert_decodes);
    let metrics = server.metrics();
    for outcome in ["began", "returned"] {
        let label = format!("outcome=\"{outcome}\"");
        assert_eq!(metrics.sum("carillon_fallbacks_total", &[&label]), 3.0);
    }
    assert_eq!(metrics.sum("carillon_departures_total", &[]), 0.0);
    assert_eq!(metrics.sum("carillon_skips_total", &[]), 0.0);
}

#[test]
fn a_full_mount_sends_listeners_on_and_has_an_intro_and_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let intro = mp3().encode(&folder, "intro", "anoisesrc=seed=9:duration=2:r=44100");
    let rules = format!(
        "[[stream]]\nmatch = \"radio.mp3\"\nfallback = \"backup.mp3\"\nlisteners_max = 1\n\
         fallback_when_full = true\nintro = \"{}\"\n\
         [[stream]]\nmatch = \"backup.mp3\"\nlisteners_max = 1\n\
         [[stream]]\nmatch = \"short.mp3\"\nlisten_duration_max = \"1s\"\n\
         [[alias]]\npath = \"/old\"\nstream = \"radio.mp3\"\n",
        intro.display()
    );
    let server = Server::builder().toml(&rules).start();
    let files = [1, 2].map(|seed| mp3().make(&folder, seed, ROUND_SECONDS));
    let audio = files.each_ref().map(|path| std::fs::read(path).unwrap());
    let _publishers =
        [("radio.mp3", 0), ("backup.mp3", 1), ("short.mp3", 1)].map(|(stream, of)| {
            let publisher = mp3().publish(&server, &files[of], stream);
            wait_for_stream(&server, stream);
            publisher
        });

    let mut first = server.listen("/old");
    assert_eq!(first.status(), 200);
    let intro = std::fs::read(&intro).unwrap();
    let begins = first.read_bytes(intro.len() + 1_000, DEADLINE);
    assert!(
        begins[..intro.len()] == intro,
        "the intro goes before the stream"
    );
    assert!(first.read_until(DEADLINE, |body| is_of(body, &audio[0])));
    whole_units(&mp3(), first.body());
    let mut second = server.listen("/radio.mp3");
    assert_eq!(second.status(), 200);
    assert!(
        second.read_until(DEADLINE, |body| is_of(body, &audio[1])),
        "the other stream"
    );
    let third = server.get("/radio.mp3");
    assert_eq!(third.status, 503, "that one is full, too: {}", third.text());
    assert!(third.header("retry-after").is_some());
    drop(first);
    wait_until("a place", || server.listen("/old").status() == 200);

    let mut bounded = server.listen("/short.mp3");
    assert_eq!(bounded.status(), 200);
    bounded.read_to_end(DEADLINE);
    assert!(bounded.ended(), "its time is over");
}
