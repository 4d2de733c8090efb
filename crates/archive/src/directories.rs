//! The directories of recordings, of which another process may have some: the server before this one, for as long as it
//! drains. What an earlier run has left in one is taken over once it is free.

use std::io;
use std::path::PathBuf;

use crate::jobs;
use crate::lock::{Claim, Lock, claim};
use crate::shared::Shared;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Directories {
    ours: Vec<Option<Lock>>,
    waiting: Vec<PathBuf>,
    /// The log was told that another process has some.
    is_told: bool,
}

impl Directories {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            ours: Vec::new(),
            waiting: shared.settings.directories(),
            is_told: false,
        }
    }

    /// Takes over what an earlier run has left in those that are free now. One that is not there yet has nothing.
    pub(crate) fn take_over(&mut self, shared: &Shared) {
        let Self {
            ours,
            waiting,
            is_told,
        } = self;
        waiting.retain(|root| match claim(root) {
            Ok(Claim::Ours(lock)) => {
                ours.push(lock);
                jobs::take_over_all(shared, root);
                false
            }
            Ok(Claim::Taken) => {
                if !std::mem::replace(is_told, true) {
                    tracing::warn!(directory = %root.display(), "another process has recordings here; those of an earlier run are listed when it has ended");
                }
                true
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound && !std::mem::replace(is_told, true) {
                    tracing::error!(directory = %root.display(), %error, "recordings of an earlier run cannot be listed");
                }
                true
            }
        });
    }
}
