//! Journal of uploads: it keeps recordings that the operator has removed from coming back, and its loss, damage or full disk
//! prevents neither a start nor an upload.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{Clip, Server, Volume, free_address};

use crate::support::faults::{Bystander, Injection, is_journal_failing};
use crate::support::storage::{
    self, PART_BYTES, Storage, Way, assert_stored, key, left_over, recordings, unchecked, uploaded,
    uploads, wait_for_no_file, wait_for_no_object,
};
use crate::support::{DEADLINE, delete, publish_rtmp, quoted, wait_until};

/// Number of names that other objects already have.
const TAKEN: usize = 40;

fn path(recording: &Value) -> String {
    format!("recordings/{}", recording["id"].as_str().unwrap())
}

#[test]
fn uploads_continue_once_the_disk_takes_the_journal_again() {
    let root = tempfile::tempdir().unwrap();
    let store = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let server = storage::server(root.path(), store.address, &credentials, "1h")
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n")
        .start();
    let record = || publish_rtmp(&server, &Clip::Flv.seconds(2), "live/show").wait(DEADLINE);
    let mut other = Bystander::of(&server);
    record();
    uploaded(&server, 1);
    for (round, error) in ["ENOSPC", "EIO"].into_iter().enumerate() {
        other.during(|| {
            let inject = format!("pwrite64:error={error}");
            let fault = Injection::into_threads(&server, "uploads", &inject);
            record();
            fault.wait();
            wait_until("the journal to fail", || {
                is_journal_failing(&server, "uploads")
            });
        });
        for recording in uploaded(&server, round + 2) {
            let file = std::fs::read(recording["path"].as_str().unwrap()).unwrap();
            assert!(store.object(&key(&recording)) == Some(file));
        }
        assert!(!is_journal_failing(&server, "uploads"));
    }
    other.noticed_nothing();
}

#[test]
fn what_is_deleted_does_not_come_back_with_the_next_start() {
    let root = tempfile::tempdir().unwrap();
    let mut files = left_over(root.path(), &[4_000; 3]);
    let store = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    // The files exist in the first round, and do not in the second.
    for (left, keep_local) in [(3, "1h"), (2, "0s")] {
        let server =
            || storage::server(root.path(), store.address, &credentials, keep_local).start();
        let mut killed = server();
        let all = uploaded(&killed, left);
        if keep_local == "0s" {
            wait_for_no_file(&killed);
        }
        let removed = &all[0];
        delete(&killed, &path(removed));
        killed.process().kill();
        let next = server();
        let listed = |next: &Server| {
            let all = recordings(next);
            all.iter().any(|it| it["id"] == removed["id"])
        };
        assert!(!listed(&next));
        files.remove(&key(removed));
        wait_for_no_object(&store, removed);
        assert_eq!(uploaded(&next, left - 1).len(), files.len());
        assert!(!listed(&next));
    }
    for (key, media) in &files {
        assert!(store.object(key).expect("it is there") == *media);
    }
}

#[test]
fn what_is_deleted_while_the_storage_is_away_goes_when_it_is_back() {
    let root = tempfile::tempdir().unwrap();
    left_over(root.path(), &[4_000; 2]);
    let store = Storage::start(free_address(), None);
    let way = Way::to(store.address);
    let credentials = unchecked(root.path());
    let server = || storage::server(root.path(), way.address, &credentials, "0s").start();
    let mut first = server();
    way.mend();
    let removed = uploaded(&first, 2).remove(0);
    wait_for_no_file(&first);
    way.cut();
    delete(&first, &path(&removed));
    first.terminate(DEADLINE);
    let second = server();
    let id = removed["id"].as_str().unwrap();
    let public = format!("/radio.mp3/recordings/{id}.mp3");
    let is_gone = || {
        let all = recordings(&second);
        assert!(all.iter().all(|it| it["id"] != removed["id"]));
        assert_eq!(second.get(&public).status, 404);
    };
    wait_until("the other one to be listed", || {
        recordings(&second).len() == 1
    });
    is_gone();
    assert!(store.object(&key(&removed)).is_some());
    way.mend();
    wait_for_no_object(&store, &removed);
    is_gone();
}

#[test]
fn a_damaged_journal_costs_no_start_and_no_second_upload() {
    let root = tempfile::tempdir().unwrap();
    let mut sizes = vec![4_000, PART_BYTES + 4_096];
    sizes.extend([4_000; TAKEN]);
    left_over(root.path(), &sizes);
    let store = Storage::start(free_address(), None);
    let credentials = unchecked(root.path());
    let server = || storage::server(root.path(), store.address, &credentials, "1h");
    let mut first = server().start();
    uploaded(&first, sizes.len());
    first.terminate(DEADLINE);
    let journal = root.path().join("recordings/uploads.redb");
    let mode = std::fs::metadata(&journal).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let taken = store.taken();
    std::fs::write(&journal, vec![b'?'; 20_000]).unwrap();
    let state = root.path().join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("webhooks.redb"), "no queue").unwrap();
    // The last files have other contents by now.
    let folder = root.path().join("recordings/radio.mp3/2026-11-22");
    for minute in 2..sizes.len() {
        let name = format!("10-{minute:02}-00Z-0.mp3");
        std::fs::write(folder.join(name), vec![7; 4_000]).unwrap();
    }
    let state = quoted(&state);
    let second = server()
        .set("webhooks", "directory", &state)
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n")
        .toml("[[webhook]]\nurl = \"http://127.0.0.1:1/\"\nsecret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n")
        .start();
    let states = || -> Vec<String> {
        let all = recordings(&second);
        let states = all.iter().map(|it| it["upload"].as_str().unwrap());
        states.map(str::to_owned).collect()
    };
    wait_until("all to be settled", || {
        let states = states();
        let (stored, taken) = states.split_at(states.len().min(2));
        stored == ["stored"; 2] && taken == ["taken"; TAKEN]
    });
    assert_eq!(store.taken(), taken, "nothing is sent again");
    // Uploads that wait do not delay new ones.
    publish_rtmp(&second, &Clip::Flv.seconds(2), "live/show").wait(DEADLINE);
    wait_until("a new one to be stored", || {
        let all = states();
        all.len() == sizes.len() + 1 && all.last().is_some_and(|it| it == "stored")
    });
    for label in ["uploads", "webhooks"] {
        let label = format!("journal=\"{label}\"");
        let names = [
            "carillon_journals_damaged_total",
            "carillon_journal_failing",
        ];
        let counted = names.map(|name| second.metrics().sum(name, &[&label]));
        assert_eq!(counted, [1.0, 0.0], "{label}");
    }
    assert!(second.log().contains("is set aside"));
    assert!(journal.with_extension("redb.damaged-1").exists());
}

#[test]
fn a_disk_that_is_full_of_recordings_is_emptied_by_uploads() {
    let folder = tempfile::tempdir().unwrap();
    let volume = Volume::memory(8_192);
    let files = left_over(volume.path(), &[40_000; 20]);
    let address = free_address();
    let credentials = unchecked(folder.path());
    let server = storage::server(volume.path(), address, &credentials, "0s").start();
    wait_until("the storage to be missed", || {
        uploads(&server, "failed") >= 1.0
    });
    let full = std::fs::write(volume.path().join("ballast"), vec![0; 16 << 20]);
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    let store = Storage::start(address, None);
    assert_stored(&store, &uploaded(&server, files.len()), &files);
    wait_for_no_file(&server);
}
