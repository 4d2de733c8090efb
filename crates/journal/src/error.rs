//! Why a file takes, or tells, nothing.

use std::io;

/// What redb or the disk says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<redb::Error>);

impl<E: Into<redb::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

impl Error {
    /// Another process has the file.
    pub fn is_taken(&self) -> bool {
        matches!(
            *self.0,
            redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch
        )
    }

    /// What is in the file is no database, or not this one. What the disk refuses now it may give later, so that is none.
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
