//! Disk access of recorders and jobs. Everything here may block for as long as the disk does.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};

/// Most bytes written in one call: killing the process does not tear such a write apart, and larger writes cost no less.
pub(crate) const WRITE_BYTES_MAX: usize = 1 << 20;

/// Most pieces of one write: the kernel's limit.
pub(crate) const PIECES_MAX: usize = 1_024;

/// File operations of the recorder.
pub(crate) trait Disk: fmt::Debug + Send + Sync {
    /// Creates a file that does not exist, with its directory if necessary.
    ///
    /// # Errors
    /// Fails when it exists, or cannot be made.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Opens an existing regular file, not a link, for repair.
    ///
    /// # Errors
    /// Fails when it does not exist, or is not writable.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Renames a file to a name that is free; the new name is durable on return.
    ///
    /// # Errors
    /// Fails when the name is taken, or the disk refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Fails when the disk refuses. A missing file is not an error.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Whether a file of that name exists.
    fn exists(&self, path: &Path) -> bool;

    /// Returns the number of bytes that may still be written below a directory.
    ///
    /// # Errors
    /// Fails when the system gives no answer.
    fn free_bytes(&self, directory: &Path) -> io::Result<u64>;

    /// Syncs all files below a directory in one call.
    ///
    /// # Errors
    /// Fails when that fails.
    fn sync_all(&self, directory: &Path) -> io::Result<()>;
}

/// Open file of a recording.
pub(crate) trait Output: fmt::Debug + Send {
    /// Writes all pieces in order, from offset `at` on.
    ///
    /// # Errors
    /// Fails when not all of them could be written.
    fn write(&mut self, pieces: &[&[u8]], at: u64) -> io::Result<()>;

    /// Reads a range; fewer bytes at the file's end.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>>;

    /// Truncates the file to `bytes`.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Returns the length of the file in bytes.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    fn bytes(&mut self) -> io::Result<u64>;

    /// Syncs the file's data to the disk.
    ///
    /// # Errors
    /// Fails when that fails.
    fn sync(&mut self) -> io::Result<()>;
}

/// The real file system.
#[derive(Debug)]
pub(crate) struct Files;

impl Disk for Files {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let create = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o640)
                .open(path)
        };
        let file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o750)
                    .create(folder)?;
                create()?
            }
            created => created?,
        };
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?;
        match to.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        let reported = rustix::fs::statvfs(directory)?;
        Ok(reported.f_bavail.saturating_mul(reported.f_frsize))
    }

    fn sync_all(&self, directory: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(directory)?)?)
    }
}

impl Output for File {
    fn write(&mut self, pieces: &[&[u8]], mut at: u64) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces
            .iter()
            .flat_map(|piece| piece.chunks(WRITE_BYTES_MAX))
            .map(IoSlice::new)
            .collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            let mut bytes = 0;
            let fits = left.iter().take(PIECES_MAX).take_while(|slice| {
                bytes += slice.len();
                bytes <= WRITE_BYTES_MAX
            });
            let count = fits.count();
            let written = match rustix::io::pwritev(&*self, &left[..count], at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            at += written as u64;
            IoSlice::advance_slices(&mut left, written);
        }
        Ok(())
    }

    fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(&mut bytes[filled..], range.start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn bytes(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_of_any_size_is_whole_and_no_name_is_given_twice() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("a/b/one");
        let mut file = Files.create(&path).expect("made");
        assert!(Files.create(&path).is_err());
        let large = vec![7; 3 * WRITE_BYTES_MAX + 5];
        let small: Vec<u8> = (0..=255).collect();
        let mut pieces: Vec<&[u8]> = vec![&small[..3], &[], &large];
        pieces.extend(small.chunks(1).cycle().take(3_000));
        file.write(&pieces, 0).expect("written");
        let wanted = pieces.concat();
        assert_eq!(file.bytes().expect("told"), wanted.len() as u64);
        assert!(file.read(0..wanted.len() as u64 + 9).expect("read") == wanted);
        file.cut(3).and_then(|()| file.sync()).expect("cut");
        let other = root.path().join("a/b/two");
        fs::write(&other, "other").expect("written");
        assert!(Files.rename(&path, &other).is_err());
        assert_eq!(fs::read(&other).expect("read"), b"other");
        let third = root.path().join("a/b/three");
        Files.rename(&path, &third).expect("renamed");
        assert_eq!(fs::read(&third).expect("read"), [0, 1, 2]);
        assert!(Files.exists(&third) && !Files.exists(&path));
        assert!(Files.free_bytes(root.path()).expect("told") > 0);
        Files.sync_all(root.path()).expect("synced");
        let removed = Files.remove(&third).and_then(|()| Files.remove(&third));
        removed.expect("removed");
        std::os::unix::fs::symlink(&other, &third).expect("linked");
        assert!(Files.open(&third).is_err() && Files.open(&other).is_ok());
    }
}
