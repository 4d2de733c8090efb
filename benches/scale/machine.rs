//! The machine of the measurement, and the versions of its software.

use std::fmt;
use std::process::Command;

use serde_json::{Value, json};

/// Conditions on which every figure depends.
#[derive(Debug)]
pub(crate) struct Machine {
    kernel: String,
    processor: String,
    cores: usize,
    congestion_control: String,
    revision: String,
    peers: Vec<(&'static str, String)>,
    /// Back-end with which the server drives sockets here; known once a server has run.
    pub(crate) backend: Option<String>,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let processor = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned());
        let peers = [
            ("icecast2", "icecast2"),
            ("libnginx-mod-rtmp", "libnginx-mod-rtmp"),
            ("nginx", "nginx-light"),
        ]
        .map(|(name, package)| (name, package_version(package)));
        Self {
            kernel: read("/proc/sys/kernel/osrelease"),
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control"),
            revision: said("git", &["describe", "--always", "--dirty", "--abbrev=12"]),
            peers: peers.into(),
            backend: None,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let peers = self.peers.iter();
        let peers = peers.map(|(name, version)| ((*name).to_owned(), json!(version)));
        json!({
            "kernel": self.kernel,
            "processor": self.processor,
            "cores": self.cores,
            "congestion_control": self.congestion_control,
            "revision": self.revision,
            "backend": self.backend,
            "peers": Value::Object(peers.collect()),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Carillon {}; {} × {}; Linux {}, {}, loopback",
            self.revision, self.cores, self.processor, self.kernel, self.congestion_control
        )?;
        if let Some(backend) = &self.backend {
            write!(f, "; back-end {backend}")?;
        }
        for (name, version) in &self.peers {
            write!(f, "; {name} {version}")?;
        }
        Ok(())
    }
}

fn read(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().to_owned()
}

fn package_version(package: &str) -> String {
    said("dpkg-query", &["-W", "-f", "${Version}", package])
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok()
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the bytes that programs could have without paging: free memory, and what caches would give back.
pub(crate) fn available_memory() -> u64 {
    let reported = std::fs::read_to_string("/proc/meminfo");
    let reported = reported.unwrap_or_else(|error| panic!("/proc/meminfo: {error}"));
    let line = reported
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or_else(|| panic!("no MemAvailable in /proc/meminfo")) << 10
}
