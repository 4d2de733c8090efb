//! Error of a journal file.

use std::io;

/// Error from redb or the disk.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<redb::Error>);

impl<E: Into<redb::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

impl Error {
    /// Returns whether another process holds the file.
    pub fn is_taken(&self) -> bool {
        matches!(
            *self.0,
            redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch
        )
    }

    /// Returns whether the file is not a database, or not this one. A refusal of the disk is not damage, because it may be
    /// temporary.
    pub(crate) fn is_damage(&self) -> bool {
        match &*self.0 {
            redb::Error::Corrupted(_)
            | redb::Error::UpgradeRequired(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TypeDefinitionChanged { .. } => true,
            redb::Error::Io(error) => matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ),
            _ => false,
        }
    }
}
