//! A host whose clock is set right, or wrong, removes no recording, disturbs no listener, and keeps its playlists continuous.

use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::hls::MediaPlaylist;
use testkit::{Clip, Server};

use crate::support::faults::{Bystander, Clock, OTHER};
use crate::support::recorded::{recording_into, recordings};
use crate::support::storage::left_over;
use crate::support::{DEADLINE, publish_rtmp, wait_until};

/// Days by which the clock is behind, as on a board without a clock of its own, and days by which it is then wrongly ahead.
const BEHIND: i64 = -500;
const AHEAD: i64 = 400;

/// Name of a stream that keeps only its newest recording: once the one before has gone, the recorder has run its removal.
const TURN: &str = "turn/show";

fn of(server: &Server, stream: &str) -> Vec<PathBuf> {
    let mut all = recordings(server);
    all.retain(|it| it["stream"] == stream && it["state"] == "finalised");
    let paths = all.iter().map(|it| it["path"].as_str().expect("a file"));
    paths.map(PathBuf::from).collect()
}

fn record(server: &Server, stream: &str) -> PathBuf {
    let before = of(server, stream);
    let mut publisher = publish_rtmp(server, &Clip::Flv.seconds(2), stream);
    publisher.wait(DEADLINE);
    let mut new = None;
    wait_until("a recording", || {
        let all = of(server, stream);
        new = all.into_iter().find(|path| !before.contains(path));
        new.is_some()
    });
    new.expect("it")
}

/// Returns the start of the first listed segment of the live stream, since 1970.
fn listed(server: &Server) -> Duration {
    let mut found = None;
    wait_until("a playlist", || {
        let text = server.get(&format!("/{OTHER}/hls/live.m3u8")).text();
        let playlist = MediaPlaylist::parse(&text);
        found = playlist.ok().and_then(|it| it.segments.first()?.date);
        found.is_some()
    });
    found.expect("a time")
}

#[test]
fn no_step_of_the_clock_removes_a_recording() {
    let root = tempfile::tempdir().unwrap();
    let earlier = left_over(root.path(), &[4_000]);
    let earlier = earlier.keys().map(|key| {
        let name = key.strip_prefix("archive/2026/").expect("the prefix");
        root.path().join("recordings").join(name)
    });
    let mut kept: Vec<PathBuf> = earlier.collect();
    let clock = Clock::ahead(BEHIND);
    let server = recording_into(&root.path().join("recordings"))
        .set("recording", "max_age", "\"30d\"")
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\nmax_age = \"30d\"\n")
        .toml("[[record]]\nmatch = \"turn/*\"\nmax_count = 1\n");
    let server = clock.of(server).start();
    let mut other = Bystander::of(&server);
    kept.push(record(&server, "live/show"));
    let mut last = record(&server, TURN);
    let first = listed(&server);
    for (steps, days) in [(1, 0), (2, AHEAD)] {
        other.during(|| {
            clock.set(days);
            wait_until("the step to be seen", || {
                server.log().matches("clock has made a step").count() == steps
            });
            let before = std::mem::replace(&mut last, record(&server, TURN));
            wait_until("the one before to go", || !before.exists());
        });
        kept.push(record(&server, "live/show"));
        for path in &kept {
            assert!(path.exists(), "{}", path.display());
        }
        assert_eq!(of(&server, "live/show").len(), steps + 1);
    }
    assert_eq!(of(&server, "radio.mp3").len(), 1);
    // Recordings are named by the clock; the live stream continues as it began.
    let day = |path: &Path| path.parent().unwrap().file_name().unwrap().to_owned();
    let mut days: Vec<_> = kept[1..].iter().map(|path| day(path)).collect();
    days.dedup();
    assert_eq!(days.len(), 3, "{days:?}");
    let passed = listed(&server).checked_sub(first);
    let passed = passed.expect("times that grow");
    assert!(
        Duration::ZERO < passed && passed < 10 * DEADLINE,
        "{passed:?}"
    );
    other.noticed_nothing();
}
