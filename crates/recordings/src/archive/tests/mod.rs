//! Recorders of real media, on real files and on disks that fail.

mod failing;
mod foreign;
mod fragments;
mod keeping;
mod kept;
mod recording;
mod snapshots;
mod tags;
mod telling;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant, SystemTime};

use crate::{Recording, State, Upload};
use container::flv::Reader;
use fanout::gate::{Authorized, Credential, Gatekeeper, Play, Publish};
use fanout::{Config, Fanout, Publisher, Registry, Source, Stream};
use media::{Container, Item, Span, StreamName, TrackId};
use testkit::{Clip, framemd5};

use crate::archive::ages::Ages;
use crate::archive::choice::open;
use crate::archive::disk::{Disk, Files, Output};
use crate::archive::jobs::{self, JOBS_MAX, Job, Work};
use crate::archive::recorder::{Next, Recorder};
use crate::archive::removal;
use crate::archive::shared::Shared;
use crate::archive::snapshot::Snapshots;
use crate::archive::{Becomes, Event, Keep, Rule, Settings, Tell};

const NAME: &str = "live/show";

/// A disk that can be made to fail.
#[derive(Debug, Default)]
struct Flaky {
    switches: Arc<Switches>,
}

#[derive(Debug, Default)]
struct Switches {
    is_full: AtomicBool,
    /// A write that fails has written so many bytes before it does.
    torn: AtomicU64,
    free: AtomicU64,
    /// Number of syncs of everything.
    syncs: AtomicU64,
    /// Files that will not be written down, or not renamed, or renamed and then not be known to be.
    unsynced: AtomicU32,
    unnamed: AtomicU32,
    unsure: AtomicU32,
}

/// Fails if this call is the one that is to fail.
fn strikes(left: &AtomicU32) -> io::Result<()> {
    let one_less = |left: u32| left.checked_sub(1);
    match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(_) => Err(io::Error::from_raw_os_error(5)),
        Err(_) => Ok(()),
    }
}

impl Disk for Flaky {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let file = Files.create(path)?;
        let switches = Arc::clone(&self.switches);
        Ok(Box::new(FlakyFile { file, switches }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        Files.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        strikes(&self.switches.unnamed)?;
        Files.rename(from, to)?;
        strikes(&self.switches.unsure)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.switches.free.fetch_add(1, Ordering::Relaxed);
        Files.remove(path)
    }

    fn exists(&self, path: &Path) -> bool {
        Files.exists(path)
    }

    fn free_bytes(&self, _directory: &Path) -> io::Result<u64> {
        Ok(self.switches.free.load(Ordering::Relaxed))
    }

    fn sync_all(&self, directory: &Path) -> io::Result<()> {
        self.switches.syncs.fetch_add(1, Ordering::Relaxed);
        Files.sync_all(directory)
    }
}

#[derive(Debug)]
struct FlakyFile {
    file: Box<dyn Output>,
    switches: Arc<Switches>,
}

impl Output for FlakyFile {
    fn write(&mut self, pieces: &[&[u8]], at: u64) -> io::Result<()> {
        if self.switches.is_full.load(Ordering::Relaxed) {
            let torn = self.switches.torn.load(Ordering::Relaxed) as usize;
            let all = pieces.concat();
            self.file.write(&[&all[..torn.min(all.len())]], at)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(pieces, at)
    }

    fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.file.read(range)
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.file.cut(bytes)
    }

    fn bytes(&mut self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn sync(&mut self) -> io::Result<()> {
        strikes(&self.switches.unsynced)?;
        self.file.sync()
    }
}

/// A stream and the archive that its recorders belong to, which the test steps.
struct TestArchive {
    registry: Registry,
    keeper: Gatekeeper,
    root: tempfile::TempDir,
    switches: Arc<Switches>,
    shared: Shared,
    jobs: Receiver<Job>,
    work: Work,
    /// Events received about recordings.
    reported: Receiver<Event>,
    now: Instant,
}

impl TestArchive {
    fn new() -> Self {
        Self::with(Duration::from_secs(3_600), Keep::default(), 0)
    }

    /// One whose streams of tracks become that.
    fn becoming(becomes: Becomes) -> Self {
        let mut archive = Self::new();
        archive.shared.settings.rules[0].becomes = becomes;
        archive
    }

    fn with(split: Duration, keep: Keep, min_free: u64) -> Self {
        Self::with_memory(64 << 20, split, keep, min_free)
    }

    fn with_memory(log_bytes_max: usize, split: Duration, keep: Keep, min_free: u64) -> Self {
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max,
        };
        let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
        let (fanout, _departures) = Fanout::start(&config, backend).expect("workers");
        let rules = Box::new(|_: &StreamName| fanout::Settings::default());
        let (registry, keeper) = Registry::new(fanout, 0, rules);
        let root = tempfile::tempdir().expect("a directory");
        let (jobs, work) = mpsc::sync_channel(JOBS_MAX);
        let disk = Flaky::default();
        let switches = Arc::clone(&disk.switches);
        let settings = settings(root.path(), split, keep, min_free);
        let (tell, reported) = tell();
        let shared = Shared::new(Arc::new(disk), settings, Arc::default(), jobs, tell);
        Self {
            registry,
            keeper,
            root,
            switches,
            shared,
            jobs: work,
            work: Work::default(),
            reported,
            now: Instant::now(),
        }
    }

    /// The server is killed, and starts again.
    fn restart(&mut self) {
        let (jobs, work) = mpsc::sync_channel(JOBS_MAX);
        let settings = settings(self.root.path(), Duration::MAX, Keep::default(), 0);
        let (tell, reported) = tell();
        self.shared = Shared::new(Arc::new(Files), settings, Arc::default(), jobs, tell);
        (self.jobs, self.reported) = (work, reported);
        self.work = Work::default();
        jobs::take_over_all(&self.shared, self.root.path());
    }

    fn publish(&self, container: Container) -> Publisher {
        let stream = StreamName::parse(NAME).expect("a name");
        let permission = self.keeper.authorize(Publish {
            stream,
            credential: Credential(1),
        });
        let source = Source {
            protocol: "rtmp",
            peer: None,
            agent: String::new(),
            container,
            content_type: String::new(),
            headers: Vec::new(),
        };
        let now = Instant::now();
        let publisher = self.registry.publish(&permission, source, now);
        publisher.expect("admitted")
    }

    fn permission(&self, stream: &Stream) -> Authorized<Play> {
        let stream = stream.name().clone();
        self.keeper.authorize(Play { stream })
    }

    fn record(&self, stream: &Arc<Stream>) -> Recorder {
        let permission = self.permission(stream);
        let becomes = self.shared.settings.rules[0].becomes;
        let opened = open(stream, &permission, becomes, self.now).expect("it can be recorded");
        let visited = Arc::default();
        let snapshots = Snapshots::new(permission);
        Recorder::new(Arc::clone(stream), opened, snapshots, 0, visited, self.now)
    }

    /// A publisher that has sent the beginning of these items, which it takes from them, and a recorder of its stream.
    fn begin(&self, container: Container, items: &mut Vec<Item>) -> (Publisher, Recorder) {
        let mut publisher = self.publish(container);
        write(&mut publisher, beginning(items, 100));
        let recorder = self.record(publisher.stream());
        (publisher, recorder)
    }

    /// Begins with a clip, whose other items it returns.
    fn begin_flv(&self) -> (Vec<Item>, Publisher, Recorder) {
        let mut left = items(Clip::Flv);
        let (publisher, recorder) = self.begin(Container::Tracks, &mut left);
        (left, publisher, recorder)
    }

    /// The publisher leaves, and does not return in time.
    fn end(&mut self, publisher: Publisher, recorder: &mut Recorder) {
        drop(publisher);
        self.visit(recorder, TURN);
        self.visit(recorder, 11 * TURN);
    }

    /// Records what publishers send one after another. The recorder begins once the first has sent so many milliseconds.
    fn record_turns(&mut self, container: Container, turns: Vec<Vec<Item>>, millis: i64) {
        let mut recorder = None;
        for mut items in turns {
            let mut publisher = self.publish(container);
            write(&mut publisher, beginning(&mut items, millis));
            let recorder = recorder.get_or_insert_with(|| self.record(publisher.stream()));
            write(&mut publisher, items);
            drop(publisher);
            self.visit(recorder, TURN);
        }
        let mut recorder = recorder.expect("a publisher");
        self.visit(&mut recorder, 11 * TURN);
    }

    /// Records these items in a process that is killed; returns the path of its file, and its bytes.
    fn killed(&mut self, container: Container, mut items: Vec<Item>) -> (PathBuf, Vec<u8>) {
        let (mut publisher, mut recorder) = self.begin(container, &mut items);
        self.turn(&mut publisher, items, &mut recorder);
        let part = self.only().path.clone();
        let whole = std::fs::read(&part).expect("read");
        (part, whole)
    }

    /// Another start finds this file alone.
    fn restart_with(&mut self, path: &Path, bytes: &[u8]) {
        for path in self.files() {
            std::fs::remove_file(path).expect("removed");
        }
        std::fs::write(path, bytes).expect("written");
        self.restart();
    }

    /// Time passes, and the recorder is visited.
    fn visit(&mut self, recorder: &mut Recorder, after: Duration) -> Next {
        self.now += after;
        let next = recorder.visit(&self.shared, self.now);
        self.work();
        next
    }

    /// The publisher sends these items, and the recorder is visited at its next turn.
    fn turn(&mut self, publisher: &mut Publisher, items: Vec<Item>, recorder: &mut Recorder) {
        write(publisher, items);
        self.visit(recorder, TURN);
    }

    /// Does the jobs there are.
    fn work(&mut self) {
        while let Ok(Job::Close(closing)) = self.jobs.try_recv() {
            self.work.close(&self.shared, *closing);
        }
    }

    /// It is looked what is to be closed still, and what is to be removed.
    fn look(&mut self, time: SystemTime, now: Instant) {
        self.work.look(&self.shared, time, now);
    }

    /// Removes what is not to be kept.
    fn tidy(&self) {
        let mut ages = Ages::default();
        ages.look(SystemTime::now(), Instant::now(), |_| true);
        removal::tidy(&self.shared, &ages);
    }

    /// The recordings, oldest first.
    fn recordings(&self) -> Vec<Arc<Recording>> {
        self.shared.shelf.list(None, None, 1_000)
    }

    /// The one recording that there is.
    fn only(&self) -> Arc<Recording> {
        let all = self.recordings();
        let [only] = &all[..] else {
            panic!("one recording: {all:?}");
        };
        Arc::clone(only)
    }

    /// The files, in the order of their names.
    fn files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => walk(&path, files),
                    path => files.push(path),
                }
            }
        }
        let mut files = Vec::new();
        walk(self.root.path(), &mut files);
        files.sort();
        files
    }
}

/// More events than a test has.
const EVENTS_MAX: usize = 100_000;

fn tell() -> (Tell, Receiver<Event>) {
    let (sender, reported) = mpsc::sync_channel(EVENTS_MAX);
    let tell = move |event| sender.send(event).unwrap_or(());
    (Box::new(tell), reported)
}

fn settings(root: &Path, split: Duration, keep: Keep, min_free: u64) -> Settings {
    Settings {
        rules: vec![Rule {
            directory: root.to_owned(),
            split,
            becomes: Becomes::Mp4,
            snapshot: None,
            keep,
        }],
        records: Box::new(|_| Some(0)),
        fallback: None,
        min_free,
        is_uploaded: false,
    }
}

/// Items of a clip of four seconds: video at 25 frames per second with a keyframe each second, and AAC.
fn items(clip: Clip) -> Vec<Item> {
    let file = std::fs::read(clip.seconds(4)).expect("the clip was made");
    let mut items = Vec::new();
    let read = Reader::default().push(&file, &mut items);
    read.expect("ffmpeg writes FLV");
    items
}

/// Items of which no sample is later than these milliseconds, taken from the front.
fn until(items: &mut Vec<Item>, millis: i64) -> Vec<Item> {
    let is_later = |item: &Item| matches!(item, Item::Sample(sample) if sample.dts - media::Timestamp::ZERO >= Span::from_millis(millis));
    let at = items.iter().position(is_later).unwrap_or(items.len());
    items.drain(..at).collect()
}

/// Takes the items of the first milliseconds from the front.
fn beginning(items: &mut Vec<Item>, millis: i64) -> Vec<Item> {
    let first = items.iter().find_map(|item| match item {
        Item::Sample(sample) => Some(sample.dts - media::Timestamp::ZERO),
        _ => None,
    });
    let first = first.map_or(0, Span::millis);
    until(items, first + millis)
}

fn write(publisher: &mut Publisher, mut items: Vec<Item>) {
    let written = publisher.write(&mut items, Instant::now());
    written.expect("it has the stream");
}

fn hashes(frames: &[framemd5::Frame]) -> Vec<String> {
    frames.iter().map(|frame| frame.md5.clone()).collect()
}

/// Hashes of the video frames in a file, in display order.
fn pictures(path: &Path) -> Vec<String> {
    let frames = framemd5::video(&framemd5::decoded(path));
    assert!(framemd5::is_monotonic(&frames));
    hashes(&frames)
}

const TURN: Duration = Duration::from_secs(1);
