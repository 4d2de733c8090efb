//! Windows of audio streams, on real files and on disks that fail.

mod playlists;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fanout::Publisher;
use http::StatusCode;
use media::CueAction;

use super::*;
use crate::tests::{TestServer, announce, attribute, body, play, playing, segments, tags, text};

/// A disk that can be made to fail.
#[derive(Debug, Default)]
struct Flaky {
    is_full: AtomicBool,
    is_broken: AtomicBool,
}

impl Flaky {
    fn set(switch: &AtomicBool, on: bool) {
        switch.store(on, Ordering::Relaxed);
    }
}

impl Disk for Flaky {
    fn write(&self, path: &Path, pieces: &[Bytes]) -> io::Result<()> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("input/output error"));
        }
        if self.is_full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Files.write(path, pieces)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        Files.open(path)
    }

    fn remove(&self, path: &Path) {
        // What is removed makes room.
        Self::set(&self.is_full, false);
        Files.remove(path);
    }
}

/// A server whose streams have a window of so many seconds, and its directory.
struct Kept {
    server: TestServer,
    disk: Arc<Flaky>,
    root: tempfile::TempDir,
}

impl Kept {
    fn new(seconds: u64) -> Self {
        Self::on(TestServer::new(), seconds)
    }

    fn on(mut server: TestServer, seconds: u64) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let disk = Arc::new(Flaky::default());
        let settings = Settings {
            directory: root.path().to_owned(),
            lengths: Box::new(move |_| Duration::from_secs(seconds)),
        };
        let dvr = Dvr::on(Arc::clone(&disk) as _, settings, Segmentation::DEFAULT);
        let dvr = Arc::new(dvr);
        let gate = Arc::clone(&server.gate);
        let permit = Box::new(move |stream: &StreamName| gate.permit(stream));
        tokio::spawn(Arc::clone(&dvr).keep(Arc::clone(&server.registry), permit));
        let context = Arc::get_mut(&mut server.context).expect("no other holds it");
        context.dvr = Some(dvr);
        Self { server, disk, root }
    }

    fn sums(&self) -> Sums {
        self.server.context.dvr().expect("a window").sums()
    }

    /// Waits until something is true of the sums.
    async fn until(&self, what: &str, is: impl Fn(Sums) -> bool) {
        let wait = async {
            while !is(self.sums()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        waited.unwrap_or_else(|_| panic!("{what}: {:?}", self.sums()));
    }

    fn files(&self) -> Vec<String> {
        let folder = fs::read_dir(self.root.path().join("live+show"));
        let files = folder.into_iter().flatten().flatten();
        files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect()
    }

    async fn listing(&self) -> String {
        self.server.text("/live/show/hls/dvr.m3u8").await
    }
}

fn sequence(listing: &str) -> u64 {
    let tag = tags(listing, "#EXT-X-MEDIA-SEQUENCE")[0];
    tag.parse().expect("a number")
}

/// Everything behind the head.
fn lines(listing: &str) -> Vec<&str> {
    let is_head = |line: &&str| !line.starts_with("#EXT-X-SERVER-CONTROL");
    listing.lines().skip_while(is_head).skip(1).collect()
}

/// Writes media from and to these milliseconds, no faster than it is kept.
async fn feed(kept: &Kept, publisher: &mut Publisher, from: i64, to: i64) {
    let sums = kept.sums();
    let before = sums.segments + sums.failures;
    for at in (from..to).step_by(SLOT as usize) {
        play(publisher, at, at + SLOT);
        // A segment is complete when the first part of the next one is, two slots after it began at most.
        let complete = u64::try_from((at - from) / SLOT).expect("forwards");
        let is_kept = |sums: Sums| sums.segments + sums.failures + 1 >= before + complete;
        kept.until("kept", is_kept).await;
    }
}

/// Milliseconds of a slot.
const SLOT: i64 = 3_000;

/// A publisher whose stream has a keeper.
async fn publish(kept: &Kept) -> Publisher {
    publish_as(kept, "live/show").await
}

async fn publish_as(kept: &Kept, name: &str) -> Publisher {
    let mut publisher = kept.server.publish(name);
    play(&mut publisher, 0, 100);
    let stream = Arc::clone(publisher.stream());
    let registered = |_| {
        kept.server
            .context
            .dvr()
            .is_some_and(|dvr| dvr.window(&stream).is_some())
    };
    kept.until("a keeper", registered).await;
    publisher
}

/// A server whose windows have so many seconds, and a publisher that has sent media until so many milliseconds.
async fn fed(seconds: u64, until: i64) -> (Kept, Publisher) {
    let kept = Kept::new(seconds);
    let mut publisher = publish(&kept).await;
    feed(&kept, &mut publisher, 100, until).await;
    (kept, publisher)
}

#[tokio::test]
async fn a_window_reaches_further_back_than_memory() {
    let (kept, _publisher) = fed(120, 300_100).await;
    let multivariant = kept.server.text("/live/show/index.m3u8?dvr").await;
    assert_eq!(segments(&multivariant), ["hls/dvr.m3u8"]);
    let listing = kept.listing().await;
    let live = kept.server.text("/live/show/hls/live.m3u8").await;
    let all = segments(&listing);
    assert!((39..=42).contains(&all.len()), "{listing}");
    let (_, end) = live.split_once("#EXTINF").expect("a segment");
    assert!(listing.ends_with(end), "{listing}\n{live}");
    let reads = kept.sums().reads;
    for (number, segment) in (sequence(&listing)..).zip(&all) {
        assert_eq!(*segment, format!("{number}.m4s"));
        let answer = kept.server.ask(&format!("/live/show/hls/{segment}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{segment}");
        let answer = whole(answer).await;
        assert_eq!(answer.get(4..8), Some(&b"moof"[..]), "{segment}");
    }
    assert!(kept.sums().reads > reads, "memory had it all");
    // Files that have left the window and its grace are gone.
    let files = kept.files();
    let numbers = files
        .iter()
        .filter_map(|name| name.strip_suffix(".m4s")?.parse().ok());
    let oldest: u64 = numbers.min().expect("files");
    let first = sequence(&listing);
    let is_grace = oldest > 0 && oldest < first && first - oldest <= 27;
    assert!(is_grace, "{oldest} {first}");
    let gone = format!("/live/show/hls/{}.m4s", oldest - 1);
    assert_eq!(kept.server.ask(&gone).await.status, StatusCode::NOT_FOUND);
    let init = attribute(tags(&listing, "#EXT-X-MAP")[0], "URI");
    let init = format!("/live/show/hls/{init}");
    assert_eq!(kept.server.ask(&init).await.status, StatusCode::OK);
    assert_eq!(kept.sums().failures, 0);
}

/// The bytes of an answer, those from the disk included.
async fn whole(mut answer: crate::Answer) -> Vec<u8> {
    let mut bytes = body(&answer);
    if let Some(rest) = &mut answer.rest {
        while let Some(piece) = std::future::poll_fn(|cx| rest.poll_next(cx)).await {
            bytes.extend_from_slice(&piece.expect("the disk reads"));
        }
    }
    bytes
}

#[tokio::test]
async fn a_window_continues_over_a_publisher_s_return() {
    let (kept, publisher) = fed(600, 120_100).await;
    let before = kept.listing().await;
    drop(publisher);
    let mut publisher = kept.server.publish("live/show");
    feed(&kept, &mut publisher, 0, 120_000).await;
    let after = kept.listing().await;
    let discontinuities = after.matches("#EXT-X-DISCONTINUITY\n").count();
    assert_eq!(discontinuities, 1, "{after}");
    assert_eq!(sequence(&before), sequence(&after));
    let numbers = segments(&after);
    let expected = (sequence(&after)..).take(numbers.len());
    let expected: Vec<_> = expected.map(|number| format!("{number}.m4s")).collect();
    assert_eq!(numbers, expected);
    // What was listed stays as it was, but for the parts of what was new then.
    let is_lasting =
        |line: &&str| !line.starts_with("#EXT-X-PART:") && !line.starts_with("#EXT-X-PRELOAD");
    let before: Vec<_> = lines(&before).into_iter().filter(is_lasting).collect();
    let after: Vec<_> = lines(&after).into_iter().filter(is_lasting).collect();
    // The last line began the segment that was open.
    let lasting = &before[..before.len() - 1];
    assert!(after.starts_with(lasting), "{before:#?}\n{after:#?}");
}

#[tokio::test]
async fn a_disk_that_fails_leaves_gaps_and_disturbs_nothing() {
    let (kept, mut publisher) = fed(600, 30_100).await;
    Flaky::set(&kept.disk.is_broken, true);
    feed(&kept, &mut publisher, 30_100, 60_100).await;
    Flaky::set(&kept.disk.is_broken, false);
    let live = kept.server.text("/live/show/hls/live.m3u8").await;
    assert!(!live.contains("#EXT-X-GAP"), "{live}");
    for segment in segments(&live) {
        let answer = kept.server.ask(&format!("/live/show/hls/{segment}")).await;
        assert_eq!(answer.status, StatusCode::OK);
    }
    feed(&kept, &mut publisher, 60_100, 180_100).await;
    let listing = kept.listing().await;
    // The last one that the disk refused may have been under way when the disk was mended.
    let failures = kept.sums().failures;
    assert!((7..=11).contains(&failures), "{failures}");
    let gaps = listing.matches("#EXT-X-GAP\n").count() as u64;
    assert_eq!(gaps, failures, "{listing}");
}

#[tokio::test]
async fn on_a_full_disk_the_oldest_give_way() {
    let (kept, mut publisher) = fed(600, 30_100).await;
    let first = sequence(&kept.listing().await);
    for at in [30_100, 39_100, 48_100] {
        Flaky::set(&kept.disk.is_full, true);
        feed(&kept, &mut publisher, at, at + 9_000).await;
    }
    assert_eq!(kept.sums().failures, 0);
    let segments = |name: &String| name.ends_with(".m4s") && !name.starts_with("init");
    let files = kept.files();
    let count = files.iter().filter(|name| segments(name)).count();
    let first = format!("{first}.m4s");
    assert!(count < 18 && !files.contains(&first), "{files:?}");
}

#[tokio::test]
async fn a_window_ends_with_its_stream() {
    let (kept, publisher) = fed(600, 30_100).await;
    assert!(kept.files().len() > 8 && kept.sums().bytes > 0);
    let root = kept.root.path();
    fs::write(root.join("notes.txt"), "x").expect("written");
    kept.server.registry.end_all();
    drop(publisher);
    // Another one of its name wants the directory.
    let mut publisher = publish(&kept).await;
    assert_eq!(kept.sums().bytes, 0);
    feed(&kept, &mut publisher, 100, 12_100).await;
    let listing = kept.listing().await;
    assert!(sequence(&listing) < 3, "{listing}");
    assert!(root.join("notes.txt").exists());
}
