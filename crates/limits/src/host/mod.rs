//! Memory and descriptors, as far as the host reports them: containers hide some of it.
//!
//! Reads a handful of small files of `/proc` and the control group; call it from a thread that may block, a few times a second.

mod kernel_file;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Resource, getrlimit};

use self::kernel_file::KernelFile;
use crate::pressure::{Kind, Pressure, level};

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the number of descriptors that this process may have; `None` is no limit.
pub fn descriptors_max() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns the number of descriptors that this process has. Linux reports it as the folder's size from 6.2 on; before that, the
/// descriptors are counted one by one.
fn descriptors() -> Option<u64> {
    const FOLDER: &str = "/proc/self/fd";
    match fs::metadata(FOLDER).ok()?.len() {
        0 => fs::read_dir(FOLDER).ok().map(|all| all.count() as u64),
        count => Some(count),
    }
}

/// Files to read the host's load from; call [`look`](Self::look) a few times a second.
#[derive(Debug)]
pub struct Host {
    sockets: KernelFile,
    socket_marks: KernelFile,
    memory: KernelFile,
    groups: Vec<Group>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// Opens the files of this process and of its present control groups.
    pub fn new() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            sockets: KernelFile::new("/proc/net/sockstat"),
            socket_marks: KernelFile::new("/proc/sys/net/ipv4/tcp_mem"),
            memory: KernelFile::new("/proc/meminfo"),
            groups: groups(Path::new("/sys/fs/cgroup"), &membership)
                .iter()
                .map(|(folder, names)| Group::new(folder, *names))
                .collect(),
        }
    }

    /// Reports the current levels to `pressure`.
    pub fn look(&mut self, pressure: &Pressure, now: Instant) {
        pressure.count_descriptors(descriptors);
        pressure.note(Kind::SocketMemory, self.socket_memory(), now);
        pressure.note(Kind::Memory, self.memory(), now);
    }

    fn socket_memory(&mut self) -> Option<f64> {
        let used = self.sockets.read(sockstat)?;
        // The limit belongs to the host and is not visible in another network namespace.
        let pressed = |marks: &str| marks.split_whitespace().nth(1)?.parse().ok();
        Some(level::socket_memory(used, self.socket_marks.read(pressed)?))
    }

    /// Returns the highest level of the host and of the groups that this process is in.
    fn memory(&mut self) -> Option<f64> {
        let host = self.memory.read(meminfo);
        let total = host.map_or(u64::MAX, |(_, total)| total);
        let groups = self.groups.iter_mut();
        let groups = groups.filter_map(|group| group.memory(total));
        let all = host.into_iter().chain(groups);
        all.map(|(used, total)| level::memory(used, total))
            .reduce(f64::max)
    }
}

/// Returns the number of pages that TCP holds, from `/proc/net/sockstat`.
fn sockstat(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split(' ');
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

/// Returns the used and total bytes, from `/proc/meminfo`. Memory that can be reclaimed at once does not count as used.
fn meminfo(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes.saturating_mul(1024))
    };
    let total = of("MemTotal:")?;
    Some((total.saturating_sub(of("MemAvailable:")?), total))
}

/// Control group with a memory limit, or one that may get a limit.
#[derive(Debug)]
struct Group {
    limits: Vec<KernelFile>,
    usage: KernelFile,
    stat: KernelFile,
    /// Prefix of the line in `stat` with the page cache that the group could give up.
    idle: &'static str,
}

/// File names of a control group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Names {
    limits: &'static [&'static str],
    usage: &'static str,
    /// Prefix of the line within `memory.stat` with the page cache that the group could give up.
    idle: &'static str,
}

const VERSION_2: Names = Names {
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    idle: "inactive_file ",
};

const VERSION_1: Names = Names {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    idle: "total_inactive_file ",
};

/// Returns the folders of the groups in `membership`, the text of `/proc/self/cgroup`, with all their ancestors.
fn groups(root: &Path, membership: &str) -> Vec<(PathBuf, Names)> {
    let mut all = Vec::new();
    for line in membership.lines() {
        let fields = line.split_once(':').map(|(_number, fields)| fields);
        let Some((controllers, path)) = fields.and_then(|fields| fields.split_once(':')) else {
            continue;
        };
        let (base, names) = match controllers {
            "" => (root.to_owned(), VERSION_2),
            controllers if controllers.split(',').any(|one| one == "memory") => {
                (root.join("memory"), VERSION_1)
            }
            _ => continue,
        };
        // In a cgroup namespace the path may be the host's, which does not exist here.
        let inner = base.join(path.trim_start_matches('/'));
        let folders = inner
            .ancestors()
            .take_while(|folder| folder.starts_with(&base));
        all.extend(folders.map(|folder| (folder.to_owned(), names)));
    }
    all
}

impl Group {
    fn new(folder: &Path, names: Names) -> Self {
        let file = |name: &str| KernelFile::new(folder.join(name));
        Self {
            limits: names.limits.iter().map(|name| file(name)).collect(),
            usage: file(names.usage),
            stat: file("memory.stat"),
            idle: names.idle,
        }
    }

    /// Returns the used bytes and the limit, if the group has a limit below `total`: a group without a limit reports one above
    /// the host's memory.
    fn memory(&mut self, total: u64) -> Option<(u64, u64)> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        // The word "max" is not a number.
        let limits = self.limits.iter_mut().filter_map(|file| file.read(number));
        let limit = limits.min().filter(|limit| *limit < total)?;
        let used = self.usage.read(number)?;
        let idle = |stat: &str| {
            let mut lines = stat.lines();
            lines.find_map(|line| line.strip_prefix(self.idle)?.parse().ok())
        };
        let idle = self.stat.read(idle).unwrap_or(0);
        Some((used.saturating_sub(idle), limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood() {
        let text =
            "sockets: used 21\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 408\nUDP: inuse 0 mem 7\n";
        assert_eq!(sockstat(text), Some(408));
        assert_eq!(sockstat("TCP6: inuse 0\n"), None);
        let text = "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    400 kB\n";
        assert_eq!(meminfo(text), Some((600 * 1024, 1000 * 1024)));
        assert_eq!(meminfo("MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn groups_are_found_with_all_that_contain_them() {
        let root = Path::new("/g");
        let membership = "5:devices:/\n4:memory:/a/b\n0::/x.slice/y\nnonsense\n";
        let found = groups(root, membership);
        let found: Vec<_> = found.iter().map(|(folder, _)| folder).collect();
        let expected = "/g/memory/a/b /g/memory/a /g/memory /g/x.slice/y /g/x.slice /g";
        let expected: Vec<_> = expected.split(' ').map(Path::new).collect();
        assert_eq!(found, expected);
        assert!(groups(root, "").is_empty());
    }

    #[test]
    fn a_groups_usage_is_without_what_could_be_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("written");
        };
        let mut group = Group::new(folder.path(), VERSION_2);
        let total = 10_000;
        assert_eq!(group.memory(total), None);
        write("memory.max", "max\n");
        write("memory.current", "5000\n");
        assert_eq!(group.memory(total), None, "there is no limit");
        write("memory.high", "8000\n");
        assert_eq!(group.memory(total), Some((5_000, 8_000)));
        assert_eq!(group.memory(8_000), None, "all there is");
        write("memory.stat", "anon 4000\ninactive_file 700\n");
        write("memory.max", "6000\n");
        assert_eq!(group.memory(total), Some((4_300, 6_000)));
    }

    #[test]
    fn this_host_tells_something() {
        let before = descriptors().expect("proc is there");
        let file = fs::File::open("/proc/self/stat").expect("proc is there");
        assert!(before >= 3 && descriptors().is_some(), "{file:?}");
        assert!(Host::new().memory().is_some_and(|level| level > 0.0));
    }
}
