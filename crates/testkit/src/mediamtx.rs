//! MediaMTX: a peer for comparisons of HLS. No package registry has it; it is built from its repository.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Process, Tool, free_address, temp_folder, wait_until, write_file};

/// Environment variable that names the program.
const VARIABLE: &str = "CARILLON_MEDIAMTX";
/// Time limit from the start to the first accepted connection.
const READY_DEADLINE: Duration = crate::DEADLINE;

/// A running MediaMTX with only RTMP and low-latency HLS, whose parts and segments last as long as this server's: half a second
/// and three seconds.
#[derive(Debug)]
pub struct MediaMtx {
    process: Process,
    rtmp: SocketAddr,
    http: SocketAddr,
    /// Holds the configuration file.
    _folder: tempfile::TempDir,
}

impl MediaMtx {
    /// Returns the program that the environment names.
    ///
    /// # Errors
    /// Instructions for getting one.
    pub fn program() -> Result<PathBuf, String> {
        let path = std::env::var_os(VARIABLE).map(PathBuf::from);
        path.filter(|path| path.is_file()).ok_or_else(|| {
            format!("MediaMTX: {VARIABLE} names no program; CONTRIBUTING.md says how to build it")
        })
    }

    /// Starts MediaMTX.
    ///
    /// # Panics
    /// Panics if it does not start.
    #[must_use]
    pub fn start(program: &Path) -> Self {
        let folder = temp_folder();
        let [rtmp, http] = [free_address(), free_address()];
        let text = format!(
            "logLevel: warn\nrtsp: no\nwebrtc: no\nsrt: no\nmoq: no\nrtmp: yes\nrtmpAddress: {rtmp}\nhls: yes\n\
             hlsAddress: {http}\nhlsAlwaysRemux: yes\nhlsVariant: lowLatency\nhlsSegmentDuration: 3s\n\
             hlsPartDuration: 500ms\npaths:\n  all_others:\n"
        );
        let config = write_file(folder.path(), "mediamtx.yml", &text);
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

    /// Returns the address at which to publish `live/{name}`.
    pub fn rtmp_url(&self, name: &str) -> String {
        format!("rtmp://{}/live/{name}", self.rtmp)
    }

    /// Returns the address on which it serves HLS.
    pub fn http_addr(&self) -> SocketAddr {
        self.http
    }

    /// Returns the path of the playlist of `live/{name}`, with the query to which it redirects players that send no cookie.
    pub fn playlist(&self, name: &str) -> String {
        format!("live/{name}/index.m3u8?cookieCheck=1")
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}
