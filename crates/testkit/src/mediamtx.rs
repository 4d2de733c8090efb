//! MediaMTX: a peer for comparisons of HLS. It is in no registry; it is built from its repository.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Process, Tool, free_address, wait_until};

/// Names the program.
const VARIABLE: &str = "CARILLON_MEDIAMTX";
/// From start to the first connection that is accepted.
const READY_DEADLINE: Duration = crate::DEADLINE;

/// A running MediaMTX with RTMP and low-latency HLS alone, whose parts and segments last as long as this server's:
/// half a second and three seconds.
#[derive(Debug)]
pub struct MediaMtx {
    process: Process,
    rtmp: SocketAddr,
    http: SocketAddr,
    /// Holds the configuration file.
    _folder: tempfile::TempDir,
}

impl MediaMtx {
    /// The program that the environment names.
    ///
    /// # Errors
    /// How to get one.
    pub fn program() -> Result<PathBuf, String> {
        let path = std::env::var_os(VARIABLE).map(PathBuf::from);
        path.filter(|path| path.is_file()).ok_or_else(|| {
            format!("MediaMTX: {VARIABLE} names no program; CONTRIBUTING.md says how to build it")
        })
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("temp folder: {error}"));
        let [rtmp, http] = [free_address(), free_address()];
        let text = format!(
            "logLevel: warn\nrtsp: no\nwebrtc: no\nsrt: no\nmoq: no\nrtmp: yes\nrtmpAddress: {rtmp}\nhls: yes\n\
             hlsAddress: {http}\nhlsAlwaysRemux: yes\nhlsVariant: lowLatency\nhlsSegmentDuration: 3s\n\
             hlsPartDuration: 500ms\npaths:\n  all_others:\n"
        );
        let config = folder.path().join("mediamtx.yml");
        std::fs::write(&config, text)
            .unwrap_or_else(|error| panic!("{}: {error}", config.display()));
        let mut process = Tool::built(program).arg(&config).start();
        wait_until("MediaMTX to be ready", READY_DEADLINE, || {
            let ready = [rtmp, http]
                .iter()
                .all(|addr| TcpStream::connect(addr).is_ok());
            assert!(ready || process.is_running(), "MediaMTX ended");
            ready
        });
        Self {
            process,
            rtmp,
            http,
            _folder: folder,
        }
    }

    /// Where to publish `live/{name}`.
    #[must_use]
    pub fn rtmp_url(&self, name: &str) -> String {
        format!("rtmp://{}/live/{name}", self.rtmp)
    }

    /// Where it serves HLS.
    #[must_use]
    pub fn http_addr(&self) -> SocketAddr {
        self.http
    }

    /// The path of the playlist of `live/{name}`, with the query to which it redirects players that send no cookie.
    #[must_use]
    pub fn playlist(&self, name: &str) -> String {
        format!("live/{name}/index.m3u8?cookieCheck=1")
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}
