//! Small file of the kernel that is read again and again.
//!
//! The file stays open, because opening such a file costs several times as much as reading it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Maximum length of a file in bytes: `memory.stat` has two thousand, and grows by a line or two with each version of Linux.
const BYTES_MAX: usize = 16 << 10;

/// Kernel file that stays open between reads.
#[derive(Debug)]
pub(super) struct KernelFile {
    path: PathBuf,
    file: Option<File>,
}

impl KernelFile {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path, file: None }
    }

    /// Returns the value that `parse` finds in the file's current text. Also returns `None` if there is no such file; it may
    /// appear later, as the files of a control group do when its controller is enabled.
    pub(super) fn read<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        // The kernel writes its text anew for each read from the beginning, and gives all of it if there is room.
        let mut text = [0; BYTES_MAX];
        match self.file.as_ref()?.read_at(&mut text, 0) {
            Ok(count) => parse(str::from_utf8(&text[..count]).ok()?),
            Err(_) => {
                self.file = None;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_and_may_come_late() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory.max");
        let mut file = KernelFile::new(&path);
        let number = |text: &str| text.trim().parse::<u64>().ok();
        assert_eq!(file.read(number), None);
        std::fs::write(&path, "17\n").expect("written");
        assert_eq!(file.read(number), Some(17));
        std::fs::write(&path, "4\n").expect("written");
        assert_eq!(file.read(number), Some(4));
    }

    #[test]
    fn the_kernel_gives_all_in_one_read() {
        let whole = |path: &str| std::fs::read_to_string(path).expect("proc is there");
        let lines = |text: &str| Some(text.lines().count());
        for path in ["/proc/meminfo", "/proc/net/sockstat", "/proc/self/cgroup"] {
            let mut file = KernelFile::new(path);
            for _ in 0..2 {
                assert_eq!(file.read(lines), lines(&whole(path)), "{path}");
            }
        }
    }
}
