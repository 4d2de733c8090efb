//! Removal of recordings: by the operator, of files that have a copy, beyond a rule's limits, and of the oldest on a full disk.
//!
//! A file is removed before its recording leaves the shelf, so a file that the disk keeps stays listed. The code that takes a
//! recording off the shelf reports it.
//!
//! Each look lists the recordings once. A recording that has changed since (it was pinned, or the operator has removed it) is
//! not touched.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{LIST_MAX, Recording, RecordingId, State, Upload};

use crate::archive::ages::Ages;
use crate::archive::event::{Event, Removal};
use crate::archive::retention::{Kept, surplus};
use crate::archive::service::Refused;
use crate::archive::shared::Shared;
use crate::archive::snapshot::Beside;
use crate::archive::sweep::prune;

/// Most recordings removed at once for space, so that other jobs get their turn.
const REMOVALS_MAX: usize = 100;

/// Removes recordings that are no longer to be kept.
pub(crate) fn tidy(shared: &Shared, ages: &Ages) {
    let mut files = counted(shared);
    if shared.settings.is_uploaded {
        remove_spare(shared, &mut files);
    }
    remove_surplus(shared, &files, ages);
    if shared.settings.min_free > 0 {
        make_room(shared, &files);
    }
}

/// Returns all recordings with files that count toward the rules, oldest first.
pub(crate) fn counted(shared: &Shared) -> Vec<Arc<Recording>> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = shared.shelf.list(None, after, LIST_MAX);
        after = page.last().map(|last| last.id);
        let is_last = page.len() < LIST_MAX;
        all.extend(page.into_iter().filter(|it| it.is_counted()));
        if is_last {
            return all;
        }
    }
}

/// Removes files that are no longer needed, because there is a copy.
fn remove_spare(shared: &Shared, files: &mut Vec<Arc<Recording>>) {
    let is_spare =
        |it: &mut Arc<Recording>| matches!(it.upload, Upload::Stored { is_spare: true, .. });
    let spare = files.extract_if(.., is_spare).collect();
    discard_all(shared, spare);
}

/// Removes recordings beyond the rules' limits.
fn remove_surplus(shared: &Shared, files: &[Arc<Recording>], ages: &Ages) {
    let mut by_rule: HashMap<usize, Vec<Kept>> = HashMap::new();
    for recording in files {
        if let Some(rule) = shared.settings.rule_of(&recording.stream) {
            by_rule.entry(rule).or_default().push(Kept {
                id: recording.id,
                age: ages.of(recording),
                bytes: recording.bytes,
                is_removable: recording.is_removable(),
            });
        }
    }
    for (rule, kept) in by_rule {
        let gone = surplus(&shared.settings.rules[rule].keep, &kept);
        let gone = gone.into_iter().filter_map(|id| shared.shelf.get(id));
        discard_all(shared, gone.collect());
    }
}

/// Removes files for the same reason, grouped by directory, so that each is read once.
fn discard_all(shared: &Shared, mut all: Vec<Arc<Recording>>) {
    all.sort_unstable_by(|one, other| (&one.stream, one.id).cmp(&(&other.stream, other.id)));
    let mut beside = Beside::default();
    for recording in all {
        discard(shared, recording.id, Removal::Retention, &mut beside);
    }
}

/// Removes the oldest files of a disk with too little room.
fn make_room(shared: &Shared, files: &[Arc<Recording>]) {
    let mut beside = Beside::default();
    for root in shared.settings.directories() {
        let is_short = || {
            let free = shared.disk.free_bytes(&root);
            free.is_ok_and(|free| free < shared.settings.min_free)
        };
        if !is_short() {
            continue;
        }
        let below = files.iter().filter(|it| it.path.starts_with(&root));
        let below = below.filter_map(|it| removable(shared, it.id));
        for recording in below.take(REMOVALS_MAX) {
            if !is_short() {
                break;
            }
            tracing::warn!(path = %recording.path.display(), "a recording is removed: the disk has less room than recording.min_free");
            discard(shared, recording.id, Removal::Space, &mut beside);
        }
    }
}

/// Returns the current entry of a recording, if its file may still be removed.
fn removable(shared: &Shared, id: RecordingId) -> Option<Arc<Recording>> {
    shared.shelf.get(id).filter(|it| it.is_removable())
}

/// Removes a recording's file; without a copy, the recording leaves the shelf with it.
fn discard(shared: &Shared, id: RecordingId, why: Removal, beside: &mut Beside) {
    let Some(recording) = removable(shared, id) else {
        return;
    };
    if recording.upload.is_stored() {
        // Updated first, so that no reader is sent to a file about to be removed. The copy in object storage remains.
        shared.shelf.update(id, |known| known.is_local = false);
        remove_files(shared, &recording, beside);
    } else if remove_files(shared, &recording, beside)
        && let Some(recording) = shared.shelf.remove(id)
    {
        shared.tell(Event::Deleted { recording, why });
    }
}

/// Removes a recording on the operator's request. On return the removal is durable.
///
/// # Errors
/// See [`Refused`].
pub(crate) fn remove(shared: &Shared, id: RecordingId) -> Result<(), Refused> {
    let recording = shared.shelf.get(id).ok_or(Refused::Unknown)?;
    if recording.state == State::Open {
        return Err(Refused::Open);
    }
    if recording.is_local {
        if !remove_files(shared, &recording, &mut Beside::default()) {
            return Err(Refused::Disk);
        }
        sync_folder(&recording.path);
    }
    if let Some(recording) = shared.shelf.remove(id) {
        let why = Removal::Operator;
        shared.tell(Event::Deleted { recording, why });
    }
    Ok(())
}

/// Removes a recording's file, the snapshots beside it, and directories that are then empty. Returns false if the disk refuses.
fn remove_files(shared: &Shared, recording: &Recording, beside: &mut Beside) -> bool {
    for snapshot in beside.of(&recording.path) {
        drop_file(shared, &snapshot);
    }
    let is_gone = drop_file(shared, &recording.path);
    if is_gone {
        tracing::info!(stream = %recording.stream, id = %recording.id, "a recording's file is removed");
    }
    is_gone
}

/// Syncs a file's folder, or the nearest one above that still exists, so that the removal is durable.
fn sync_folder(path: &Path) {
    let folder = path.ancestors().skip(1).find_map(|it| File::open(it).ok());
    if let Some(Err(error)) = folder.map(|it| it.sync_all()) {
        tracing::warn!(path = %path.display(), %error, "a loss of power may bring back a file that is removed");
    }
}

/// Removes a file, and directories that are then empty. Returns false if the disk refuses.
pub(crate) fn drop_file(shared: &Shared, path: &Path) -> bool {
    let removed = shared.disk.remove(path);
    if let Err(error) = &removed {
        tracing::error!(path = %path.display(), %error, "a recording cannot be removed");
    }
    let roots: Vec<PathBuf> = shared.settings.directories();
    if let Some(root) = roots.iter().find(|root| path.starts_with(root)) {
        prune(root, path);
    }
    removed.is_ok()
}
