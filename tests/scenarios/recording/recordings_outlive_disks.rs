//! Disks that lose power, hang or fill up: written media plays, no other stream notices, and recording continues.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use testkit::framemd5::{self, Frame};
use testkit::{Clip, Server, Signal, Volume};

use crate::support::faults::{Bystander, Injection};
use crate::support::recorded::{
    STREAM, finalised, probe, recordings, seconds, server, wait_for_seconds,
};
use crate::support::webhook_receiver::{Receiver, webhook};
use crate::support::{DEADLINE, assert_joins, file, order, publish_rtmp, wait_until};
use crate::support::{flv, marks, metric};

/// Number of power failures, and seconds of media recorded between two.
const CUTS: usize = 20;
const BETWEEN: f64 = 1.5;

/// Seconds that a loss of power may cost: ten between two syncs of the disk, and five for a sync.
const LOSS_MAX: f64 = 15.0;

/// Number of images mounted at once: some systems have eight loop devices.
const MOUNTED: usize = 5;

/// Seconds for which a disk hangs.
const FROZEN: u32 = 20;

/// Size in KiB of a disk that fills soon.
const SMALL_KIB: u64 = 4_096;

fn gaps(server: &Server, reason: &str) -> f64 {
    metric(
        server,
        "carillon_record_gaps_total",
        &format!("reason={reason}"),
    )
}

fn lag(server: &Server) -> f64 {
    server.metrics().sum("carillon_record_lag_seconds", &[])
}

/// Returns the frames of recordings, one after another.
fn pictures(files: &[PathBuf]) -> Vec<Frame> {
    let all = files.iter().map(framemd5::decoded);
    all.flat_map(|frames| framemd5::video(&frames)).collect()
}

#[test]
fn twenty_losses_of_power_cost_fifteen_seconds_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let clip = Clip::Flv.seconds(60);
    let mut images = Vec::new();
    {
        let volume = Volume::ext4(32);
        // Some files are closed by then, some are open.
        let server = server(volume.path())
            .set("recording", "split", "\"10s\"")
            .start();
        let _publisher = publish_rtmp(&server, &clip, STREAM);
        for cut in 0..CUTS {
            wait_for_seconds(&server, 1.0 + BETWEEN * cut as f64);
            let reported = seconds(&server);
            let image = folder.path().join(format!("image-{cut}"));
            std::fs::write(&image, volume.image()).unwrap();
            images.push((reported, image));
        }
    }
    let sent = framemd5::video(&framemd5::decoded(&clip));
    let mut lost = Vec::new();
    for (group, images) in images.chunks(MOUNTED).enumerate() {
        // Each image is recovered as recordings of a stream of its own.
        let root = folder.path().join(format!("mounted-{group}"));
        let place = |number: usize| root.join(number.to_string());
        let mount = |(number, (_, image)): (usize, &(f64, PathBuf))| {
            Volume::of_image(image, &place(number))
        };
        let _volumes: Vec<Volume> = images.iter().enumerate().map(mount).collect();
        let server = server(&root).start();
        wait_until("all to be recovered", || {
            open_files(&root) == 0
                && recordings(&server)
                    .iter()
                    .all(|it| it["state"] == "finalised")
        });
        let all = recordings(&server);
        for (number, (reported, _)) in images.iter().enumerate() {
            let own = |it: &&serde_json::Value| it["stream"] == format!("{number}/{STREAM}");
            let own: Vec<_> = all.iter().filter(own).collect();
            let whole: f64 = own.iter().filter_map(|it| it["seconds"].as_f64()).sum();
            lost.push(reported - whole);
            let paths = own.iter().filter_map(|it| it["path"].as_str());
            let paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
            if paths.is_empty() {
                continue;
            }
            // Nothing is missing between the files.
            let join = assert_joins("recovered", &sent, &pictures(&paths));
            assert_eq!(join.at % 25, 0);
        }
    }
    println!("seconds lost of those told: {lost:.1?}");
    assert_eq!(lost.len(), CUTS);
    assert!(lost.iter().all(|lost| *lost <= LOSS_MAX), "{lost:?}");
    // The later images contain enough media for the check to mean something.
    assert!(
        images[CUTS - 1].0 - lost[CUTS - 1] > LOSS_MAX / 2.0,
        "{lost:?}"
    );
}

/// Counts the files below a folder that are named as open ones.
fn open_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let counts = entries.map(|entry| match entry.path() {
        path if path.is_dir() => open_files(&path),
        path => usize::from(path.extension().is_some_and(|it| it == "part")),
    });
    counts.sum()
}

#[test]
fn a_disk_that_hangs_for_a_while_costs_nobody_anything() {
    let volume = Volume::ext4(64);
    let server = server(volume.path())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let clip = Clip::Flv.seconds(FROZEN + 15);
    let mut publisher = publish_rtmp(&server, &clip, STREAM);
    wait_for_seconds(&server, 2.0);
    let mut listener = server.listen("/live/show.flv");
    listener.read_until(DEADLINE, |body| !flv::times(body, 9).is_empty());
    let frozen = volume.freeze();
    let begun = *flv::times(listener.body(), 9).last().expect("a picture");
    let until = begun + 1_000 * FROZEN;
    // The live stream continues for all that time.
    let heard = listener.read_until(DEADLINE, |body| flv::times(body, 9).last() >= Some(&until));
    assert!(heard, "the stream ended early");
    let late = lag(&server);
    assert!(late >= f64::from(FROZEN) / 2.0, "{late}");
    drop(frozen);
    let body = file(&flv::whole_tags(listener.read_to_end(DEADLINE)));
    publisher.wait(DEADLINE);
    let files = finalised(&server, 1);
    let sent = framemd5::packets(&clip);
    for (what, got) in [("heard", body.path()), ("recorded", &files[0])] {
        let got = framemd5::packets(got);
        let audio_frames = [framemd5::audio(&sent), framemd5::audio(&got)];
        let pictures = [framemd5::video(&sent), framemd5::video(&got)];
        for [sent, got] in [audio_frames, pictures] {
            assert_eq!(assert_joins(what, &sent, &got).missing, 0, "{what}");
        }
    }
    assert_eq!(server.metrics().sum("carillon_record_gaps_total", &[]), 0.0);
}

#[test]
fn a_full_disk_is_reported_and_recorded_to_again_once_it_has_room() {
    let volume = Volume::memory(SMALL_KIB);
    let receiver = Receiver::start();
    let wanted = "events = [\"recording.started\", \"recording.deleted\"]";
    let mut first = server(volume.path())
        .set("ingest", "linger", "\"1s\"")
        .toml(&webhook(&receiver.url("/ok"), wanted))
        .env("CARILLON__DRAIN_TIMEOUT", "1s")
        .start();
    let mut other = Bystander::of(&first);
    let clip = Clip::Flv.seconds(60);
    let _publisher = publish_rtmp(&first, &clip, STREAM);
    wait_for_seconds(&first, 2.0);
    other.during(|| {
        let ballast = volume.path().join("ballast");
        let full = std::fs::write(&ballast, vec![0; 2 * SMALL_KIB as usize * 1_024]);
        assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        first.wait_for_log("the disk takes no recording", DEADLINE);
        // Of this stream only what the log still holds may be written, though the recorder tries more than once.
        publish_rtmp(&first, &Clip::Flv.seconds(12), "live/late").wait(DEADLINE);
        wait_until("its end", || {
            !first.api("streams").to_string().contains("live/late")
        });
    });
    wait_until("the gap to be counted", || gaps(&first, "disk") >= 1.0);
    // The disk may or may not have room for its index.
    wait_until("what was recorded to be closed", || {
        let all = recordings(&first);
        all.first().is_some_and(|it| it["state"] != "open")
    });
    let one = PathBuf::from(recordings(&first)[0]["path"].as_str().unwrap());
    let (start, duration) = probe(&one);
    assert!(start.abs() < 0.001 && duration >= 1.9, "{duration}");
    let sent = framemd5::video(&framemd5::decoded(&clip));
    let before = framemd5::video(&framemd5::decoded(&one));
    assert_eq!(assert_joins("before", &sent, &before).at % 25, 0);
    volume.resize(8 * SMALL_KIB);
    // Media that arrived meanwhile was held by the log, or is a gap.
    let of_show = || {
        let mut all = recordings(&first);
        all.retain(|it| it["stream"] == STREAM);
        all
    };
    wait_until("another recording", || of_show().len() == 2);
    first.wait_for_log("the disk takes recordings again", DEADLINE);
    wait_until("it to grow", || {
        of_show()[1]["seconds"].as_f64() >= Some(2.0)
    });
    assert_eq!(
        gaps(&first, "disk"),
        2.0,
        "one gap of each, however often it was tried"
    );
    other.noticed_nothing();
    wait_until("both to be told", || {
        let mut started = receiver.of("/ok", "recording.started");
        started.retain(|it| it["message"]["data"]["stream"] == STREAM);
        started.len() == 2
    });
    assert!(receiver.of("/ok", "recording.deleted").is_empty());
    let count = recordings(&first).len();
    first.terminate(DEADLINE);
    // The next start writes an index for which there was no room.
    let second = server(volume.path()).start();
    let mut files = finalised(&second, count);
    files.retain(|it| it.to_string_lossy().contains(STREAM));
    assert_eq!(
        marks(&framemd5::video(&framemd5::decoded(&one))),
        marks(&before)
    );
    let after = framemd5::video(&framemd5::decoded(&files[1]));
    let [begin, end] = [&before, &after].map(|frames| assert_joins("a file", &sent, frames));
    assert_eq!(end.at % 25, 0);
    assert!(end.at >= begin.at + begin.matched);
}

/// Returns whether a process has ended as far as it can: its main thread has ended, and only the kernel holds up the others.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn the_end_of_the_server_does_not_wait_for_a_disk_that_hangs() {
    let volume = Volume::ext4(64);
    let mut first = server(volume.path())
        .env("CARILLON__DRAIN_TIMEOUT", "1s")
        .start();
    let _publisher = publish_rtmp(&first, &Clip::Flv.seconds(60), STREAM);
    wait_for_seconds(&first, 2.0);
    let ports: [SocketAddr; 3] = ["rtmp", "http", "admin"].map(|name| first.addr(name));
    let frozen = volume.freeze();
    wait_until("the recorder to hang", || lag(&first) >= 3.0);
    let reported = seconds(&first);
    first.process().signal(Signal::TERM);
    let pid = first.pid();
    wait_until("its end", || has_ended(pid));
    assert!(first.log().contains("a disk hangs"), "{}", first.log());
    // Another server can take its place.
    for port in ports {
        assert!(TcpStream::connect(port).is_err(), "{port} is still open");
        TcpListener::bind(port).unwrap_or_else(|error| panic!("{port}: {error}"));
    }
    drop(frozen);
    assert_eq!(first.process().wait(DEADLINE).code(), Some(0));
    let second = server(volume.path()).start();
    let files = finalised(&second, 1);
    let (start, duration) = probe(&files[0]);
    assert!(
        start.abs() < 0.001 && duration >= reported - 0.001,
        "{duration}"
    );
    assert!(!framemd5::decoded(&files[0]).is_empty());
}

#[test]
fn what_could_not_be_closed_is_closed_once_it_can_and_what_is_gone_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        .toml(&webhook(&receiver.url("/ok"), "events = [\"recording.*\"]"))
        .start();
    let mut other = Bystander::of(&server);
    for (number, call) in ["fdatasync", "renameat2"].into_iter().enumerate() {
        let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(5), STREAM);
        wait_until("another recording", || {
            recordings(&server).len() == number + 1
        });
        other.during(|| {
            let inject = format!("{call}:error=EIO");
            let fault = Injection::into_threads(&server, "record-jobs", &inject);
            fault.wait();
            // The recording is listed, and cannot be removed.
            let one = recordings(&server).remove(number);
            assert_eq!(one["state"], "open", "{one}");
            let path = format!("recordings/{}", one["id"].as_str().unwrap());
            assert_eq!(order(&server, "DELETE", &path, ""), 409);
            // The time until the next attempt passes meanwhile.
            wait_until("it to be told", || {
                server.log().matches("a recording stays open").count() == number + 1
            });
        });
        let path = &finalised(&server, number + 1)[number];
        let (start, duration) = probe(path);
        assert!(start.abs() < 0.001 && duration > 4.5, "{duration}");
    }
    // Somebody moves the next recording away while it is written.
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(5), STREAM);
    wait_until("the third", || recordings(&server).len() == 3);
    let third = recordings(&server).remove(2);
    let path = PathBuf::from(third["path"].as_str().unwrap());
    other.during(|| {
        std::fs::rename(&path, root.path().join("mine")).unwrap();
        publisher.wait(DEADLINE);
        let gone = receiver.wait_for("/ok", "recording.deleted", 1).remove(0);
        assert_eq!(gone["message"]["data"]["reason"], "missing", "{gone}");
    });
    assert_eq!(finalised(&server, 2).len(), 2);
    let of_kind = |kind: &str| receiver.of("/ok", kind).len();
    let kinds = ["started", "closed", "finalised"];
    let counts = kinds.map(|it| of_kind(&format!("recording.{it}")));
    assert_eq!(counts, [3, 2, 2]);
    receiver.is_in_order();
    other.noticed_nothing();
}
