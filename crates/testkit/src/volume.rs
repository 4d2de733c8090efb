//! A separate filesystem, for tests of disks that hang, fill up or lose power.
//!
//! A child holds the mount, and undoes it when its standard input ends: because [`Volume`] is dropped, or because the test was
//! killed. Nothing stays mounted or frozen, whatever happens.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::tool::{Tool, require};
use crate::{DEADLINE, temp_folder, wait_until};

/// Script of the child. It thaws before it unmounts, and unmounts lazily: a server may still have files there.
const HOLD: &str = "
    folder=$1; shift
    mount \"$@\" \"$folder\" || exit
    echo mounted
    read -r _
    fsfreeze -u \"$folder\" 2>/dev/null
    umount -l \"$folder\"
";

/// A filesystem that is mounted until this is dropped.
#[derive(Debug)]
pub struct Volume {
    holder: Child,
    path: PathBuf,
    image: Option<PathBuf>,
    /// Holds the mount point and the image.
    _folder: tempfile::TempDir,
}

impl Volume {
    /// Creates an empty ext4 of `mib` MiB, in a file.
    ///
    /// # Panics
    /// Panics if it cannot be made. A test never skips itself instead.
    #[must_use]
    pub fn ext4(mib: u64) -> Self {
        let folder = temp_folder();
        let image = folder.path().join("image");
        let made = std::fs::File::create_new(&image).and_then(|file| file.set_len(mib << 20));
        made.unwrap_or_else(|error| panic!("{}: {error}", image.display()));
        Tool::new("mkfs.ext4")
            .args(["-q", "-F"])
            .arg(&image)
            .run(DEADLINE);
        let path = folder.path().join("mounted");
        Self::mount(folder, path, image)
    }

    /// Mounts the filesystem in a file on `path`, which is created.
    ///
    /// # Panics
    /// Panics if it cannot be mounted.
    #[must_use]
    pub fn of_image(image: &Path, path: &Path) -> Self {
        Self::mount(temp_folder(), path.to_owned(), image.to_owned())
    }

    /// Creates an empty filesystem of `kib` KiB, in memory.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    #[must_use]
    pub fn memory(kib: u64) -> Self {
        let folder = temp_folder();
        let path = folder.path().join("mounted");
        let options = format!("size={kib}k");
        Self::hold(
            folder,
            path,
            None,
            &["-t", "tmpfs", "-o", &options, "tmpfs"],
        )
    }

    /// Resizes a filesystem in memory to `kib` KiB, more or less than before.
    ///
    /// # Panics
    /// Panics if it cannot be resized.
    pub fn resize(&self, kib: u64) {
        let options = format!("remount,size={kib}k");
        Tool::new("mount")
            .args(["-o", &options])
            .arg(&self.path)
            .run(DEADLINE);
    }

    fn mount(folder: tempfile::TempDir, path: PathBuf, image: PathBuf) -> Self {
        let source = image.display().to_string();
        let arguments = ["-t", "ext4", "-o", "loop", &source];
        Self::hold(folder, path, Some(image), &arguments)
    }

    fn hold(
        folder: tempfile::TempDir,
        path: PathBuf,
        image: Option<PathBuf>,
        arguments: &[&str],
    ) -> Self {
        for program in ["mount", "umount", "fsfreeze"] {
            require(program);
        }
        std::fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut command = Command::new("sh");
        command.args(["-c", HOLD, "sh"]).arg(&path).args(arguments);
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut holder = spawned.unwrap_or_else(|error| panic!("sh: {error}"));
        let mut said = String::new();
        if let Some(pipe) = holder.stdout.take() {
            let _an_error_is_reported_below = BufReader::new(pipe).read_line(&mut said);
        }
        if said != "mounted\n" {
            let mut why = String::new();
            if let Some(mut pipe) = holder.stderr.take() {
                let _as_far_as_it_is_reported = pipe.read_to_string(&mut why);
            }
            let _reaped = holder.wait();
            panic!(
                "this test mounts filesystems, for which it must be root and have loop devices: {why}"
            );
        }
        Self {
            holder,
            path,
            image,
            _folder: folder,
        }
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of the file that contains the filesystem, as a power failure would leave them now: two equal readings,
    /// so that nothing was written between the first byte and the last.
    ///
    /// # Panics
    /// Panics if the filesystem is in memory, or written without pause.
    pub fn image(&self) -> Vec<u8> {
        let Some(path) = &self.image else {
            panic!("a filesystem in memory is in no file");
        };
        let read = || {
            let bytes = std::fs::read(path);
            bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut image = read();
        wait_until("a moment without writes", DEADLINE, || {
            let again = read();
            std::mem::replace(&mut image, again) == image
        });
        image
    }

    /// Makes every write to the filesystem wait until the returned guard is dropped. A process that writes cannot even be
    /// killed meanwhile, so drop the guard before the process.
    ///
    /// # Panics
    /// Panics if the filesystem cannot be frozen.
    #[must_use]
    pub fn freeze(&self) -> Frozen<'_> {
        Tool::new("fsfreeze")
            .arg("-f")
            .arg(&self.path)
            .run(DEADLINE);
        Frozen(self)
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _reaped = self.holder.wait();
    }
}

/// A filesystem that takes no writes until this is dropped.
#[derive(Debug)]
pub struct Frozen<'a>(&'a Volume);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let mut thaw = Command::new("fsfreeze");
        let _else_the_holder_does = thaw.arg("-u").arg(&self.0.path).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_mounted(path: &Path) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("read");
        mounts.contains(&path.display().to_string())
    }

    #[test]
    fn nothing_stays_mounted_or_frozen() {
        let volume = Volume::ext4(8);
        let path = volume.path().to_owned();
        assert!(is_mounted(&path));
        std::fs::write(path.join("file"), "text").expect("written");
        let frozen = volume.freeze();
        let waiting = path.join("file");
        let writer = std::thread::spawn(move || std::fs::write(waiting, "more"));
        assert_eq!(std::fs::read(path.join("file")).expect("read"), b"text");
        drop(frozen);
        writer.join().expect("no panic").expect("written");
        let image = volume.image();
        std::mem::forget(volume.freeze());
        drop(volume);
        assert!(!is_mounted(&path));
        let folder = temp_folder();
        let copy = folder.path().join("copy");
        std::fs::write(&copy, image).expect("written");
        let volume = Volume::of_image(&copy, &folder.path().join("mounted"));
        assert!(volume.path().join("lost+found").exists());
    }

    #[test]
    fn memory_has_an_end() {
        let volume = Volume::memory(256);
        let written = std::fs::write(volume.path().join("file"), vec![1; 1 << 20]);
        assert_eq!(
            written.expect_err("full").kind(),
            std::io::ErrorKind::StorageFull
        );
        volume.resize(2_048);
        std::fs::write(volume.path().join("file"), vec![1; 1 << 20]).expect("room");
    }
}
