//! Position in a log: the file and its length.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Position in a log file.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Place {
    device: u64,
    inode: u64,
    /// Length of the file.
    pub bytes: u64,
}

impl Place {
    /// Returns the position at the end of an open file.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
        }
    }

    /// Whether both are in one file, under whatever names.
    pub const fn is_file_of(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}
