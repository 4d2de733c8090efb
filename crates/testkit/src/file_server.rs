//! nginx as a file server: the peer for comparisons of HLS and of files on demand.

use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use crate::free_address;
use crate::nginx::Running;

/// Mount point of Linux's file system in memory.
const MEMORY: &str = "/dev/shm";

/// A running nginx with one worker that serves a folder: `sendfile`, persistent connections, no log of requests. Open files are
/// not cached, because playlists are replaced.
#[derive(Debug)]
pub struct FileServer {
    nginx: Running,
    files: TempDir,
}

impl FileServer {
    /// Starts nginx with an empty folder in memory.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        let files = tempfile::tempdir_in(MEMORY);
        Self::of(
            files.unwrap_or_else(|error| panic!("{MEMORY}: {error}")),
            "",
        )
    }

    /// Starts nginx with this folder, and these directives for its server.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn of(files: TempDir, directives: &str) -> Self {
        let addr = free_address();
        let root = files.path().display().to_string();
        let nginx = Running::http(addr, "", 8_192, |_| {
            format!(
                "access_log off; sendfile on; tcp_nopush on; keepalive_timeout 75; \
                 keepalive_requests 1000000;\n\
                 types {{ application/vnd.apple.mpegurl m3u8; video/mp4 mp4; }}\n\
                 server {{ listen {addr} backlog=4096; root {root}; {directives} }}"
            )
        });
        Self { nginx, files }
    }

    /// Returns the folder that it serves.
    pub fn folder(&self) -> &Path {
        self.files.path()
    }

    /// Returns the address on which it listens.
    pub fn addr(&self) -> SocketAddr {
        self.nginx.addr
    }

    /// Returns the process ids of the master and its worker.
    pub fn pids(&self) -> Vec<u32> {
        self.nginx.pids()
    }
}
