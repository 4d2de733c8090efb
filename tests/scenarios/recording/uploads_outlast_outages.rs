//! Object storage that is away, and a server that is killed: every recording still arrives, and next to nothing is sent twice.

use std::collections::BTreeSet;

use testkit::free_address;

use crate::support::storage::{
    self, PART_BYTES, Storage, Way, assert_sent_once, assert_stored, left_over, unchecked,
    uploaded, uploads, wait_for_backlog,
};
use crate::support::wait_until;

/// Number of recordings of a day for which the storage was away.
const COUNT: usize = 135;

/// Size of a large file in bytes: three parts that take seconds each, and a short one that takes a moment.
const LARGE: usize = 3 * PART_BYTES + 4_096;

/// Returns the large recordings of which a part has arrived.
fn begun(storage: &Storage) -> BTreeSet<String> {
    let taken = storage.taken().into_keys();
    let parts = taken.filter_map(|target| {
        let (file, query) = target.split_once('?')?;
        query.contains("partNumber=").then(|| file.to_owned())
    });
    parts.collect()
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
    let credentials = unchecked(root.path());
    let server = |mbps| {
        storage::server(root.path(), way.address, &credentials, "1h")
            .set("recording.upload", "mbps", mbps)
            .start()
    };
    // The storage is away from the beginning, for longer than the first attempts last.
    let mut killed = server("64");
    wait_until("failures", || uploads(&killed, "failed") >= 3.0);
    wait_for_backlog(&killed, sizes.iter().sum());
    assert!(storage.taken().is_empty());
    // The storage appears, and goes away in the middle of a file.
    way.mend();
    wait_until("a part", || begun(&storage).len() == 1);
    let before = uploads(&killed, "failed");
    way.cut();
    wait_until("another failure", || uploads(&killed, "failed") > before);
    // The storage appears again, and the server is killed in the middle of another file.
    way.mend();
    wait_until("a part of another", || begun(&storage).len() == 2);
    killed.process().kill();
    let server = server("0");
    assert_stored(&storage, &uploaded(&server, COUNT), &files);
    assert_eq!(begun(&storage).len(), 4);
    // Parts that the storage had accepted when the connection was cut, or the server killed, could not be persisted.
    assert_eq!(assert_sent_once(&storage), COUNT);
}
