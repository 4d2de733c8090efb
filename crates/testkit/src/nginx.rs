//! nginx-rtmp: a second opinion on what players and publishers may expect, a server to push to and pull from, and the peer for
//! comparisons of RTMP.

use std::net::{SocketAddr, TcpStream};
use std::path::Display;
use std::time::Duration;

use tempfile::TempDir;

use crate::{Process, Tool, conversation, free_address, proc, wait_until};

/// Time limit from the start to the first accepted connection.
const READY_DEADLINE: Duration = crate::DEADLINE;
/// Time limit from the start of a publisher to its stream.
const STREAM_DEADLINE: Duration = crate::DEADLINE;

/// A running nginx with the RTMP module of Debian and one application, `live`.
#[derive(Debug)]
pub struct Nginx {
    process: Process,
    addr: SocketAddr,
    /// Directives of the server, and of the application.
    directives: [String; 2],
    /// Holds the configuration file.
    _folder: TempDir,
}

impl Nginx {
    /// Starts nginx with one worker and otherwise the module's defaults, except that players wait for a keyframe and leave with
    /// their publisher.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with("wait_key on; idle_streams off;")
    }

    /// Starts nginx with these directives for the application instead.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn with(directives: &str) -> Self {
        Self::of_server("", directives)
    }

    /// Starts nginx with these directives for the application, and others for the server around it.
    ///
    /// # Panics
    /// Panics if nginx is not installed or does not start.
    #[must_use]
    pub fn of_server(server: &str, application: &str) -> Self {
        Self::at(free_address(), [server, application].map(str::to_owned))
    }

    /// Starts another nginx at the address of this one, which must have ended.
    ///
    /// # Panics
    /// Panics if nginx does not start.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::at(self.addr, self.directives.clone())
    }

    fn at(addr: SocketAddr, directives: [String; 2]) -> Self {
        let [server, application] = &directives;
        let module = "load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;";
        let (process, folder) = start(addr, module, |_| {
            format!(
                "events {{ worker_connections 8192; }}\n\
                 rtmp {{ server {{ listen {addr}; {server} application live {{ live on; {application} }} }} }}\n"
            )
        });
        Self {
            process,
            addr,
            directives,
            _folder: folder,
        }
    }

    /// Waits until `live/{name}` is published.
    ///
    /// # Panics
    /// Panics if the stream is not published in time.
    pub fn wait_for_stream(&self, name: &str) {
        let stream = format!("live/{name}");
        wait_until(&stream, STREAM_DEADLINE, || {
            conversation::play(self.addr, &stream).is_ok()
        });
    }

    /// Returns the address on which it listens for RTMP.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the address at which to publish or play `live/{name}`.
    #[must_use]
    pub fn rtmp_url(&self, name: &str) -> String {
        format!("rtmp://{}/live/{name}", self.addr)
    }

    /// Returns the process, for signals.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the process ids of the master and its workers.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let mut pids = vec![self.process.pid()];
        pids.extend(proc::children(self.process.pid()));
        pids
    }
}

/// Starts nginx with a folder of its own, and waits until it listens at `addr`. `modules` are loaded first; the rest of the
/// configuration is generated from the folder's path.
pub(crate) fn start(
    addr: SocketAddr,
    modules: &str,
    rest: impl FnOnce(Display<'_>) -> String,
) -> (Process, TempDir) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("temp folder: {error}"));
    let home = folder.path().display();
    let text = format!(
        "daemon off;\nuser root;\nworker_processes 1;\npid {home}/pid;\n\
         error_log stderr warn;\n{modules}\n{}",
        rest(folder.path().display())
    );
    let config = folder.path().join("nginx.conf");
    std::fs::write(&config, text).unwrap_or_else(|error| panic!("{}: {error}", config.display()));
    let mut process = Tool::new("/usr/sbin/nginx")
        .arg("-p")
        .arg(folder.path())
        .arg("-c")
        .arg(&config)
        .args(["-e", "stderr"])
        .start();
    wait_until("nginx to be ready", READY_DEADLINE, || {
        let ready = TcpStream::connect(addr).is_ok();
        assert!(ready || process.is_running(), "nginx ended");
        ready
    });
    (process, folder)
}
