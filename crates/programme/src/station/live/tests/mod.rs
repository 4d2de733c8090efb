//! Stations with real files and a real registry, on tokio's paused clock.

mod hour;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use fanout::gate::{Credential, Gatekeeper};
use fanout::{Config, Fanout, PublishRefused, Publisher, Source, Takeover, Tap, Tapped};
use media::{Container, Item};
use net::Backend;
use tempfile::TempDir;

use super::*;
use crate::now;
use crate::station::library::Place;
use crate::station::playout::LEAD;
use crate::station::track::testing::{frame, number};
use crate::station::{By, Outcome, Phase, RequestRefused};

/// Frames of a track: 5 s.
const FRAMES: u32 = 192;

/// Longest time for a condition to hold, on a clock that only runs while all tasks wait.
const PATIENCE: Duration = Duration::from_secs(120);

struct TestStation {
    registry: Arc<Registry>,
    gatekeeper: Arc<Gatekeeper>,
    handle: Handle,
    stats: Arc<Stats>,
    /// Titles of tracks that began, and of those that ended, in order.
    reported: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
}

fn name() -> StreamName {
    StreamName::parse("radio").expect("a name")
}

/// A file whose frames carry numbers from `first` on.
fn write(folder: &Path, file: &str, first: u32) {
    let bytes = (first..first + FRAMES).flat_map(|at| frame(at, at == first));
    fs::write(folder.join(file), bytes.collect::<Vec<_>>()).expect("a file");
}

impl TestStation {
    /// A station of `a`, `b` and `c`, whose frames begin at 1,000, 2,000 and 3,000.
    fn start(is_looped: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, first) in [("a.mp3", 1_000), ("b.mp3", 2_000), ("c.mp3", 3_000)] {
            write(folder.path(), file, first);
        }
        Self::of(folder, is_looped)
    }

    /// A station of a folder's files, in order.
    fn of(folder: TempDir, is_looped: bool) -> Self {
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 64 << 20,
        };
        let backend = || Ok(Box::new(net::Epoll::new()?) as Box<dyn Backend>);
        let (fanout, _) = Fanout::start(&config, backend).expect("a worker");
        let rules = fanout::Settings {
            takeover: Takeover::Never,
            ..fanout::Settings::default()
        };
        let (registry, gatekeeper) = Registry::new(fanout, 0, Box::new(move |_| rules));
        let (registry, gatekeeper) = (Arc::new(registry), Arc::new(gatekeeper));
        let (stats, reported) = (Arc::default(), Arc::<Mutex<Vec<_>>>::default());
        let keeper = Arc::clone(&gatekeeper);
        let context = Context {
            registry: Arc::clone(&registry),
            permit: Box::new(move |stream| {
                keeper.authorize(Publish {
                    stream: stream.clone(),
                    credential: Credential::YIELDS,
                })
            }),
            tell: {
                let reported = Arc::clone(&reported);
                Box::new(move |_, change| reported.lock().expect("a list").push(words(change)))
            },
            agent: "test".to_owned(),
            stats: Arc::clone(&stats),
        };
        let settings = Settings {
            stream: name(),
            lists: vec![List {
                catalogue: Catalogue {
                    place: Place::Folder(folder.path().to_owned()),
                    anywhere: false,
                },
                order: Rule::Sequential,
                role: Role::Rotation { weight: 1 },
                hours: Hours::default(),
            }],
            is_looped,
            distances: Distances {
                repeat: Duration::ZERO,
                request: Duration::ZERO,
            },
            linger: Duration::from_secs(5),
        };
        let (station, handle) = Station::new(settings, 1);
        tokio::spawn(station.run(Arc::new(context)));
        Self {
            registry,
            gatekeeper,
            handle,
            stats,
            reported,
            folder,
        }
    }

    async fn until(&self, holds: impl Fn(&Report) -> bool) -> Arc<Report> {
        let mut shown = self.handle.report.clone();
        let waited = tokio::time::timeout(PATIENCE, shown.wait_for(|report| holds(report)));
        let report = waited.await.expect("it holds in time");
        Arc::clone(&report.expect("the station runs"))
    }

    /// Until this track is played.
    async fn until_title(&self, one: &str) -> Arc<Report> {
        self.until(|report| title(report) == Some(one)).await
    }

    async fn until_phase(&self, phase: Phase) -> Arc<Report> {
        self.until(|report| report.phase == phase).await
    }

    async fn tap(&self) -> Tap {
        let stream = self.registry.live(&name()).await;
        stream.tap(None).expect("the stream is live")
    }

    fn publish(&self) -> Result<Publisher, PublishRefused> {
        let permission = self.gatekeeper.authorize(Publish {
            stream: name(),
            credential: Credential(7),
        });
        let source = Source {
            protocol: "icecast",
            peer: None,
            agent: String::new(),
            container: Container::Mp3,
            content_type: "audio/mpeg".to_owned(),
            headers: Vec::new(),
        };
        self.registry.publish(&permission, source, now())
    }
}

fn words(change: Change<'_>) -> String {
    match change {
        Change::Began(track) => format!("{} began", track.title),
        Change::Ended(played) => format!("{} {}", played.track.title, played.outcome.label()),
    }
}

/// Frames and titles that a tap brings, until there are so many frames.
async fn take(tap: &mut Tap, count: usize) -> (Vec<u32>, Vec<String>) {
    let (mut numbers, mut titles) = (Vec::new(), Vec::new());
    while numbers.len() < count {
        match tap.next().await {
            Some(Tapped::Item(Item::Sample(sample))) => numbers.push(number(&sample.data)),
            Some(Tapped::Item(Item::Title(title))) => titles.push(title.text.clone()),
            Some(Tapped::Item(_)) => {}
            other => panic!("the stream is lost: {other:?}"),
        }
    }
    (numbers, titles)
}

fn title(report: &Report) -> Option<&str> {
    report.current.as_ref().map(|track| &track.title[..])
}

/// The last track and how it ended.
fn last(report: &Report) -> Option<(&str, Outcome)> {
    let played = report.history.front()?;
    Some((&played.track.title, played.outcome))
}

#[tokio::test(start_paused = true)]
async fn tracks_follow_each_other_without_a_gap() {
    let station = TestStation::start(true);
    let mut tap = station.tap().await;
    let began = now();
    let (numbers, titles) = take(&mut tap, 4 * FRAMES as usize).await;
    let files = [1_000, 2_000, 3_000, 1_000].into_iter();
    let expected = files.flat_map(|first| first..first + FRAMES);
    assert!(numbers.into_iter().eq(expected));
    assert_eq!(titles, ["a", "b", "c", "a"]);
    let elapsed = now() - began;
    // Twenty seconds of audio, of which one is ahead of the clock.
    assert!(elapsed >= Duration::from_secs(19), "{elapsed:?}");
    let report = station.until_title("b").await;
    assert_eq!(last(&report), Some(("a", Outcome::Played)));
    assert_eq!(report.next.as_deref(), Some("c"));
    assert_eq!(station.stats.tracks.value(Outcome::Played), 4);
    let reported = station.reported.lock().expect("a list");
    let expected = ["a began", "a played", "b began", "b played"];
    assert_eq!(reported[..4], expected);
    assert!(station.stats.bytes.value() >= 4 * u64::from(FRAMES) * 417);
}

#[tokio::test(start_paused = true)]
async fn any_publisher_takes_over_and_the_next_track_follows_it() {
    let station = TestStation::start(true);
    let mut tap = station.tap().await;
    let began = now();
    let (numbers, _) = take(&mut tap, 60).await;
    assert_eq!(numbers[0], 1_000);
    // The station gives way, though takeovers are forbidden.
    let live = station.publish().expect("it has the stream");
    let report = station.until_phase(Phase::Away).await;
    assert_eq!(last(&report), Some(("a", Outcome::Interrupted)));
    // What listeners still hear of the station is what was ahead of the clock: no more than a second.
    let elapsed = now() - began;
    let mut heard = numbers.len();
    while let Ok(more) = tokio::time::timeout(Duration::from_secs(2), tap.next()).await {
        heard += usize::from(matches!(more, Some(Tapped::Item(Item::Sample(_)))));
    }
    let heard = Duration::from_secs_f64(heard as f64 * 1_152.0 / 44_100.0);
    assert!(heard <= elapsed + LEAD, "{heard:?} of sound in {elapsed:?}");
    // It stays away even while the publisher sends nothing.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(station.handle.report().phase, Phase::Away);
    drop(live);
    let left = now();
    // Another one comes at once, and the wait begins anew.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let other = station.publish().expect("there is none");
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(other);
    let report = station.until_phase(Phase::Playing).await;
    assert!(now() - left >= Duration::from_secs(9));
    assert_eq!(title(&report), Some("b"));
    // The stream continues.
    loop {
        match tap.next().await.expect("the stream goes on") {
            Tapped::Item(Item::Sample(sample)) if number(&sample.data) >= 2_000 => break,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_operator_skips_and_reloads() {
    let station = TestStation::start(true);
    station.until_title("a").await;
    station.handle.send(Command::Skip).expect("there is room");
    let report = station.until_title("b").await;
    assert_eq!(last(&report), Some(("a", Outcome::Skipped)));
    let folder = station.folder.path();
    fs::remove_file(folder.join("c.mp3")).expect("it is there");
    write(folder, "b2.mp3", 5_000);
    fs::write(folder.join("d.mp3"), b"nothing").expect("a file");
    station.handle.send(Command::Reload).expect("there is room");
    let is_next = |report: &Report| report.next.as_deref() == Some("b2");
    let report = station.until(is_next).await;
    assert_eq!((title(&report), report.tracks), (Some("b"), 3));
    let refused = (report.refused_count, &report.refused[0].name[..]);
    assert_eq!(refused, (1, "d.mp3"));
    let report = station.until_title("b2").await;
    assert_eq!(last(&report), Some(("b", Outcome::Played)));
    assert_eq!(report.next.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_station_that_is_not_looped_ends_until_it_is_reloaded() {
    let station = TestStation::start(false);
    station.until_phase(Phase::Playing).await;
    let report = station.until_phase(Phase::Ended).await;
    assert_eq!(last(&report), Some(("c", Outcome::Played)));
    assert_eq!(report.history.len(), 3);
    let stream = station.registry.stream(&name()).expect("it lingers");
    stream.vacated().await;
    station.handle.send(Command::Reload).expect("there is room");
    let report = station.until_phase(Phase::Playing).await;
    assert_eq!(title(&report), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn requests_come_next_and_wake_a_station_that_has_ended() {
    let station = TestStation::start(false);
    let by = |report: &Report| report.current.as_ref().map(|track| track.by);
    let current = station.until_title("a").await;
    assert_eq!(by(&current), Some(By::Rotation));
    let request = |name: &str| station.handle.request(name.to_owned());
    assert_eq!(request("c.mp3").await, Ok(0));
    assert_eq!(request("c.mp3").await, Err(RequestRefused::Waiting));
    assert_eq!(request("x.mp3").await, Err(RequestRefused::Unknown));
    let report = station.handle.report();
    assert_eq!(report.requests.len(), 1);
    assert_eq!(report.next.as_deref(), Some("c"));
    let report = station.until_title("c").await;
    assert_eq!(by(&report), Some(By::Request));
    assert_eq!(report.next.as_deref(), Some("b"));
    station.until_phase(Phase::Ended).await;
    assert_eq!(request("a.mp3").await, Ok(0));
    station.until_title("a").await;
}

#[tokio::test(start_paused = true)]
async fn files_that_have_gone_are_left_out() {
    let station = TestStation::start(true);
    station.until_title("a").await;
    fs::remove_file(station.folder.path().join("b.mp3")).expect("it is there");
    let report = station.until_title("c").await;
    assert_eq!(last(&report), Some(("b", Outcome::Failed)));
    let reason = &report.refused[0].reason;
    assert!(reason.contains("No such file"), "{reason}");
    // Without any file it waits, and continues when they are back.
    for file in ["a.mp3", "c.mp3"] {
        fs::remove_file(station.folder.path().join(file)).expect("it is there");
    }
    station.until(|report| report.history.len() > 6).await;
    write(station.folder.path(), "a.mp3", 1_000);
    // Counted, because what is shown of it lasts only until the next file has failed.
    let played = station.stats.tracks.value(Outcome::Played);
    let again = |_: &Report| station.stats.tracks.value(Outcome::Played) > played;
    let report = station.until(again).await;
    let mut history = report.history.iter();
    assert!(history.any(|played| played.track.title == "a" && played.outcome == Outcome::Played));
}
