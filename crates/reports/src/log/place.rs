//! Where a log is: which file, and how long it is.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// See the module's description.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Place {
    device: u64,
    inode: u64,
    /// How long the file is.
    pub bytes: u64,
}

impl Place {
    /// The place of a file that is open.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
        }
    }

    /// Whether both are in one file, whatever its name was and is.
    pub const fn is_file_of(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}
