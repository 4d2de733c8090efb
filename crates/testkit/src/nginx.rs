//! nginx-rtmp: a second opinion on what players and publishers may expect, a server to push to and pull from, and the peer for
//! comparisons of RTMP.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::{Process, Tool, conversation, free_address, proc, temp_folder, wait_until, write_file};

/// Time limit from the start to the first accepted connection.
const READY_DEADLINE: Duration = crate::DEADLINE;
/// Time limit from the start of a publisher to its stream.
const STREAM_DEADLINE: Duration = crate::DEADLINE;

/// A running nginx with the RTMP module of Debian and one application, `live`.
#[derive(Debug)]
pub struct Nginx {
    running: Running,
    /// Directives of the server, and of the application.
    directives: [String; 2],
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
        Self::at(self.addr(), self.directives.clone())
    }

    fn at(addr: SocketAddr, directives: [String; 2]) -> Self {
        let [server, application] = &directives;
        let module = "load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;";
        let running = Running::start(addr, module, |_| {
            format!(
                "events {{ worker_connections 8192; }}\n\
                 rtmp {{ server {{ listen {addr}; {server} application live {{ live on; {application} }} }} }}\n"
            )
        });
        Self {
            running,
            directives,
        }
    }

    /// Waits until `live/{name}` is published.
    ///
    /// # Panics
    /// Panics if the stream is not published in time.
    pub fn wait_for_stream(&self, name: &str) {
        let stream = format!("live/{name}");
        wait_until(&stream, STREAM_DEADLINE, || {
            conversation::play(self.addr(), &stream).is_ok()
        });
    }

    /// Returns the address on which it listens for RTMP.
    pub fn addr(&self) -> SocketAddr {
        self.running.addr
    }

    /// Returns the address at which to publish or play `live/{name}`.
    pub fn rtmp_url(&self, name: &str) -> String {
        format!("rtmp://{}/live/{name}", self.addr())
    }

    /// Returns the process, for signals.
    pub fn process(&mut self) -> &mut Process {
        &mut self.running.process
    }

    /// Returns the process ids of the master and its workers.
    pub fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }
}

/// A running nginx of any purpose.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Process,
    /// Address on which it listens.
    pub(crate) addr: SocketAddr,
    /// Holds the configuration file, and whatever else the configuration puts there.
    folder: TempDir,
}

impl Running {
    /// Starts nginx with a folder of its own, and waits until it listens at `addr`. `main` holds the first directives of the
    /// configuration, whose rest is generated from the folder's path.
    pub(crate) fn start(addr: SocketAddr, main: &str, rest: impl FnOnce(&str) -> String) -> Self {
        let folder = temp_folder();
        let home = folder.path().display().to_string();
        let text = format!(
            "daemon off;\nuser root;\nworker_processes 1;\npid {home}/pid;\n\
             error_log stderr warn;\n{main}\n{}",
            rest(&home)
        );
        let config = write_file(folder.path(), "nginx.conf", &text);
        let mut process = Tool::new("/usr/sbin/nginx")
            .args(["-p", &home, "-e", "stderr", "-c"])
            .arg(&config)
            .start();
        wait_until("nginx to be ready", READY_DEADLINE, || {
            let ready = TcpStream::connect(addr).is_ok();
            assert!(ready || process.is_running(), "nginx ended");
            ready
        });
        Self {
            process,
            addr,
            folder,
        }
    }

    /// Starts nginx with these directives in its block `http`, which has its temporary files in the folder, and others before.
    pub(crate) fn http(
        addr: SocketAddr,
        main: &str,
        connections: u32,
        directives: impl FnOnce(&str) -> String,
    ) -> Self {
        Self::start(addr, main, |home| {
            let directives = directives(home);
            format!(
                "events {{ worker_connections {connections}; }}\n\
                 http {{ client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; \
                 fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi; \
                 scgi_temp_path {home}/scgi;\n{directives} }}\n"
            )
        })
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the process ids of the master and its workers.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let master = self.process.pid();
        std::iter::once(master)
            .chain(proc::children(master))
            .collect()
    }
}
