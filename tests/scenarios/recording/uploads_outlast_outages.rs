//! Object storage that is away, and a server that is killed: every recording arrives all the same, and next to nothing is
//! sent twice.

use std::collections::{BTreeMap, BTreeSet};

use testkit::{Server, Signal, free_address, wait_until};

use crate::support::DEADLINE;
use crate::support::storage::{self, PART_BYTES, Storage, Way, key, left_over, uploaded};

/// Recordings of a day that the storage was away for.
const COUNT: usize = 135;

/// Three parts, and a short one that needs a moment where these need seconds.
const LARGE: usize = 3 * PART_BYTES + 4_096;

/// The large recordings of which a part has arrived.
fn begun(storage: &Storage) -> BTreeSet<String> {
    let taken = storage.taken().into_keys();
    let parts = taken.filter_map(|target| {
        let (file, query) = target.split_once('?')?;
        query.contains("partNumber=").then(|| file.to_owned())
    });
    parts.collect()
}

fn failures(server: &Server) -> f64 {
    let metrics = server.metrics();
    metrics.sum("carillon_uploads_total", &["result=\"failed\""])
}

#[test]
fn a_days_recordings_arrive_over_outages_and_a_kill() {
    let root = tempfile::tempdir().unwrap();
    let size = |number: usize| match number {
        20 | 60 => LARGE,
        90 | 134 => 2 * PART_BYTES,
        _ => 800 + 136 * number,
    };
    let sizes: Vec<usize> = (0..COUNT).map(size).collect();
    let files = left_over(root.path(), &sizes);
    let storage = Storage::start(free_address(), None);
    let way = Way::to(storage.address);
    let credentials = storage::credentials(root.path(), "AKIAEXAMPLE", "not-checked-here");
    let server = |mbps| {
        storage::server(root.path(), way.address, &credentials, "1h")
            .set("recording.upload", "mbps", mbps)
            .start()
    };
    // Away from the beginning, for longer than it is tried at once.
    let mut killed = server("64");
    wait_until("failures", DEADLINE, || failures(&killed) >= 3.0);
    let bytes = sizes.iter().sum::<usize>() as f64;
    wait_until("the whole backlog", DEADLINE, || {
        killed.metrics().get("carillon_upload_backlog_bytes") == Some(bytes)
    });
    assert!(storage.taken().is_empty());
    // It comes, and goes in the middle of a file.
    way.mend();
    wait_until("a part", DEADLINE, || begun(&storage).len() == 1);
    let before = failures(&killed);
    way.cut();
    wait_until("another failure", DEADLINE, || failures(&killed) > before);
    // It comes again, and the server is killed in the middle of another.
    way.mend();
    wait_until("a part of another", DEADLINE, || begun(&storage).len() == 2);
    killed.process().signal(Signal::KILL);
    killed.process().wait(DEADLINE);
    let server = server("0");
    for recording in uploaded(&server, COUNT) {
        let key = key(&recording);
        let object = storage.object(&key).expect("it is there");
        assert!(object == files[&key], "{key} differs");
    }
    assert_eq!(begun(&storage).len(), 4);
    let mut repeated = BTreeMap::<String, u32>::new();
    for (target, count) in storage.taken() {
        let file = target.split('?').next().expect("a path").to_owned();
        *repeated.entry(file).or_default() += count - 1;
    }
    assert_eq!(repeated.len(), COUNT);
    // What it had taken when the way was cut, or the server killed, could not be written down.
    assert!(repeated.values().all(|count| *count <= 1), "{repeated:?}");
}
