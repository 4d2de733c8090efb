//! With `when = "while-recording"` a copy grows with its recording, and equals the recording in the end.

use std::path::{Path, PathBuf};

use testkit::{PUBLISH_KEY, Process, Server, Tool, free_address};

use crate::support::storage::{self, Storage, key, recordings, unchecked};
use crate::support::{DEADLINE, wait_until};

/// Makes four seconds of 24 Mb/s, so that a part is full every three.
fn heavy_clip(folder: &Path) -> PathBuf {
    let path = folder.join("heavy.flv");
    let source = "testsrc2=s=640x360:r=25,noise=alls=80:allf=t";
    let _ = Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", source, "-t", "4"])
        .args(["-c:v", "libx264", "-preset", "ultrafast", "-g", "25"])
        .args(["-b:v", "24M", "-maxrate", "24M", "-bufsize", "6M"])
        .args(["-pix_fmt", "yuv420p", "-f", "flv"])
        .arg(&path)
        .run(DEADLINE);
    path
}

/// Publishes a clip over and over.
fn publish(server: &Server, clip: &Path, stream: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-stream_loop", "-1", "-i"])
        .arg(clip)
        .args(["-c", "copy", "-f", "flv"])
        .arg(server.rtmp_url(stream, PUBLISH_KEY))
        .start()
}

/// Counts how often the storage accepted each part of a stream's recording, by the part's number.
fn parts(storage: &Storage, stream: &str) -> Vec<(u32, u32)> {
    let mut parts = Vec::new();
    for (target, count) in storage.taken() {
        if let Some((file, query)) = target.split_once('?')
            && file.contains(stream)
        {
            let mut pairs = query.split('&');
            let number = pairs.find_map(|pair| pair.strip_prefix("partNumber="));
            parts.push((number.unwrap().parse().unwrap(), count));
        }
    }
    parts.sort_unstable();
    parts
}

/// Waits until a stream's recording is in the storage, and compares the two.
fn assert_copied(server: &Server, storage: &Storage, stream: &str) {
    let of_stream = || {
        let mut all = recordings(server);
        all.retain(|one| one["stream"] == stream);
        all
    };
    wait_until(
        "the copy",
        || matches!(&of_stream()[..], [one] if one["uploaded"] == true),
    );
    let one = of_stream().remove(0);
    let file = std::fs::read(one["path"].as_str().unwrap()).unwrap();
    let object = storage.object(&key(&one)).expect("it is there");
    assert!(object == file, "{stream}");
}

#[test]
fn parts_arrive_before_their_recording_ends() {
    let root = tempfile::tempdir().unwrap();
    let storage = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let clip = heavy_clip(root.path());
    let server = || {
        storage::server(root.path(), storage.address, &credentials, "1h")
            .set("recording.upload", "when", "\"while-recording\"")
            .set("ingest", "linger", "\"1s\"")
            .toml("[[record]]\nmatch = \"live/mp4\"\n")
            .toml("[[record]]\nmatch = \"live/flv\"\ncontainer = \"flv\"\n")
            .start()
    };
    let early = |stream: &str| {
        wait_until("two parts", || parts(&storage, stream).len() >= 2);
        parts(&storage, stream)
    };
    let mut killed = server();
    let mut publisher = publish(&killed, &clip, "live/mp4");
    let before = early("live/mp4");
    assert_eq!(recordings(&killed)[0]["state"], "open");
    // The part with the header may still change, so it is not sent early.
    assert!(before.iter().all(|(number, _)| *number > 1), "{before:?}");
    publisher.kill();
    assert_copied(&killed, &storage, "live/mp4");
    let all = parts(&storage, "live/mp4");
    let numbers: Vec<u32> = all.iter().map(|(number, _)| *number).collect();
    let count = u32::try_from(all.len()).unwrap();
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    assert!(all.iter().all(|(_, count)| *count == 1), "{all:?}");
    // After a crash the upload continues where it was, with the recovered file.
    let _publisher = publish(&killed, &clip, "live/flv");
    let before = early("live/flv");
    killed.process().kill();
    let server = server();
    assert_copied(&server, &storage, "live/flv");
    let all = parts(&storage, "live/flv");
    assert!(all.len() > before.len() && all[0].0 == 1, "{all:?}");
    let repeated: u32 = all.iter().map(|(_, count)| count - 1).sum();
    assert!(repeated <= 1, "{all:?}");
}
