//! Folder of served files: names, and the opening of a file without leaving the folder.
//!
//! The kernel resolves a name (`openat2`), so there is no gap between a check and the use of its result: no `..`, no
//! absolute link and no link out of the folder leads anywhere.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// Longest name below the folder in bytes: less than Linux accepts for a path, and less than a request's head.
const NAME_BYTES_MAX: usize = 1024;

/// Most attempts to resolve a name while renames interfere.
const TRIES_MAX: usize = 4;

/// Path of a folder; [`open`](Self::open) opens a file in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Folder(PathBuf);

/// File as it was opened. Its length and its tag hold for all reads from it, unless the file is modified.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: Arc<File>,
    pub(crate) length: u64,
    /// Strong validator: the file's identity, its length, and the time of its last modification.
    pub(crate) tag: String,
    /// Time of modification in seconds since 1970.
    pub(crate) modified: u64,
}

impl Folder {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// Returns whether a name may be that of a file: no segment is empty or hidden.
    pub(crate) fn may_name(name: &str) -> bool {
        let is_plain = |segment: &str| !segment.is_empty() && !segment.starts_with('.');
        name.len() <= NAME_BYTES_MAX && !name.contains('\0') && name.split('/').all(is_plain)
    }

    /// Opens a file. May block.
    ///
    /// # Errors
    /// `NotFound` if there is no such file in this folder; other kinds if it cannot be read.
    pub(crate) fn open(&self, name: &str) -> io::Result<Opened> {
        if !Self::may_name(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &self.0, folder, Mode::empty())?;
        // Check the type before opening: opening alone makes a device act, and a named pipe wait for its writer.
        regular(resolve(&folder, name, OFlags::PATH)?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let (file, found) = regular(resolve(&folder, name, flags)?)?;
        let written = (found.mtime(), found.mtime_nsec());
        let tag = format!(
            "\"{:x}-{:x}-{:x}.{:x}\"",
            found.ino(),
            found.len(),
            written.0,
            written.1
        );
        Ok(Opened {
            file: Arc::new(file),
            length: found.len(),
            tag,
            modified: u64::try_from(written.0).unwrap_or(0),
        })
    }
}

/// Opens a name below a folder with these flags.
fn resolve(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match openat2(folder, Path::new(name), flags, Mode::empty(), within) {
            Ok(file) => return Ok(file.into()),
            Err(Errno::AGAIN) if tries < TRIES_MAX => tries += 1,
            Err(Errno::XDEV | Errno::LOOP | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns a file with its metadata, if it is a regular file.
fn regular(file: File) -> io::Result<(File, Metadata)> {
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok((file, found)),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::mem::MaybeUninit;
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, inotify};

    use super::*;

    #[test]
    fn only_what_is_in_the_folder_is_opened() {
        let outer = tempfile::tempdir().expect("a directory");
        let inner = outer.path().join("films");
        fs::create_dir_all(inner.join("old")).expect("directories");
        fs::write(outer.path().join("secret.mp4"), "secret").expect("a file");
        fs::write(inner.join("a film.mp4"), "film").expect("a file");
        fs::write(inner.join("old/b.mp4"), "old").expect("a file");
        fs::write(inner.join(".hidden.mp4"), "hidden").expect("a file");
        symlink("../secret.mp4", inner.join("out.mp4")).expect("a link");
        symlink(outer.path().join("secret.mp4"), inner.join("far.mp4")).expect("a link");
        symlink("..", inner.join("up")).expect("a link");
        symlink("/proc/self/root", inner.join("root")).expect("a link");
        symlink("old/b.mp4", inner.join("newest.mp4")).expect("a link");
        let pipe = inner.join("pipe.mp4");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        let folder = Folder::new(inner);
        let length = |name: &str| folder.open(name).map(|opened| opened.length).ok();
        assert_eq!(length("a film.mp4"), Some(4));
        assert_eq!(length("old/b.mp4"), Some(3));
        assert_eq!(length("newest.mp4"), Some(3), "a link within the folder");
        let given = "|/|.|..|old|old/|none.mp4|../secret.mp4|old/../../secret.mp4|/etc/passwd|\
                     out.mp4|far.mp4|up/secret.mp4|root/etc/passwd|.hidden.mp4|old/.|a film.mp4/x|\
                     a film.mp4\0.mp4|pipe.mp4";
        for name in given.split('|') {
            let refused = folder.open(name).map(|_| ()).map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::NotFound), "{name:?}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_even_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let make = |name: &str| {
            let path = directory.path().join(name);
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        };
        make("pipe.mp4");
        fs::write(directory.path().join("a.mp4"), "film").expect("a file");
        let folder = Folder::new(directory.path().to_owned());
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("a watch");
        inotify::add_watch(&watch, directory.path(), inotify::WatchFlags::OPEN).expect("watched");
        assert!(folder.open("pipe.mp4").is_err());
        folder.open("a.mp4").expect("a file");
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut opened = inotify::Reader::new(&watch, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = opened.next() {
            let name = event.file_name();
            names.extend(name.map(|name| name.to_string_lossy().into_owned()));
        }
        assert_eq!(names, ["a.mp4"]);
    }

    #[test]
    fn a_tag_is_that_of_one_version() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.mp3");
        let folder = Folder::new(directory.path().to_owned());
        let tag = || folder.open("a.mp3").expect("a file").tag;
        fs::write(&path, "one").expect("written");
        let first = tag();
        assert_eq!(first, tag());
        assert!(first.starts_with('"') && first.ends_with('"'), "{first}");
        fs::write(&path, "longer").expect("written");
        assert_ne!(first, tag());
    }
}
