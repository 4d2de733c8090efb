//! Storage backend of redb: a file whose blocks are allocated before they are written.

use std::fs;
use std::io;
use std::ops::Bound;

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::journal::file::Faults;

/// Least bytes allocated to a file, beyond its end if it is shorter: the size of a journal with some thousand rows. They take
/// up that space on the disk.
pub(crate) const RESERVE_BYTES: u64 = 1 << 20;

/// File with allocated blocks.
#[derive(Debug)]
pub(crate) struct Reserved {
    /// Second handle to the file, for allocating its blocks.
    file: fs::File,
    inner: FileBackend,
    faults: Faults,
}

impl Reserved {
    pub(crate) fn new(file: fs::File, faults: Faults) -> Result<Self, crate::journal::Error> {
        let reserved = Self {
            file: file.try_clone()?,
            inner: FileBackend::new(file)?,
            faults,
        };
        reserved.reserve();
        Ok(reserved)
    }

    /// Extends the file by allocated blocks. Returns false on a disk that cannot allocate any.
    fn grow(&self, held: u64, len: u64) -> io::Result<bool> {
        match fallocate(&self.file, FallocateFlags::empty(), held, len - held) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            grown => Ok(grown.map(|()| true)?),
        }
    }

    /// Allocates blocks beyond the end. Failure is ignored: the disk may be full, or unable to allocate.
    fn reserve(&self) {
        fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, RESERVE_BYTES).ok();
    }
}

impl StorageBackend for Reserved {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let held = self.inner.len()?;
        if len <= held || !self.grow(held, len)? {
            self.inner.set_len(len)?;
        }
        self.reserve();
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.faults.strike()?;
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
