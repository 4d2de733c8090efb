//! Directories of recordings. Another process may hold some: the previous server, for as long as it drains. Recordings left
//! there by an earlier run are taken over once the directory is free.

use std::io;
use std::path::PathBuf;

use crate::archive::jobs;
use crate::archive::lock::{Claim, Lock, claim};
use crate::archive::shared::Shared;

/// Directories held by this server, and those it waits for.
#[derive(Debug)]
pub(crate) struct Directories {
    ours: Vec<Option<Lock>>,
    waiting: Vec<PathBuf>,
    /// Whether a held or unreadable directory has been logged.
    is_reported: bool,
}

impl Directories {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            ours: Vec::new(),
            waiting: shared.settings.directories(),
            is_reported: false,
        }
    }

    /// Takes over recordings of an earlier run in directories that are free now. A directory that does not exist yet has none.
    pub(crate) fn take_over(&mut self, shared: &Shared) {
        self.waiting.retain(|root| match claim(root) {
            Ok(Claim::Ours(lock)) => {
                self.ours.push(lock);
                jobs::take_over_all(shared, root);
                false
            }
            Ok(Claim::Taken) => {
                if !std::mem::replace(&mut self.is_reported, true) {
                    tracing::warn!(directory = %root.display(), "another process has recordings here; those of an earlier run are listed when it has ended");
                }
                true
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound
                    && !std::mem::replace(&mut self.is_reported, true)
                {
                    tracing::error!(directory = %root.display(), %error, "recordings of an earlier run cannot be listed");
                }
                true
            }
        });
    }
}
